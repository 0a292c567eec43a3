/* Memory for the collector's own tables is refused. Each function must call the out-of-memory handler with a message
 * that names the function. If the handler returns, the function must return NULL, 0 or false. Afterwards both the
 * function and the heap must work. */
#include "tests/support/granted.h"
#include "tests/support/heap_fixture.h"

static fixture f;
static void *object;
static cradle_weak_set *set;
static uint64_t globals[200];
static size_t next; /* of globals */

static void grant(int reallocs, int callocs) {
  granted_reallocs = reallocs;
  granted_callocs = callocs;
  granted_commits = reallocs;
}

static bool returns; /* the handler does; otherwise it lands */
static jmp_buf landing;
static struct {
  int count;
  char message[300];
  size_t size;
  cradle_mutator *mutator;
} handed;

static void land(void *data, cradle_mutator *mutator, size_t size, const char *message) {
  (void)data;
  strncpy(handed.message, message, sizeof handed.message - 1);
  handed.size = size;
  handed.mutator = mutator;
  handed.count++;
  if (!returns) longjmp(landing, 1);
}

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.on_out_of_memory = land;
  fixture_open_with(&f, &options);
  cradle_push(f.m, CRADLE_NEW(f.m, pair, T_PAIR));
  next = 0;
  memset(&handed, 0, sizeof handed);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  cradle_pop(f.m);
  fixture_close(&f);
  return 0;
}

/* --- each function, and whether it succeeded --- */

CRADLE_UNCHECKED_COLLECTION static void *fresh(void) {
  return CRADLE_NEW(f.m, pair, T_PAIR);
}
CRADLE_UNCHECKED_COLLECTION static bool pin(void) {
  return cradle_pin(f.m, fresh()) != NULL;
}
CRADLE_UNCHECKED_COLLECTION static bool new_pinned_object(void) {
  return CRADLE_NEW_WITH(f.m, pair, T_PAIR, CRADLE_PINNED) != NULL;
}
CRADLE_UNCHECKED_COLLECTION static bool new_pinned_vector(void) {
  return cradle_new_with(f.m, T_VECTOR, cradle_array_layout_of(0, 0, 0), 3, CRADLE_PINNED) != NULL;
}
CRADLE_UNCHECKED_COLLECTION static bool new_pinned_items(void) {
  return CRADLE_NEW_ARRAY_WITH(f.m, vector, T_VECTOR, item, length, 3, CRADLE_PINNED) != NULL;
}
static bool new_handle_(void) {
  return cradle_handle_new(f.m, object).number != 0;
}
CRADLE_UNCHECKED_COLLECTION static bool id(void) {
  return cradle_id(f.m, fresh()) != 0;
}
static bool add_global(void) {
  return cradle_global_root_add(f.heap, &globals[next], CRADLE_KIND_REFERENCE) && ++next;
}
static const cradle_type plain = {.name = "plain", .size = 16};
static bool add_type(void) {
  return cradle_type_add(f.heap, &plain) != CRADLE_TYPE_ID_END;
}
static void fill_types(void) {
  const crd_type_table *types = &f.heap->space.types;
  while ((const void *)&types->types[types->count] < (const void *)types->room.limit) (void)add_type();
}
static bool make_set(void) {
  cradle_weak_set *made = cradle_weak_set_new(f.m, NULL, NULL);
  cradle_weak_set_free(made);
  return made != NULL;
}
CRADLE_UNCHECKED_COLLECTION static bool add_to_set(void) {
  return cradle_weak_set_add(set, 7, fresh());
}
static bool register_object(void) {
  return cradle_finalizer_register(f.m, object, 1);
}

static const struct {
  bool (*call)(void);
  const char *words; /* how the message begins */
  size_t size;
} rows[] = {
    {pin, "cradle_pin: out of memory: no room for another pin; old objects ", 0},
    {new_pinned_object, "cradle_new_with: out of memory: 24 bytes asked for; ", sizeof(pair)},
    {new_pinned_vector, "cradle_new_with: out of memory: 40 bytes asked for; ", sizeof(vector) + 24},
    {new_pinned_items, "cradle_new_with: out of memory: 40 bytes asked for; ", sizeof(vector) + 24},
    {new_handle_, "cradle_handle_new: out of memory: no room for another handle; ", 0},
    {id, "cradle_id: out of memory: no room for another id; ", 0},
    {add_global, "cradle_global_root_add: out of memory: no room for another global root; ", 0},
    {add_type, "cradle_type_add: out of memory: no room for another type; ", 0},
    {make_set, "cradle_weak_set_new: out of memory: no room for another weak set; ", 0},
    {add_to_set, "cradle_weak_set_add: out of memory: no room for another object of a weak set; ", 0},
    {register_object, "cradle_finalizer_register: out of memory: no room for another finalizer; ", 0},
};
#define EACH_ROW(i) for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)

/* Calls until a call fails, at most until the arrays are full. Returns 1 when the call failed, 2 when the handler was
 * called. */
static int call_until_refused(bool (*call)(void)) {
  enum { MOST = 130 };
  volatile int end = 0;
  grant(0, 0);
  if (setjmp(landing) != 0)
    end = 2;
  else
    for (int i = 0; i < MOST && end == 0; i++) end = call() ? 0 : 1;
  grant(INT_MAX, INT_MAX);
  return end;
}

