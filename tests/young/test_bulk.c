/* Bulk copies: the references that they copy into an object keep their objects alive, whatever the object's age and
 * size, and in every phase of a major collection. */
#define CRADLE_CHECKED 1
#include "tests/support/one_heap.h"

#define KIB ((size_t)1 << 10)
#define TAG 5

enum { LARGE = 20000, SMALL = 100 };

static void choose(cradle_options *options) {
  options->encoding = cradle_encoding_of(0, 0, 1 << TAG);
  options->verify = false; /* the tests say when */
  options->listener = (cradle_listener){fixture_listen, &f};
}

static vector *new_vector(size_t length) {
  return cradle_new_array(f.m, T_VECTOR, length);
}

static string *new_string(uint64_t number) {
  string *text = cradle_new_array(f.m, T_STRING, sizeof number);
  memcpy(text->byte, &number, sizeof number);
  return text;
}

static uint64_t number_of(const void *text) {
  uint64_t number;
  assert_int_equal(cradle_type_of(text), T_STRING);
  memcpy(&number, ((const string *)text)->byte, sizeof number);
  return number;
}

/* Fills a vector with strings that contain first, first + 1, and so on. */
static void fill(vector *v, uint64_t first) {
  CRADLE_ROOT(f.m, v);
  for (uint64_t i = 0; i < v->length; i++) {
    string *text = new_string(first + i);
    cradle_store(f.m, v, &v->item[i], text);
  }
}

static void assert_strings(const vector *v, size_t at, size_t count, uint64_t first) {
  for (size_t i = 0; i < count; i++) assert_int_equal(number_of(v->item[at + i]), first + i);
}

/* Young objects, copied from a young array into an old one of each size. */
static void an_old_array_keeps_what_is_copied(void **state) {
  (void)state;
  static const size_t lengths[] = {SMALL, LARGE};
  for (size_t k = 0; k < 2; k++)
    for (size_t count = 1; count <= SMALL; count += 33) {
      vector *old = new_vector(lengths[k]);
      CRADLE_ROOT(f.m, old);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      vector *young = new_vector(SMALL);
      CRADLE_ROOT(f.m, young);
      for (size_t i = 0; i < count; i++) {
        string *text = new_string(i);
        cradle_store(f.m, young, &young->item[i], text);
      }
      cradle_copy_slots(f.m, old, &old->item[lengths[k] - count], young->item, count);
      young = NULL;
      assert_heap_sound(f.heap);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_heap_sound(f.heap);
      assert_strings(old, lengths[k] - count, count, 0);
    }
}

/* Of a large array only the slots that were copied into are looked at, unless they are more than half of it. */
static void slots_are_recorded_or_the_array_is_remembered(void **state) {
  (void)state;
  if (f.stressed) {
    print_message("not under stress: its collections come between, and what was recorded is old by then\n");
    skip();
  }
  vector *old = new_vector(LARGE);
  CRADLE_ROOT(f.m, old);
  vector *from = new_vector(LARGE);
  CRADLE_ROOT(f.m, from);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  string *text = new_string(1);
  for (size_t i = 0; i < LARGE; i += 2) cradle_store(f.m, from, &from->item[i], text); /* every other one is NULL */
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_statistics before = fixture_stats(&f);
  cradle_copy_slots(f.m, old, old->item, from->item, LARGE); /* nothing young: nothing to do */
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(fixture_stats(&f).recorded_slots, before.recorded_slots);
  assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
  void *young[1000];
  text = new_string(2);
  for (size_t i = 0; i < 1000; i++) young[i] = text;
  cradle_copy_slots(f.m, old, &old->item[5000], young, 1000);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(fixture_stats(&f).recorded_slots, before.recorded_slots + 1000);
  assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
  text = new_string(3);
  for (size_t i = 0; i < 1000; i++) young[i] = text;
  for (size_t at = 0; at + 1000 <= LARGE; at += 1000) cradle_copy_slots(f.m, old, &old->item[at], young, 1000);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects + 1);
  for (size_t i = 0; i < LARGE; i++) assert_int_equal(number_of(old->item[i]), 3);
}

/* Half of an array's words are recorded, by stores and by copies, in one call and in two; one more, and all of it is
 * remembered. */
