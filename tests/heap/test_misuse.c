/* Every misuse is reported to the handler with a message that names the cause, and the heap still works afterwards. */
#include "tests/support/heap_fixture.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static fixture f;

static int open_fixture(void **state) {
  (void)state;
  fixture_open(&f);
  return 0;
}

static int close_fixture(void **state) {
  (void)state;
  pair *alive = cradle_new(f.m, T_PAIR, sizeof(pair));
  cradle_push(f.m, alive);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  alive = cradle_pop(f.m);
  assert_int_equal(cradle_type_of(alive), T_PAIR);
  fixture_close(&f);
  return 0;
}

static void allocation_of_what_is_not(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "types are 0 to 3", cradle_new_slow(f.m, 77, 16));
  ASSERT_MISUSE(&f, "(pair), whose descriptor says 24", cradle_new_slow(f.m, T_PAIR, 16));
  ASSERT_MISUSE(&f, "cradle_new: allocation of 48 bytes for type 1 (string), which has items: CRADLE_NEW_ARRAY",
                cradle_new_slow(f.m, T_STRING, 48));
  ASSERT_MISUSE(&f, "types are 0 to 3", cradle_check_new(f.m, 4, 16));
  if (f.m->top != NULL) ASSERT_MISUSE(&f, "whose descriptor says 24", cradle_check_new_fast(f.m, T_PAIR, 16));
  cradle_no_collect_begin(f.m);
  cradle_check_new_fast(f.m, T_PAIR, sizeof(pair));
  assert_null(cradle_new_fast(f.m, T_PAIR, sizeof(pair)));
  cradle_no_collect_end(f.m);
  ASSERT_MISUSE(&f, "cradle_new_with: the descriptor of type 0 (pair) has no items",
                (void)cradle_new_array(f.m, T_PAIR, 3));
  ASSERT_MISUSE(&f, "types are 0 to 3", (void)cradle_new_array(f.m, 1000000, 3));
}

static void reservations_that_cannot_be(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "more than CRADLE_NURSERY_OBJECT_MAX_BYTES",
                (void)cradle_reserve(f.m, CRADLE_NURSERY_OBJECT_MAX_BYTES + 1));
  cradle_reservation room = cradle_reserve_slow(f.m, 64);
  cradle_check_reserved(&room, T_PAIR, sizeof(pair));
  (void)cradle_new_reserved(&room, T_PAIR, sizeof(pair));
  memset((char *)room.free - 16, 0, 16);
  (void)cradle_new_reserved(&room, T_PAIR, sizeof(pair));
  memset((char *)room.free - 16, 0, 16);
  ASSERT_MISUSE(&f, "goes beyond the reservation", cradle_check_reserved(&room, T_PAIR, sizeof(pair)));
  room = cradle_reserve_slow(f.m, 64);
  cradle_check_new_fast(f.m, T_PAIR, sizeof(pair)); /* does not collect, so that it does not end it */
  (void)cradle_new_fast(f.m, T_PAIR, sizeof(pair));
  cradle_check_reserved(&room, T_PAIR, sizeof(pair));
  room = cradle_reserve_slow(f.m, 64);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  ASSERT_MISUSE(&f, "the reservation is over", cradle_check_reserved(&room, T_PAIR, sizeof(pair)));
  uint32_t weak = cradle_type_add(f.heap, &(cradle_type){.name = "weak", .size = 16, .weak = 1 << 1});
  room = cradle_reserve_slow(f.m, 64);
  (void)cradle_new_array(f.m, weak, 0);
  ASSERT_MISUSE(&f, "the reservation is over", cradle_check_reserved(&room, T_PAIR, sizeof(pair)));
  room = cradle_reserve_slow(f.m, 64);
  /* a call that may collect ends the reservation, even if it does not collect */
  (void)cradle_new_array(f.m, T_STRING, 2 * CRADLE_NURSERY_OBJECT_MAX_BYTES);
  ASSERT_MISUSE(&f, "the reservation is over", cradle_check_reserved(&room, T_PAIR, sizeof(pair)));
}

/* The size is wrong whatever room there is, so the message names the type and not the reservation. */
static void a_wrong_size_beyond_a_reservation(void **state) {
  (void)state;
  cradle_reservation room = cradle_reserve_slow(f.m, 32);
  ASSERT_MISUSE(&f, "CRADLE_NEW_RESERVED: allocation of 64 bytes for type 0 (pair), whose descriptor says 24",
                cradle_check_reserved(&room, T_PAIR, 64));
}

/* Who calls is checked before what the call is given. */
static void a_region_is_named_before_a_wrong_layout(void **state) {
  (void)state;
  static const cradle_array_layout wrong = {8, 1, 0};
  ASSERT_MISUSE(&f, "CRADLE_NEW_ARRAY: may collect, but a no-collection region is open", cradle_no_collect_begin(f.m);
                (void)cradle_new_items_slow(f.m, T_VECTOR, wrong, 1));
  ASSERT_MISUSE(&f, "cradle_new_with: may collect, but a no-collection region is open", cradle_no_collect_begin(f.m);
                (void)cradle_new_with(f.m, T_VECTOR, wrong, 1, CRADLE_PINNED));
}

static void assert_no_object(void *address) {
  char words[100];
  snprintf(words, sizeof words, "cradle_unpin: 0x%jx, which is no object of this heap: it is not pinned",
           (uintmax_t)(uintptr_t)address);
  ASSERT_MISUSE(&f, words, cradle_unpin(f.m, address));
}

/* Nothing of these is read: neither what lies outside of the heap or within an object, nor the nursery behind its last
 * object. */
static void addresses_of_no_object(void **state) {
  (void)state;
  static cradle_word outside[2];
  pair *last = cradle_new_slow(f.m, T_PAIR, sizeof(pair));
  assert_no_object(outside);
  assert_no_object((char *)last + 4);
  assert_no_object(last + 1);
  pair *old = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof(pair), 0, 0), 0, CRADLE_PINNED);
  assert_no_object((cradle_word *)old + 1);
  assert_no_object((char *)old + 4);
  assert_no_object((char *)old + ((size_t)1 << 30)); /* an address without memory */
  cradle_unpin(f.m, old);
  ASSERT_MISUSE(&f, "cradle_unpin: NULL: it is not pinned", cradle_unpin(f.m, NULL));
  ASSERT_MISUSE(&f, "cradle_unpin: type 0 (pair) at 0x", cradle_unpin(f.m, old));
}