CRADLE_UNCHECKED_COLLECTION static void begin_row(size_t i, void **state) {
  open_heap(state);
  object = (void *)(uintptr_t)*cradle_peek(f.m, 0);
  set = rows[i].call == add_to_set ? cradle_weak_set_new(f.m, NULL, NULL) : NULL;
  if (rows[i].call == add_type) fill_types();
  for (int used = 0; set != NULL && used < 48; used++) cradle_weak_set_add(set, 7, object); /* fills the set */
}

static void end_row(size_t i, void **state) {
  assert_heap_sound(f.heap);
  assert_true(rows[i].call());
  assert_heap_sound(f.heap);
  cradle_weak_set_free(set);
  close_heap(state);
}

static void the_handler_is_told_which_function_and_what(void **state) {
  EACH_ROW(i) {
    begin_row(i, state);
    assert_int_equal(call_until_refused(rows[i].call), 2);
    if (strncmp(handed.message, rows[i].words, strlen(rows[i].words)) != 0)
      fail_msg("\"%s\" in place of \"%s\"", handed.message, rows[i].words);
    assert_non_null(strstr(handed.message, "; the system refused it"));
    assert_int_equal(handed.size, rows[i].size);
    assert_ptr_equal(handed.mutator, f.m);
    end_row(i, state);
  }
}

static void the_function_returns_if_the_handler_does(void **state) {
  returns = true;
  EACH_ROW(i) {
    begin_row(i, state);
    if (call_until_refused(rows[i].call) != 1) fail_msg("no refusal: %s", rows[i].words);
    if (strncmp(handed.message, rows[i].words, strlen(rows[i].words)) != 0)
      fail_msg("\"%s\" in place of \"%s\"", handed.message, rows[i].words);
    assert_int_equal(handed.count, 1);
    assert_int_equal(handed.size, rows[i].size);
    end_row(i, state);
  }
  returns = false;
}

/* Memory is refused each time that the table grows, and granted the second time. */
static void each_block_of_handles_may_be_refused(void **state) {
  enum { COUNT = 10000 };
  static cradle_handle opened[COUNT];
  open_heap(state);
  object = (void *)(uintptr_t)*cradle_peek(f.m, 0);
  returns = true;
  for (int i = 0; i < COUNT; i++) {
    grant(0, 0);
    opened[i] = cradle_handle_new(f.m, object);
    grant(INT_MAX, INT_MAX);
    if (opened[i].number == 0) opened[i] = cradle_handle_new(f.m, object);
  }
  returns = false;
  assert_int_equal(handed.count, 8); /* 64 entries, and seven times twice as many */
  assert_heap_sound(f.heap);
  for (int i = 0; i < COUNT; i++) {
    assert_ptr_equal(cradle_handle_get(f.m, opened[i]), object);
    cradle_handle_free(f.m, opened[i]);
  }
  close_heap(state);
}

/* Memory for the set is there, memory for its places is not. */
static void a_set_without_places_is_not_made(void **state) {
  open_heap(state);
  returns = true;
  assert_true(make_set());
  size_t before = allocated_bytes();
  for (int i = 0; i < 1000; i++) {
    grant(0, 1);
    cradle_weak_set *made = cradle_weak_set_new(f.m, NULL, NULL);
    assert_int_equal(granted_callocs, -1);
    grant(INT_MAX, INT_MAX);
    assert_null(made);
  }
  assert_true(allocated_bytes() < before + ((size_t)8 << 10));
  assert_true(make_set());
  returns = false;
  close_heap(state);
}

/* A heap without a mutator calls its handlers, too. */
CRADLE_UNCHECKED_COLLECTION static void without_a_mutator(void **state) {
  open_heap(state);
  cradle_pop(f.m);
  cradle_mutator_free(f.m);
  fill_types();
  handed.mutator = (cradle_mutator *)&handed;
  assert_int_equal(call_until_refused(add_type), 2);
  assert_null(handed.mutator);
  returns = true;
  assert_int_equal(call_until_refused(add_type), 1);
  returns = false;
  f.m = cradle_mutator_new(f.heap);
  fixture_close(&f);
}

/* When type ids run out instead of memory, the same handler is called, and the function returns the same number. */
static void without_ids(void **state) {
  open_heap(state);
  uint32_t last = 0;
  returns = true;
  while ((last = cradle_type_add(f.heap, &plain)) != CRADLE_TYPE_ID_END) {}
  assert_int_equal(handed.count, 1);
  returns = false;
  if (setjmp(landing) == 0) {
    cradle_type_add(f.heap, &plain);
    fail_msg("a type without an id was added");
  }
  assert_non_null(strstr(handed.message, "cradle_type_add: out of memory"));
  close_heap(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_handler_is_told_which_function_and_what),
      cmocka_unit_test(the_function_returns_if_the_handler_does),
      cmocka_unit_test(each_block_of_handles_may_be_refused),
      cmocka_unit_test(a_set_without_places_is_not_made),
      cmocka_unit_test(without_a_mutator),
      cmocka_unit_test(without_ids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
