/* The profile's file, word for word, from samples by hand. Also tests its parts, the call tree and the growing text,
 * and what comes of all of it when memory is refused. tests/programs/test_profile.py profiles programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runtime/profile.h"
#include "runtime/speedscope.h"
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

/* --- the growing text --- */

/* Pieces of all lengths, the last of them so that the text fills its room. */
static void a_text_grows(void **state) {
  static char wanted[1 << 20], piece[3000], large[20000];
  crd_growing_text text = {.length = 0};
  size_t length = sizeof large;
  (void)state;
  memset(large, 'L', sizeof large);
  memset(wanted, 'L', sizeof large);
  crd_growing_put(&text, large, sizeof large);
  for (size_t i = 0; i < sizeof piece; i += 7) {
    memset(piece, 'a' + (int)(i % 26), i);
    memcpy(wanted + length, piece, i);
    length += i;
    crd_growing_put(&text, piece, i);
    assert_int_equal(text.text[length], '\0');
  }
  while (length + 1 < text.room) wanted[length++] = 'z', crd_growing_words(&text, "z");
  size_t room = text.room;
  crd_growing_put(&text, "", 0);
  assert_int_equal(text.room, room);
  crd_growing_words(&text, "e"); /* leaves no room for the end */
  memcpy(wanted + length, "e", sizeof "e");
  assert_false(text.failed);
  assert_int_equal(text.length, length + 1);
  assert_true(text.room > text.length);
  assert_string_equal(text.text, wanted);
  free(text.text);
}

static void a_format_adds_500_bytes_at_most(void **state) {
  crd_growing_text text = {.length = 0};
  (void)state;
  crd_growing_format(&text, "%d %s", 42, "words");
  assert_string_equal(text.text, "42 words");
  crd_growing_format(&text, "%600d", 1);
  assert_int_equal(text.length, 8 + 500);
  free(text.text);
}

static void a_text_that_lost_a_part_says_so(void **state) {
  crd_growing_text text = {.length = 0};
  char piece[10000];
  (void)state;
  memset(piece, 'x', sizeof piece);
  crd_growing_words(&text, "begin");
  refused_in = 1;
  crd_growing_put(&text, piece, sizeof piece);
  assert_int_equal(refused_in, 0);
  assert_true(text.failed);
  crd_growing_words(&text, "end"); /* nothing comes after what is missing */
  assert_string_equal(text.text, "begin");
  free(text.text);
}

/* --- the call tree --- */

enum { KEYS = 1000 };

/* Keys of which two parts each are those of other keys. */
static crd_frame_key key_of(uint32_t i) {
  return (crd_frame_key){i / 4, i & 1, i >> 1 & 1};
}

static void check_frames(const crd_call_tree *tree, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    char name[24];
    crd_frame_key key = key_of(i);
    snprintf(name, sizeof name, "frame %" PRIu32, i);
    assert_int_equal(crd_call_tree_find_frame(tree, &key), i);
    assert_string_equal(tree->frames[i].name, name);
    if (i % 2 == 0)
      assert_null(tree->frames[i].file);
    else
      assert_string_equal(tree->frames[i].file, "file");
  }
}

/* If refused is not 0, every second addition loses the allocation of that number, and is made again. */
static uint32_t add_frame(crd_call_tree *tree, uint32_t i, int refused) {
  char name[16];
  crd_frame_key key = key_of(i);
  snprintf(name, sizeof name, "frame %" PRIu32, i);
  assert_int_equal(crd_call_tree_find_frame(tree, &key), CRD_CALL_TREE_NONE);
  refused_in = i % 2 != 0 ? refused : 0;
  uint32_t frame = crd_call_tree_add_frame(tree, &key, name, i % 2 == 0 ? NULL : "file");
  bool was_refused = refused != 0 && i % 2 != 0 && refused_in == 0;
  refused_in = 0;
  assert_int_equal(frame == CRD_CALL_TREE_NONE, was_refused);
  if (!was_refused) return frame;
  assert_int_equal(tree->frame_count, i);
  assert_int_equal(crd_call_tree_find_frame(tree, &key), CRD_CALL_TREE_NONE);
  return crd_call_tree_add_frame(tree, &key, name, "file");
}

