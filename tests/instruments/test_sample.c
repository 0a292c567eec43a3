/* Tests sampling: which allocations are reported, with which weight, and which fate. Every figure is exact or counted
 * in allocated bytes; nothing is timed. */
#include "tests/support/allocated.h"
#include "tests/support/heap_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/inside.h"

#define KIB ((size_t)1 << 10)
#define SAMPLES_MAX 65536

typedef struct recorder {
  cradle_sample samples[SAMPLES_MAX];
  size_t count;
  int site; /* where the program is; an embedder would read it from its call stack */
  uint64_t weight_by_site[8];
  uint64_t weight_by_fate[T_COUNT + 1][3];
  size_t settled;
} recorder;

static fixture f;
static recorder record, other_record;

static uint64_t on_sampled(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  recorder *r = data;
  assert_true(mutator == f.m || r != &record);
  assert_true(r->count < SAMPLES_MAX);
  assert_true(sample->weight_bytes != 0);
  r->samples[r->count] = *sample;
  r->weight_by_site[r->site] += sample->weight_bytes;
  return r->count++;
}

static void on_settled(void *data, const cradle_sample *sample, cradle_fate fate) {
  recorder *r = data;
  assert_true(sample->tag < r->count);
  assert_ptr_equal(sample->object, r->samples[sample->tag].object);
  uint32_t row = sample->type == CRADLE_TYPE_ID_END ? T_COUNT : sample->type;
  r->weight_by_fate[row][fate] += sample->weight_bytes;
  r->settled++;
}

static void open_sampled(size_t nursery_bytes, size_t interval, uint64_t seed) {
  cradle_options options;
  memset(&record, 0, sizeof record);
  fixture_options(&f, &options);
  options.verify = false; /* not after each collection; the tests verify at their ends */
  options.nursery_bytes = nursery_bytes;
  options.sampler = (cradle_sampler){interval, seed, on_sampled, on_settled, &record};
  fixture_open_with(&f, &options);
}

static void close_sampled(void) {
  assert_heap_sound(f.heap);
  fixture_close(&f);
  assert_int_equal(record.settled, record.count);
}

static uint64_t all_weights(const recorder *r) {
  uint64_t sum = 0;
  for (size_t i = 0; i < r->count; i++) sum += r->samples[i].weight_bytes;
  return sum;
}

/* --- weights --- */

/* Four sites with known shares, in a loop of 1024 bytes. Every interval below is a multiple of 1024 bytes, the hardest
 * case for sampling. */
enum { SITE_SMALL, SITE_MEDIUM, SITE_ARRAY, SITE_LARGE, SITES };