static void the_budget_of_an_array_is_exact(void **state) {
  enum { HALF = (LARGE + 2) / 2, BY_STORES = 0, BY_COPY, BY_TWO_COPIES, WAYS_TO_FILL };
  (void)state;
  if (f.stressed) skip();
  for (int way = 0; way < WAYS_TO_FILL; way++)
    for (size_t over = 0; over < 2; over++) {
      static void *young[HALF + 1];
      size_t count = HALF + over;
      vector *old = new_vector(LARGE);
      CRADLE_ROOT(f.m, old);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      cradle_statistics before = fixture_stats(&f);
      string *text = new_string(4);
      for (size_t i = 0; i < count; i++) young[i] = text;
      size_t first = way == BY_STORES ? 0 : way == BY_COPY ? count : 1;
      cradle_copy_slots(f.m, old, old->item, young, first);
      if (way == BY_TWO_COPIES) cradle_copy_slots(f.m, old, &old->item[first], young, count - first);
      for (size_t i = first; way == BY_STORES && i < count; i++) cradle_store(f.m, old, &old->item[i], young[i]);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_int_equal(fixture_stats(&f).remembered_objects - before.remembered_objects, over);
      if (over == 0) assert_int_equal(fixture_stats(&f).recorded_slots - before.recorded_slots, HALF);
      for (size_t i = 0; i < count; i++) assert_int_equal(number_of(old->item[i]), 4);
    }
}

/* One copy covers more than half of the array, so the whole array is remembered at once. */
static void a_whole_array_is_remembered(void **state) {
  (void)state;
  vector *old = new_vector(LARGE);
  CRADLE_ROOT(f.m, old);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  vector *young = new_vector(LARGE);
  CRADLE_ROOT(f.m, young);
  fill(young, 1);
  string *text = new_string(0);
  cradle_store(f.m, young, &young->item[LARGE - 1], text);
  cradle_copy_slots(f.m, old, old->item, young->item, LARGE);
  young = NULL;
  assert_heap_sound(f.heap);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_strings(old, 0, LARGE - 1, 1);
  assert_int_equal(number_of(old->item[LARGE - 1]), 0);
}

static void ranges_may_overlap(void **state) {
  (void)state;
  static const size_t lengths[] = {SMALL, LARGE};
  for (size_t k = 0; k < 2; k++)
    for (int old = 0; old < 2; old++) {
      vector *v = new_vector(lengths[k]);
      CRADLE_ROOT(f.m, v);
      if (old) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      fill(v, 0);
      size_t count = lengths[k] - 7;
      cradle_copy_slots(f.m, v, &v->item[7], v->item, count);
      assert_heap_sound(f.heap);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_strings(v, 0, 7, 0);
      assert_strings(v, 7, count, 0);
      cradle_copy_slots(f.m, v, &v->item[1], &v->item[8], count - 1);
      assert_heap_sound(f.heap);
      assert_strings(v, 1, count - 1, 1);
      cradle_copy_slots(f.m, v, v->item, v->item, lengths[k]);
      cradle_copy_slots(f.m, v, v->item, NULL, 0);
      cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      assert_strings(v, 0, lengths[k] - 7, 0);
    }
}

static void values_are_copied_with_their_tags(void **state) {
  (void)state;
  static const size_t lengths[] = {SMALL, LARGE};
  for (size_t k = 0; k < 2; k++) {
    values *old = cradle_new_array(f.m, T_VALUES, lengths[k]);
    CRADLE_ROOT(f.m, old);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    values *young = cradle_new_array(f.m, T_VALUES, 40);
    CRADLE_ROOT(f.m, young);
    for (uint64_t i = 0; i < 40; i++) {
      uint64_t text = (uint64_t)(uintptr_t)new_string(i);
      cradle_store_value(f.m, young, &young->item[i], i % 4 == 0 ? i << 3 : text + TAG);
    }
    cradle_copy_slots(f.m, old, &old->item[30], young->item, 40);
    young = NULL;
    assert_heap_sound(f.heap);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_heap_sound(f.heap);
    for (uint64_t i = 0; i < 40; i++)
      if (i % 4 == 0)
        assert_int_equal(old->item[30 + i], i << 3);
      else
        assert_int_equal(number_of((void *)(uintptr_t)(old->item[30 + i] - TAG)), i);
  }
}

/* The mistake that lay in RPython for ten years: a bulk copy hides an old object, not yet marked, in an array that was
 * traced already. The source is the last that marking comes to, behind a long list, and is cleared after the copy. */
