/* In code compiled with CRADLE_CHECKED, messages name the file and line of the call. */
#define CRADLE_CHECKED 1

#include "tests/support/heap_fixture.h"

#include <cradle/kit.h>

#include "tests/inside.h"

static fixture f;

static int open_fixture(void **state) {
  (void)state;
  fixture_open(&f);
  return 0;
}
static int close_fixture(void **state) {
  (void)state;
  fixture_close(&f);
  return 0;
}

/* The end of the message, which names the place; NULL: it names none. */
static const char *place_of(const char *message) {
  static const char words[] = "; in the call at ";
  const char *found = strstr(message, words);
  return found == NULL ? NULL : found + sizeof words - 1;
}

static void assert_place(int line) {
  char wanted[64];
  const char *place = place_of(f.message), *name;
  if (place == NULL) fail_msg("no place in: %s", f.message);
  name = strrchr(place, '/') == NULL ? place : strrchr(place, '/') + 1;
  snprintf(wanted, sizeof wanted, "test_places.c:%d", line);
  if (strcmp(name, wanted) != 0) fail_msg("not %s in: %s", wanted, f.message);
}

/* Runs a statement that is misuse; the message must contain the words and name the line. */
#define ASSERT_PLACED(words, ...) \
  do { \
    int line = __LINE__; \
    ASSERT_MISUSE(&f, words, __VA_ARGS__); \
    assert_place(line); \
  } while (0)

static void every_group_of_functions_has_a_place(void **state) {
  (void)state;
  cradle_root_range range = {.name = "stack"};
  void *global = NULL;
  ASSERT_PLACED("cradle_new: allocation of 16 bytes for type 0 (pair)", (void)cradle_new(f.m, T_PAIR, 16));
  ASSERT_PLACED("cradle_new: allocation of 16 bytes for type 0 (pair)", (void)CRADLE_NEW(f.m, string, T_PAIR));
  ASSERT_PLACED("cradle_new: allocation of type 77", (void)cradle_new_uninitialized(f.m, 77, 16));
  ASSERT_PLACED("CRADLE_NEW_ARRAY: a structure", (void)CRADLE_NEW_ARRAY(f.m, vector, T_STRING, item, length, 1));
  ASSERT_PLACED("cradle_new_with: the descriptor of type 0", (void)cradle_new_array(f.m, T_PAIR, 3));
  ASSERT_PLACED("cradle_reserve: more than", (void)cradle_reserve(f.m, 1 << 20));
  ASSERT_PLACED("cradle_pop: the pop goes below", (void)cradle_pop(f.m));
  ASSERT_PLACED("words popped: 3", cradle_pop_many(f.m, 3));
  ASSERT_PLACED("cradle_peek: there is no word 2", (void)cradle_peek(f.m, 2));
  ASSERT_PLACED("cradle_root_range_remove: ", cradle_root_range_remove(f.m, &range));
  ASSERT_PLACED("cradle_global_root_remove: ", cradle_global_root_remove(f.heap, &global));
  ASSERT_PLACED("cradle_no_collect_end: no region", cradle_no_collect_end(f.m));
  ASSERT_PLACED("cradle_checkpoint_restore: ", cradle_checkpoint_restore(f.m, &(cradle_checkpoint){.shadow_depth = 9}));
  ASSERT_PLACED("cradle_mutator_free: the shadow stack", (cradle_push(f.m, NULL), cradle_mutator_free(f.m)));
  ASSERT_PLACED("cradle_heap_free: ", cradle_heap_free(f.heap));
  cradle_no_collect_begin(f.m);
  ASSERT_PLACED("cradle_collect: may collect", cradle_collect(f.m, CRADLE_COLLECT_MINOR));
  ASSERT_PLACED("cradle_unpin: ", cradle_unpin(f.m, &global));
  ASSERT_PLACED("cradle_handle_get: ", (void)cradle_handle_get(f.m, (cradle_handle){12345}));
  ASSERT_PLACED("cradle_store: the object is NULL", cradle_store(f.m, NULL, &global, NULL));
  ASSERT_PLACED("cradle_major_hold: ", cradle_major_hold(f.m, false));
  ASSERT_PLACED("cradle_finalizer_register: ", cradle_finalizer_register(f.m, &global, 1));
}

