/* Heaps that are broken on purpose, one way at a time and then at random: the verifier names what is broken, where it
 * is, and the last collection. */
#include "tests/support/services.h"

#include "tests/inside.h"

static fixture f;

static void open_heap(void) {
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false; /* the tests say when */
  options.gc_threads = 0; /* a thread that marks would read what is overwritten */
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  for (uint32_t i = 0; i < T_SERVICES - T_COUNT; i++)
    assert_int_equal(cradle_type_add(f.heap, &service_types[i]), T_COUNT + i);
}

/* The message must contain the words in this order, and name the last collection. */
static void assert_broken(const char *words, const char *then) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  const char *found = strstr(error.message, words);
  if (found == NULL || strstr(found, then) == NULL || strstr(error.message, "; last collection: ") == NULL)
    fail_msg("the message is \"%s\", without \"%s\" and \"%s\" and the last collection", error.message, words, then);
}

/* Writes the word, expects the message, and restores the old word. */
#define ASSERT_BREAKS(place, word, words, then) \
  do { \
    uint64_t *place_ = (uint64_t *)(place), was_ = *place_; \
    *place_ = (word); \
    assert_broken((words), (then)); \
    *place_ = was_; \
    cradle_error error_; \
    if (!cradle_heap_verify(f.heap, &error_)) fail_msg("%s", error_.message); \
  } while (0)

static const char *hex(const void *address) {
  static char text[32];
  snprintf(text, sizeof text, "0x%llx", (unsigned long long)(uintptr_t)address);
  return text;
}

/* --- roots --- */

static void handles_and_weak_sets_are_named(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, new_pair(&f, NULL));
  cradle_handle handle = cradle_handle_new(f.m, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  cradle_weak_set_add(set, 1, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  crd_handle_entry *entry = handle_entry(&f.heap->tables.handles, 0);
  ASSERT_BREAKS(&entry->word, entry->word + 8,
                "stale reference into the old generation, where no object is: ", "in a handle at ");
  uint64_t word = *cradle_peek(f.m, 0);
  assert_true(cradle_weak_set_remove(set, 1, (void *)(uintptr_t)word));
  cradle_weak_set_add(set, 1, (void *)(uintptr_t)(word + 8));
  assert_broken("stale reference into the old generation, where no object is: ", "in a weak set at ");
  cradle_weak_set_free(set);
  cradle_handle_free(f.m, handle);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* After a handle was found broken, the object that it holds is not looked up. */
static void after_a_fault_nothing_is_looked_up(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, (size_t)1 << 20));
  cradle_handle handle = cradle_handle_new(f.m, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  uintptr_t unused = inside_old(f.heap)->arenas.base + inside_old(f.heap)->arenas.bytes - 4096;
  ASSERT_BREAKS(&handle_entry(&f.heap->tables.handles, 0)->word, unused,
                "stale reference into the old generation, where no object is: ", "in a handle at ");
  cradle_handle_free(f.m, handle);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* --- references --- */

static void numbers_are_no_references(void **state) {
  (void)state;
  open_heap();
  pair *p = new_pair(&f, NULL);
  cradle_push(f.m, p);
  ASSERT_BREAKS(&p->first, 8, "no reference: 0x8 in word 1 of type 0 (pair) at ", hex(p));
#ifndef __aarch64__ /* where it may be an address with a tag */
  double number = 1.5;
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  ASSERT_BREAKS(&p->first, bits, "no reference: 0x3ff8000000000000 in word 1 of type 0 (pair) at ", hex(p));
#endif
  cradle_pop(f.m);
  fixture_close(&f);
}

/* --- headers --- */

static void flags_that_cannot_be_are_named(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_VALUES, 200));
  cradle_push(f.m, new_pair(&f, NULL));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  pair *p = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  values *v = (values *)(uintptr_t)*cradle_peek(f.m, 1);
  ASSERT_BREAKS(&p->header, p->header & ~HEADER_BARRIER_FLAG,
                "is not remembered (was its header overwritten?) [heap.3]: type 0 (pair) at ", hex(p));
  ASSERT_BREAKS(&p->header, p->header | HEADER_ID_FLAG,
                "has the flag of an id, but no id [identity.1]: type 0 (pair) at ", hex(p));
  ASSERT_BREAKS(&p->header, p->header | HEADER_PINNED_FLAG,
                "has the pinned flag, but no pin [pin.1]: type 0 (pair) at ", hex(p));
  ASSERT_BREAKS(&p->header, p->header | HEADER_WEAK_FLAG, "broken header 0x1100000000: ", hex(p));
  ASSERT_BREAKS(&p->header, p->header | HEADER_SLOTS_FLAG, "broken header 0x300000000: ", hex(p));
  assert_true(v->header & HEADER_SLOTS_FLAG);
  ASSERT_BREAKS(&v->header, v->header & ~HEADER_SLOTS_FLAG,
                "a large array has not the flags of one [heap.3]: type 3 (values) at ", hex(v));
  ASSERT_BREAKS(&v->header, v->header ^ HEADER_VALUES_FLAG, "broken header ", hex(v));
  cradle_write_barrier(f.m, p);
  ASSERT_BREAKS(&p->header, p->header | HEADER_BARRIER_FLAG,
                "is remembered, but has the barrier flag [heap.3]: type 0 (pair) at ", hex(p));
  *inside_local(f.heap)->remembered.top++ = (uintptr_t)p + 8;
  assert_broken("the remembered set holds what is no object: ", hex((char *)p + 8));
  inside_local(f.heap)->remembered.top[-1] = (uintptr_t)p;
  assert_broken("an object is remembered twice [heap.3]: type 0 (pair) at ", hex(p));
  inside_local(f.heap)->remembered.top--;
  cradle_pop_many(f.m, 2);
  fixture_close(&f);
}