static void marking_sees_what_is_copied(size_t length, bool within) {
  vector *traced = new_vector(length);
  CRADLE_ROOT(f.m, traced);
  vector *source = new_vector(SMALL);
  CRADLE_ROOT(f.m, source);
  fill(source, 1);
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 1000; i++) {
    pair *fresh = cradle_new(f.m, T_PAIR, sizeof(pair));
    fresh->rest = list;
    if (i == 0) fresh->first = (pair *)source;
    list = fresh;
  }
  source = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  while (fixture_stats(&f).phase != CRADLE_PHASE_MARKING) (void)cradle_collect_step(f.m, 0);
  pair *last = list;
  while (last->rest != NULL) last = last->rest;
  source = (vector *)last->first; /* from a C variable that is no root between here and the next collection */
  cradle_copy_slots(f.m, traced, &traced->item[3], source->item, SMALL - 3);
  if (within) cradle_copy_slots(f.m, traced, &traced->item[0], &traced->item[3], SMALL - 3);
  if (within) memset(&traced->item[SMALL - 3], 0, 3 * sizeof(void *));
  memset(source->item, 0, SMALL * sizeof(void *));
  source = NULL;
  assert_heap_sound(f.heap);
  while (!cradle_collect_step(f.m, 0)) assert_heap_sound(f.heap);
  assert_strings(traced, within ? 0 : 3, SMALL - 3, 1);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_strings(traced, within ? 0 : 3, SMALL - 3, 1);
}

static void a_copy_while_marking(void **state) {
  (void)state;
  marking_sees_what_is_copied(SMALL, false);
  marking_sees_what_is_copied(SMALL, true);
  marking_sees_what_is_copied(LARGE, false);
  marking_sees_what_is_copied(LARGE, true);
}

/* Hides an old object that marking has not come to in slots of a large array that was traced already: by copies into
 * `parts` parts, or store by store. So many slots are no minor collection's work: marking traces the array again. */
static void marking_comes_back(size_t length, size_t parts, bool young) {
  vector *traced = new_vector(length);
  CRADLE_ROOT(f.m, traced);
  vector *source = new_vector(length);
  CRADLE_ROOT(f.m, source);
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 1000; i++) {
    pair *fresh = cradle_new(f.m, T_PAIR, sizeof(pair));
    fresh->rest = list;
    if (i == 0) fresh->first = (pair *)new_string(7); /* hidden below */
    list = fresh;
  }
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  /* The smallest steps, each of which traces 256 slots at most: all of the first array, not all of the second. */
  for (size_t i = 0; i < length / 256 * 3 / 2; i++) (void)cradle_collect_step(f.m, 0);
  assert_int_equal(fixture_stats(&f).phase, CRADLE_PHASE_MARKING);
  pair *last = list;
  while (last->rest != NULL) last = last->rest;
  cradle_statistics before = fixture_stats(&f);
  uint64_t stores = parts == 0 ? length : 0;
  for (size_t i = 0; i < length; i++) source->item[i] = (pair *)last->first; /* is not looked at before it is cleared */
  for (size_t i = 0; i < stores; i++) cradle_store(f.m, traced, &traced->item[i], source->item[i]);
  for (size_t i = 0; i < parts; i++)
    cradle_copy_slots(f.m, traced, &traced->item[i * (length / parts)], source->item, length / parts);
  memset(source->item, 0, length * sizeof(void *));
  last->first = NULL;
  string *text = young ? new_string(8) : NULL;
  if (young) cradle_store(f.m, traced, &traced->item[length / 2], text);
  assert_heap_sound(f.heap);
  (void)cradle_collect_step(f.m, 0);
  if (!f.stressed) {
    assert_int_equal(fixture_stats(&f).remembered_objects, before.remembered_objects);
    assert_true(fixture_stats(&f).recorded_slots - before.recorded_slots <= ((uint64_t)1 << 16) + young);
  }
  assert_heap_sound(f.heap);
  while (!cradle_collect_step(f.m, 0)) continue;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (size_t i = 0; i < length; i++) assert_int_equal(number_of(traced->item[i]), young && i == length / 2 ? 8 : 7);
}

/* Without a second core, whatever the environment says: how far so many steps mark is counted. */
static int open_with_one_thread(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  choose(&options);
  options.gc_threads = 0;
  fixture_open_with(&f, &options);
  return 0;
}

static void a_large_array_is_marked_again(void **state) {
  enum { LENGTH = 200000 };
  (void)state;
  if (f.stressed) skip(); /* each step of marking looks at the whole heap */
  for (int young = 0; young < 2; young++) {
    marking_comes_back(LENGTH, 1, young);
    marking_comes_back(LENGTH, 10, young);
    marking_comes_back(LENGTH, 0, young);
  }
}