static void stores_of_no_reference_have_a_place(void **state) {
  (void)state;
  vector *v = cradle_new_array(f.m, T_VECTOR, 4);
  void *number[] = {NULL, (void *)21}, *poison = (void *)(uintptr_t)POISON_SWEPT;
  ASSERT_PLACED("cradle_store: no reference: 0x15 is stored", cradle_store(f.m, v, &v->item[0], number[1]));
  ASSERT_PLACED("into word 2 of type 2 (vector) at 0x", cradle_store(f.m, v, &v->item[0], number[1]));
  ASSERT_PLACED("cradle_copy_slots: no reference: 0x15", cradle_copy_slots(f.m, v, &v->item[1], number, 2));
  ASSERT_PLACED("cradle_store: poison: 0x", cradle_store(f.m, v, &v->item[0], poison));
  ASSERT_PLACED("reference into the nursery, where no object is", cradle_store(f.m, v, &v->item[0], f.m->free + 64));
  v = cradle_new_array(f.m, T_VECTOR, 4);
  cradle_push(f.m, v);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  v = cradle_pop(f.m);
  ASSERT_PLACED("old generation, where no object is: 0x", cradle_store(f.m, v, &v->item[0], &v->item[1]));
  static pair own; /* stands for an object in the program's own memory */
  cradle_store(f.m, v, &v->item[0], &own);
  cradle_store(f.m, v, &v->item[0], NULL);
}

/* Each word that the type calls a reference, up to the last that it can. */
static void stores_into_each_word_are_checked(void **state) {
  enum { WORDS = 64 };
  (void)state;
  uint32_t type =
      cradle_type_add(f.heap, &(cradle_type){.name = "wide", .size = WORDS * 8, .references = ~UINT64_C(1)});
  void **wide = cradle_new(f.m, type, WORDS * 8);
  for (size_t word = 1; word < WORDS; word++) {
    ASSERT_PLACED("cradle_store: no reference: 0x15 is stored", cradle_store(f.m, wide, wide + word, (void *)21));
    assert_null(wide[word]);
  }
}

/* [other_heaps.1] Old, young and large objects of another heap are refused, both as the value stored and as the object
 * stored into. Freed memory of the other heap is treated like any address. */
static void stores_across_heaps_are_refused(void **state) {
  (void)state;
  fixture g;
  fixture_open(&g);
  vector *v = cradle_new_array(f.m, T_VECTOR, 4), *large = cradle_new_array(g.m, T_VECTOR, 100000);
  cradle_push(g.m, cradle_new(g.m, T_PAIR, sizeof(pair)));
  cradle_collect(g.m, CRADLE_COLLECT_MINOR);
  pair *old = cradle_pop(g.m), *young = cradle_new(g.m, T_PAIR, sizeof(pair));
  void *foreign[] = {old, young, large};
  for (size_t i = 0; i < 3; i++) {
    ASSERT_PLACED("cradle_store: reference into another heap: 0x", cradle_store(f.m, v, &v->item[0], foreign[i]));
    ASSERT_PLACED("cradle_copy_slots: reference into another", cradle_copy_slots(f.m, v, &v->item[1], &foreign[i], 1));
    ASSERT_PLACED("reference into another heap", cradle_write_barrier(f.m, foreign[i]));
  }
  ASSERT_PLACED("cradle_store: the object 0x", cradle_store(f.m, old, &old->first, v));
  cradle_error error;
  v->item[0] = old;
  cradle_push(f.m, v);
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "reference into another heap: 0x"));
  fixture_close(&g);
  cradle_store(f.m, v, &v->item[0], old);
  assert_heap_sound(f.heap);
  (void)cradle_pop(f.m);
}