CRADLE_MAY_COLLECT static void one_round(uint64_t bytes[SITES], int round) {
  record.site = SITE_SMALL;
  for (int i = 0; i < 4; i++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  record.site = SITE_MEDIUM;
  for (int i = 0; i < 3; i++) (void)cradle_new_array(f.m, T_STRING, 112);
  record.site = SITE_ARRAY;
  (void)cradle_new_array(f.m, T_VECTOR, 66);
  bytes[SITE_SMALL] += 4 * sizeof(pair), bytes[SITE_MEDIUM] += 3 * 128, bytes[SITE_ARRAY] += 544;
  if (round % 512 != 0) return;
  record.site = SITE_LARGE;
  (void)cradle_new_array(f.m, T_STRING, 256 * KIB - 16);
  bytes[SITE_LARGE] += 256 * KIB;
}

CRADLE_UNCHECKED_COLLECTION static void check_shares(size_t nursery_bytes, size_t interval, uint64_t seed) {
  uint64_t bytes[SITES] = {0}, total = 0;
  open_sampled(nursery_bytes, interval, seed);
  int rounds = (int)(20000 * interval / KIB); /* enough samples to keep chance well within the tolerance */
  for (int round = 0; round < rounds; round++) one_round(bytes, round);
  for (int i = 0; i < SITES; i++) total += bytes[i];
  uint64_t weights = all_weights(&record), gap = weights > total ? weights - total : total - weights;
  assert_true(gap <= interval);
  for (int i = 0; i < SITES; i++) {
    double share = (double)bytes[i] / (double)total, found = (double)record.weight_by_site[i] / (double)weights;
    double tolerance = share < 0.2 ? 0.01 : share * 0.05;
    if (found < share - tolerance || found > share + tolerance)
      fail_msg("nursery %zu, interval %zu, seed %zu, site %d: %.4f of the bytes, %.4f of the weights", nursery_bytes,
               interval, (size_t)seed, i, share, found);
  }
  close_sampled();
}

/* With three nurseries, three intervals and three seeds the shares are right each time, not only on average. */
static void shares_are_right(void **state) {
  (void)state;
  static const size_t nurseries[] = {4 * KIB, 64 * KIB, 1024 * KIB}, intervals[] = {KIB, 4 * KIB, 16 * KIB};
  for (size_t n = 0; n < 3; n++)
    for (size_t i = 0; i < (f.stressed ? 1 : 3); i++)
      for (uint64_t seed = 0; seed < 3; seed++) check_shares(nurseries[n], intervals[i], seed);
}

/* Each word is equally likely to be sampled: over many points, the words of a stretch are hit evenly. */
CRADLE_UNCHECKED_COLLECTION static void points_are_spread(void **state) {
  (void)state;
  enum { INTERVAL = 64, WORDS = INTERVAL / 16, ROUNDS = 40000 };
  size_t hits[WORDS] = {0};
  open_sampled(64 * KIB, INTERVAL, 7);
  for (int i = 0; i < ROUNDS; i++) {
    size_t before = record.count;
    (void)cradle_new_array(f.m, T_STRING, 0);
    hits[i % WORDS] += record.count - before;
  }
  for (int i = 0; i < WORDS; i++)
    assert_in_range(hits[i], ROUNDS / WORDS / WORDS * 9 / 10, ROUNDS / WORDS / WORDS * 12 / 10);
  close_sampled();
}

/* An object that covers many sampling points is one sample with the weight of all of them. */
CRADLE_UNCHECKED_COLLECTION static void large_objects_hold_many_points(void **state) {
  (void)state;
  open_sampled(64 * KIB, 64, 1);
  for (int i = 1; i <= 20; i++) {
    size_t bytes = (size_t)i * 40 * KIB, before = record.count;
    uint64_t weights = all_weights(&record);
    void *object = cradle_new_array(f.m, T_STRING, bytes - sizeof(string));
    assert_int_equal(record.count, before + 1);
    const cradle_sample *sample = &record.samples[before];
    assert_ptr_equal(sample->object, object);
    assert_true(sample->is_large && sample->type == T_STRING && sample->bytes == bytes);
    assert_string_equal(sample->type_name, "string");
    assert_in_range(all_weights(&record) - weights, bytes - 64, bytes + 64);
  }
  close_sampled();
}

/* --- what a sample says --- */

CRADLE_UNCHECKED_COLLECTION static void samples_name_the_object(void **state) {
  (void)state;
  open_sampled(64 * KIB, 4 * KIB, 3);
  for (int i = 0; i < 20000; i++) {
    size_t before = record.count;
    void *object = i % 3 == 0 ? cradle_new(f.m, T_PAIR, sizeof(pair)) : cradle_new_array(f.m, T_VECTOR, (size_t)i % 50);
    if (record.count == before) continue;
    const cradle_sample *sample = &record.samples[before];
    assert_int_equal(record.count, before + 1);
    assert_ptr_equal(sample->object, object);
    assert_int_equal(sample->type, cradle_type_of(object));
    assert_string_equal(sample->type_name, fixture_types[sample->type].name);
    assert_int_equal(sample->bytes, i % 3 == 0 ? sizeof(pair) : 16 + (size_t)i % 50 * 8);
    assert_false(sample->is_large);
  }
  assert_true(record.count > 300);
  close_sampled();
}

CRADLE_UNCHECKED_COLLECTION static void equal_seeds_give_equal_samples(void **state) {
  (void)state;
  size_t counts[3];
  uint64_t first[3] = {0};
  for (int run = 0; run < 3; run++) {
    open_sampled(64 * KIB, 4 * KIB, run == 2);
    uint64_t allocations = 0;
    while (record.count < 64) {
      size_t before = record.count;
      (void)cradle_new(f.m, T_PAIR, sizeof(pair));
      if (record.count != before) first[run] = first[run] * 31 + allocations;
      allocations++;
    }
    counts[run] = record.count;
    close_sampled();
  }
  assert_int_equal(counts[0], counts[1]);
  assert_int_equal(first[0], first[1]);
  assert_int_not_equal(first[0], first[2]);
}

/* --- fates --- */

/* Keeps pairs until the collection, no vectors, and every third large object. */
CRADLE_UNCHECKED_COLLECTION static void fates_are_told(void **state) {
  (void)state;
  static const size_t nurseries[] = {4 * KIB, 64 * KIB, 1024 * KIB};
  for (size_t n = 0; n < 3; n++) {
    open_sampled(nurseries[n], 1 * KIB, n);
    for (int i = 0; i < 5000; i++) {
      cradle_push(f.m, cradle_new(f.m, T_PAIR, sizeof(pair)));
      (void)cradle_new_array(f.m, T_VECTOR, 3);
      if (i % 250 == 0) cradle_push(f.m, cradle_new_array(f.m, T_VALUES, 5000));
      if (i % 250 == 1) (void)cradle_new_array(f.m, T_STRING, 40000);
    }
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    for (int type = 0; type < T_COUNT; type++) {
      bool kept = type == T_PAIR || type == T_VALUES;
      assert_true(record.weight_by_fate[type][kept ? CRADLE_FATE_SURVIVED : CRADLE_FATE_DIED] > 50 * KIB);
      assert_int_equal(record.weight_by_fate[type][kept ? CRADLE_FATE_DIED : CRADLE_FATE_SURVIVED], 0);
      assert_int_equal(record.weight_by_fate[type][CRADLE_FATE_UNKNOWN], 0);
    }
    assert_int_equal(record.settled, record.count);
    cradle_pop_many(f.m, 5000 + 20);
    close_sampled();
  }
}

CRADLE_UNCHECKED_COLLECTION static void reservations_are_sampled_whole(void **state) {
  (void)state;
  uint64_t bytes = 0;
  open_sampled(64 * KIB, 4 * KIB, 5);
  for (int i = 0; i < 5000; i++, bytes += 8 * sizeof(pair)) {
    cradle_reservation room = cradle_reserve(f.m, 8 * sizeof(pair));
    for (int k = 0; k < 7; k++) { /* a reservation may be left partly unused */
      pair *fresh = cradle_new_reserved(&room, T_PAIR, sizeof(pair));
      fresh->first = fresh->rest = NULL;
    }
  }
  for (size_t i = 0; i < record.count; i++) {
    assert_int_equal(record.samples[i].type, CRADLE_TYPE_ID_END);
    assert_null(record.samples[i].type_name);
    assert_int_equal(record.samples[i].bytes, 8 * sizeof(pair));
  }
  assert_in_range(all_weights(&record), bytes - 4 * KIB, bytes + 4 * KIB);
  assert_int_equal(record.weight_by_fate[T_COUNT][CRADLE_FATE_UNKNOWN], all_weights(&record));
  close_sampled();
}

/* AddressSanitizer calls this. The next test requests more memory than there is, which must return NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
  return "allocator_may_return_null=1";
}

/* When the list of open samples cannot grow, the fate is unknown and the rest goes on. */
CRADLE_UNCHECKED_COLLECTION static void refused_memory_makes_fates_unknown(void **state) {
  (void)state;
  open_sampled(64 * KIB, 64, 5);
  crd_sampling saved = f.heap->sampling;
  f.heap->sampling.open_count = f.heap->sampling.open_capacity = UINT32_MAX;
  size_t before = record.count;
  for (int i = 0; i < 4 && record.count == before; i++) crd_sample_slow(f.m, f.m->free, T_PAIR, 64);
  assert_int_equal(record.count, before + 1);
  assert_int_equal(record.settled, before + 1);
  assert_int_equal(record.weight_by_fate[T_PAIR][CRADLE_FATE_UNKNOWN], record.samples[before].weight_bytes);
  f.heap->sampling = saved;
  close_sampled();
}

/* --- with the other features that lower top --- */

CRADLE_UNCHECKED_COLLECTION static void top_is_the_next_point_or_the_end(void **state) {
  (void)state;
  open_sampled(64 * KIB, 4 * KIB, 9);
  for (int i = 0; i < 20000; i++) {
    (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    uintptr_t point = inside_local(f.heap)->sample.point, end = (uintptr_t)inside_nursery(f.heap)->end;
    assert_true((uintptr_t)f.m->free <= point);                                               /* [sample.1] */
    uintptr_t look = (uintptr_t)inside_local(f.heap)->look, lowest = look < end ? look : end; /* [nursery.4] */
    if (!f.stressed) assert_true((uintptr_t)f.m->top == (point < lowest ? point : lowest));
  }
  close_sampled();
  cradle_options options;
  fixture_options(&f, &options);
  fixture_open_with(&f, &options);
  fixture_pass_first_looks(&f);
  if (!f.stressed) assert_ptr_equal(f.m->top, inside_nursery(f.heap)->end);
  assert_true(inside_local(f.heap)->sample.point == UINTPTR_MAX);
  fixture_close(&f);
}

static void assert_unsound(const char *words) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  if (strstr(error.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", error.message, words);
}

CRADLE_UNCHECKED_COLLECTION static void points_and_open_samples_are_verified(void **state) {
  (void)state;
  open_sampled(64 * KIB, 64, 3);
  fixture_pass_first_looks(&f);
  crd_sampling *sampling = &f.heap->sampling;
  for (int i = 0; i < 10 || sampling->open_count == 0; i++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  crd_sample_points *points = &f.heap->space.locals.sample;
  uintptr_t point = points->point;
  points->point = (uintptr_t)f.m->free - 8;
  assert_unsound("an object passed the sample point unseen [sample.1]");
  points->point = point;
  char *top = f.m->top;
  f.m->top = (char *)point + 8;
  if (f.m->top <= inside_nursery(f.heap)->end) assert_unsound("top is above the sample point [sample.2]");
  f.m->top = top;
  const void *object = sampling->open[0].object;
  sampling->open[0].object = f.m->free;
  assert_unsound("a sample is open, but its object is not new [sample.3]");
  sampling->open[0].object = object;
  close_sampled();
}

CRADLE_UNCHECKED_COLLECTION static void requests_are_served(void **state) {
  (void)state;
  open_sampled(1024 * KIB, 64, 2);
  for (int i = 0; i < 100; i++) {
    for (int k = 0; k < i; k++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    uint64_t before = fixture_stats(&f).minor_collections;
    cradle_safepoint_request(f.m);
    assert_null(f.m->top);
    if (i % 2 == 0)
      cradle_safepoint(f.m);
    else
      (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    assert_true(fixture_stats(&f).minor_collections > before);
  }
  close_sampled();
}

static uint64_t requesting(void *data, cradle_mutator *mutator, const cradle_sample *sample) {
  cradle_safepoint_request(mutator); /* as another thread might do at this moment */
  return on_sampled(data, mutator, sample);
}

CRADLE_UNCHECKED_COLLECTION static void a_request_while_sampling_is_not_lost(void **state) {
  (void)state;
  cradle_options options;
  memset(&record, 0, sizeof record);
  fixture_options(&f, &options);
  options.nursery_bytes = 1024 * KIB;
  options.sampler = (cradle_sampler){4 * KIB, 1, requesting, on_settled, &record};
  fixture_open_with(&f, &options);
  while (record.count < 10) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  assert_null(f.m->top);
  cradle_safepoint(f.m);
  assert_true(fixture_stats(&f).minor_collections >= 10);
  close_sampled();
}

CRADLE_UNCHECKED_COLLECTION static void regions_without_collections_stay_shut(void **state) {
  (void)state;
  open_sampled(64 * KIB, 64, 2);
  (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  ASSERT_MISUSE(&f, "no-collection region", cradle_no_collect_begin(f.m); (void)cradle_new(f.m, T_PAIR, sizeof(pair)));
  close_sampled();
}

CRADLE_UNCHECKED_COLLECTION static uint64_t allocating(void *data, cradle_mutator *mutator,
                                                       const cradle_sample *sample) {
  (void)data, (void)sample;
  (void)cradle_new(mutator, T_PAIR, sizeof(pair));
  return 0;
}

CRADLE_UNCHECKED_COLLECTION static void allocate_some(cradle_mutator *m) {
  for (int i = 0; i < 100; i++) (void)cradle_new(m, T_PAIR, sizeof(pair));
}

CRADLE_UNCHECKED_COLLECTION static void an_allocating_sampler_is_refused(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  options.sampler = (cradle_sampler){64, 0, allocating, NULL, NULL};
  fixture_open_with(&f, &options);
  assert_refused_in_child(&f, allocate_some, "from a sampler's callback");
  fixture_close(&f);
}

/* --- heaps and options --- */

/* Samples may be open as a heap is freed. */
CRADLE_UNCHECKED_COLLECTION static void a_freed_heap_leaves_no_samples_behind(void **state) {
  (void)state;
  size_t before = 0;
  for (int i = 0; i < 40; i++) {
    if (i == 10) before = allocated_bytes();
    open_sampled(64 * KIB, 64, 3);
    for (int made = 0; made < 500; made++) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    if (!f.stressed) assert_true(f.heap->sampling.open_count > 50);
    fixture_close(&f);
  }
  assert_true(allocated_bytes() < before + 16 * KIB);
}

CRADLE_UNCHECKED_COLLECTION static void heaps_are_sampled_apart(void **state) {
  (void)state;
  fixture other = {0};
  cradle_options options;
  memset(&other_record, 0, sizeof other_record);
  open_sampled(64 * KIB, KIB, 1);
  fixture_options(&other, &options);
  options.sampler = (cradle_sampler){2 * KIB, 1, on_sampled, on_settled, &other_record};
  fixture_open_with(&other, &options);
  for (int i = 0; i < 5000; i++) {
    (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    (void)cradle_new_array(other.m, T_STRING, 48);
  }
  for (size_t i = 0; i < record.count; i++) assert_int_equal(record.samples[i].type, T_PAIR);
  for (size_t i = 0; i < other_record.count; i++) assert_int_equal(other_record.samples[i].type, T_STRING);
  assert_in_range(all_weights(&record), 5000 * sizeof(pair) - KIB, 5000 * sizeof(pair) + KIB);
  assert_in_range(all_weights(&other_record), 5000 * 64 - 2 * KIB, 5000 * 64 + 2 * KIB);
  fixture_close(&other);
  close_sampled();
}

/* Each stretch of the interval's length has one sample, also the first; the length is rounded up to words. */
static void the_first_stretch_is_like_the_others(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 10; seed++) {
    open_sampled(256 * KIB, 65, seed);
    const crd_sample_points *points = &f.heap->space.locals.sample;
    assert_int_equal(f.heap->sampling.interval, 72);
    assert_int_equal(points->point - (uintptr_t)inside_nursery(f.heap)->start + points->stretch_end, 72);
    close_sampled();
  }
}

static void assert_refused(cradle_sampler sampler, const char *words) {
  cradle_options options;
  cradle_error error;
  fixture_options(&f, &options);
  options.sampler = sampler;
  assert_null(cradle_heap_new(&options, &error));
  if (strstr(error.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", error.message, words);
}

static void bad_samplers_are_refused(void **state) {
  (void)state;
  assert_refused((cradle_sampler){0, 0, on_sampled, NULL, NULL}, "sampler.interval_bytes: wants a size from 64 to 1T");
  assert_refused((cradle_sampler){63, 0, on_sampled, NULL, NULL}, "sampler.interval_bytes");
  assert_refused((cradle_sampler){CRADLE_SAMPLE_MAX_BYTES + 1, 0, on_sampled, NULL, NULL}, "sampler.interval_bytes");
  assert_refused((cradle_sampler){KIB, 0, NULL, on_settled, NULL}, "no sampled function");
}

int main(void) {
  cradle_options options;
  fixture_options(&f, &options);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shares_are_right),
      cmocka_unit_test(points_are_spread),
      cmocka_unit_test(large_objects_hold_many_points),
      cmocka_unit_test(samples_name_the_object),
      cmocka_unit_test(equal_seeds_give_equal_samples),
      cmocka_unit_test(fates_are_told),
      cmocka_unit_test(reservations_are_sampled_whole),
      cmocka_unit_test(refused_memory_makes_fates_unknown),
      cmocka_unit_test(top_is_the_next_point_or_the_end),
      cmocka_unit_test(points_and_open_samples_are_verified),
      cmocka_unit_test(a_freed_heap_leaves_no_samples_behind),
      cmocka_unit_test(requests_are_served),
      cmocka_unit_test(a_request_while_sampling_is_not_lost),
      cmocka_unit_test(regions_without_collections_stay_shut),
      cmocka_unit_test(an_allocating_sampler_is_refused),
      cmocka_unit_test(heaps_are_sampled_apart),
      cmocka_unit_test(the_first_stretch_is_like_the_others),
      cmocka_unit_test(bad_samplers_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
