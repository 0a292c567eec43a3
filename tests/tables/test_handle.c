/* Handles: they keep and find their objects, can be freed in any order, and a stale handle gets a message that says
 * what is wrong. */
#include <pthread.h>
#include <sched.h>

#include "tests/support/moving.h"
#include "tests/support/one_heap.h"

static heard_note note = {.about = "handles"};

static void choose(cradle_options *options) {
  options->listener = (cradle_listener){hear_note, &note};
  note.text[0] = '\0';
}

static string *new_numbered(size_t number) CRADLE_MAY_COLLECT {
  string *s = cradle_new_array(f.m, T_STRING, sizeof number);
  memcpy(s->byte, &number, sizeof number);
  return s;
}

static size_t number_of(const string *s) {
  size_t number;
  assert_int_equal(cradle_type_of(s), T_STRING);
  memcpy(&number, s->byte, sizeof number);
  return number;
}

static void a_handle_holds_and_finds_its_object(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static cradle_handle handles[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    handles[i] = cradle_handle_new(f.m, new_numbered(i));
    assert_int_not_equal(handles[i].number, 0);
  }
  assert_int_equal(fixture_stats(&f).handles, COUNT);
  for (int round = 0; round < 3; round++) {
    everything_moves(&f);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(number_of(cradle_handle_get(f.m, handles[i])), i);
  }
  assert_true(fixture_stats(&f).moved_old_objects >= COUNT);
  for (size_t i = 0; i < COUNT; i++) cradle_handle_free(f.m, handles[i]);
  assert_int_equal(fixture_stats(&f).handles, 0);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_int_equal(fixture_stats(&f).old_bytes, 0);
}