/* [other_heaps.1] The table has room for 64 heaps, and for as many again when these have gone. */
static void many_heaps_are_told_apart(void **state) {
  enum { OTHERS = 63 };
  (void)state;
  vector *v = cradle_new_array(f.m, T_VECTOR, 1);
  for (int round = 0; round < 2; round++) {
    cradle_heap *others[OTHERS];
    void *within[OTHERS];
    for (int i = 0; i < OTHERS; i++) {
      cradle_options options;
      fixture_options(&f, &options);
      fixture_unstress(&options);
      options.reserve_bytes = CRADLE_RESERVE_MIN_BYTES;
      others[i] = cradle_heap_new(&options, NULL);
      assert_non_null(others[i]);
      cradle_memory memory;
      cradle_memory_report(others[i], &memory, sizeof memory);
      within[i] = (void *)memory.nursery.start;
    }
    for (int i = 0; i < OTHERS; i++)
      ASSERT_PLACED("cradle_store: reference into another heap: 0x", cradle_store(f.m, v, &v->item[0], within[i]));
    for (int i = 0; i < OTHERS; i++) cradle_heap_free(others[i]);
    for (int i = 0; i < OTHERS; i++) cradle_store(f.m, v, &v->item[0], within[i]);
    v->item[0] = NULL;
  }
}

static void stores_into_what_is_no_object_are_refused(void **state) {
  (void)state;
  static pair own, other;
  pair *young = cradle_new(f.m, T_PAIR, sizeof(pair));
  ASSERT_PLACED("into the heap in an object that is not of the heap", cradle_store(f.m, &own, &own.first, young));
  cradle_store(f.m, &own, &own.first, &other);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  ASSERT_PLACED("cradle_store: the object 0x", cradle_store(f.m, young, &young->first, NULL));
  ASSERT_PLACED("stale reference into the nursery", cradle_write_barrier(f.m, young));
}

static void a_store_of_a_stale_reference_is_refused(void **state) {
  (void)state;
  fixture q;
  cradle_options options;
  fixture_options(&q, &options);
  options.quarantine = 2;
  options.nursery_bytes = (size_t)64 << 10;
  fixture_open_with(&q, &options);
  pair *stale = cradle_new(q.m, T_PAIR, sizeof(pair));
  cradle_collect(q.m, CRADLE_COLLECT_MINOR);
  vector *v = cradle_new_array(q.m, T_VECTOR, 4);
  ASSERT_MISUSE(&q, "cradle_store: stale reference to what an earlier", cradle_store(q.m, v, &v->item[0], stale));
  fixture_close(&q);
}

/* Arguments may call the library on other lines and in other functions; the place is still that of the outer call. */
static void *two_calls(void) {
  cradle_push(f.m, NULL);
  return cradle_pop(f.m);
}
static void arguments_do_not_hide_the_call(void **state) {
  (void)state;
  void *global = NULL;
  ASSERT_PLACED("cradle_store: the object is NULL", cradle_store(f.m, two_calls(), &global, two_calls()));
  ASSERT_PLACED("cradle_store: the object is NULL", cradle_store(f.m, cradle_weak_get(f.m, &global), &global, NULL));
}

/* A caller compiled without CRADLE_CHECKED has no place: neither its own, nor that of an earlier call, finished or left
 * by longjmp. */
static void other_callers_have_no_place(void **state) {
  (void)state;
  cradle_push(f.m, NULL);
  (void)cradle_pop(f.m);
  ASSERT_MISUSE(&f, "cradle_pop: ", (void)(cradle_pop)(f.m));
  assert_null(place_of(f.message));
  ASSERT_PLACED("cradle_pop: ", (void)cradle_pop(f.m));
  ASSERT_MISUSE(&f, "cradle_pop: ", (void)(cradle_pop)(f.m));
  assert_null(place_of(f.message));
}

static jmp_buf landing;
static void *jump(void) {
  longjmp(landing, 1);
}
static void a_longjmp_leaves_its_call(void **state) {
  (void)state;
  if (setjmp(landing) == 0) cradle_push(f.m, jump());
  cradle_checkpoint_restore(f.m, &f.checkpoint);
  ASSERT_MISUSE(&f, "cradle_pop: ", (void)(cradle_pop)(f.m));
  assert_null(place_of(f.message));
}

/* Taking an address gives the function, not the macro of the same name. */
static void functions_have_addresses(void **state) {
  (void)state;
  void (*push)(cradle_mutator *, const void *) = cradle_push;
  void *(*const pops[])(cradle_mutator *) = {&cradle_pop};
  push(f.m, NULL);
  assert_null(pops[0](f.m));
}

/* --- the kit --- */

static cradle_kit kit;