/* [header.1] [header.2] */
static void flags_depend_on_the_place(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, new_pair(&f, NULL));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_push(f.m, new_pair(&f, NULL));
  pair *old = (pair *)(uintptr_t)*cradle_peek(f.m, 1), *young = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  ASSERT_BREAKS(&old->header, (uintptr_t)young | HEADER_FORWARDED, "broken header 0x8000", hex(old));
  ASSERT_BREAKS(&young->header, (uintptr_t)old | HEADER_FORWARDED, "broken header 0x8000", "shadow stack, word 1 at ");
  const uint64_t flags[] = {HEADER_BARRIER_FLAG, HEADER_WATCHED_FLAG, HEADER_PINNED_FLAG};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
    ASSERT_BREAKS(&young->header, young->header | flags[i], "broken header 0x", "as an old object has");
  cradle_pop_many(f.m, 2);
  fixture_close(&f);
}

static void objects_fit_their_places(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, 3000));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  string *s = (string *)(uintptr_t)*cradle_peek(f.m, 0);
  ASSERT_BREAKS(&s->header, HEADER_BARRIER_FLAG | T_PAIR, "wrong length or size of type 0 (pair): ", hex(s));
  ASSERT_BREAKS(&s->length, 30000, "wrong length or size of type 1 (string): ", hex(s));
  ASSERT_BREAKS(&s->length, UINT64_MAX, "wrong length or size of type 1 (string): ", hex(s));
  s->length = 10; /* shorter it may be */
  cradle_error error;
  assert_true(cradle_heap_verify(f.heap, &error));
  cradle_pop(f.m);
  fixture_close(&f);
}