static uint32_t add_child(crd_call_tree *tree, uint32_t parent, uint32_t frame, bool is_known, bool refuses) {
  uint32_t count = tree->node_count;
  refused_in = refuses;
  uint32_t node = crd_call_tree_child(tree, parent, frame);
  bool was_refused = refuses && refused_in == 0;
  refused_in = 0;
  assert_int_equal(node == CRD_CALL_TREE_NONE, was_refused);
  if (was_refused) {
    assert_int_equal(tree->node_count, count);
    node = crd_call_tree_child(tree, parent, frame);
  }
  assert_int_equal(tree->node_count, count + !is_known);
  assert_int_equal(tree->nodes[node].parent, parent);
  assert_int_equal(tree->nodes[node].frame, frame);
  assert_true(parent < node);
  return node;
}

/* Frames with equal keys are one, and so are nodes with the same parent and frame; all others are apart. */
static void fill_tree(int refused) {
  crd_call_tree tree;
  long blocks = live_blocks;
  static uint32_t nodes[KEYS];
  assert_true(crd_call_tree_init(&tree));
  assert_int_equal(tree.node_count, 1);
  for (uint32_t i = 0; i < KEYS; i++) {
    assert_int_equal(add_frame(&tree, i, refused), i);
    if ((i & (i + 1)) == 0) check_frames(&tree, i + 1);
  }
  check_frames(&tree, KEYS);
  for (int turn = 0; turn < 2; turn++)
    for (uint32_t i = 0; i < KEYS; i++) { /* pairs of children, down to a depth of some dozens */
      uint32_t node = add_child(&tree, i < 2 ? 0 : nodes[i / 2 - 1], i % 50, turn != 0, refused != 0);
      if (turn == 0) nodes[i] = node;
      assert_int_equal(node, nodes[i]);
      assert_int_equal(tree.nodes[node].allocated, 10 * (uint64_t)i * (uint64_t)turn);
      tree.nodes[node].allocated += 10 * (uint64_t)i;
    }
  crd_call_tree_fini(&tree);
  assert_int_equal(live_blocks, blocks);
}

static void frames_and_nodes_are_kept_apart(void **state) {
  (void)state;
  fill_tree(0);
}

static void frames_whose_hashes_agree_are_kept_apart(void **state) {
  static const crd_frame_key keys[] = {{.id = 23335}, {.id = 31430}}; /* found by trying */
  crd_call_tree tree;
  (void)state;
  assert_true(crd_call_tree_init(&tree));
  for (uint32_t i = 0; i < 2; i++) {
    assert_int_equal(crd_call_tree_find_frame(&tree, &keys[i]), CRD_CALL_TREE_NONE);
    assert_int_equal(crd_call_tree_add_frame(&tree, &keys[i], "name", NULL), i);
  }
  for (uint32_t i = 0; i < 2; i++) assert_int_equal(crd_call_tree_find_frame(&tree, &keys[i]), i);
  crd_call_tree_fini(&tree);
}

static void a_tree_that_is_refused_memory_stays_as_it_was(void **state) {
  (void)state;
  for (int refused = 1; refused <= 4; refused++) fill_tree(refused);
  for (int refused = 1; refused <= 2; refused++) {
    crd_call_tree tree;
    long blocks = live_blocks;
    refused_in = refused;
    assert_false(crd_call_tree_init(&tree));
    assert_int_equal(refused_in, 0);
    assert_int_equal(live_blocks, blocks);
  }
}

/* --- the file --- */