/* Functions that do not know the heap print their message to standard error and end the program. */
static void assert_aborts_at(const char *words, int line, void (*misuse)(void *), void *data) {
  char wanted[80], said[600] = "";
  int ends[2], status;
#ifdef _WIN32
  if (misuse != NULL) return; /* where there is no fork, this part is left out */
#endif
  assert_int_equal(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    misuse(data);
    _exit(0);
  }
  close(ends[1]);
  FILE *stream = fdopen(ends[0], "r");
  if (fgets(said, sizeof said, stream) == NULL) fail_msg("nothing is said");
  while (fgetc(stream) != EOF) continue;
  fclose(stream);
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFSIGNALED(status));
  snprintf(wanted, sizeof wanted, "test_places.c:%d\n", line);
  if (strstr(said, words) == NULL || strstr(said, wanted) == NULL)
    fail_msg("not %s ... %s in: %s", words, wanted, said);
}

enum { LINE_OF_GET = __LINE__ + 2 };
static void get_beyond(void *list) {
  (void)cradle_kit_list_get(list, 1);
}

CRADLE_UNCHECKED_COLLECTION static void the_kit_has_places(void **state) {
  (void)state;
  cradle_kit_init(&kit, f.m, cradle_kit_add_types(f.heap));
  cradle_push(f.m, cradle_kit_list_new(&kit, 4));
  cradle_kit_list_append(&kit, *(cradle_kit_list **)(void *)cradle_peek(f.m, 0), 0);
  cradle_push(f.m, cradle_kit_string_new(&kit, "text", 4));
  cradle_kit_map *map = cradle_kit_map_new(&kit, NULL);
  cradle_push(f.m, map);
  cradle_kit_string *text = *(cradle_kit_string **)(void *)cradle_peek(f.m, 1);
  cradle_kit_list *list = *(cradle_kit_list **)(void *)cradle_peek(f.m, 2);
  f.checkpoint = cradle_checkpoint_save(f.m);
  ASSERT_PLACED("cradle_kit_list_set: index 1 is out of range (items: 1)", cradle_kit_list_set(&kit, list, 1, 0));
  ASSERT_PLACED("cradle_kit_list_insert: index 2 is out of range (items: 1)", cradle_kit_list_insert(&kit, list, 2, 0));
  ASSERT_PLACED("cradle_kit_list_remove: index 1 is out of range", (void)cradle_kit_list_remove(&kit, list, 1));
  ASSERT_PLACED("cradle_kit_string_slice: index 5 is out of range", (void)cradle_kit_string_slice(&kit, text, 0, 5));
  ASSERT_PLACED("cradle_kit_string_slice: index 3 is out of range", (void)cradle_kit_string_slice(&kit, text, 3, 2));
  cradle_value stale = (uintptr_t)f.m->free + 64;
  ASSERT_PLACED("cradle_store: stale reference into", cradle_kit_list_append(&kit, list, stale));
  assert_aborts_at("cradle_kit_list_get: index 1 is out of range (items: 1); in the call at ", LINE_OF_GET, get_beyond,
                   list);
  cradle_no_collect_begin(f.m);
  ASSERT_PLACED("may collect, but a no-collection region", (void)cradle_kit_string_new(&kit, "a", 1));
  cradle_no_collect_begin(f.m);
  ASSERT_PLACED("may collect, but a no-collection region", (void)cradle_kit_map_set(&kit, map, 0, 0));
  cradle_pop_many(f.m, 3);
}

static void out_of_memory(void *data, cradle_mutator *m, size_t size, const char *message) {
  (void)m, (void)size;
  fixture_misuse(data, message);
}

CRADLE_UNCHECKED_COLLECTION static void memory_that_runs_out_in_the_kit_has_a_place(void **state) {
  (void)state;
  fixture small;
  cradle_options options;
  fixture_options(&small, &options);
  options.heap_max_bytes = (size_t)32 << 20;
  options.on_out_of_memory = out_of_memory;
  fixture_open_with(&small, &options);
  cradle_kit_init(&kit, small.m, cradle_kit_add_types(small.heap));
  cradle_kit_list *list = cradle_kit_list_new(&kit, 4);
  cradle_push(small.m, list);
  small.checkpoint = cradle_checkpoint_save(small.m);
  int line = __LINE__ + 1;
  ASSERT_MISUSE(&small, "CRADLE_NEW_ARRAY: out of memory: ", (void)cradle_kit_list_new(&kit, (size_t)8 << 20));
  memcpy(f.message, small.message, sizeof f.message);
  assert_place(line);
  line = __LINE__ + 1;
  ASSERT_MISUSE(&small, "out of memory: an array whose", (void)cradle_kit_string_new(&kit, "", SIZE_MAX / 2));
  memcpy(f.message, small.message, sizeof f.message);
  assert_place(line);
  (void)cradle_pop(small.m);
  fixture_close(&small);
}

