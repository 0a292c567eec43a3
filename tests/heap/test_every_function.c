/* Every public function that has to refuse the wrong thread, a callback or a no-collection region does so under its own
 * name, by the table of gc/mutator.h; the others stand below with their reason. tests/tree/every_function.py compares
 * the rows with the headers. No handler can go on from the middle of a collection, so a child process tries each
 * callback. */
#include "tests/support/heap_fixture.h"

#include <pthread.h>

#include <cradle/kit.h>
#include <cradle/runtime.h>

static fixture f;
static vector *kept; /* old, with its barrier flag set */
static cradle_weak_set *set;
static cradle_root_range range;
static cradle_root_stack *suspended;
static uint64_t outside[4];
static const cradle_handle handle = {1};
static const cradle_array_layout layout = {sizeof(vector), 8, offsetof(vector, length)};
static const cradle_type plain = {.name = "plain", .size = 16};

/* What a function refuses. */
enum {
  THREAD = 1,
  STATE = 2,  /* callbacks */
  REGION = 4, /* no-collection regions */
  OWN = 8,    /* in words of its own */
  CHECKS = THREAD | STATE,
  COLLECTS = THREAD | STATE | REGION,
};

static bool keep_on_walking(void *data, const cradle_object_info *object) {
  (void)data, (void)object;
  return true;
}
static const cradle_image_contents no_contents;
static bool take_bytes(void *data, const void *bytes, size_t count) {
  (void)data, (void)bytes, (void)count;
  return true;
}
static void do_nothing(void *data) {
  (void)data;
}
static cradle_reservation reservation(void) {
  return (cradle_reservation){f.m->free, f.m->free, f.m};
}
static cradle_checkpoint checkpoint(void) {
  return cradle_checkpoint_save(f.m);
}

/* The name in the message, what is refused, the function, and a call. The functions that are partners of inline ones or
 * of macros have the name of these in their messages. */