static void the_shadow_stack_below_its_base(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "cradle_pop: the pop goes below the shadow stack's base (words popped: 1, words held: 0)",
                (void)cradle_pop(f.m));
  cradle_push(f.m, NULL);
  ASSERT_MISUSE(&f, "cradle_pop: the pop goes below the shadow stack's base (words popped: 5, words held: 1)",
                cradle_pop_many(f.m, 5));
}

static void the_shadow_stack_above_its_limit(void **state) {
  (void)state;
  fixture small;
  cradle_options options;
  fixture_options(&small, &options);
  options.shadow_stack_bytes = 65536;
  fixture_open_with(&small, &options);
  volatile size_t count = 0;
  ASSERT_MISUSE(&small, "the shadow stack is full at 65536 bytes", for (;; count++) cradle_push(small.m, NULL));
  assert_int_equal(count, 65536 / 8);
  fixture_close(&small);
}

static void scopes_that_do_not_nest(void **state) {
  (void)state;
  pair *a = NULL, *b = NULL;
  cradle_scope outer = cradle_scope_open(f.m, &a, CRADLE_KIND_REFERENCE, NULL);
  cradle_scope inner = cradle_scope_open(f.m, &b, CRADLE_KIND_REFERENCE, NULL);
  ASSERT_MISUSE(&f, "is not the innermost, which is another;", cradle_scope_close(&outer)); /* which unwinds both */
  ASSERT_MISUSE(&f, "is not the innermost, which is none;", cradle_scope_close(&inner));
}

static void roots_that_are_none_or_not_registered(void **state) {
  (void)state;
  static void *global;
  cradle_global_root_add(f.heap, &global, CRADLE_KIND_REFERENCE);
  ASSERT_MISUSE(&f, "registered already", cradle_global_root_add(f.heap, &global, CRADLE_KIND_REFERENCE));
  cradle_global_root_remove(f.heap, &global);
  ASSERT_MISUSE(&f, "not registered", cradle_global_root_remove(f.heap, &global));
  static const char *const wanted =
      "cradle_global_root_add: wants a variable's address, which is a multiple of 8, and a cradle_kind";
  ASSERT_MISUSE(&f, wanted, cradle_global_root_add(f.heap, NULL, CRADLE_KIND_REFERENCE));
  ASSERT_MISUSE(&f, wanted, cradle_global_root_add(f.heap, (char *)&global + 4, CRADLE_KIND_REFERENCE));
  ASSERT_MISUSE(&f, wanted, cradle_global_root_add(f.heap, &global, (cradle_kind)2));
  cradle_root_range range = {.name = "r"};
  ASSERT_MISUSE(&f, "not registered", cradle_root_range_remove(f.m, &range));
  void *base = NULL, *top = NULL;
  range.base = &base, range.top = &top;
  cradle_root_range odd[] = {range, range, range};
  odd[0].base = NULL, odd[1].top = NULL, odd[2].kind = (cradle_kind)-1;
  for (int i = 0; i < 3; i++)
    ASSERT_MISUSE(&f, "cradle_root_range_add: wants the addresses of base and top, and a cradle_kind",
                  cradle_root_range_add(f.m, &odd[i]));
  cradle_root_range_add(f.m, &range);
  ASSERT_MISUSE(&f, "registered already", cradle_root_range_add(f.m, &range));
  fixture other;
  fixture_open(&other);
  ASSERT_MISUSE(&other, "not registered", cradle_root_range_remove(other.m, &range));
  fixture_close(&other);
  cradle_root_range_remove(f.m, &range);
}

/* The program passes the address of the words instead of that of the variable that points to them, so the library reads
 * the base from the first word. */
static void root_ranges_of_words(void **state) {
  (void)state;
  static void *words[4], *base, *top;
  cradle_root_range range = {.base = words, .top = &top, .name = "stack"};
  base = words, top = words + 4;
  ASSERT_MISUSE(&f, "cradle_root_range_add: root range stack: its base variable holds 0x0, its top variable 0x",
                cradle_root_range_add(f.m, &range));
  ASSERT_MISUSE(&f, "the base is not an address of the program; CRADLE_ROOT_RANGE takes",
                cradle_root_range_add(f.m, &range));
  words[0] = cradle_new(f.m, T_PAIR, sizeof(pair));
  ASSERT_MISUSE(&f, "", cradle_root_range_add(f.m, &range)); /* an address above the top, or that of an object */
  words[0] = (char *)words + 1;
  ASSERT_MISUSE(&f, "one of them is not a multiple of 8", cradle_root_range_add(f.m, &range));
  words[0] = NULL;
  range = (cradle_root_range){.base = &base, .top = words};
  ASSERT_MISUSE(&f, "root range without a name", cradle_root_range_add(f.m, &range));
  ASSERT_MISUSE(&f, "the base is above the top", cradle_root_range_add(f.m, &range));
}

/* The top is the address behind the last word, so it may be the one where the old generation ends. */
static void root_ranges_at_the_end_of_the_heap(void **state) {
  (void)state;
  cradle_memory memory;
  cradle_memory_report(f.heap, &memory, sizeof memory);
  char *start = (char *)memory.arenas.start, *end = start + memory.arenas.reserved_bytes;
  char *base = end - 16, *top = end;
  cradle_root_range range = {.base = &base, .top = &top, .name = "r"};
  cradle_root_range_add(f.m, &range);
  cradle_root_range_remove(f.m, &range); /* before a collection reads the words */
  top = end + 8;
  ASSERT_MISUSE(&f, "one of them lies in an object", cradle_root_range_add(f.m, &range));
  base = start - 8, top = start + 8;
  ASSERT_MISUSE(&f, "one of them lies in an object", cradle_root_range_add(f.m, &range));
}

static void assert_collection_refused(const char *words) {
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) {
    collect_minor(f.m);
    fail_msg("collected in spite of: %s", words);
  }
  if (strstr(f.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", f.message, words);
}

/* The collector checks the variables' values again when a collection begins. */
static void root_ranges_that_became_impossible(void **state) {
  (void)state;
  static void *words[4], *base, *top, *young;
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "stack");
  base = top = words + 2;
  cradle_root_range_add(f.m, &range);
  collect_minor(f.m);
  top = words;
  assert_collection_refused("root range stack: its base variable holds 0x");
  young = cradle_new(f.m, T_PAIR, sizeof(pair));
  base = young, top = (char *)young + 16;
  assert_collection_refused("one of them lies in an object");
  base = NULL, top = words;
  assert_collection_refused("the base is not an address of the program");
  base = words;
  collect_minor(f.m);
  cradle_root_range_remove(f.m, &range);
}

