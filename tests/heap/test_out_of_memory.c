/* When memory runs out: a smaller nursery, a full collection, NULL or the handler, and a heap that goes on. */
#include "tests/support/heap_fixture.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

static jmp_buf landing;
static bool lands; /* the handler does; otherwise it returns */
static size_t refused_size;
static char refused_message[300];

static void land(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)data, (void)mutator;
  refused_size = size;
  strncpy(refused_message, message, sizeof refused_message - 1);
  if (lands) longjmp(landing, 1);
}

/* True until the handler lands here. */
#define LANDS() (lands = true, setjmp(landing) == 0 || (lands = false))

static void small_options(fixture *f, cradle_options *options) {
  fixture_options(f, options);
  options->verify = false;
  options->heap_max_bytes = (size_t)16 << 20;
  options->on_out_of_memory = land;
}

CRADLE_UNCHECKED_COLLECTION static size_t fill_with_pairs(fixture *f, pair *volatile *list) {
  volatile size_t count = 0;
  if (!LANDS()) {
    cradle_checkpoint_restore(f->m, &f->checkpoint);
    return count;
  }
  for (;; count++) {
    cradle_push(f->m, *list);
    pair *fresh = cradle_new(f->m, T_PAIR, sizeof(pair));
    fresh->rest = cradle_pop(f->m);
    *list = fresh;
  }
}

static void the_handler_is_called_and_the_heap_goes_on(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  small_options(&f, &options);
  fixture_open_with(&f, &options);
  for (int round = 0; round < 3; round++) {
    pair *volatile list = NULL;
    size_t count = fill_with_pairs(&f, &list);
    /* At least twelve of sixteen MiB were available to the program; the rest is the nursery and what promotion needs.
     * */
    assert_true(count * sizeof(pair) > ((size_t)10 << 20));
    assert_int_equal(refused_size, sizeof(pair));
    assert_heap_sound(f.heap);
    assert_null(cradle_new_array(f.m, T_STRING, (size_t)15 << 20));
    cradle_collect(f.m, CRADLE_COLLECT_FULL); /* the list is not rooted any more */
    assert_true(fixture_stats(&f).old_bytes < 4096);
    string *text = cradle_new_array(f.m, T_STRING, (size_t)4 << 20);
    assert_non_null(text);
    assert_int_equal(text->byte[((size_t)4 << 20) - 1], 0);
  }
  fixture_close(&f);
}

static void fill_with_vectors(fixture *f) {
  vector *list = NULL;
  CRADLE_ROOT(f->m, list);
  size_t count = 0;
  for (vector *fresh; (fresh = cradle_new_array(f->m, T_VECTOR, 100)) != NULL; count++) {
    fresh->item[0] = list;
    list = fresh;
  }
  size_t found = 0;
  for (vector *at = list; at != NULL; at = at->item[0]) found++;
  assert_int_equal(found, count);
  cradle_reservation room = cradle_reserve(f->m, 32768);
  assert_null(room.free);
  list = NULL;
  assert_non_null(cradle_new_array(f->m, T_VECTOR, 100));
}

static void a_live_heap_at_its_maximum_says_null(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  small_options(&f, &options);
  fixture_open_with(&f, &options);
  fill_with_vectors(&f);
  fixture_close(&f);
}

static void lengths_that_overflow_are_refused(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  small_options(&f, &options);
  fixture_open_with(&f, &options);
  static const size_t lengths[] = {SIZE_MAX,         SIZE_MAX / 2,    SIZE_MAX / 8,
                                   SIZE_MAX / 8 - 1, (size_t)1 << 61, (size_t)1 << 50};
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    assert_null(cradle_new_array(f.m, T_VECTOR, lengths[i]));
    assert_null(cradle_new_array(f.m, T_STRING, lengths[i]));
  }
  if (LANDS()) {
    (void)cradle_new_array(f.m, T_VECTOR, SIZE_MAX / 8);
    fail_msg("an impossible array was made");
  }
  assert_int_equal(refused_size, SIZE_MAX);
  if (LANDS()) {
    (void)cradle_new_array(f.m, T_VECTOR, (size_t)1 << 40);
    fail_msg("an array of 8 TiB was made");
  }
  assert_int_equal(refused_size, ((size_t)8 << 40) + sizeof(vector));
  fixture_close(&f);
}

