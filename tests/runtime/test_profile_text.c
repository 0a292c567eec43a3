/* The profile's file, word for word, from samples by hand. tests/programs/test_profile.py profiles programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/chain.h"
#include "tests/support/folder.h"
#include "tests/support/refused_memory.h"

#include <cradle/base.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* As if its heap existed: the heap's last event writes and frees the profile, which does not look into the heap. */
static void give_heap(crd_link *profile) {
  static char heap;
  profile->heap = (cradle_heap *)(void *)&heap;
}

static const char *read_text(const char *path) {
  static char text[1 << 16];
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

/* The program's stack, the innermost frame first. */
static cradle_frame stack[CRADLE_FRAMES_MAX];
static size_t depth;

static size_t frames(void *data, cradle_mutator *mutator, cradle_frame *out, size_t capacity) {
  assert_ptr_equal(data, stack);
  assert_null(mutator);
  assert_int_equal(capacity, CRADLE_FRAMES_MAX);
  memcpy(out, stack, (depth < capacity ? depth : capacity) * sizeof *out);
  return depth;
}

static void set_stack(size_t count, cradle_frame inner, cradle_frame outer) {
  depth = count;
  for (size_t i = 0; i < CRADLE_FRAMES_MAX; i++) stack[i] = outer;
  stack[0] = inner;
}

static void count_end(void *data, const cradle_event *event) {
  *(int *)data += event->kind == CRADLE_EVENT_HEAP_DESTROYED;
}

static void open_options(cradle_options *options, int *ends) {
  cradle_options_init(options);
  options->listener = (cradle_listener){count_end, ends};
  options->stack = (cradle_stack){frames, stack};
  options->sampler.interval_bytes = 97;
  options->sampler.seed = 7;
}

static uint64_t sample(const cradle_options *options, uint32_t type, const char *name, size_t bytes, uint64_t weight) {
  const cradle_sample one = {.type = type, .type_name = name, .bytes = bytes, .weight_bytes = weight};
  return options->sampler.sampled(options->sampler.data, NULL, &one);
}

static void settle(const cradle_options *options, uint64_t tag, uint64_t weight, cradle_fate fate) {
  const cradle_sample one = {.tag = tag, .weight_bytes = weight};
  options->sampler.settled(options->sampler.data, &one, fate);
}

static void end_heap(const cradle_options *options) {
  const cradle_event end = {.kind = CRADLE_EVENT_HEAP_DESTROYED};
  options->listener.function(options->listener.data, &end);
}

/* Puts P for the process, H for the heap and T for each time. */
static char *lines_of(const char *path) {
  static char text[1 << 16];
  char *to = text;
  for (const char *from = read_text(path); *from != '\0';) {
    unsigned long time, process, heap;
    int length = 0;
    if (sscanf(from, "{\"t\":%lu,\"heap\":\"%lu.%lu\"%n", &time, &process, &heap, &length) == 3 && length > 0) {
      assert_int_equal(process, getpid());
      to += sprintf(to, "{\"t\":T,\"heap\":\"P.H\"");
      from += length;
    } else {
      *to++ = *from++;
    }
  }
  *to = '\0';
  return text;
}

/* The lines behind the head. */
static const char *lines_after_head(const char *path) {
  const char *text = lines_of(path);
  static const char head[] = "{\"t\":T,\"heap\":\"P.H\",\"event\":\"cradle-log\",\"format\":\"cradle-json\",";
  assert_int_equal(strncmp(text, head, strlen(head)), 0);
  return strchr(text, '\n') + 1;
}

#define BEGIN "{\"t\":T,\"heap\":\"P.H\",\"event\":"

static void samples_of_all_kinds(const cradle_options *options) {
  const cradle_frame outer = {.name = "outer"}, inner = {.name = "inner", .file = "f.vm", .line = 3};
  set_stack(2, inner, outer);
  assert_int_equal(sample(options, 5, "pair", 24, 1000), 1);
  assert_int_equal(sample(options, 5, "pair", 24, 100), 2);
  settle(options, 1, 1000, CRADLE_FATE_SURVIVED);
  settle(options, 2, 100, CRADLE_FATE_DIED);
  set_stack(2, (cradle_frame){.id = 9}, (cradle_frame){.line = 4});
  sample(options, 6, NULL, 256, 20);
  set_stack(3, (cradle_frame){.name = "in \"q\""}, (cradle_frame){.line = 4});
  settle(options, sample(options, CRADLE_TYPE_ID_END, "left out", 257, 30), 30, CRADLE_FATE_UNKNOWN);
  set_stack(0, inner, outer);
  sample(options, 5, "pair", 512, 40);
}

static void the_file_says_what_was_sampled(void **state) {
  char path[128];
  cradle_options options;
  int ends = 0;
  (void)state;
  open_options(&options, &ends);
  snprintf(path, sizeof path, "%s/profile", folder);
  long blocks = live_blocks;
  crd_link *profile = crd_profile_open(path, &options);
  assert_non_null(profile);
  for (cradle_listener one = options.listener; one.data != &ends; one = ((crd_link *)one.data)->next)
    give_heap(one.data);
  samples_of_all_kinds(&options);
  errno = EDOM;
  end_heap(&options);
  assert_int_equal(errno, EDOM);
  assert_int_equal(ends, 1);
  assert_true(live_blocks <= blocks + 1); /* the path, which was emptied */
  assert_string_equal(
      lines_after_head(path),
      BEGIN "\"profile\",\"interval_bytes\":104,\"seed\":7}\n" BEGIN
            "\"sample\",\"number\":1,\"type_name\":\"pair\",\"bytes\":24,\"weight_bytes\":1000,\"same\":0,"
            "\"frames\":[[\"outer\",null,0],[\"inner\",\"f.vm\",3]]}\n" BEGIN
            "\"sample\",\"number\":2,\"type_name\":\"pair\",\"bytes\":24,\"weight_bytes\":100,\"same\":2,"
            "\"frames\":[]}\n" BEGIN "\"fate\",\"number\":1,\"survived\":1}\n" BEGIN
            "\"fate\",\"number\":2,\"survived\":0}\n" BEGIN
            "\"sample\",\"number\":3,\"type\":6,\"bytes\":256,\"weight_bytes\":20,\"same\":0,"
            "\"frames\":[[null,null,4],[9,null,0]]}\n" BEGIN
            "\"sample\",\"number\":4,\"type_name\":\"(reservation)\",\"bytes\":257,\"weight_bytes\":30,\"same\":1,"
            "\"frames\":[[null,null,4],[\"in \\u0022q\\u0022\",null,0]]}\n" BEGIN
            "\"sample\",\"number\":5,\"type_name\":\"pair\",\"bytes\":512,\"weight_bytes\":40,\"same\":0,"
            "\"frames\":[]}\n");
}

/* Functions without an id are the same if name, file and line are equal. None of them is the same as one with an id. */
static void functions_are_kept_apart(void **state) {
  static const char same[2][8] = {"inner\0x", "inner\0y"};
  static const struct {
    cradle_frame frame;
    bool is_new;
  } frames_in_turn[] = {
      {{.name = same[0], .file = "f.vm", .line = 3}, true},
      {{.name = same[1], .file = "f.vm", .line = 3}, false},
      {{.name = same[0], .file = "g.vm", .line = 3}, true},
      {{.name = same[0], .file = "g.vm", .line = 4}, true},
      {{.name = "innerg.vm", .line = 4}, true},
      {{.id = 1, .line = 4}, true},
      {{.id = 1, .line = 5}, true},
      {{.id = 1, .line = 5, .name = "named"}, false},
      {{.id = 2, .line = 5}, true},
  };
  char path[128];
  cradle_options options;
  int ends = 0;
  (void)state;
  open_options(&options, &ends);
  snprintf(path, sizeof path, "%s/profile", folder);
  crd_link *profile = crd_profile_open(path, &options);
  size_t count = sizeof frames_in_turn / sizeof *frames_in_turn;
  for (size_t i = 0; i < count; i++) {
    set_stack(1, frames_in_turn[i].frame, (cradle_frame){.id = 0});
    sample(&options, 5, "pair", 24, 104);
  }
  (void)profile;
  crd_chain_settle(options.listener, (cradle_listener){count_end, &ends}, NULL);
  const char *line = strchr(lines_after_head(path), '\n') + 1;
  for (size_t i = 0; i < count; i++, line = strchr(line, '\n') + 1) {
    unsigned same_count;
    assert_int_equal(sscanf(strstr(line, "\"same\":"), "\"same\":%u", &same_count), 1);
    assert_int_equal(same_count, !frames_in_turn[i].is_new);
  }
}

static void only_what_is_too_deep_is_cut(void **state) {
  for (size_t count = CRADLE_FRAMES_MAX; count <= CRADLE_FRAMES_MAX + 1; count++) {
    char path[128];
    cradle_options options;
    int ends = 0, frames_written = 0;
    (void)state;
    open_options(&options, &ends);
    snprintf(path, sizeof path, "%s/%zu", folder, count);
    (void)crd_profile_open(path, &options);
    set_stack(count, (cradle_frame){.name = "inner"}, (cradle_frame){.name = "outer"});
    sample(&options, 5, "pair", 24, 104);
    crd_chain_settle(options.listener, (cradle_listener){count_end, &ends}, NULL);
    const char *text = lines_after_head(path);
    assert_int_equal(strstr(text, "\"cut\":1") != NULL, count > CRADLE_FRAMES_MAX);
    for (; (text = strstr(text, "[\"outer\"")) != NULL; text++) frames_written++;
    assert_int_equal(frames_written, CRADLE_FRAMES_MAX - 1);
  }
}

/* The child's file begins at the fork, and its stacks do not build on those in the parent's file. */
static void a_child_has_a_file_if_its_name_is_its_own(void **state) {
  (void)state;
  for (int is_own = 0; is_own < 2; is_own++) {
    char path[128];
    cradle_options options;
    int ends = 0, status;
    open_options(&options, &ends);
    snprintf(path, sizeof path, "%s/%s", folder, is_own ? "%d.child" : "child");
    (void)crd_profile_open(path, &options);
    set_stack(1, (cradle_frame){.name = "f"}, (cradle_frame){.id = 0});
    sample(&options, 5, "pair", 24, 104);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      sample(&options, 5, "pair", 24, 104);
      crd_chain_settle(options.listener, (cradle_listener){count_end, &ends}, NULL);
      _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    crd_chain_settle(options.listener, (cradle_listener){count_end, &ends}, NULL);
    for (int is_child = 0; is_child <= is_own; is_child++) {
      snprintf(path, sizeof path, is_own ? "%s/%d.child" : "%s/child", folder, is_child ? (int)child : (int)getpid());
      const char *text = read_text(path), *line = strstr(text, "\"event\":\"sample\"");
      assert_non_null(strstr(text, "\"event\":\"profile\""));
      assert_non_null(line);
      assert_non_null(strstr(line, "\"same\":0,\"frames\":[[\"f\",null,0]]}\n"));
      assert_null(strstr(line + 1, "\"event\":\"sample\""));
    }
  }
}

static void what_cannot_be_opened_is_named(void **state) {
  char path[128], wanted[256], said[512] = "";
  int ends = 0, ends_of_pipe[2], kept = dup(STDERR_FILENO);
  cradle_options options;
  (void)state;
  open_options(&options, &ends);
  assert_int_equal(pipe(ends_of_pipe), 0);
  snprintf(path, sizeof path, "%s/absent/%%d", folder);
  dup2(ends_of_pipe[1], STDERR_FILENO);
  crd_link *profile = crd_profile_open(path, &options);
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends_of_pipe[1]);
  assert_true(read(ends_of_pipe[0], said, sizeof said - 1) > 0);
  close(ends_of_pipe[0]);
  assert_null(profile);
  assert_null(options.sampler.sampled);
  assert_ptr_equal(options.listener.data, &ends);
  snprintf(wanted, sizeof wanted,
           "cradle: CRADLE_PROFILE: %s/absent/%d: No such file or directory; there will be no profile\n", folder,
           (int)getpid());
  assert_string_equal(said, wanted);
}