/* --- misuse, in checked builds of the caller --- */

static void slots_beyond_the_object(void **state) {
  (void)state;
  vector *v = new_vector(4);
  volatile size_t far_too_many = SIZE_MAX / 8; /* volatile: a compiler that knows the number warns */
  ASSERT_MISUSE(&f, "the slots go beyond the object: type 2 (vector)",
                cradle_copy_slots(f.m, v, &v->item[1], v->item, 4));
  ASSERT_MISUSE(&f, "the slots go beyond the object", cradle_copy_slots(f.m, v, v, v->item, 1));
  ASSERT_MISUSE(&f, "the slots go beyond the object", cradle_copy_slots(f.m, v, v->item, v->item, far_too_many));
  ASSERT_MISUSE(&f, "the slots go beyond the object", cradle_copy_slots(f.m, v, (char *)v->item + 1, v->item, 1));
  cradle_copy_slots(f.m, v, v->item, &v->item[1], 3);
}

static void single_stores_beyond_the_object(void **state) {
  (void)state;
  vector *v = new_vector(4), *other = new_vector(4);
  ASSERT_MISUSE(&f, "cradle_store: the slots go beyond the object: type 2 (vector)",
                cradle_store(f.m, v, &v->item[4], NULL));
  ASSERT_MISUSE(&f, "cradle_store: the slots go beyond the object", cradle_store(f.m, v, &other->item[0], NULL));
  ASSERT_MISUSE(&f, "cradle_store: the object is NULL", cradle_store(f.m, NULL, &v->item[0], NULL));
  cradle_word no_object[2] = {99, 0};
  ASSERT_MISUSE(&f, "cradle_store: no object, but type 99", cradle_store(f.m, no_object, &no_object[1], NULL));
  cradle_store(f.m, v, &v->item[3], other);
}

static void *outside[2];
static void trace_outside(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  (void)object;
  cradle_visit(visitor, &outside[1], CRADLE_KIND_REFERENCE);
}

/* A trace callback may visit slots anywhere. */
static void a_store_outside_that_is_traced(void **state) {
  (void)state;
  const cradle_type owner = {.name = "owner", .size = 16, .trace = trace_outside};
  uint32_t type = cradle_type_add(f.heap, &owner);
  void *object = cradle_new(f.m, type, 16);
  cradle_store(f.m, object, &outside[1], object);
  assert_ptr_equal(outside[1], object);
  outside[1] = NULL;
}

static void peeks_below_the_base(void **state) {
  (void)state;
  cradle_push(f.m, NULL);
  assert_int_equal(*cradle_peek(f.m, 0), 0);
  ASSERT_MISUSE(&f, "cradle_peek: there is no word 1 below the shadow stack's top; it holds 1",
                (void)cradle_peek(f.m, 1)); /* which unwinds */
}

static void storing_listener(void *data, const cradle_event *event) {
  vector **v = data;
  (void)event;
  cradle_store(f.m, *v, &(*v)->item[0], NULL);
}

/* Into a young object, too, whose flag is not set; no handler can go on from there, so a child process tries. */
static void stores_in_callbacks(void **state) {
  (void)state;
  static vector *v;
  v = new_vector(4);
  f.listener = storing_listener, f.listener_data = &v;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_MINOR_BEGIN) | EVENT_BIT(CRADLE_EVENT_MINOR_END);
  assert_refused_in_child(&f, collect_minor, "cradle_store: called from a listener");
  f.listens_to = 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_FIXTURE(an_old_array_keeps_what_is_copied),
      WITH_FIXTURE(slots_are_recorded_or_the_array_is_remembered),
      WITH_FIXTURE(the_budget_of_an_array_is_exact),
      WITH_FIXTURE(a_whole_array_is_remembered),
      WITH_FIXTURE(ranges_may_overlap),
      WITH_FIXTURE(values_are_copied_with_their_tags),
      WITH_FIXTURE(a_copy_while_marking),
      cmocka_unit_test_setup_teardown(a_large_array_is_marked_again, open_with_one_thread, close_fixture),
      WITH_FIXTURE(slots_beyond_the_object),
      WITH_FIXTURE(single_stores_beyond_the_object),
      WITH_FIXTURE(a_store_outside_that_is_traced),
      WITH_FIXTURE(peeks_below_the_base),
      WITH_FIXTURE(stores_in_callbacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