/* --- the message --- */

#define CALL(function, ...) \
  CRADLE_UNCHECKED_COLLECTION static void function##_in(cradle_mutator *m) { \
    (void)__VA_ARGS__; \
  }
CALL(new_pair, cradle_new(m, T_PAIR, sizeof(pair)))
CALL(reserve, cradle_reserve(m, CRADLE_NURSERY_OBJECT_MAX_BYTES))
CALL(new_registered, cradle_new_registered(m, T_PAIR, sizeof(pair)))
CALL(new_array, cradle_new_array(m, T_VECTOR, SIZE_MAX / 8))
CALL(new_registered_array, cradle_new_array(m, T_VECTOR, SIZE_MAX / 8))
CALL(new_pinned_array, cradle_new_with(m, T_VECTOR, cradle_array_layout_of(0, 0, 0), SIZE_MAX / 8, CRADLE_PINNED))
CALL(typed_array, CRADLE_NEW_ARRAY(m, vector, T_VECTOR, item, length, SIZE_MAX / 8))
CALL(typed_registered_array, CRADLE_NEW_ARRAY_WITH(m, vector, T_VECTOR, item, length, SIZE_MAX / 8, 0))
CALL(typed_pinned_array, CRADLE_NEW_ARRAY_WITH(m, vector, T_VECTOR, item, length, SIZE_MAX / 8, CRADLE_PINNED))

/* The objects live, so the first call fills the heap. */
CRADLE_UNCHECKED_COLLECTION static void new_pinned_in(cradle_mutator *m) {
  for (;;) (void)cradle_new_with(m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
}

static const struct {
  void (*call)(cradle_mutator *m);
  const char *words;
} says[] = {
    {new_pair_in, "cradle_new: out of memory: 24 bytes asked for; old objects "},
    {reserve_in, "cradle_reserve: out of memory: 32768 bytes asked for; "},
    {new_registered_in, "cradle_new_with: out of memory: 24 bytes asked for; "},
    {new_pinned_in, "cradle_new_with: out of memory: 24 bytes asked for; "},
    {new_array_in, "cradle_new_with: out of memory: an array whose size overflows was asked for; "},
    {new_registered_array_in, "cradle_new_with: out of memory: an array whose size overflows was asked for; "},
    {new_pinned_array_in, "cradle_new_with: out of memory: an array whose size overflows was asked for; "},
    {typed_array_in, "CRADLE_NEW_ARRAY: out of memory: an array whose size overflows was asked for; "},
    {typed_registered_array_in, "cradle_new_with: out of memory: an array whose size overflows was asked for; "},
    {typed_pinned_array_in, "cradle_new_with: out of memory: an array whose size overflows was asked for; "},
};

/* Runs in a full heap. The object of each call dies at once, so a call is refused only if its object does not fit at
 * all. */
CRADLE_UNCHECKED_COLLECTION static void refused_in_words(fixture *f, size_t i) {
  vector *volatile list = NULL;
  if (LANDS())
    for (;;) {
      cradle_push(f->m, list);
      says[i].call(f->m);
      vector *fresh = cradle_new_array(f->m, T_VECTOR, 100);
      vector *last = cradle_pop(f->m);
      if (fresh != NULL) fresh->item[0] = last;
      list = fresh != NULL ? fresh : last;
    }
  cradle_checkpoint_restore(f->m, &f->checkpoint);
  if (strncmp(refused_message, says[i].words, strlen(says[i].words)) != 0)
    fail_msg("\"%s\" in place of \"%s\"", refused_message, says[i].words);
  assert_non_null(strstr(refused_message, "; maximum heap 16777216 (CRADLE_GC_MAX)"));
}

/* A large object may not use these arenas, though they are free. */
CRADLE_UNCHECKED_COLLECTION static void the_message_names_what_is_kept_for_promotion(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  small_options(&f, &options);
  options.nursery_bytes = (size_t)1 << 20;
  fixture_open_with(&f, &options);
  if (LANDS())
    for (;;) (void)cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), (size_t)1 << 20, CRADLE_PINNED);
  cradle_checkpoint_restore(f.m, &f.checkpoint);
  size_t kept = inside_old(f.heap)->reserve * ARENA_BYTES;
  assert_true(kept >= ARENA_BYTES);
  char words[96];
  snprintf(words, sizeof words, ", %zu of these bytes kept free for promotion; nursery 1048576; ", kept);
  if (strstr(refused_message, words) == NULL) fail_msg("\"%s\" without \"%s\"", refused_message, words);
  fixture_close(&f);
}