static void mutators_too_many_or_in_use(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "its 1 mutator already", (void)cradle_mutator_new(f.heap));
  ASSERT_MISUSE(&f, "mutator has not been freed", cradle_heap_free(f.heap));
  cradle_push(f.m, NULL);
  ASSERT_MISUSE(&f, "cradle_mutator_free: the shadow stack is not empty (words held: 1)", cradle_mutator_free(f.m));
  ASSERT_MISUSE(&f, "attached to a thread already", cradle_mutator_attach(f.m));
}

static cradle_root_range used_range;

static void remove_range(cradle_mutator *m) {
  cradle_root_range_remove(m, &used_range);
}

/* Wrong in themselves, which another thread must not look into: the types may be changing. */
#define WRONG(function, ...) \
  CRADLE_UNCHECKED_COLLECTION static void function##_wrong(cradle_mutator *m) { \
    (void)m; \
    __VA_ARGS__; \
  }
static const cradle_array_layout no_layout = {0, 0, 0};
static cradle_reservation reserved;
WRONG(new, (void)cradle_new_slow(m, T_PAIR, 1000))
WRONG(new_registered, (void)cradle_new_registered(m, T_PAIR, 100000))
WRONG(new_pinned, (void)cradle_new_with(m, T_PAIR, cradle_array_layout_of(1000, 0, 0), 0, CRADLE_PINNED))
WRONG(new_array, (void)cradle_new_array(m, T_PAIR, 1))
WRONG(new_pinned_array, (void)cradle_new_with(m, T_PAIR, cradle_array_layout_of(0, 0, 0), 1, CRADLE_PINNED))
WRONG(new_items, (void)cradle_new_items_slow(m, T_VECTOR, no_layout, 1))
WRONG(reserve, (void)cradle_reserve_slow(m, CRADLE_NURSERY_OBJECT_MAX_BYTES + 1))
WRONG(check_reserved, cradle_check_reserved(&reserved, T_PAIR, 1000))
WRONG(check_room, cradle_check_room(&reserved, 1000))
WRONG(check_new, cradle_check_new(m, T_PAIR, 1000))
WRONG(check_items, cradle_check_items(m, T_VECTOR, no_layout, true))
WRONG(check_items_fast, cradle_check_items(m, T_VECTOR, no_layout, false))

CRADLE_UNCHECKED_COLLECTION static void *use_from_another_thread(void *data) {
  void (**use)(cradle_mutator *) = data;
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) (*use)(f.m);
  return NULL;
}

CRADLE_UNCHECKED_COLLECTION static void another_thread(void **state) {
  (void)state;
  static const struct {
    void (*use)(cradle_mutator *mutator);
    const char *name;
  } uses[] = {{collect_minor, "cradle_collect"},
              {cradle_mutator_free, "cradle_mutator_free"},
              {remove_range, "cradle_root_range_remove"},
              {cradle_safepoint_slow, "cradle_safepoint"},
              {new_wrong, "cradle_new"},
              {new_registered_wrong, "cradle_new_with"},
              {new_pinned_wrong, "cradle_new_with"},
              {new_array_wrong, "cradle_new_with"},
              {new_pinned_array_wrong, "cradle_new_with"},
              {new_items_wrong, "CRADLE_NEW_ARRAY"},
              {reserve_wrong, "cradle_reserve"},
              {check_reserved_wrong, "CRADLE_NEW_RESERVED"},
              {check_room_wrong, "CRADLE_NEW_RESERVED"},
              {check_new_wrong, "cradle_new"},
              {check_items_wrong, "CRADLE_NEW_ARRAY"},
              {check_items_fast_wrong, "CRADLE_NEW_ARRAY"}};
  reserved = cradle_reserve_slow(f.m, 64);
  for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
    pthread_t thread;
    char wanted[128];
    void (*use)(cradle_mutator *) = uses[i].use;
    assert_int_equal(pthread_create(&thread, NULL, use_from_another_thread, &use), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    snprintf(wanted, sizeof wanted, "%s: the mutator is not attached to the calling thread", uses[i].name);
    if (strstr(f.message, wanted) == NULL) fail_msg("\"%s\" in place of \"%s\"", f.message, wanted);
  }
}

/* ASSERT_MISUSE unwinds, which a detached mutator refuses: this test ends attached. */
static void detached(void **state) {
  (void)state;
  f.message[0] = '\0';
  cradle_mutator_detach(f.m);
  if (FIXTURE_LANDS(&f)) {
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    fail_msg("a detached mutator collected");
  }
  assert_non_null(strstr(f.message, "attached to no thread: call cradle_mutator_attach first"));
  cradle_mutator_attach(f.m);
}

static void collections_where_none_may_be(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "no-collection region", cradle_no_collect_begin(f.m); (void)cradle_new(f.m, T_PAIR, sizeof(pair)));
  ASSERT_MISUSE(&f, "no-collection region", cradle_no_collect_begin(f.m); cradle_collect(f.m, CRADLE_COLLECT_MINOR));
  ASSERT_MISUSE(&f, "no region is open", cradle_no_collect_end(f.m));
  cradle_no_collect_begin(f.m);
  cradle_no_collect_begin(f.m);
  cradle_no_collect_end(f.m);
  ASSERT_MISUSE(&f, "cradle_safepoint", cradle_safepoint(f.m));
}

CRADLE_UNCHECKED_COLLECTION static void allocating_callback(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  (void)cradle_new(f.m, T_PAIR, sizeof(pair));
}

static void collections_of_no_kind(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "cradle_collect: 4 is no kind of collection",
                cradle_collect(f.m, (cradle_collection_kind)(CRADLE_COLLECT_COMPACTING + 1)));
  ASSERT_MISUSE(&f, "give CRADLE_COLLECT_MINOR, _MAJOR, _FULL or _COMPACTING",
                cradle_collect(f.m, (cradle_collection_kind)-1));
}