/* Whether the holder lies before the broken object or behind it, and young as it may be. */
static void a_broken_object_is_named_with_its_holder(void **state) {
  (void)state;
  open_heap();
  pair *p = new_pair(&f, NULL);
  for (int i = 0; i < 3; i++) p = new_pair(&f, p);
  cradle_push(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  p = (pair *)(uintptr_t)*cradle_peek(f.m, 0);
  ASSERT_BREAKS(&p->first->header, 99, "broken header 0x63: 0x", hex(p));
  ASSERT_BREAKS(&p->first->first->header, 99, "broken header 0x63: 0x", hex(p->first));
  pair *last = p->first->first->first, *young = new_pair(&f, last);
  cradle_push(f.m, young);
  p->first->first->first = NULL;
  ASSERT_BREAKS(&last->header, 99, "broken header 0x63: 0x", hex(young));
  young->first = NULL;
  last->header = 99;
  assert_broken("broken header 0x63 at ", hex(last));
  last->header = HEADER_BARRIER_FLAG;
  cradle_pop_many(f.m, 2);
  fixture_close(&f);
}

static void young_objects_do_not_overlap(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, 40));
  cradle_push(f.m, new_pair(&f, NULL));
  string *s = (string *)(uintptr_t)*cradle_peek(f.m, 1);
  void *next = (void *)(uintptr_t)*cradle_peek(f.m, 0);
  ASSERT_BREAKS(&s->length, 41, "the young object at ", "lies inside another: type 1 (string) at ");
  ASSERT_BREAKS(&s->length, 41, hex(next), "lies inside another: type 1 (string) at ");
  ASSERT_BREAKS(cradle_peek(f.m, 0), (uintptr_t)s->byte, hex(s->byte), "lies inside another: type 1 (string) at ");
  cradle_pop_many(f.m, 2);
  fixture_close(&f);
}

/* --- what is kept beside the objects --- */

static void entries_are_named(void **state) {
  (void)state;
  open_heap();
  weak *w = new_weak(&f, NULL);
  cradle_push(f.m, w);
  pair *p = cradle_new_with(f.m, T_PAIR, cradle_array_layout_of(sizeof *p, 0, 0), 0, CRADLE_PINNED);
  w = (weak *)(uintptr_t)*cradle_peek(f.m, 0);
  assert_true(cradle_id(f.m, p) != 0);
  crd_pin *pin = &f.heap->tables.pins.pins[0];
  ASSERT_BREAKS(&pin->address, pin->address + 8, "a pin is not found by its object's address: ", hex((char *)p + 8));
  crd_id_entry *id = &f.heap->tables.ids.entries[0];
  ASSERT_BREAKS(&id->address, id->address + 8, "an id is not found by its object's address: ", hex((char *)p + 8));
  assert_true(f.m->registered < f.m->registered_end);
  *f.m->registered++ = 4096;
  assert_broken("what is no object was registered since the last minor collection [services.1]: ", "0x1000");
  f.m->registered--;
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  w = (weak *)(uintptr_t)*cradle_peek(f.m, 0);
  ASSERT_BREAKS(&w->header, T_WEAK | HEADER_BARRIER_FLAG,
                "an object of a type with services was not registered when it was allocated", hex(w));
  cradle_unpin(f.m, p);
  cradle_pop(f.m);
  fixture_close(&f);
}

static void bits_of_large_objects_are_looked_at(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, (size_t)1 << 20));
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  uintptr_t address = (uintptr_t)*cradle_peek(f.m, 0);
  crd_arena *arena = arenas_of(&inside_old(f.heap)->arenas, address);
  size_t word = arena_bit_word(address);
  uint64_t bit = arena_bit_mask(address);
  ASSERT_BREAKS(&arena->marks[word], bit, "a mark bit is set where none may be [span.4]", "");
  ASSERT_BREAKS(&arena->allocated[word], 0, "a large object has no allocation bit [span.2]", "");
  ASSERT_BREAKS(&arena->allocated[word + 1], 4, "an allocation bit lies off an object's start [span.2]", "");
  cradle_pop(f.m);
  fixture_close(&f);
}

/* --- any word of any object, from seeds --- */

enum { OBJECTS = 400, ROUNDS = 3000 };
static uint64_t random_state;
static uint64_t below(uint64_t bound) {
  random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (random_state >> 33) % bound;
}

static cradle_object_info objects[OBJECTS];
static size_t object_count;
static bool take_object(void *data, const cradle_object_info *info) {
  (void)data;
  objects[object_count++] = *info;
  return object_count < OBJECTS;
}

static vector *table(void) {
  return (vector *)(uintptr_t)*cradle_peek(f.m, 0);
}