#define ROWS(ROW) \
  ROW("cradle_new", COLLECTS, cradle_new_slow, (void)cradle_new_slow(f.m, T_PAIR, sizeof(pair))) \
  ROW("cradle_reserve", COLLECTS, cradle_reserve_slow, (void)cradle_reserve_slow(f.m, 16)) \
  ROW("CRADLE_NEW_ARRAY", COLLECTS, cradle_new_items_slow, (void)cradle_new_items_slow(f.m, T_VECTOR, layout, 1)) \
  ROW("cradle_new_with", COLLECTS, cradle_new_with, (void)cradle_new_with(f.m, T_VECTOR, layout, 1, CRADLE_PINNED)) \
  ROW("cradle_pin", COLLECTS, cradle_pin, (void)!cradle_pin(f.m, kept)) \
  ROW("cradle_unpin", CHECKS, cradle_unpin, cradle_unpin(f.m, kept)) \
  ROW("cradle_new", COLLECTS, cradle_check_new, cradle_check_new(f.m, T_PAIR, 24)) \
  ROW("CRADLE_NEW_FAST", THREAD, cradle_check_new_fast, cradle_check_new_fast(f.m, T_PAIR, 24)) \
  ROW("CRADLE_NEW_RESERVED", CHECKS, cradle_check_reserved, cradle_reservation room = reservation(); \
      cradle_check_reserved(&room, T_PAIR, 24)) \
  ROW("CRADLE_NEW_RESERVED", CHECKS, cradle_check_room, cradle_reservation room = reservation(); \
      cradle_check_room(&room, 24)) \
  ROW("CRADLE_NEW_ARRAY", CHECKS, cradle_check_items, cradle_check_items(f.m, T_VECTOR, layout, false)) \
  ROW("cradle_collect", COLLECTS, cradle_collect, cradle_collect(f.m, CRADLE_COLLECT_MINOR)) \
  ROW("cradle_collect_step", COLLECTS, cradle_collect_step, (void)cradle_collect_step(f.m, 0)) \
  ROW("cradle_safepoint", COLLECTS, cradle_safepoint_slow, cradle_safepoint_slow(f.m)) \
  ROW("cradle_heap_set_max", COLLECTS, cradle_heap_set_max, (void)!cradle_heap_set_max(f.m, 0, NULL)) \
  ROW("cradle_finalizer_queue_all", COLLECTS, cradle_finalizer_queue_all, cradle_finalizer_queue_all(f.m)) \
  ROW("cradle_fork_prepare", COLLECTS, cradle_fork_prepare, (void)!cradle_fork_prepare(f.heap, NULL)) \
  ROW("cradle_mutator_free", COLLECTS, cradle_mutator_free, cradle_mutator_free(f.m)) \
  ROW("cradle_mutator_detach", COLLECTS, cradle_mutator_detach, cradle_mutator_detach(f.m)) \
  ROW("cradle_mutator_attach", CHECKS | OWN, cradle_mutator_attach, cradle_mutator_attach(f.m)) \
  ROW("cradle_mutator_new", CHECKS, cradle_mutator_new, (void)cradle_mutator_new(f.heap)) \
  ROW("cradle_mutator_park", COLLECTS, cradle_mutator_park, cradle_mutator_park(f.m)) \
  ROW("cradle_mutator_park", COLLECTS, cradle_parked_begin, (void)cradle_parked_begin(f.m)) \
  ROW("cradle_mutator_unpark", CHECKS | OWN, cradle_mutator_unpark, cradle_mutator_unpark(f.m)) \
  ROW("cradle_mutator_unpark", CHECKS | OWN, cradle_parked_end, cradle_parked_end(&f.m)) \
  ROW("cradle_stopped_call", COLLECTS, cradle_stopped_call, cradle_stopped_call(f.m, do_nothing, NULL)) \
  ROW("cradle_no_collect_begin", CHECKS, cradle_no_collect_begin, cradle_no_collect_begin(f.m)) \
  ROW("cradle_no_collect_end", CHECKS, cradle_no_collect_end, cradle_no_collect_end(f.m)) \
  ROW("cradle_checkpoint_restore", CHECKS, cradle_checkpoint_restore, cradle_checkpoint before = checkpoint(); \
      cradle_checkpoint_restore(f.m, &before)) \
  ROW("cradle_major_hold", CHECKS, cradle_major_hold, cradle_major_hold(f.m, true)) \
  ROW("cradle_external_memory", CHECKS, cradle_external_memory, cradle_external_memory(f.m, 0)) \
  ROW("cradle_external_pressure", CHECKS, cradle_external_pressure, cradle_external_pressure(f.m, 0)) \
  ROW("cradle_push", CHECKS, cradle_push_slow, cradle_push_slow(f.m, 0)) \
  ROW("cradle_pop", CHECKS, cradle_pop_slow, cradle_pop_slow(f.m, 0)) \
  ROW("cradle_peek", CHECKS, cradle_peek_slow, cradle_peek_slow(f.m, 0)) \
  ROW("CRADLE_ROOT", CHECKS, cradle_scope_open_slow, cradle_scope_open_slow(f.m, 0, NULL, NULL)) \
  ROW("CRADLE_ROOT", CHECKS | OWN, cradle_scope_close_slow, cradle_scope_close_slow(f.m, 0)) \
  ROW("cradle_root_range_add", CHECKS, cradle_root_range_add, cradle_root_range_add(f.m, &range)) \
  ROW("cradle_root_range_remove", CHECKS, cradle_root_range_remove, cradle_root_range_remove(f.m, &range)) \
  ROW("cradle_root_stack_new", CHECKS, cradle_root_stack_new, (void)cradle_root_stack_new(f.m)) \
  ROW("cradle_root_stack_free", CHECKS, cradle_root_stack_free, cradle_root_stack_free(suspended)) \
  ROW("cradle_root_stack_switch", CHECKS, cradle_root_stack_switch, (void)cradle_root_stack_switch(f.m, suspended)) \
  ROW("cradle_write_barrier", STATE, cradle_write_barrier_slow, cradle_write_barrier_slow(f.m, kept)) \
  ROW("cradle_store", STATE, cradle_store_slow, cradle_store_slow(f.m, kept, &kept->item[0], 0)) \
  ROW("cradle_copy_slots", STATE, cradle_copy_slots_slow, cradle_copy_slots_slow(f.m, kept, kept->item, 1)) \
  ROW("cradle_write_barrier", CHECKS, cradle_check_store, cradle_check_store(f.m, kept)) \
  ROW("cradle_store", CHECKS, cradle_check_slot, cradle_check_slot(f.m, kept, kept->item, 0)) \
  ROW("cradle_copy_slots", CHECKS, cradle_check_slots, cradle_check_slots(f.m, kept, kept->item, kept->item, 1)) \
  ROW("cradle_handle_new", CHECKS, cradle_handle_new, (void)!cradle_handle_new(f.m, kept).number) \
  ROW("cradle_handle_get", CHECKS, cradle_handle_get, (void)cradle_handle_get(f.m, handle)) \
  ROW("cradle_handle_set", CHECKS, cradle_handle_set, cradle_handle_set(f.m, handle, NULL)) \
  ROW("cradle_handle_free", CHECKS, cradle_handle_free, cradle_handle_free(f.m, handle)) \
  ROW("cradle_identity_hash", CHECKS, cradle_identity_hash_slow, (void)cradle_identity_hash_slow(f.m, kept)) \
  ROW("cradle_id", CHECKS, cradle_id, (void)cradle_id(f.m, kept)) \
  ROW("cradle_object_of_id", CHECKS, cradle_object_of_id, (void)cradle_object_of_id(f.m, 1)) \
  ROW("cradle_finalizer_register", CHECKS, cradle_finalizer_register, cradle_finalizer_register(f.m, kept, 1)) \
  ROW("cradle_finalizer_next", CHECKS, cradle_finalizer_next, (void)cradle_finalizer_next(f.m, 1)) \
  ROW("cradle_weak_get", CHECKS, cradle_weak_is_dead, (void)cradle_weak_is_dead(f.m, 0, false)) \
  ROW("cradle_weak_set_new", CHECKS, cradle_weak_set_new, (void)cradle_weak_set_new(f.m, NULL, NULL)) \
  ROW("cradle_weak_set_free", CHECKS, cradle_weak_set_free, cradle_weak_set_free(set)) \
  ROW("cradle_weak_set_find", CHECKS, cradle_weak_set_find, (void)cradle_weak_set_find(set, 1, NULL, NULL)) \
  ROW("cradle_weak_set_add", CHECKS, cradle_weak_set_add, cradle_weak_set_add(set, 1, kept)) \
  ROW("cradle_weak_set_find_or_add", CHECKS, cradle_weak_set_find_or_add, \
      (void)cradle_weak_set_find_or_add(set, 1, NULL, NULL, kept)) \
  ROW("cradle_weak_set_remove", CHECKS, cradle_weak_set_remove, (void)cradle_weak_set_remove(set, 1, kept)) \
  ROW("cradle_weak_set_next", CHECKS, cradle_weak_set_next, cradle_weak_cursor cursor = {0, 0}; \
      (void)cradle_weak_set_next(set, &cursor)) \
  ROW("cradle_type_add", CHECKS, cradle_type_add, cradle_type_add(f.heap, &plain)) \
  ROW("cradle_type_add", CHECKS, cradle_kit_add_types, (void)!cradle_kit_add_types(f.heap)) \
  ROW("cradle_global_root_add", CHECKS, cradle_global_root_add, \
      cradle_global_root_add(f.heap, outside, CRADLE_KIND_REFERENCE)) \
  ROW("cradle_global_root_remove", CHECKS, cradle_global_root_remove, cradle_global_root_remove(f.heap, &kept)) \
  ROW("cradle_root_callback_set", CHECKS, cradle_root_callback_set, cradle_root_callback_set(f.heap, NULL, NULL)) \
  ROW("cradle_release_memory", CHECKS, cradle_release_memory, (void)cradle_release_memory(f.heap)) \
  ROW("cradle_heap_prepare", CHECKS, cradle_heap_prepare, cradle_heap_prepare(f.heap)) \
  ROW("cradle_heap_free", CHECKS, cradle_heap_free, cradle_heap_free(f.heap)) \
  ROW("cradle_heap_verify", CHECKS, cradle_heap_verify, (void)!cradle_heap_verify(f.heap, NULL)) \
  ROW("cradle_heap_walk", CHECKS, cradle_heap_walk, (void)cradle_heap_walk(f.heap, keep_on_walking, NULL)) \
  ROW("cradle_referrers", CHECKS, cradle_referrers, (void)cradle_referrers(f.heap, kept, NULL, NULL)) \
  ROW("cradle_heap_dump", CHECKS, cradle_heap_dump_to, (void)cradle_heap_dump_to(f.heap, take_bytes, NULL, NULL)) \
  ROW("cradle_heap_dump", CHECKS, cradle_heap_dump, (void)cradle_heap_dump(f.heap, "", NULL)) \
  ROW("cradle_image_root_get", CHECKS, cradle_image_root_get, (void)cradle_image_root_get(f.heap, "")) \
  ROW("cradle_image_set_take", CHECKS, cradle_image_set_take, (void)cradle_image_set_take(f.heap, "", NULL, NULL)) \
  ROW("cradle_image_save", COLLECTS, cradle_image_save, (void)cradle_image_save(f.m, "", &no_contents, NULL)) \
  ROW("cradle_image_save", COLLECTS, cradle_image_save_to, \
      (void)cradle_image_save_to(f.m, take_bytes, NULL, &no_contents, NULL)) \
  ROW("cradle_fork_done", CHECKS | OWN, cradle_fork_done, cradle_fork_done(f.heap))