/* What is refused is reported, and nothing is left behind. */
static void a_profile_without_memory_is_told(void **state) {
  (void)state;
  int kept = dup(STDERR_FILENO), ends_of_pipe[2], refused = 0;
  assert_int_equal(pipe(ends_of_pipe), 0);
  dup2(ends_of_pipe[1], STDERR_FILENO);
  for (crd_link *profile = NULL; profile == NULL;) {
    char path[128];
    cradle_options options;
    int ends = 0;
    long blocks = live_blocks;
    open_options(&options, &ends);
    snprintf(path, sizeof path, "%s/refused", folder);
    refused_in = ++refused;
    profile = crd_profile_open(path, &options);
    refused_in = 0;
    if (profile != NULL) crd_chain_settle(options.listener, (cradle_listener){count_end, &ends}, NULL);
    assert_true(live_blocks <= blocks + 2); /* the words that were said are remembered, and the path */
  }
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends_of_pipe[0]);
  close(ends_of_pipe[1]);
  assert_true(refused >= 4);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      FOLDER_TEST(the_file_says_what_was_sampled), FOLDER_TEST(functions_are_kept_apart),
      FOLDER_TEST(only_what_is_too_deep_is_cut),   FOLDER_TEST(a_child_has_a_file_if_its_name_is_its_own),
      FOLDER_TEST(what_cannot_be_opened_is_named), FOLDER_TEST(a_profile_without_memory_is_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