static void the_message_names_function_demand_and_holders(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof says / sizeof *says; i++) {
    fixture f;
    cradle_options options;
    small_options(&f, &options);
    fixture_open_with(&f, &options);
    refused_in_words(&f, i);
    assert_heap_sound(f.heap);
    fixture_close(&f);
  }
}

static void pinned_objects_at_the_maximum_are_refused(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  small_options(&f, &options);
  fixture_open_with(&f, &options);
  size_t count = 0;
  while (cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), (size_t)1 << 20, CRADLE_PINNED) != NULL)
    count++;
  assert_in_range(count, 4, 16);
  assert_null(CRADLE_NEW_ARRAY_WITH(f.m, string, T_STRING, byte, length, (size_t)1 << 20, CRADLE_PINNED));
  assert_null(cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), SIZE_MAX, CRADLE_PINNED));
  assert_non_null(CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED));
  assert_heap_sound(f.heap);
  fixture_close(&f);
}

/* --- limits of the system, in child processes --- */

static int in_child(int (*function)(void)) {
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(function());
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

#define ADDRESSES ((rlim_t)512 << 20) /* of a process whose heap gets fewer than it asks for */

CRADLE_UNCHECKED_COLLECTION static int fill_under(int resource, rlim_t limit) {
  struct rlimit wanted = {limit, limit};
  if (setrlimit(resource, &wanted) != 0) return 10;
  static fixture f;
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.on_out_of_memory = fixture_shortage;
  cradle_error error;
  f.heap = cradle_heap_new(&options, &error);
  if (f.heap == NULL) return error.message[0] != '\0' ? 20 : 21;
  f.m = cradle_mutator_new(f.heap);
  if (f.m == NULL) return 22;
  /* Where addresses are short, heap and mutator leave the program a quarter of them. */
  void *program = malloc(limit / 4);
  if (resource == RLIMIT_AS && limit == ADDRESSES && program == NULL) return 26;
  free(program);
  size_t count = 0;
  cradle_push(f.m, NULL);
  for (vector *fresh; count < 4000 && (fresh = cradle_new_array(f.m, T_VECTOR, 100000)) != NULL; count++) {
    fresh->item[0] = cradle_pop(f.m);
    cradle_push(f.m, fresh);
  }
  if (count == 0 || count == 4000) return 23;
  if (!cradle_heap_verify(f.heap, &error)) return 24;
  cradle_pop(f.m);
  if (cradle_new_array(f.m, T_VECTOR, 100000) == NULL) return 25;
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  return 0;
}

/* A nursery that the system refuses, of a heap without a quarantine and of one with it. */
static int nursery_under_address_space(void) {
  struct rlimit wanted = {ADDRESSES, ADDRESSES};
  if (setrlimit(RLIMIT_AS, &wanted) != 0) return 10;
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.nursery_bytes = (size_t)1 << 30;
  if (cradle_heap_new(&options, &error) != NULL) return 11;
  char words[160];
  snprintf(words, sizeof words, "memory for the nursery was refused: RLIMIT_AS is %llu bytes (ulimit -v)",
           (unsigned long long)ADDRESSES);
  if (strcmp(error.message, words) != 0) return 12;
  options.quarantine = 2;
  if (cradle_heap_new(&options, &error) != NULL) return 13;
  return strstr(error.message, "the nurseries of the quarantine was refused") == NULL ? 14 : 0;
}

static int under_address_space(void) {
  return fill_under(RLIMIT_AS, ADDRESSES);
}
static int under_data(void) {
  return fill_under(RLIMIT_DATA, (rlim_t)128 << 20);
}
static int under_almost_nothing(void) {
  return fill_under(RLIMIT_AS, (rlim_t)24 << 20);
}

static void limits_of_the_process_are_met_with_null(void **state) {
  (void)state;
#ifdef CRADLE_ASAN
  print_message("AddressSanitizer needs its own address space: no limits are set\n");
  skip();
#endif
  assert_int_equal(in_child(under_address_space), 0);
  assert_int_equal(in_child(nursery_under_address_space), 0);
  assert_int_equal(in_child(under_data), 0);
  int almost_nothing = in_child(under_almost_nothing);
  assert_true(almost_nothing == 0 || almost_nothing == 20); /* a heap, or an error with words */
}

/* --- many heaps --- */

static size_t count_mappings(void) {
  FILE *maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) return 0;
  size_t lines = 0;
  for (int c; (c = fgetc(maps)) != EOF;) lines += c == '\n';
  fclose(maps);
  return lines;
}