#define DEFINE(said, refuses, function, ...) \
  CRADLE_UNCHECKED_COLLECTION static void call_##function(void) { \
    __VA_ARGS__; \
  }
ROWS(DEFINE)

typedef struct row {
  const char *function, *said;
  unsigned refuses;
  void (*call)(void);
} row;
#define TABLE(said, refuses, function, ...) {#function, said, refuses, call_##function},
static const row rows[] = {ROWS(TABLE)};
#define EACH_ROW(r) for (const row *r = rows; r < rows + sizeof rows / sizeof *rows; r++)

/* Functions that make none of these checks, each with the reason. */
static const struct {
  const char *why, *functions;
} exempt[] = {
    {"reads what may be read at any moment, and its header says so",
     "cradle_checkpoint_save cradle_heap_encoding cradle_heap_statistics cradle_mutator_statistics "
     "cradle_memory_report "
     "cradle_describe_address cradle_explain_address"},
    {"is for any thread", "cradle_safepoint_request cradle_mutator_name"},
    {"is for callbacks alone", "cradle_visit"},
    {"uses no heap, or makes one",
     "cradle_heap_new cradle_heap_new_from_environment cradle_options_init_sized cradle_options_check "
     "cradle_encoding_of"},
    {"is what the macros of CRADLE_CHECKED code do around each call",
     "cradle_call_begin cradle_call_end cradle_check_scope"},
    {"is called by inline functions that have checked, in builds for valgrind", "cradle_handed_out"},
    {"reports misuse itself", "cradle_misuse cradle_kit_no_item"},
    {"is the kit's, which checks through what it calls, and does not check its own reads and stores",
     "cradle_kit_init cradle_kit_hash_bytes cradle_kit_hash_identity cradle_kit_string_new "
     "cradle_kit_string_join "
     "cradle_kit_string_slice cradle_kit_string_compare cradle_kit_string_hash cradle_kit_array_new "
     "cradle_kit_list_new "
     "cradle_kit_list_insert cradle_kit_list_remove "
     "cradle_kit_map_new cradle_kit_map_find_slow cradle_kit_map_set cradle_kit_map_remove "
     "cradle_kit_map_next cradle_kit_intern cradle_kit_intern_string"},
};