static void a_handle_can_be_pointed_elsewhere(void **state) {
  (void)state;
  cradle_handle handle = cradle_handle_new(f.m, NULL);
  assert_null(cradle_handle_get(f.m, handle));
  for (size_t i = 0; i < 10; i++) {
    string *s = new_numbered(i);
    cradle_handle_set(f.m, handle, s);
    assert_ptr_equal(cradle_handle_get(f.m, handle), s);
    if (i % 3 == 0) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    if (i % 3 == 1) everything_moves(&f);
    assert_int_equal(number_of(cradle_handle_get(f.m, handle)), i);
  }
  cradle_handle_set(f.m, handle, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_null(cradle_handle_get(f.m, handle));
  assert_int_equal(fixture_stats(&f).old_bytes, 0);
  cradle_handle_free(f.m, handle);
}

/* What foreign code keeps for a callback. */
static void a_handle_goes_through_a_void_pointer(void **state) {
  (void)state;
  void *user_data;
  {
    cradle_handle handle = cradle_handle_new(f.m, new_numbered(7));
    user_data = (void *)(uintptr_t)handle.number;
  }
  everything_moves(&f);
  cradle_handle handle = {(uintptr_t)user_data};
  assert_int_equal(number_of(cradle_handle_get(f.m, handle)), 7);
  cradle_handle_free(f.m, handle);
}

/* [handle.5] The addresses of entries are kept while the table grows. */
static void an_entry_does_not_move(void **state) {
  (void)state;
  enum { COUNT = 20000 };
  crd_handles *handles = &f.heap->tables.handles;
  static cradle_handle opened[COUNT];
  static const crd_handle_entry *at[COUNT];
  for (uint32_t i = 0; i < COUNT; i++) {
    opened[i] = cradle_handle_new(f.m, NULL);
    at[i] = handle_find(handles, opened[i]);
    assert_non_null(at[i]);
    assert_ptr_equal(handle_entry(handles, 0), at[0]); /* in each step: a block that moves twice may be back */
  }
  for (uint32_t i = 0; i < COUNT; i++) {
    assert_ptr_equal(handle_find(handles, opened[i]), at[i]);
    assert_ptr_equal(handle_entry(handles, i), at[i]);
    if (i > 0 && handle_block(i) == handle_block(i - 1)) assert_ptr_equal(at[i], at[i - 1] + 1);
  }
  for (uint32_t i = 0; i < COUNT; i++) cradle_handle_free(f.m, opened[i]);
}

enum { READ_COUNT = 20000 };

/* The word of entries that are opened one after another, all for the same object. Returns how many were right. */
static void *read_entries(void *data) {
  size_t right = 0;
  const crd_handle_entry *entry;
  for (uint32_t i = 0; i < READ_COUNT; i++) {
    while ((entry = handle_find(&f.heap->tables.handles, (cradle_handle){UINT64_C(1) << 32 | i})) == NULL)
      (void)sched_yield();
    right += entry->word == address_of(data);
  }
  return (void *)right;
}

/* [handle.5] */
static void entries_are_read_while_others_are_opened(void **state) {
  (void)state;
  static cradle_handle opened[READ_COUNT];
  pthread_t reader;
  void *right;
  void *object = cradle_pin(f.m, new_numbered(1)); /* an old one, so that the entries are in no list */
  assert_non_null(object);
  assert_int_equal(pthread_create(&reader, NULL, read_entries, object), 0);
  for (size_t i = 0; i < READ_COUNT; i++) opened[i] = cradle_handle_new(f.m, object);
  assert_int_equal(pthread_join(reader, &right), 0);
  assert_int_equal((size_t)right, READ_COUNT);
  for (size_t i = 0; i < READ_COUNT; i++) cradle_handle_free(f.m, opened[i]);
  cradle_unpin(f.m, object);
}

/* Opened, freed and pointed elsewhere at random, with collections and increments of marking between, against an
 * array. */
static void handles_at_random(void **state) {
  (void)state;
  enum { COUNT = 3000, STEPS = 40000 };
  static cradle_handle handles[COUNT];
  static size_t numbers[COUNT];
  uint64_t random = 4242;
  memset(handles, 0, sizeof handles);
  for (size_t step = 1; step < STEPS; step++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    size_t at = (random >> 33) % COUNT;
    if (handles[at].number == 0) {
      handles[at] = cradle_handle_new(f.m, new_numbered(step));
      numbers[at] = step;
    } else if (random >> 60 < 6) {
      cradle_handle_free(f.m, handles[at]);
      handles[at].number = 0;
    } else {
      size_t from = (at * 7 + step) % COUNT; /* often an old object, which marking may not have visited */
      string *s = handles[from].number != 0 ? cradle_handle_get(f.m, handles[from]) : new_numbered(step);
      if (handles[from].number != 0 && random >> 61 & 1)
        cradle_handle_free(f.m, handles[from]), handles[from].number = 0;
      if (handles[at].number == 0) continue;
      cradle_handle_set(f.m, handles[at], s);
      numbers[at] = number_of(s);
    }
    if (step % 500 == 0) (void)cradle_collect_step(f.m, step % 1000 == 0 ? 0 : 10000);
    if (step % 4000 == 0) everything_moves(&f);
    if (step % 2000 == 0)
      for (size_t i = 0; i < COUNT; i++)
        if (handles[i].number != 0) assert_int_equal(number_of(cradle_handle_get(f.m, handles[i])), numbers[i]);
  }
  for (size_t i = 0; i < COUNT; i++)
    if (handles[i].number != 0) cradle_handle_free(f.m, handles[i]);
}

/* While marking goes through the table, the only reference to an object moves from an entry ahead to one behind. */
static void a_handle_behind_where_marking_is(void **state) {
  (void)state;
  enum { COUNT = 2000 };
  static cradle_handle handles[COUNT];
  for (size_t i = 0; i < COUNT; i++) handles[i] = cradle_handle_new(f.m, new_numbered(i));
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  bool over = false;
  for (size_t i = 0; !over && i < COUNT / 2; i++) {
    string *s = cradle_handle_get(f.m, handles[COUNT - 1 - i]);
    cradle_handle_set(f.m, handles[COUNT - 1 - i], NULL);
    cradle_handle_set(f.m, handles[i], s);
    over = cradle_collect_step(f.m, 0);
    assert_int_equal(number_of(cradle_handle_get(f.m, handles[i])), COUNT - 1 - i);
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < COUNT; i++) {
    string *s = cradle_handle_get(f.m, handles[i]);
    if (s != NULL) assert_true(number_of(s) == i || number_of(s) == COUNT - 1 - i);
    cradle_handle_free(f.m, handles[i]);
  }
}

static void a_number_is_not_given_out_again(void **state) {
  (void)state;
  enum { COUNT = 1000 };
  static cradle_handle handles[COUNT];
  for (size_t i = 0; i < COUNT; i++) {
    handles[i] = cradle_handle_new(f.m, NULL);
    cradle_handle_free(f.m, handles[i]);
    for (size_t k = 0; k < i; k++) assert_int_not_equal(handles[i].number, handles[k].number);
  }
  assert_int_equal(f.heap->tables.handles.used, 1); /* all the same entry */
}

/* Freed handles of young objects leave their entries to others before any collection; those that are open stay
 * listed. */
static void freed_entries_serve_without_a_collection(void **state) {
  (void)state;
  enum { KEPT = 16, ROUNDS = 10000 };
  cradle_handle kept[KEPT], first = {0};
  string *s = new_numbered(0);
  cradle_handle holder = cradle_handle_new(f.m, s);
  for (size_t i = 0; i < ROUNDS; i++) {
    cradle_handle handle = cradle_handle_new(f.m, s);
    if (i == 0) first = handle;
    if (i % (ROUNDS / KEPT) == 0) kept[i / (ROUNDS / KEPT)] = cradle_handle_new(f.m, s);
    cradle_handle_free(f.m, handle);
    if (i % 1000 == 0) ASSERT_MISUSE(&f, "was freed", (void)cradle_handle_get(f.m, first));
  }
  assert_true(f.heap->tables.handles.capacity <= 64);
  cradle_error error;
  assert_true(cradle_heap_verify(f.heap, &error));
  cradle_handle more[200]; /* the table grows while most of it is open */
  for (size_t i = 0; i < 200; i++) more[i] = cradle_handle_new(f.m, new_numbered(i));
  everything_moves(&f);
  for (size_t i = 0; i < KEPT; i++) assert_int_equal(number_of(cradle_handle_get(f.m, kept[i])), 0);
  for (size_t i = 0; i < 200; i++) assert_int_equal(number_of(cradle_handle_get(f.m, more[i])), i);
  for (size_t i = 0; i < KEPT; i++) cradle_handle_free(f.m, kept[i]);
  for (size_t i = 0; i < 200; i++) cradle_handle_free(f.m, more[i]);
  cradle_handle_free(f.m, holder);
}

/* An entry that has used all its generations is never used again. */
static void generations_do_not_begin_again(void **state) {
  (void)state;
  cradle_handle handle = cradle_handle_new(f.m, NULL);
  cradle_handle_free(f.m, handle);
  handle_entry(&f.heap->tables.handles, 0)->generation = UINT32_MAX - 3;
  handle = cradle_handle_new(f.m, NULL);
  assert_int_equal(handle.number >> 32, UINT32_MAX - 2);
  cradle_handle_free(f.m, handle);
  handle = cradle_handle_new(f.m, NULL);
  assert_int_equal((uint32_t)handle.number, 1);
  cradle_handle_free(f.m, handle);
  everything_moves(&f);
}

/* The table believes that it is full, first with one block, then with all: an index plus 1 stays below
 * HANDLE_UNLISTED. */
static void without_room_there_is_no_handle(void **state) {
  (void)state;
  crd_handles *handles = &f.heap->tables.handles;
  uint32_t last = HANDLE_BLOCK_FIRST * ((UINT32_C(1) << HANDLE_BLOCKS) - 1);
  assert_int_equal(handle_block(last - 1), HANDLE_BLOCKS - 1);
  assert_int_equal(handle_block(last), HANDLE_BLOCKS);
  assert_true(last < HANDLE_UNLISTED - 1);
  pair *p = cradle_new(f.m, T_PAIR, sizeof(pair));
  handles->used = handles->capacity = last;
  cradle_handle handle = cradle_handle_new(f.m, p);
  handles->used = handles->capacity = 0;
  assert_int_equal(handle.number, 0);
  assert_int_equal(fixture_stats(&f).handles, 0);
}

static void misuse_is_named(void **state) {
  (void)state;
  cradle_handle freed = cradle_handle_new(f.m, new_numbered(1)), open = cradle_handle_new(f.m, new_numbered(2));
  cradle_handle_free(f.m, freed);
  ASSERT_MISUSE(&f, "cradle_handle_get: the handle 0x100000000 was freed", (void)cradle_handle_get(f.m, freed));
  ASSERT_MISUSE(&f, "cradle_handle_set: the handle 0x100000000 was freed", cradle_handle_set(f.m, freed, NULL));
  ASSERT_MISUSE(&f, "cradle_handle_free: the handle 0x100000000 was freed", cradle_handle_free(f.m, freed));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* its entry is used again */
  cradle_handle again = cradle_handle_new(f.m, new_numbered(3));
  assert_int_equal((uint32_t)again.number, (uint32_t)freed.number);
  ASSERT_MISUSE(&f, "was freed", (void)cradle_handle_get(f.m, freed));
  assert_int_equal(number_of(cradle_handle_get(f.m, again)), 3);
  ASSERT_MISUSE(&f, "cradle_handle_get: the handle is 0: it was never set",
                (void)cradle_handle_get(f.m, (cradle_handle){0}));
  ASSERT_MISUSE(&f, "is not a handle of this heap", (void)cradle_handle_get(f.m, (cradle_handle){open.number + 5}));
  ASSERT_MISUSE(&f, "is not a handle of this heap", (void)cradle_handle_get(f.m, (cradle_handle){UINT64_MAX}));
  ASSERT_MISUSE(&f, "is not a handle of this heap",
                (void)cradle_handle_get(f.m, (cradle_handle){open.number + (UINT64_C(2) << 32)}));
  ASSERT_MISUSE(&f, "is not a handle of this heap",
                (void)cradle_handle_get(f.m, (cradle_handle){(uint32_t)open.number}));
  assert_int_equal(number_of(cradle_handle_get(f.m, open)), 2);
  cradle_handle_free(f.m, open);
  cradle_handle_free(f.m, again);
}

static void open_handles_at_the_heaps_end_are_told(void **state) {
  (void)state;
  fixture ending;
  cradle_options options;
  fixture_options(&ending, &options);
  options.listener = (cradle_listener){hear_note, &note};
  fixture_open_with(&ending, &options);
  for (int i = 0; i < 3; i++) assert_int_not_equal(cradle_handle_new(ending.m, NULL).number, 0);
  note.text[0] = '\0';
  fixture_close(&ending);
  assert_string_equal(note.text, "handles are still open as their heap is freed");
  assert_int_equal(note.got, 3);
}

static void the_verifier_finds_handles_that_are_wrong(void **state) {
  (void)state;
  cradle_error error;
  cradle_handle handle = cradle_handle_new(f.m, new_numbered(1));
  uint32_t index = (uint32_t)handle.number, link = handle_entry(&f.heap->tables.handles, index)->link;
  handle_entry(&f.heap->tables.handles, index)->link = HANDLE_UNLISTED;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[handle.2]"));
  handle_entry(&f.heap->tables.handles, index)->link = link;
  handle_entry(&f.heap->tables.handles, index)->generation++;
  assert_false(cradle_heap_verify(f.heap, &error));
  assert_non_null(strstr(error.message, "[handle.1]"));
  handle_entry(&f.heap->tables.handles, index)->generation--;
  cradle_handle_set(f.m, handle, (char *)cradle_handle_get(f.m, handle) + 4096);
  assert_false(cradle_heap_verify(f.heap, &error));
  cradle_handle_set(f.m, handle, NULL);
  assert_true(cradle_heap_verify(f.heap, &error));
  cradle_handle_free(f.m, handle);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(a_handle_holds_and_finds_its_object),
      WITH_FIXTURE(a_handle_can_be_pointed_elsewhere),
      WITH_FIXTURE(a_handle_goes_through_a_void_pointer),
      WITH_FIXTURE(handles_at_random),
      WITH_FIXTURE(an_entry_does_not_move),
      WITH_FIXTURE(entries_are_read_while_others_are_opened),
      WITH_FIXTURE(a_handle_behind_where_marking_is),
      WITH_FIXTURE(a_number_is_not_given_out_again),
      WITH_FIXTURE(freed_entries_serve_without_a_collection),
      WITH_FIXTURE(generations_do_not_begin_again),
      WITH_FIXTURE(without_room_there_is_no_handle),
      WITH_FIXTURE(misuse_is_named),
      WITH_FIXTURE(open_handles_at_the_heaps_end_are_told),
      WITH_FIXTURE(the_verifier_finds_handles_that_are_wrong),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