static void heaps_come_and_go_without_a_trace(void **state) {
  (void)state;
  size_t before = 0;
  for (int i = 0; i < 200; i++) {
    fixture a, b;
    fixture_open(&a);
    fixture_open(&b);
    pair *in_a = cradle_new(a.m, T_PAIR, sizeof(pair)), *in_b = cradle_new(b.m, T_PAIR, sizeof(pair));
    cradle_push(a.m, in_a);
    cradle_push(b.m, in_b);
    cradle_collect(a.m, CRADLE_COLLECT_MINOR);
    assert_ptr_not_equal(cradle_pop(a.m), in_a);
    assert_ptr_equal(cradle_pop(b.m), in_b); /* the other heap was left alone */
    fixture_close(&a);
    fixture_close(&b);
    if (i == 100) before = count_mappings(); /* malloc has settled by then */
  }
  assert_true(count_mappings() <= before + 2);
}

static void memory_goes_back_after_a_full_collection(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false;
  fixture_open_with(&f, &options);
  cradle_push(f.m, NULL);
  for (int i = 0; i < 2000; i++) {
    vector *fresh = cradle_new_array(f.m, T_VECTOR, 10000);
    fresh->item[0] = cradle_pop(f.m);
    cradle_push(f.m, fresh);
  }
  uint64_t full = fixture_stats(&f).committed_bytes;
  assert_true(full > (uint64_t)150 << 20);
  cradle_pop(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(fixture_stats(&f).committed_bytes < full / 8);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_handler_is_called_and_the_heap_goes_on),
      cmocka_unit_test(a_live_heap_at_its_maximum_says_null),
      cmocka_unit_test(lengths_that_overflow_are_refused),
      cmocka_unit_test(the_message_names_what_is_kept_for_promotion),
      cmocka_unit_test(the_message_names_function_demand_and_holders),
      cmocka_unit_test(pinned_objects_at_the_maximum_are_refused),
      cmocka_unit_test(limits_of_the_process_are_met_with_null),
      cmocka_unit_test(heaps_come_and_go_without_a_trace),
      cmocka_unit_test(memory_goes_back_after_a_full_collection),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