static int list(bool rows_only) {
  EACH_ROW(r) printf("%s\n", r->function);
  for (size_t i = 0; !rows_only && i < sizeof exempt / sizeof *exempt; i++) printf("%s\n", exempt[i].functions);
  return 0;
}

/* --- the fixture --- */

static const row *in_callback; /* the row that the root callback calls; NULL: nothing */

static void callback(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  if (in_callback != NULL) in_callback->call();
}

CRADLE_UNCHECKED_COLLECTION static int open_fixture(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false; /* it calls the callback, too */
  fixture_open_with(&f, &options);
  kept = cradle_new_array(f.m, T_VECTOR, 4);
  cradle_global_root_add(f.heap, &kept, CRADLE_KIND_REFERENCE);
  set = cradle_weak_set_new(f.m, NULL, NULL);
  suspended = cradle_root_stack_new(f.m);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static int close_fixture(void **state) {
  (void)state;
  cradle_root_stack_free(suspended);
  cradle_weak_set_free(set);
  fixture_close(&f);
  return 0;
}

static void expect(const row *r, const char *words) {
  char wanted[200];
  snprintf(wanted, sizeof wanted, "%s: %s", r->said, r->refuses & OWN ? "" : words);
  if (strncmp(f.message, wanted, strlen(wanted)) != 0)
    fail_msg("%s: \"%s\" in place of \"%s\"", r->function, f.message, wanted);
}

/* --- tests --- */

static void *call_landing(void *data) {
  const row *r = data;
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) r->call();
  return NULL;
}