/* --- a missing barrier --- */

CRADLE_UNCHECKED_COLLECTION static void lands_in_verification(void) {
  f.message[0] = '\0';
  if (!FIXTURE_LANDS(&f)) return;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  fail_msg("a store without the barrier is not found");
}
static void assert_told(const char *words) {
  if (strstr(f.message, words) == NULL) fail_msg("without \"%s\": %s", words, f.message);
}

/* Stores a young object without a barrier into the old object on the shadow stack, then clears the slot again. */
CRADLE_UNCHECKED_COLLECTION static void forget_the_barrier(void) {
  pair *young = CRADLE_NEW(f.m, pair, T_PAIR), *old = *(pair **)(void *)cradle_peek(f.m, 0);
  old->first = young;
  lands_in_verification();
  old->first = NULL;
  assert_heap_sound(f.heap);
}

CRADLE_UNCHECKED_COLLECTION static pair *new_old_pair(void) {
  cradle_push(f.m, CRADLE_NEW(f.m, pair, T_PAIR));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  return *(pair **)(void *)cradle_peek(f.m, 0);
}

/* [history.1] */
CRADLE_UNCHECKED_COLLECTION static void the_last_store_is_told(void **state) {
  (void)state;
  char wanted[80];
  pair *old = new_old_pair();
  forget_the_barrier();
  assert_told("; right after collection 1, wrong before collection 2; no store through the barrier is known");
  int line = __LINE__ + 1;
  cradle_store(f.m, old, &old->rest, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  forget_the_barrier();
  assert_told(
      "; right after collection 2, wrong before collection 3; the last store through the barrier into it, after "
      "collection 1: ");
  snprintf(wanted, sizeof wanted, "/test_places.c:%d; in the call at ", line);
  assert_told(wanted);
  line = __LINE__ + 1;
  cradle_write_barrier(f.m, old);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  forget_the_barrier();
  snprintf(wanted, sizeof wanted, "/test_places.c:%d; in the call at ", line);
  assert_told(wanted);
  cradle_collect(f.m, CRADLE_COLLECT_FULL); /* afterwards another object may lie at this address */
  forget_the_barrier();
  assert_told("; no store through the barrier into it is known since the last major collection");
  (void)cradle_pop(f.m);
}

/* The text of a place belongs to the caller, whose library may be unloaded before the place is reported. */
CRADLE_UNCHECKED_COLLECTION static void a_place_outlives_its_caller(void **state) {
  (void)state;
  char place[] = "unloaded.c:7";
  pair *old = new_old_pair();
  const char *outer = cradle_call_begin(place, __builtin_frame_address(0));
  (cradle_store)(f.m, old, &old->rest, NULL);
  cradle_call_end(&outer);
  memset(place, '#', sizeof place - 1);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  forget_the_barrier();
  assert_told("unloaded.c:7");
  (void)cradle_pop(f.m);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(every_group_of_functions_has_a_place),
      WITH_FIXTURE(stores_of_no_reference_have_a_place),
      WITH_FIXTURE(stores_into_each_word_are_checked),
      WITH_FIXTURE(stores_across_heaps_are_refused),
      WITH_FIXTURE(many_heaps_are_told_apart),
      WITH_FIXTURE(stores_into_what_is_no_object_are_refused),
      cmocka_unit_test(a_store_of_a_stale_reference_is_refused),
      WITH_FIXTURE(arguments_do_not_hide_the_call),
      WITH_FIXTURE(other_callers_have_no_place),
      WITH_FIXTURE(a_longjmp_leaves_its_call),
      WITH_FIXTURE(functions_have_addresses),
      WITH_FIXTURE(the_kit_has_places),
      WITH_FIXTURE(memory_that_runs_out_in_the_kit_has_a_place),
      WITH_FIXTURE(the_last_store_is_told),
      WITH_FIXTURE(a_place_outlives_its_caller),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