static void allocation_in_a_callback(void **state) {
  (void)state;
  cradle_root_callback_set(f.heap, allocating_callback, NULL);
  assert_refused_in_child(&f, collect_minor, "called from a callback while a collection runs");
  cradle_root_callback_set(f.heap, NULL, NULL);
}

static void more_taken_away_than_added(void **state) {
  (void)state;
  cradle_external_memory(f.m, 100);
  ASSERT_MISUSE(&f, "cradle_external_memory: more bytes are removed than were added",
                cradle_external_memory(f.m, -101));
  ASSERT_MISUSE(&f, "more bytes are removed than were added", cradle_external_memory(f.m, INT64_MIN));
  cradle_external_memory(f.m, -100);
}

/* A refused amount was not added, so exactly the accepted amount can be removed again. */
static void more_external_memory_than_any_machine_has(void **state) {
  (void)state;
  ASSERT_MISUSE(&f, "cradle_external_memory: the total would be above 1 EiB", cradle_external_memory(f.m, INT64_MAX));
  cradle_external_memory(f.m, INT64_C(1) << 60);
  ASSERT_MISUSE(&f, "cradle_external_memory: the total would be above 1 EiB", cradle_external_memory(f.m, 1));
  assert_int_equal(fixture_stats(&f).external_bytes, UINT64_C(1) << 60);
  cradle_external_memory(f.m, -(INT64_C(1) << 60));
  assert_int_equal(fixture_stats(&f).external_bytes, 0);
}

static void forks_without_their_calls(void **state) {
  skip_without_fork();
  (void)state;
  ASSERT_MISUSE(&f, "cradle_fork_done: without cradle_fork_prepare", cradle_fork_done(f.heap));
  assert_true(cradle_fork_prepare(f.heap, NULL));
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) {
    (void)cradle_new_slow(f.m, T_PAIR, sizeof(pair));
    fail_msg("not refused");
  }
  assert_non_null(strstr(f.message, "called after cradle_fork_prepare and before cradle_fork_done"));
  cradle_fork_done(f.heap);
}

static void unwinding_upwards(void **state) {
  (void)state;
  cradle_push(f.m, NULL);
  cradle_checkpoint higher = cradle_checkpoint_save(f.m);
  cradle_pop(f.m);
  ASSERT_MISUSE(&f, "the shadow stack is already lower than at the checkpoint",
                cradle_checkpoint_restore(f.m, &higher));
  pair *local = NULL;
  cradle_scope scope = cradle_scope_open(f.m, &local, CRADLE_KIND_REFERENCE, NULL);
  higher = cradle_checkpoint_save(f.m);
  cradle_scope_close(&scope);
  ASSERT_MISUSE(&f, "scopes that were open at the checkpoint have ended", cradle_checkpoint_restore(f.m, &higher));
}

static void a_heap_without_types(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.types = NULL;
  options.type_count = 0;
  fixture_open_with(&f, &options);
  ASSERT_MISUSE(&f, "allocation on a heap without types", (void)cradle_new_slow(f.m, 0, 16));
  f.stressed = false; /* without objects, stress has nothing to move */
  fixture_close(&f);
}

/* After a longjmp out of a frame, its scoped roots lie below every live frame, where later calls write. */
CRADLE_UNCHECKED_COLLECTION __attribute__((noinline)) static void leave_a_scope_open(jmp_buf landing,
                                                                                     const char *name) {
  pair *local = cradle_new(f.m, T_PAIR, sizeof(pair));
  if (name == NULL)
    (void)cradle_scope_open(f.m, &local, CRADLE_KIND_REFERENCE, NULL);
  else /* as in a program with CRADLE_CHECKED */
    cradle_scope_open_slow(f.m, (cradle_word)(uintptr_t)&local | CRADLE_SCOPED_NAMED, name, __builtin_frame_address(0));
  longjmp(landing, 1);
}

/* Well below the frames of the calls that come later. */
CRADLE_UNCHECKED_COLLECTION __attribute__((noinline)) static void leave_one_below(jmp_buf landing, const char *name) {
  char room[512];
  memset(room, 1, sizeof room);
  __asm__ volatile("" ::"r"(room) : "memory");
  leave_a_scope_open(landing, name);
  __asm__ volatile("" ::"r"(room) : "memory");
}

CRADLE_UNCHECKED_COLLECTION __attribute__((noinline)) static void below_many(int depth) {
  pair *local = NULL;
  (void)cradle_scope_open(f.m, &local, CRADLE_KIND_REFERENCE, NULL);
  if (depth > 0) {
    below_many(depth - 1);
  } else {
    pair *last = cradle_new_slow(f.m, T_PAIR, sizeof(pair)); /* looks at all, and then not for some calls */
    assert_non_null(last);
    jmp_buf inner;
    if (setjmp(inner) == 0) leave_one_below(inner, NULL);
    ASSERT_MISUSE(&f, "a scoped root of a frame that is gone is still open", {
      for (int i = 0; i < 20; i++) (void)cradle_new_slow(f.m, T_PAIR, sizeof(pair));
    });
  }
  __asm__ volatile("" ::"r"(&local) : "memory");
}

/* In a deep recursion not each call looks at all of them; it is found a few calls later. Nothing
 * collects meanwhile, which would read the frame that is gone. */
CRADLE_UNCHECKED_COLLECTION static void scopes_of_a_deep_frame_that_is_gone(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = true;
  fixture_open_with(&f, &options);
  cradle_checkpoint before = cradle_checkpoint_save(f.m);
  below_many(1000);
  cradle_checkpoint_restore(f.m, &before);
  fixture_close(&f);
}

CRADLE_UNCHECKED_COLLECTION static void scopes_of_a_frame_that_is_gone(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.stress_period = 1;
  fixture_open_with(&f, &options);
  f.stressed = true;
  jmp_buf landing;
  if (setjmp(landing) == 0) leave_one_below(landing, NULL);
  ASSERT_MISUSE(&f, "a scoped root of a frame that is gone is still open: missing is cradle_checkpoint_restore",
                (void)cradle_new_slow(f.m, T_PAIR, sizeof(pair)));
  if (setjmp(landing) == 0) leave_one_below(landing, "local");
  ASSERT_MISUSE(&f, "a scoped root of a frame that is gone is still open: local: missing is cradle_checkpoint_restore",
                (void)cradle_new_slow(f.m, T_PAIR, sizeof(pair)));
  fixture_close(&f);
}

static void return_from_misuse(void *data, const char *message) {
  (void)data, (void)message;
}