static void on_another_thread(void **state) {
  (void)state;
  EACH_ROW(r) {
    pthread_t thread;
    if (!(r->refuses & THREAD)) continue;
    assert_int_equal(pthread_create(&thread, NULL, call_landing, (void *)(uintptr_t)r), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    expect(r, "the mutator is not attached to the calling thread");
  }
}

static void in_a_callback(void **state) {
  (void)state;
  cradle_root_callback_set(f.heap, callback, NULL);
  EACH_ROW(r) {
    pid_t child = fork();
    int status;
    assert_true(child >= 0);
    if (child == 0) {
      if (!(r->refuses & STATE)) _exit(0);
      in_callback = r;
      f.message[0] = '\0';
      if (FIXTURE_LANDS(&f)) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      expect(r, "called from a callback while a collection runs");
      _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s: see above; status %#x", r->function, status);
  }
  cradle_root_callback_set(f.heap, NULL, NULL);
}

static void in_a_no_collection_region(void **state) {
  (void)state;
  EACH_ROW(r) {
    if (!(r->refuses & REGION)) continue;
    cradle_no_collect_begin(f.m);
    (void)call_landing((void *)(uintptr_t)r);
    cradle_checkpoint_restore(f.m, &f.checkpoint);
    expect(r, "may collect, but a no-collection region is open");
  }
}

/* Only the thread that prepared a fork may end it. */
static void the_end_of_a_fork_on_another_thread(void **state) {
  skip_without_fork();
  (void)state;
  const row *last = rows + sizeof rows / sizeof *rows - 1;
  pthread_t thread;
  assert_true(cradle_fork_prepare(f.heap, NULL));
  assert_int_equal(pthread_create(&thread, NULL, call_landing, (void *)(uintptr_t)last), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_non_null(strstr(f.message, ": the mutator is not attached to the calling thread"));
  cradle_fork_done(f.heap);
}

int main(int argc, char **argv) {
  if (argc > 1) return list(strcmp(argv[1], "--rows") == 0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(on_another_thread, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(in_a_callback, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(in_a_no_collection_region, open_fixture, close_fixture),
      cmocka_unit_test_setup_teardown(the_end_of_a_fork_on_another_thread, open_fixture, close_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