/* Some objects of every type, young and old, small and large, in a table. */
static void populate(size_t count) CRADLE_MAY_COLLECT {
  for (size_t i = 0; i < count; i++) {
    size_t length = below(16) == 0 ? 4000 : below(40);
    void *object;
    switch (below(7)) {
    case 0: object = new_weak(&f, table()->item[below(100)]); break;
    case 1: object = new_ephemeron(&f, table()->item[below(100)], table()); break;
    case 2: object = new_final(&f, i, table()->item[below(100)]); break;
    case 3: object = cradle_new_array(f.m, T_STRING, length); break;
    case 4: object = cradle_new_array(f.m, T_VECTOR, length); break;
    case 5: object = cradle_new_array(f.m, T_WEAKS, length); break;
    default: object = new_pair(&f, table()->item[below(100)]); break;
    }
    cradle_store(f.m, table(), &table()->item[below(100)], object);
    if (below(20) == 0 && object != NULL) (void)cradle_identity_hash(f.m, object);
  }
}

static void bring_to_stage(uint64_t seed) CRADLE_MAY_COLLECT {
  random_state = seed;
  cradle_push(f.m, cradle_new_array(f.m, T_VECTOR, 100));
  populate(200);
  if (seed % 4 == 1) cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  for (uint64_t i = 0; seed % 4 > 1 && i < seed; i++) (void)cradle_collect_step(f.m, 0);
  populate(20);
  object_count = 0;
  (void)cradle_heap_walk(f.heap, take_object, NULL);
}

/* Whether a word is a slot. */
static bool is_slot(const cradle_object_info *info, size_t word) {
  if (info->type == T_PAIR || info->type == T_WEAK || info->type == T_EPHEMERON) return word >= 1;
  return info->type != T_STRING && word >= 2; /* arrays, and the references of T_FINAL */
}

static uint64_t wrong_header(uint64_t header, bool young) {
  switch (below(4)) {
  case 0: return ~UINT64_C(0);
  case 1: return (header & ~UINT64_C(0xffffffff)) | (T_SERVICES + below(1u << 20));
  case 2: return header ^ (young ? HEADER_PINNED_FLAG : HEADER_BARRIER_FLAG);
  default: return header | UINT64_C(1) << 63;
  }
}

static uint64_t wrong_reference(const cradle_object_info *old) {
  switch (below(4)) {
  case 0: return 8 * (1 + below(500));
  case 1: return (uintptr_t)old->object + 8;
  case 2: return (uintptr_t)f.m->free + 8 * below(8);
  default: return inside_old(f.heap)->arenas.base + inside_old(f.heap)->arenas.bytes - 8 * (1 + below(1000));
  }
}

static void overwrite_one(void) {
  const cradle_object_info *info = &objects[below(object_count)], *other = &objects[0]; /* old ones come first */
  size_t word = below(3) == 0 ? 0 : below(info->bytes / 8);
  uint64_t *place = (uint64_t *)info->object + word;
  if (word == 0)
    ASSERT_BREAKS(place, wrong_header(*place, info->is_young), "", hex(info->object));
  else if (is_slot(info, word))
    ASSERT_BREAKS(place, wrong_reference(other), "", hex(info->object));
  else if (info->type != T_FINAL && word == 1)
    ASSERT_BREAKS(place, (UINT64_C(1) << 40) + below(1000), "", hex(info->object));
}

static void every_overwritten_word_is_named(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 24; seed++) {
    open_heap();
    bring_to_stage(seed);
    assert_false(objects[0].is_young);
    for (size_t round = 0; round < ROUNDS / 24; round++) overwrite_one();
    cradle_pop(f.m);
    while (cradle_finalizer_next(f.m, QUEUE) != NULL) continue;
    fixture_close(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles_and_weak_sets_are_named),
      cmocka_unit_test(after_a_fault_nothing_is_looked_up),
      cmocka_unit_test(numbers_are_no_references),
      cmocka_unit_test(flags_that_cannot_be_are_named),
      cmocka_unit_test(flags_depend_on_the_place),
      cmocka_unit_test(objects_fit_their_places),
      cmocka_unit_test(a_broken_object_is_named_with_its_holder),
      cmocka_unit_test(young_objects_do_not_overlap),
      cmocka_unit_test(entries_are_named),
      cmocka_unit_test(bits_of_large_objects_are_looked_at),
      cmocka_unit_test(every_overwritten_word_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