/* Numbers of bytes in a character: what the lead byte says, no overlong form, no surrogate, nothing above U+10FFFF. */
static void bytes_that_are_no_characters_are_shown_as_numbers(void **state) {
  static const char *const names[][2] = {
      {"\x1f \x7f", "\\u001f \x7f"},
      {"\" \\", "\\\" \\\\"},
      {"\xc2\x80 \xdf\xbf", "\xc2\x80 \xdf\xbf"},
      {"\xe0\xa0\x80 \xed\x9f\xbf", "\xe0\xa0\x80 \xed\x9f\xbf"},
      {"\xee\x80\x80 \xef\xbf\xbf", "\xee\x80\x80 \xef\xbf\xbf"},
      {"\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf"},
      {"\x80 \xbf \xff", "\\u0080 \\u00bf \\u00ff"},
      {"\xc1\xbf \xe0\x9f\xbf", "\\u00c1\\u00bf \\u00e0\\u009f\\u00bf"},
      {"\xed\xa0\x80 \xed\xbf\xbf", "\\u00ed\\u00a0\\u0080 \\u00ed\\u00bf\\u00bf"},
      {"\xf0\x8f\xbf\xbf", "\\u00f0\\u008f\\u00bf\\u00bf"},
      {"\xf4\x90\x80\x80", "\\u00f4\\u0090\\u0080\\u0080"},
      {"\xf8\x88\x80\x80\x80", "\\u00f8\\u0088\\u0080\\u0080\\u0080"},
      {"\xe2(\xa1 \xc3(", "\\u00e2(\\u00a1 \\u00c3("},
      {"cut \xf0\x9f\x98", "cut \\u00f0\\u009f\\u0098"},
  };
  enum { NAMES = sizeof names / sizeof *names };
  char wanted[4096] = "\"shared\":{\"frames\":[";
  crd_call_tree tree;
  crd_growing_text text = {.length = 0};
  (void)state;
  assert_true(crd_call_tree_init(&tree));
  for (uint32_t i = 0; i < NAMES; i++) {
    crd_frame_key key = {i, 0, 0};
    crd_call_tree_add_frame(&tree, &key, names[i][0], NULL);
    sprintf(wanted + strlen(wanted), "%s{\"name\":\"%s\"}", i == 0 ? "\n" : ",\n", names[i][1]);
  }
  strcat(wanted, "]},\n");
  tree.nodes[crd_call_tree_child(&tree, 0, 3)].allocated = 5;
  strcat(wanted, "\"profiles\":[\n{\"type\":\"sampled\",\"name\":\"allocated\",\"unit\":\"bytes\",\"startValue\":0,"
                 "\"endValue\":5,\n\"samples\":[[3]],\n\"weights\":[5]},\n");
  crd_speedscope_write(&text, &tree, &(crd_profile_facts){.heap = 1});
  if (strstr(text.text, wanted) == NULL) fail_msg("%s is missing in\n%s", wanted, text.text);
  free(text.text);
  crd_call_tree_fini(&tree);
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

static void samples_of_all_kinds(const cradle_options *options) {
  const cradle_frame outer = {.name = "outer"}, inner = {.name = "inner", .file = "f.vm", .line = 3};
  set_stack(2, inner, outer);
  uint64_t tag = sample(options, 5, "pair", 24, 1000);
  assert_int_equal(sample(options, 5, "pair", 24, 100), tag);
  settle(options, tag, 1000, CRADLE_FATE_SURVIVED);
  settle(options, tag, 100, CRADLE_FATE_DIED);
  set_stack(2, (cradle_frame){.id = 9}, (cradle_frame){.line = 4});
  tag = sample(options, 6, NULL, 256, 20);
  settle(options, tag, 20, CRADLE_FATE_DIED);
  set_stack(1, (cradle_frame){.id = 9, .line = 1, .name = "named"}, outer);
  tag = sample(options, CRADLE_TYPE_ID_END, "left out", 257, 30);
  settle(options, tag, 30, CRADLE_FATE_UNKNOWN);
  settle(options, UINT64_MAX, 1, CRADLE_FATE_DIED); /* a sample that was lost */
  set_stack(0, inner, outer);
  tag = sample(options, 5, "pair", 512, 40);
  settle(options, tag, 40, CRADLE_FATE_SURVIVED);
  assert_int_equal(sample(options, 5, "pair", 300, 50), tag);
  sample(options, 5, "pair", 513, 60);
}

static void the_file_says_what_was_sampled(void **state) {
  char path[128], wanted[4096];
  cradle_options options;
  int ends = 0;
  (void)state;
  open_options(&options, &ends);
  snprintf(path, sizeof path, "%s/profile", folder);
  long blocks = live_blocks;
  crd_link *profile = crd_profile_open(path, &options);
  assert_non_null(profile);
  give_heap(profile);
  samples_of_all_kinds(&options);
  errno = EDOM;
  end_heap(&options);
  assert_int_equal(errno, EDOM);
  assert_int_equal(ends, 1);
  assert_int_equal(live_blocks, blocks);
  snprintf(wanted, sizeof wanted,
           "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
           "\"exporter\":\"cradle %d.%d.%d\",\n"
           "\"name\":\"allocation, process %d, heap 1\",\n"
           "\"activeProfileIndex\":0,\n"
           "\"cradle\":{\"format\":1,\"interval_bytes\":104,\"seed\":7,\"samples\":7,\"lost_samples\":0,"
           "\"unknown_fate_bytes\":140},\n"
           "\"shared\":{\"frames\":[\n"
           "{\"name\":\"outer\"},\n"
           "{\"name\":\"inner\",\"file\":\"f.vm\",\"line\":3},\n"
           "{\"name\":\"pair\"},\n"
           "{\"name\":\"24 bytes\"},\n"
           "{\"name\":\"function without a name\",\"line\":4},\n"
           "{\"name\":\"function 9\"},\n"
           "{\"name\":\"type 6\"},\n"
           "{\"name\":\"256 bytes\"},\n"
           "{\"name\":\"named\",\"line\":1},\n"
           "{\"name\":\"(reservation)\"},\n"
           "{\"name\":\"257 to 512 bytes\"},\n"
           "{\"name\":\"513 to 1024 bytes\"}]},\n"
           "\"profiles\":[\n"
           "{\"type\":\"sampled\",\"name\":\"allocated\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":1300,\n"
           "\"samples\":[[0,1,2,3],\n[4,5,6,7],\n[8,9,10],\n[2,10],\n[2,11]],\n"
           "\"weights\":[1100,20,30,90,60]},\n"
           "{\"type\":\"sampled\",\"name\":\"survived\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":1040,\n"
           "\"samples\":[[0,1,2,3],\n[2,10]],\n"
           "\"weights\":[1000,40]},\n"
           "{\"type\":\"sampled\",\"name\":\"died young\",\"unit\":\"bytes\",\"startValue\":0,\"endValue\":120,\n"
           "\"samples\":[[0,1,2,3],\n[4,5,6,7]],\n"
           "\"weights\":[100,20]}]}\n",
           CRADLE_VERSION_MAJOR, CRADLE_VERSION_MINOR, CRADLE_VERSION_PATCH, (int)getpid());
  assert_string_equal(read_text(path), wanted);
}

/* FNV-1a, as the profile hashes names and files. */
static uint64_t hash_of_text(uint64_t hash, const char *text) {
  do hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  while (*text++ != '\0');
  return hash;
}

/* Functions without an id are the same if name, file and line are equal. None of them is the same as one with an id. */
static void functions_are_kept_apart(void **state) {
  static const char same[2][8] = {"inner\0x", "inner\0y"};
  char path[128];
  cradle_options options;
  int ends = 0;
  (void)state;
  open_options(&options, &ends);
  snprintf(path, sizeof path, "%s/functions", folder);
  crd_link *profile = crd_profile_open(path, &options);
  give_heap(profile);
  uint64_t hash = hash_of_text(hash_of_text(UINT64_C(0xcbf29ce484222325), "inner"), "");
  const cradle_frame functions[] = {
      {.name = same[0]},  {.name = "inward"},           {.name = "inner", .file = "f"}, {.name = "inner", .file = "g"},
      {.name = "innerf"}, {.name = "inner", .line = 1}, {.name = "other", .id = hash}};
  enum { FUNCTIONS = sizeof functions / sizeof *functions };
  uint64_t tags[FUNCTIONS];
  for (int i = 0; i < FUNCTIONS; i++) {
    set_stack(1, functions[i], functions[i]);
    tags[i] = sample(&options, 5, "pair", 24, 104);
    for (int other = 0; other < i; other++) assert_int_not_equal(tags[i], tags[other]);
  }
  set_stack(1, (cradle_frame){.name = same[1]}, functions[0]);
  assert_int_equal(sample(&options, 5, "pair", 24, 104), tags[0]);
  set_stack(1, (cradle_frame){.id = hash}, functions[0]); /* the name that came first stays */
  assert_int_equal(sample(&options, 5, "pair", 24, 104), tags[FUNCTIONS - 1]);
  end_heap(&options);
}

/* A stack of 128 frames is whole. */
static void only_what_is_too_deep_is_cut(void **state) {
  char path[128], wanted[1024];
  cradle_options options;
  int ends = 0;
  (void)state;
  for (size_t count = CRADLE_FRAMES_MAX; count <= CRADLE_FRAMES_MAX + 1; count++) {
    open_options(&options, &ends);
    options.sampler.interval_bytes = 96;
    snprintf(path, sizeof path, "%s/%%d.profile", folder);
    crd_link *profile = crd_profile_open(path, &options);
    give_heap(profile);
    set_stack(count, (cradle_frame){.name = "inner"}, (cradle_frame){.name = "outer"});
    sample(&options, 5, "pair", 24, 104);
    end_heap(&options);
    bool is_cut = count > CRADLE_FRAMES_MAX;
    snprintf(path, sizeof path, "%s/%d.profile.%d", folder, (int)getpid(), ends + 4); /* of the fifth and sixth heap */
    strcpy(wanted, is_cut ? "\"samples\":[[0" : "\"samples\":[[");
    for (size_t i = 0; i < CRADLE_FRAMES_MAX - 1; i++) strcat(wanted, is_cut ? ",1" : i == 0 ? "0" : ",0");
    strcat(wanted, is_cut ? ",2,3,4]]" : ",1,2,3]]");
    const char *text = read_text(path);
    if (strstr(text, wanted) == NULL) fail_msg("%s is missing in\n%s", wanted, text);
    assert_non_null(strstr(text, "\"interval_bytes\":96,"));
    assert_int_equal(strstr(text, "{\"name\":\"(outer frames left out)\"},\n") != NULL, is_cut);
  }
}

/* A profile that is closed before its heap is made writes nothing, and its listener does nothing at the end. */
static void a_profile_without_a_heap_writes_nothing(void **state) {
  char path[128];
  cradle_options options;
  int ends = 0, fd = open("/", O_RDONLY), fd_then;
  (void)state;
  close(fd);
  open_options(&options, &ends);
  snprintf(path, sizeof path, "%s/%%d.profile", folder);
  long blocks = live_blocks;
  crd_link *profile = crd_profile_open(path, &options);
  end_heap(&options);
  assert_int_equal(ends, 1);
  profile->end(profile->part);
  fd_then = open("/", O_RDONLY);
  close(fd_then);
  assert_int_equal(fd_then, fd);
  assert_int_equal(live_blocks, blocks);
  snprintf(path, sizeof path, "%s/%d.profile.7", folder, (int)getpid());
  assert_string_equal(read_text(path), "");
}

static int open_files(void) {
  int count = 0;
  for (int fd = 0; fd < 256; fd++) count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* The child has the samples from before the fork too. It has a file if the name has the number of the process in it. In
 * both cases it gives everything back. */
static void a_child_has_a_file_if_its_name_is_its_own(void **state) {
  char path[128], wanted[64];
  (void)state;
  for (int is_own = 0; is_own < 2; is_own++) {
    cradle_options options;
    int ends = 0, status, files = open_files();
    long blocks = live_blocks;
    open_options(&options, &ends);
    snprintf(path, sizeof path, "%s/%s", folder, is_own ? "%d.child" : "child");
    crd_link *profile = crd_profile_open(path, &options);
    give_heap(profile);
    set_stack(0, (cradle_frame){.id = 0}, (cradle_frame){.id = 0});
    sample(&options, 5, "pair", 24, 104);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      sample(&options, 5, "pair", 24, 104);
      end_heap(&options);
      _exit(live_blocks != blocks || open_files() != files);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    end_heap(&options);
    for (int is_child = 0; is_child <= is_own; is_child++) {
      int process = is_child ? (int)child : (int)getpid();
      if (is_own)
        snprintf(path, sizeof path, "%s/%d.child.%d", folder, process, 2 + is_own);
      else
        snprintf(path, sizeof path, "%s/child.2", folder);
      const char *text = read_text(path);
      snprintf(wanted, sizeof wanted, "allocation, process %d, heap %d", process, 2 + is_own);
      if (strstr(text, wanted) == NULL) fail_msg("%s is missing in\n%s", wanted, text);
      snprintf(wanted, sizeof wanted, "\"endValue\":%d,", is_child ? 208 : 104);
      if (strstr(text, wanted) == NULL) fail_msg("%s is missing in\n%s", wanted, text);
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
  snprintf(wanted, sizeof wanted,
           "cradle: CRADLE_PROFILE: %s/absent/%d.4: No such file or directory; there will be no profile\n", folder,
           (int)getpid());
  assert_string_equal(said, wanted);
}

static uint64_t number_after(const char *text, const char *words) {
  const char *found = strstr(text, words);
  if (found == NULL) fail_msg("%s is missing in\n%s", words, text);
  return strtoull(found + strlen(words), NULL, 10);
}

/* --- the end of a process --- */

static int profiles_file, other_file = -1; /* descriptors */

static cradle_options other_options;

static void open_another_profile(void) {
  char path[128];
  static int ends;
  open_options(&other_options, &ends);
  snprintf(path, sizeof path, "%s/%%d.other", folder);
  crd_link *profile = crd_profile_open(path, &other_options);
  if (profile == NULL) _exit(4);
  give_heap(profile);
}

static void exit_if_closed(void) {
  char path[128];
  struct stat written;
  if (fcntl(other_file, F_GETFD) < 0) _exit(5);
  snprintf(path, sizeof path, "%s/%d.other.2", folder, (int)getpid());
  _exit(stat(path, &written) == 0 && written.st_size > 0 ? 0 : 6);
}

/* Runs after the profile was written and closed. A child of this process has a profile of its own. The end of the child
 * writes that profile, and asks the inherited one again. */
static void reuse_descriptor(void) {
  int status, said[2];
  char byte;
  set_stack(0, (cradle_frame){.id = 0}, (cradle_frame){.id = 0});
  sample(&other_options, 5, "pair", 24, 104); /* comes to nothing, and waits for nobody */
  other_file = open("/", O_RDONLY);
  if (other_file != profiles_file) _exit(2);
  pid_t child = fork();
  if (child == 0) {
    atexit(exit_if_closed);
    open_another_profile();
    return;
  }
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) _exit(3);
  if (WEXITSTATUS(status) != 0) _exit(WEXITSTATUS(status));
  if (pipe(said) != 0 || dup2(said[1], STDERR_FILENO) < 0) _exit(7);
  end_heap(&other_options); /* is written, so there is nothing to say */
  close(STDERR_FILENO);
  close(said[1]);
  _exit(read(said[0], &byte, 1) == 0 ? 0 : 8);
}

static void a_child_closes_no_descriptor_of_another_user(void **state) {
  int status;
  (void)state;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    profiles_file = open("/", O_RDONLY);
    close(profiles_file);
    atexit(reuse_descriptor); /* before the profile's own function, so that it runs after that */
    open_another_profile();
    exit(1);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

/* --- without memory --- */

/* One allocation after the other is refused while many functions are sampled. At most one sample is lost, or the file
 * cannot be written, which is reported. */
static void a_sample_that_there_is_no_memory_for_is_lost(void **state) {
  enum { SAMPLES = 40, WEIGHT = 104 };
  int refused = 0, ends = 0, lost = 0, incomplete = 0;
  bool was_refused;
  (void)state;
  int kept = dup(STDERR_FILENO), ends_of_pipe[2];
  assert_int_equal(pipe(ends_of_pipe), 0);
  dup2(ends_of_pipe[1], STDERR_FILENO);
  do {
    char path[128], said[512] = "";
    cradle_options options;
    long blocks = live_blocks;
    open_options(&options, &ends);
    snprintf(path, sizeof path, "%s/lost", folder);
    crd_link *profile = crd_profile_open(path, &options);
    give_heap(profile);
    snprintf(path + strlen(path), 16, ".%d", 9 + refused); /* the number of the heap */
    refused_in = ++refused;
    for (int i = 0; i < SAMPLES; i++) {
      set_stack(1, (cradle_frame){.id = (uint64_t)i + 1, .file = "f.vm"}, (cradle_frame){.id = 1});
      settle(&options, sample(&options, 5, "pair", 24, WEIGHT), WEIGHT, CRADLE_FATE_DIED);
    }
    bool in_samples = refused_in == 0;
    errno = EDOM;
    end_heap(&options);
    assert_int_equal(errno, EDOM);
    was_refused = refused_in == 0;
    refused_in = 0;
    const char *text = read_text(path);
    if (was_refused && !in_samples) {
      incomplete++;
      assert_true(read(ends_of_pipe[0], said, sizeof said - 1) > 0);
      if (strstr(said, "; the profile is not complete\n") == NULL) fail_msg("%s", said);
      assert_int_equal(live_blocks, blocks + 1); /* the line is remembered */
      continue;
    }
    if (was_refused) assert_true(read(ends_of_pipe[0], said, sizeof said - 1) > 0);
    if (was_refused && strstr(said, "1 of 40 samples are missing: no memory for them\n") == NULL) fail_msg("%s", said);
    assert_int_equal(live_blocks, blocks + was_refused); /* the line is remembered */
    assert_int_equal(number_after(text, "\"samples\":"), SAMPLES);
    assert_int_equal(number_after(text, "\"lost_samples\":"), was_refused);
    assert_int_equal(number_after(text, "\"endValue\":"), WEIGHT * (SAMPLES - was_refused));
    assert_int_equal(number_after(text, "\"unknown_fate_bytes\":"), 0);
    lost += was_refused;
  } while (was_refused);
  dup2(kept, STDERR_FILENO);
  close(kept);
  close(ends_of_pipe[0]);
  close(ends_of_pipe[1]);
  assert_true(lost > 2 * SAMPLES && incomplete > 0);
}

#define FOLDER_TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_text_grows),
      cmocka_unit_test(a_format_adds_500_bytes_at_most),
      cmocka_unit_test(a_text_that_lost_a_part_says_so),
      cmocka_unit_test(frames_and_nodes_are_kept_apart),
      cmocka_unit_test(frames_whose_hashes_agree_are_kept_apart),
      cmocka_unit_test(a_tree_that_is_refused_memory_stays_as_it_was),
      cmocka_unit_test(bytes_that_are_no_characters_are_shown_as_numbers),
      /* in this order: what the process registers for its end runs the latest first, and its heaps are numbered */
      FOLDER_TEST(a_child_closes_no_descriptor_of_another_user),
      FOLDER_TEST(the_file_says_what_was_sampled),
      FOLDER_TEST(a_child_has_a_file_if_its_name_is_its_own),
      FOLDER_TEST(what_cannot_be_opened_is_named),
      FOLDER_TEST(only_what_is_too_deep_is_cut),
      FOLDER_TEST(a_profile_without_a_heap_writes_nothing),
      FOLDER_TEST(functions_are_kept_apart),
      FOLDER_TEST(a_sample_that_there_is_no_memory_for_is_lost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