CRADLE_UNCHECKED_COLLECTION static void exhaust(size_t length) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.heap_max_bytes = (size_t)64 << 20;
  cradle_heap *heap = cradle_heap_new(&options, NULL);
  if (heap != NULL) (void)cradle_new_array(cradle_mutator_new(heap), T_STRING, length);
}
static void exhaust_without_a_handler(void) {
  exhaust((size_t)1 << 40);
}
static void exhaust_without_a_size(void) {
  exhaust(SIZE_MAX);
}
CRADLE_UNCHECKED_COLLECTION static void register_without_a_size(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  (void)cradle_new_array(cradle_mutator_new(cradle_heap_new(&options, NULL)), T_STRING, SIZE_MAX);
}

static void misuse_on(void) {
  cradle_options options;
  cradle_options_init(&options);
  options.on_misuse = return_from_misuse;
  cradle_external_memory(cradle_mutator_new(cradle_heap_new(&options, NULL)), -1);
}

/* A child without a handler, or whose misuse handler returns, must print the message and then abort. */
static void assert_aborts(void (*child)(void), const char *words) {
  char said[1024];
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    signal(SIGABRT, SIG_DFL);
    child();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  for (ssize_t more = 1; more > 0; length += more > 0 ? (size_t)more : 0)
    more = read(ends[0], said + length, sizeof said - 1 - length);
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  said[length] = '\0';
  fixture_log_misuse(said);
  if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT || strncmp(said, words, strlen(words)) != 0)
    fail_msg("the child ended with status %#x, having said: %s", status, said);
}

static void reporting_callback(void *slot, cradle_visitor *visitor) {
  cradle_visit(visitor, slot, CRADLE_KIND_REFERENCE);
}
static void value_reporting_callback(void *slot, cradle_visitor *visitor) {
  cradle_visit(visitor, slot, CRADLE_KIND_VALUE);
}

CRADLE_UNCHECKED_COLLECTION static void collect_with(cradle_root_function callback, void *slot) {
  cradle_root_callback_set(f.heap, callback, slot);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
}
static void report_null(void) {
  collect_with(reporting_callback, NULL);
}
static cradle_word words[2];
static void report_unaligned(void) {
  collect_with(reporting_callback, (char *)words + 4);
}
static void report_unaligned_value(void) {
  collect_with(value_reporting_callback, (char *)words + 4);
}

static void reports_of_what_is_no_slot(void **state) {
  (void)state;
  assert_aborts(report_null, "cradle: misuse: cradle_visit: wants the address of a slot");
  assert_aborts(report_unaligned, "cradle: misuse: cradle_visit: wants the address of a slot");
  assert_aborts(report_unaligned_value, "cradle: misuse: cradle_visit: wants the address of a slot");
  collect_with(reporting_callback, words);
  collect_with(value_reporting_callback, words);
  cradle_root_callback_set(f.heap, NULL, NULL);
}

static void a_misuse_handler_that_returns(void **state) {
  (void)state;
  assert_aborts(misuse_on, "cradle: the misuse handler returned after: cradle_external_memory: more bytes are removed");
}

static void no_memory_without_a_handler(void **state) {
  (void)state;
  assert_aborts(exhaust_without_a_handler, "cradle: cradle_new_with: out of memory: 1099511627792 bytes asked for; "
                                           "old objects 0 bytes, 0 of them large, in arenas of ");
  assert_aborts(
      exhaust_without_a_size,
      "cradle: cradle_new_with: out of memory: an array whose size overflows was asked for; old objects 0 bytes");
  assert_aborts(register_without_a_size,
                "cradle: cradle_new_with: out of memory: an array whose size overflows was asked for; ");
}

static void misuse_unheard(void) {
  cradle_options options;
  cradle_options_init(&options);
  int ends[2];
  if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(2);
  close(ends[0]);
  close(ends[1]);
  signal(SIGPIPE, SIG_DFL);
  cradle_external_memory(cradle_mutator_new(cradle_heap_new(&options, NULL)), -1);
}

/* Nobody reads standard error any more. The process must still end by abort, so that there is a core dump. */
static void last_words_that_nobody_reads(void **state) {
  (void)state;
  assert_aborts(misuse_unheard, "");
}

static void descriptors_that_contradict(void **state) {
  (void)state;
  static const struct {
    cradle_type type;
    const char *words;
  } bad[] = {
      {{.size = 4}, "size must be at least 8"},
      {{.size = (size_t)2 << 30}, "above 1 GiB"},
      {{.size = 16, .references = 1}, "word 0 is the header"},
      {{.size = 16, .references = 4}, "beyond size"},
      {{.size = 24, .references = 2, .values = 2}, "a reference and a value"},
      {{.size = 16, .items = CRADLE_ITEMS_BYTES, .length_offset = 8}, "item_size is 0"},
      {{.size = 16, .items = CRADLE_ITEMS_VALUES, .item_size = 4, .length_offset = 8}, "must be 8"},
      {{.size = 16, .items = CRADLE_ITEMS_WEAK, .item_size = 16, .length_offset = 8}, "must be 8"},
      {{.size = 16, .items = CRADLE_ITEMS_EPHEMERONS, .item_size = 8, .length_offset = 8}, "must be 16"},
      {{.size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 16}, "length_offset"},
      {{.size = 20, .items = CRADLE_ITEMS_VALUES, .item_size = 8, .length_offset = 8}, "multiple of 8 before slots"},
      {{.name = "table", .size = 16, .items = CRADLE_ITEMS_STRUCTURES, .length_offset = 8, .item_references = 1},
       "(table): item_size is 0"},
      {{.name = "table",
        .size = 16,
        .items = CRADLE_ITEMS_STRUCTURES,
        .item_size = 20,
        .length_offset = 8,
        .item_references = 1},
       "(table): item_size of structures must be a multiple of 8"},
      {{.name = "table", .size = 16, .items = CRADLE_ITEMS_STRUCTURES, .item_size = 16, .length_offset = 8},
       "(table): item_references and item_values are both 0"},
      {{.name = "table",
        .size = 16,
        .items = CRADLE_ITEMS_STRUCTURES,
        .item_size = 16,
        .length_offset = 8,
        .item_references = 3,
        .item_values = 2},
       "(table): item_references and item_values have a bit in common"},
      {{.name = "table",
        .size = 16,
        .items = CRADLE_ITEMS_STRUCTURES,
        .item_size = 16,
        .length_offset = 8,
        .item_references = 5},
       "(table): item_references has a bit beyond item_size"},
      {{.name = "table",
        .size = 16,
        .items = CRADLE_ITEMS_STRUCTURES,
        .item_size = 504,
        .length_offset = 8,
        .item_values = UINT64_C(1) << 63},
       "(table): item_values has a bit beyond item_size"},
      {{.name = "table",
        .size = 20,
        .items = CRADLE_ITEMS_STRUCTURES,
        .item_size = 16,
        .length_offset = 8,
        .item_values = 1},
       "(table): size must be a multiple of 8 before slots"},
      {{.name = "vector",
        .size = 16,
        .items = CRADLE_ITEMS_REFERENCES,
        .item_size = 8,
        .length_offset = 8,
        .item_references = 1},
       "(vector): item_references is for items that are CRADLE_ITEMS_STRUCTURES"},
      {{.name = "weak", .size = 16, .items = CRADLE_ITEMS_WEAK, .item_size = 8, .length_offset = 8, .item_values = 1},
       "(weak): item_values is for items that are CRADLE_ITEMS_STRUCTURES"},
      {{.name = "pairs",
        .size = 16,
        .items = CRADLE_ITEMS_EPHEMERONS,
        .item_size = 16,
        .length_offset = 8,
        .item_references = 2},
       "(pairs): item_references is for"},
      {{.name = "node", .size = 16, .item_references = 2}, "(node): item_references is for"},
      {{.size = 16, .items = CRADLE_ITEMS_BYTES, .item_size = 1, .length_offset = 8, .references = 2},
       "cannot be a slot"},
      {{.size = 16, .items = (cradle_items)9, .item_size = 1}, "not a value of cradle_items"}};
  for (volatile size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    ASSERT_MISUSE(&f, bad[i].words, cradle_type_add(f.heap, &bad[i].type));
}

/* --- options: an error, not misuse --- */

/* Whether another number helps: 0 says that none does, and other fields than numbers have none. [options.2] */
static bool helps(const cradle_options *options, const cradle_error *error) {
  if (error->accepted == 0) return true;
#define NUMBER(name) \
  { #name, offsetof(cradle_options, name) }
  static const struct {
    const char *name;
    size_t offset;
  } numbers[] = {NUMBER(nursery_bytes), NUMBER(reserve_bytes),  NUMBER(shadow_stack_bytes), NUMBER(stress_times),
                 NUMBER(quarantine),    NUMBER(heap_max_bytes), NUMBER(major_min_bytes)};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (strcmp(numbers[i].name, error->option) != 0) continue;
    cradle_options other = *options;
    cradle_error left;
    memcpy((char *)&other + numbers[i].offset, &error->accepted, sizeof error->accepted);
    return cradle_options_check(&other, &left) || strcmp(left.option, error->option) != 0;
  }
  return false;
}

/* [options.1] */
static void refused(const cradle_options *options, const char *words) {
  cradle_error error;
  if (cradle_heap_new(options, &error) != NULL) fail_msg("accepted, without \"%s\"", words);
  if (strstr(error.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", error.message, words);
  assert_int_equal(strncmp(error.message, error.option, strlen(error.option)), 0);
  cradle_error asked;
  assert_false(cradle_options_check(options, &asked));
  assert_string_equal(asked.message, error.message);
  assert_ptr_equal(asked.option, error.option);
  assert_int_equal(asked.accepted, error.accepted);
  if (!helps(options, &error)) fail_msg("%s: %ju does not help", error.message, (uintmax_t)error.accepted);
  assert_false(cradle_options_check(options, NULL));
}

#define REFUSED(words, change) \
  do { \
    cradle_options options; \
    fixture_options(&f, &options); \
    change; \
    refused(&options, (words)); \
  } while (0)

/* A table of types indexed by an enumeration may have gaps. */
CRADLE_UNCHECKED_COLLECTION static void an_empty_row_is_an_unused_number(void **state) {
  (void)state;
  static const cradle_type with_gap[] = {[0] = {.name = "cell", .size = 16}, [2] = {.name = "pair", .size = 24}};
  fixture_close(&f);
  cradle_options options;
  fixture_options(&f, &options);
  options.types = with_gap;
  options.type_count = 3;
  fixture_open_with(&f, &options);
  cradle_push(f.m, cradle_new(f.m, 2, 24));
  static const char words[] = "allocation of type 1, whose row in the table of types is empty";
  ASSERT_MISUSE(&f, words, cradle_new_slow(f.m, 1, 16));
  ASSERT_MISUSE(&f, words, cradle_new_array(f.m, 1, 1));
  ASSERT_MISUSE(&f, words, cradle_new_with(f.m, 1, cradle_array_layout_of(16, 0, 0), 0, CRADLE_PINNED));
  cradle_push(f.m, cradle_new(f.m, 0, 16));
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  cradle_pop(f.m);
  cradle_type empty = {.size = 0};
  ASSERT_MISUSE(&f, "cradle_type_add: type 3 (without a name): size must be", cradle_type_add(f.heap, &empty));
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  fixture_open(&f);
}

/* [options.4] A program of another version: with fewer fields, or with more. */
typedef struct longer_options {
  cradle_options known;
  uint64_t more[2];
} longer_options;
typedef struct longer_type {
  cradle_type known;
  uint64_t more;
} longer_type;

static void accepts_a_pair(const cradle_options *options) {
  cradle_error error = {.message = ""};
  assert_true(cradle_options_check(options, NULL));
  cradle_heap *heap = cradle_heap_new(options, &error);
  if (heap == NULL) fail_msg("%s", error.message);
  cradle_mutator *m = cradle_mutator_new(heap);
  cradle_push(m, cradle_new(m, T_PAIR, sizeof(pair)));
  longer_type one = {{.name = "one", .size = 16}, 7};
  assert_int_equal(cradle_type_add(heap, &one.known), T_COUNT);
  cradle_push(m, cradle_new(m, T_COUNT, 16));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  assert_int_equal(**(cradle_word **)cradle_peek(m, 1) & UINT32_MAX, T_PAIR);
  (void)cradle_pop(m), (void)cradle_pop(m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
}

static void options_of_another_version(void **state) {
  (void)state;
  longer_type rows[T_COUNT] = {{{.name = NULL}, 0}};
  longer_options all;
  memset(&all, 0xff, sizeof all);
  cradle_options_init_sized(&all.known, CRADLE_VERSION, sizeof all, sizeof *rows);
  assert_true(all.more[0] == 0 && all.more[1] == 0 && all.known.size == sizeof all && all.known.pause_ns != 0);
  for (size_t i = 0; i < T_COUNT; i++) rows[i].known = fixture_types[i];
  all.known.types = &rows[0].known;
  all.known.type_count = T_COUNT;
  accepts_a_pair(&all.known);
  all.more[1] = UINT64_C(1) << 40;
  char words[200];
  snprintf(words, sizeof words, "of cradle_options at byte %zu, which this library, version %d.",
           sizeof(cradle_options) + 13, CRADLE_VERSION_MAJOR);
  refused(&all.known, words);
  all.more[1] = 0;
  rows[1].more = 1;
  snprintf(words, sizeof words, "of cradle_type at byte %zu, which this library", sizeof(cradle_type));
  refused(&all.known, words);

  cradle_options shorter;
  memset(&shorter, 0xff, sizeof shorter);
  uint32_t size = (uint32_t)offsetof(cradle_options, image);
  cradle_options_init_sized(&shorter, CRADLE_VERSION, size, sizeof(cradle_type));
  assert_int_equal((uintptr_t)shorter.image, UINTPTR_MAX); /* not the program's */
  shorter.types = fixture_types;
  shorter.type_count = T_COUNT;
  accepts_a_pair(&shorter);
  shorter.size = 8;
  refused(&shorter, "another version");

  static const size_t short_size = offsetof(cradle_type, weak);
  static char short_rows[T_COUNT][offsetof(cradle_type, weak)];
  for (size_t i = 0; i < T_COUNT; i++) memcpy(short_rows[i], &fixture_types[i], short_size);
  shorter.size = size;
  shorter.type_size = short_size;
  shorter.types = (const void *)short_rows;
  accepts_a_pair(&shorter);
}

static void options_that_contradict(void **state) {
  (void)state;
  cradle_type wrong = {.size = 1};
  refused(NULL, "NULL");
  REFUSED("another version", options.version += 10000);
  REFUSED("another version", options.size--);
  REFUSED("type_size", options.type_size--);
  REFUSED("types: NULL", options.types = NULL);
  REFUSED("types[0] (without a name): size must be", (options.types = &wrong, options.type_count = 1));
  REFUSED("nursery_bytes: wants a size from 4K to 1G, or 0", options.nursery_bytes = 1024);
  REFUSED("nursery_bytes", options.nursery_bytes = (size_t)2 << 30);
  REFUSED("reserve_bytes", options.reserve_bytes = 4096);
  REFUSED("shadow_stack_bytes: wants a size from 4K to 8T", options.shadow_stack_bytes = 8);
  REFUSED("shadow_stack_bytes: wants a size from 4K to 8T", options.shadow_stack_bytes = SIZE_MAX);
  REFUSED("shadow_stack: wants a value of cradle_kind", options.shadow_stack = (cradle_kind)7);
  REFUSED("major_factor: wants a number above 1, at most 1000", options.major_factor = 1.0);
  REFUSED("major_factor", options.major_factor = (double)INFINITY);
  REFUSED("major_factor", options.major_factor = (double)NAN);
  REFUSED("major_growth: wants a number above 1, at most 1000", options.major_growth = 0.5);
  REFUSED("major_growth", options.major_growth = 1000.5);
  REFUSED("major_min_bytes: above heap_max_bytes",
          (options.major_min_bytes = (size_t)64 << 20, options.heap_max_bytes = (size_t)32 << 20));
  REFUSED("heap_max_bytes: too small", options.heap_max_bytes = 4096);
  REFUSED("hugepages_nursery", options.hugepages_nursery = (cradle_hugepages)9);
  REFUSED("hugepages_arenas", options.hugepages_arenas = (cradle_hugepages)9);
  REFUSED("stress_major: does nothing without stress_period", (options.stress_period = 0, options.stress_major = 3));
  REFUSED("stress_seed: does nothing without stress_period",
          (options.stress_period = options.stress_major = 0, options.stress_seed = 3));
  REFUSED("stress_last: no collection would take place, because it is below stress_first",
          (options.stress_period = options.stress_last = 1, options.stress_first = 3));
  REFUSED("stress_at: wants anywhere, allocations or safepoints",
          (options.stress_period = 1, options.stress_at = (cradle_stress)9));
  REFUSED("stress_times: wants a whole number from 2 to 1000, or 0",
          (options.stress_period = 1, options.stress_times = 1));
  REFUSED("quarantine: wants a whole number up to 4096", options.quarantine = 4097);
  REFUSED("hugepages_nursery: must be auto or off, because base pages are needed by quarantine",
          (options.quarantine = 2, options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB));
  REFUSED("quarantine: above 64 GiB with nurseries of nursery_bytes; at most 62",
          (options.quarantine = 4096, options.nursery_bytes = (size_t)1 << 30));
  REFUSED("base_address: not a multiple of 2 MiB", options.base_address = (void *)(uintptr_t)4096);
  REFUSED("nursery_bytes: leaves no room for two arenas in heap_max_bytes",
          (options.nursery_bytes = (size_t)8 << 20, options.heap_max_bytes = (size_t)8 << 20));
  REFUSED("pair_count", options.encoding.pair_count = 0);
  REFUSED("tag_set is empty", options.encoding.tag_set = 0);
  REFUSED("payload_mask must have bits", options.encoding.payload_mask = 0xff);
  REFUSED("payload_mask must leave out the tag bits",
          (options.encoding = cradle_encoding_of(0, 0, 0x02), options.encoding.payload_mask = ~UINT64_C(0)));
  REFUSED("bits outside its mask", options.encoding.pairs[0].pattern = UINT64_C(1) << 63);
  REFUSED("covers address bits", options.encoding.pairs[0].mask = UINT64_C(1) << 20);
  REFUSED("overlap", options.encoding.pairs[0].mask = UINT64_C(1) << 60);
  REFUSED("exclude each other", (options.encoding = cradle_encoding_of(UINT64_C(0xffff000000000002), 2, 1 << 0)));
}

/* When a maximum is refused as too small, the message names the least one: it must be accepted, and a byte less
 * refused. */
static void the_least_maximum_is_enough(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.heap_max_bytes = 4096;
  assert_null(cradle_heap_new(&options, &error));
  assert_int_equal(error.accepted, strtoull(strstr(error.message, "; at least ") + strlen("; at least "), NULL, 10));
  options.heap_max_bytes = error.accepted - 1;
  assert_null(cradle_heap_new(&options, &error));
  options.heap_max_bytes++;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  cradle_heap_free(heap);
}

/* When a number is refused, the message names the nearest valid one, which must be accepted. */
/* [options.2] */
static void the_accepted_number_is_accepted(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
#define TAKES(field, ...) \
  do { \
    cradle_options_init(&options); \
    __VA_ARGS__; \
    assert_false(cradle_options_check(&options, &error)); \
    assert_string_equal(error.option, #field); \
    options.field = error.accepted; \
    if (!cradle_options_check(&options, &error)) fail_msg("%s", error.message); \
    assert_string_equal(error.message, ""); \
  } while (0)
  TAKES(nursery_bytes, options.nursery_bytes = 1);
  TAKES(nursery_bytes, options.nursery_bytes = SIZE_MAX);
  TAKES(reserve_bytes, options.reserve_bytes = 1);
  TAKES(shadow_stack_bytes, options.shadow_stack_bytes = SIZE_MAX);
  TAKES(quarantine, options.quarantine = SIZE_MAX);
  TAKES(quarantine, options.quarantine = 4096, options.nursery_bytes = (size_t)1 << 30);
  TAKES(heap_max_bytes, options.heap_max_bytes = 1);
  TAKES(heap_max_bytes, options.heap_max_bytes = 1, options.nursery_bytes = 65537);
  TAKES(major_min_bytes, options.major_min_bytes = SIZE_MAX, options.heap_max_bytes = (size_t)64 << 20);
}

/* Options that are accepted but cannot be met in full: a heap is made, and the log says what it has. */
static void options_that_promise_too_much(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.reserve_bytes = (size_t)16 << 20;
  options.heap_max_bytes = (size_t)1 << 30;
  options.nursery_bytes = (size_t)9 << 20;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  assert_string_equal(error.message, "");
  cradle_heap_free(heap);
}

/* The program describes an impossible machine. */
static void hardware_that_cannot_be(void **state) {
  (void)state;
  cradle_hardware zero = {0}, machine = {.page_bytes = 4096,
                                         .l2_bytes = SIZE_MAX,
                                         .l3_bytes = SIZE_MAX,
                                         .memory_bytes = SIZE_MAX,
                                         .thp_page_bytes = (size_t)2 << 20};
  REFUSED("hardware.page_bytes: accepted are powers of two from 4 KiB to 2 MiB", options.hardware = &zero);
  static const size_t pages[] = {1, 2048, 4097, 12288, (size_t)4 << 20, SIZE_MAX};
  for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
    cradle_hardware other = machine;
    other.page_bytes = pages[i];
    REFUSED("hardware.page_bytes: accepted are", options.hardware = &other);
    other.page_bytes = machine.page_bytes;
    other.thp_page_bytes = pages[i] == (size_t)4 << 20 ? 4097 : pages[i];
    REFUSED("hardware.thp_page_bytes: accepted are powers of two from page_bytes on, or 0", options.hardware = &other);
    other.thp_page_bytes = 0;
    other.pool_page_bytes = 3;
    REFUSED("hardware.pool_page_bytes: accepted are powers of two from page_bytes on, or 0", options.hardware = &other);
  }
  cradle_hardware other = machine;
  other.thp_mode = (cradle_thp_mode)9;
  REFUSED("hardware.thp_mode: not a value of cradle_thp_mode", options.hardware = &other);
  cradle_options options;
  fixture_options(&f, &options);
  options.nursery_bytes = 0;
  options.hardware = &machine; /* the largest representable caches are capped */
  fixture_open_with(&f, &options);
  if (options.nursery_bytes == 0 && options.quarantine == 0)
    assert_int_equal(fixture_stats(&f).nursery_bytes, (size_t)32 << 20);
  fixture_close(&f);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, open_fixture, close_fixture)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(allocation_of_what_is_not),
      WITH_FIXTURE(reservations_that_cannot_be),
      WITH_FIXTURE(a_wrong_size_beyond_a_reservation),
      WITH_FIXTURE(a_region_is_named_before_a_wrong_layout),
      WITH_FIXTURE(addresses_of_no_object),
      WITH_FIXTURE(the_shadow_stack_below_its_base),
      cmocka_unit_test(the_shadow_stack_above_its_limit),
      WITH_FIXTURE(scopes_that_do_not_nest),
      WITH_FIXTURE(roots_that_are_none_or_not_registered),
      WITH_FIXTURE(root_ranges_of_words),
      WITH_FIXTURE(root_ranges_at_the_end_of_the_heap),
      WITH_FIXTURE(root_ranges_that_became_impossible),
      WITH_FIXTURE(mutators_too_many_or_in_use),
      WITH_FIXTURE(detached),
      WITH_FIXTURE(collections_where_none_may_be),
      WITH_FIXTURE(collections_of_no_kind),
      WITH_FIXTURE(allocation_in_a_callback),
      WITH_FIXTURE(reports_of_what_is_no_slot),
      WITH_FIXTURE(an_empty_row_is_an_unused_number),
      WITH_FIXTURE(descriptors_that_contradict),
      WITH_FIXTURE(more_taken_away_than_added),
      WITH_FIXTURE(more_external_memory_than_any_machine_has),
      WITH_FIXTURE(forks_without_their_calls),
      WITH_FIXTURE(unwinding_upwards),
      cmocka_unit_test(a_heap_without_types),
      cmocka_unit_test(scopes_of_a_frame_that_is_gone),
      cmocka_unit_test(scopes_of_a_deep_frame_that_is_gone),
      cmocka_unit_test(a_misuse_handler_that_returns),
      cmocka_unit_test(no_memory_without_a_handler),
      cmocka_unit_test(last_words_that_nobody_reads),
      cmocka_unit_test(options_of_another_version),
      cmocka_unit_test(options_that_contradict),
      cmocka_unit_test(hardware_that_cannot_be),
      cmocka_unit_test(the_least_maximum_is_enough),
      cmocka_unit_test(the_accepted_number_is_accepted),
      cmocka_unit_test(options_that_promise_too_much),
      WITH_FIXTURE(another_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
