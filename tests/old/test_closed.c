/* Tests what happens to the memory of large objects that died, with a quarantine and without one. */
#include "tests/support/heap_fixture.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/inside.h"

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static fixture f;
static int ends[2]; /* a pipe: what is written to it was read */

static cradle_options options;

static void prepare(void) {
  cradle_options_init(&options);
  options.types = fixture_types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)64 << 10;
  options.verify = true;
  options.hugepages_arenas = CRADLE_HUGEPAGES_OFF;
  options.on_misuse = fixture_misuse;
  options.on_out_of_memory = fixture_shortage;
  options.user = &f;
}

static void open_quarantined(size_t max) {
  prepare();
  options.quarantine = 2;
  options.heap_max_bytes = max;
  fixture_open_with(&f, &options);
}

static void open_stressed(uint64_t period, uint64_t major) {
  prepare();
  options.stress_period = period;
  options.stress_major = major;
  fixture_open_with(&f, &options);
}

/* Asks the kernel, past AddressSanitizer. */
static bool can_be_read(const void *address) {
  char byte;
  if (syscall(SYS_write, ends[1], address, 1) != 1) return false;
  assert_int_equal(read(ends[0], &byte, 1), 1);
  return true;
}

/* The length of a string whose size with its header is this many bytes. */
static size_t length_of(size_t bytes) {
  return bytes - sizeof(string);
}

CRADLE_UNCHECKED_COLLECTION static char *dead(size_t bytes, bool old) {
  string *text = cradle_new_array(f.m, T_STRING, length_of(bytes));
  memset(text->byte, 'x', length_of(bytes));
  cradle_push(f.m, text);
  if (old) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_pop(f.m);
  if (old)
    cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  else
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  return (char *)text;
}

static void assert_explained(const char *text, size_t pages, size_t word, const char *died, uint64_t collection) {
  cradle_explanation explanation;
  char words[300];
  assert_true(cradle_explain_address(f.heap, text + word * 8, &explanation, sizeof explanation));
  snprintf(words, sizeof words,
           "stale reference to a string (large object at 0x%llx, %zu bytes, %s %d), at its word %d",
           (unsigned long long)(uintptr_t)text, pages * PAGE, died, (int)collection, (int)word);
  assert_string_equal(explanation.text, words);
  assert_int_equal(explanation.collection, collection);
}

static void what_died_young_is_closed(void **state) {
  (void)state;
  open_quarantined(0);
  const char *text = dead(50 * PAGE, false);
  for (size_t at = 0; at < 50; at++) assert_false(can_be_read(text + at * PAGE));
  assert_explained(text, 50, 2, "died in minor collection", 1);
  assert_true(cradle_heap_verify(f.heap, NULL));
  fixture_close(&f);
}

static void what_was_swept_is_closed(void **state) {
  (void)state;
  open_quarantined(0);
  const char *text = dead(30 * PAGE, true);
  assert_false(can_be_read(text));
  assert_false(can_be_read(text + 30 * PAGE - 1));
  assert_explained(text, 30, 1, "died; swept after minor collection", 2);
  fixture_close(&f);
}

/* What is longer than the ring may be is given back at once, so nothing is known of it. */
static void what_is_longer_than_an_arena_is_closed(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++)
    for (size_t arenas = 1; arenas <= 20; arenas += 19)
      for (size_t rest = 0; rest < 2; rest++) {
        open_quarantined(0);
        size_t bytes = arenas * ARENA_BYTES + rest * 2 * PAGE;
        const char *text = dead(bytes, old);
        for (size_t at = 0; at < bytes; at += PAGE) assert_false(can_be_read(text + at));
        cradle_explanation explanation;
        assert_true(cradle_explain_address(f.heap, text + bytes - 1, &explanation, sizeof explanation));
        const char *named = "stale reference to a string (large object at ", *unnamed = "stale reference into the old";
        assert_non_null(strstr(explanation.text, arenas == 1 ? named : unnamed));
        assert_true(cradle_heap_verify(f.heap, NULL));
        assert_in_range(fixture_stats(&f).arenas_committed, 0, 4);
        fixture_close(&f);
      }
}

/* The oldest closed places make room, and their memory is used again. */
static void what_is_closed_is_bounded(void **state) {
  (void)state;
  open_quarantined(0);
  size_t longest = 0;
  for (size_t i = 0; i < 1000; i++) {
    size_t bytes = (20 + i * 37 % 500) * PAGE;
    const char *text = dead(bytes, i % 10 == 0);
    assert_false(can_be_read(text));
    assert_false(can_be_read(text + bytes - 1));
    size_t committed = fixture_stats(&f).arenas_committed;
    if (committed > longest) longest = committed;
  }
  assert_in_range(longest, 4, 24);
  assert_true(cradle_heap_verify(f.heap, NULL));
  fixture_close(&f);
}

static void so_are_the_runs(void **state) {
  (void)state;
  open_quarantined(0);
  for (size_t i = 0; i < 200; i++) {
    const char *text = dead(10 * PAGE, i % 3 == 0);
    assert_false(can_be_read(text));
    assert_true(inside_old(f.heap)->arenas.closed->pages <= 64 * 10);
  }
  assert_int_equal(inside_old(f.heap)->arenas.closed->pages, 64 * 10);
  assert_in_range(fixture_stats(&f).arenas_in_use, 2, 3);
  fixture_close(&f);
}

/* When memory is short, closed memory is used again before an allocation fails. */
static void what_is_closed_is_no_reason_to_fail(void **state) {
  (void)state;
  for (size_t bytes = MIB / 2; bytes <= 5 * MIB; bytes += 900 * PAGE) {
    open_quarantined(16 * MIB);
    for (size_t i = 0; i < 100; i++) {
      string *text = cradle_new_array(f.m, T_STRING, bytes);
      assert_non_null(text);
      text->byte[bytes - 1] = 1;
    }
    string *most = cradle_new_array(f.m, T_STRING, 9 * MIB);
    assert_non_null(most);
    assert_true(cradle_heap_verify(f.heap, NULL));
    fixture_close(&f);
  }
}

/* A run of pages of an arena of its own, closed. */
static uint32_t closed_run(crd_arenas *arenas, uint32_t pages) {
  bool clean;
  uint32_t page = crd_arenas_take(arenas, pages, 0, &clean);
  assert_int_not_equal(page, PAGE_NONE);
  crd_closed_bury(arenas, (crd_closed_run){.page = page, .pages = pages}, 0);
  assert_false(can_be_read((void *)arenas_page_address(arenas, page)));
  return page;
}

static crd_arenas arenas;

static void open_arenas(size_t page_bytes, size_t reserved) {
  cradle_hardware hardware;
  prepare();
  options.quarantine = 1;
  options.reserve_bytes = reserved * ARENA_BYTES;
  inside_hardware(&hardware);
  hardware.page_bytes = page_bytes;
  assert_true(crd_arenas_init(&arenas, &options, &hardware));
  assert_true(crd_closed_init(&arenas, page_bytes));
}

static void close_arenas(void) {
  crd_closed_fini(&arenas);
  crd_arenas_fini(&arenas);
}

/* The arenas and the ring, recounted. */
static void assert_sound(void) {
  uint32_t closed_pages;
  assert_null(crd_arenas_check(&arenas));
  assert_null(crd_closed_check(&arenas, &closed_pages));
  assert_int_equal(closed_pages, arenas.closed->pages);
}

static void what_is_closed_makes_room_in_the_arenas(void **state) {
  (void)state;
  bool clean;
  open_arenas(PAGE, 1000);
  arenas.limit = 2;
  closed_run(&arenas, 300);
  uint32_t second = closed_run(&arenas, 300);
  assert_null(crd_closed_at(&arenas, arenas_page_address(&arenas, second + 300)));
  assert_null(crd_closed_at(&arenas, arenas_page_address(&arenas, second) - 1));
  assert_int_equal(arenas.closed->pages, 600);
  assert_int_equal(arenas.free_count, 0);
  assert_true(crd_arenas_ensure_free(&arenas, 1)); /* the oldest one */
  assert_int_equal(arenas.free_count, 1);
  assert_int_equal(arenas.closed->pages, 300);
  assert_non_null(crd_closed_at(&arenas, arenas_page_address(&arenas, second)));
  assert_false(can_be_read((void *)arenas_page_address(&arenas, second)));
  closed_run(&arenas, 300);
  uint32_t page = crd_arenas_take(&arenas, 600, 0, &clean); /* both */
  assert_int_not_equal(page, PAGE_NONE);
  assert_false(clean);
  assert_int_equal(arenas.closed->pages, 0);
  assert_true(can_be_read((void *)arenas_page_address(&arenas, page + 599)));
  assert_int_equal(crd_arenas_take(&arenas, 600, 0, &clean), PAGE_NONE);
  assert_sound();
  close_arenas();
}

/* The next object of the same size lies elsewhere, so that a stale reference to the last one faults for long; not
 * without end, as the metadata follows. */
static void what_is_longer_than_an_arena_goes_round(void **state) {
  (void)state;
  open_quarantined(0);
  for (size_t arenas_long = 2; arenas_long < 30; arenas_long += 9) {
    const char *texts[8];
    for (size_t i = 0; i < 8; i++) {
      texts[i] = dead(arenas_long * ARENA_BYTES, i % 2 == 1);
      for (size_t j = 0; j <= i; j++) {
        assert_false(can_be_read(texts[j]));
        assert_true(j == i || texts[j] != texts[i]);
      }
      assert_in_range((uintptr_t)texts[i] - inside_old(f.heap)->arenas.base, 0, (256 + 40 + 40) * ARENA_BYTES);
    }
  }
  assert_true(cradle_heap_verify(f.heap, NULL));
  fixture_close(&f);
}

/* Near the limit, arenas that are FREE already count towards the request, and nothing is opened for it. */
static void what_is_closed_is_no_room_for_long_ones(void **state) {
  (void)state;
  bool clean;
  open_arenas(PAGE, 100);
  arenas.limit = 30;
  uint32_t page = closed_run(&arenas, 300);
  for (uint32_t i = 1; i < 10; i++) assert_true(crd_arenas_ensure_free(&arenas, i));
  uint32_t long_one = crd_arenas_take(&arenas, 21 * ARENA_PAGES, 0, &clean);
  assert_int_not_equal(long_one, PAGE_NONE);
  assert_int_equal(arenas.closed->pages, 300);
  assert_false(can_be_read((void *)arenas_page_address(&arenas, page)));
  assert_in_range(arenas.committed_count, 22, 30);
  assert_sound();
  close_arenas();
}

static void assert_fault(const char *words) {
  uint32_t closed_pages;
  const char *fault = crd_closed_check(&arenas, &closed_pages);
  /* tests/tree/verifier_messages.py reads which messages were met. */
  const char *path = getenv("MISUSE_LOG");
  FILE *met = path == NULL ? NULL : fopen(path, "a");
  if (met != NULL) {
    fprintf(met, "%s\n", fault == NULL ? "" : fault);
    fclose(met);
  }
  if (fault == NULL || strstr(fault, words) == NULL)
    fail_msg("\"%s\", without \"%s\"", fault == NULL ? "no fault" : fault, words);
}

static void the_check_names_what_is_broken(void **state) {
  (void)state;
  open_arenas(PAGE, 8);
  uint32_t first = closed_run(&arenas, 300);
  closed_run(&arenas, 100);
  assert_sound();
  arenas.closed->pages++;
  assert_fault("the count of closed pages does not match their runs [closed.1]");
  arenas.closed->pages--;
  arenas_page(&arenas, first + 299)->state = PAGE_SMALL;
  assert_fault("a closed page is not taken, or a span's [closed.1]");
  arenas_page(&arenas, first + 299)->state = PAGE_FREE;
  assert_sound();
  close_arenas();
}

/* An arena that a run is the end of goes back, and not the next one. */
static void what_ends_an_arena_is_retired_in_it(void **state) {
  (void)state;
  bool clean;
  open_arenas(PAGE, 8);
  uint32_t first = crd_arenas_take(&arenas, 212, 0, &clean), last = closed_run(&arenas, 300);
  assert_int_equal(last, first + 212);
  assert_true(crd_arenas_ensure_free(&arenas, 1));
  crd_arenas_give_back(&arenas, first, 212);
  crd_closed_open_all(&arenas, 1);
  assert_false(can_be_read((void *)arenas_page_address(&arenas, first)));
  assert_null(crd_closed_at(&arenas, arenas_page_address(&arenas, last)));
  assert_true(can_be_read((void *)arenas_page_address(&arenas, (first / ARENA_PAGES + 1) * ARENA_PAGES)));
  assert_sound();
  close_arenas();
}

/* Larger base pages hold other objects, too: what cannot be closed is used again at once. */
static void larger_base_pages_are_not_closed(void **state) {
  (void)state;
  bool clean;
  open_arenas(4 * PAGE, 8);
  uint32_t page = crd_arenas_take(&arenas, 303, 0, &clean);
  uint32_t beside = crd_arenas_take(&arenas, 1, 0, &clean);
  crd_closed_bury(&arenas, (crd_closed_run){.page = page, .pages = 303}, 0);
  assert_true(can_be_read((void *)arenas_page_address(&arenas, page)));
  assert_true(can_be_read((void *)arenas_page_address(&arenas, beside)));
  assert_int_equal(arenas.closed->pages, 0);
  assert_int_equal(crd_arenas_take(&arenas, 303, 0, &clean), page);
  assert_false(clean);
  close_arenas();
}

static size_t most_resident(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
  return (size_t)usage.ru_maxrss << 10;
}

/* Poison does not bring the pages of a sparse object in. */
CRADLE_UNCHECKED_COLLECTION static void what_was_never_touched_is_not_either(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++)
    for (int stressed = 0; stressed < 2; stressed++) {
      if (stressed)
        open_stressed(1000000, 0);
      else
        open_quarantined(0);
      size_t before = most_resident();
      cradle_push(f.m, cradle_new_array(f.m, T_STRING, 300 * MIB));
      if (old) cradle_collect(f.m, CRADLE_COLLECT_MINOR);
      const char *text = cradle_pop(f.m);
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_false(can_be_read(text));
      assert_false(can_be_read(text + 299 * MIB));
      assert_in_range(most_resident(), before, before + 20 * MIB);
      fixture_close(&f);
    }
}

/* An arena that a run was all of goes back to the system when the run leaves the ring. */
static void what_leaves_the_ring_stays_inaccessible(void **state) {
  (void)state;
  open_quarantined(0);
  const char *texts[40];
  for (size_t i = 0; i < 40; i++) texts[i] = dead(400 * PAGE, false); /* two of them lie in no arena together */
  for (size_t i = 0; i < 40; i++) assert_false(can_be_read(texts[i]));
  assert_in_range(inside_old(f.heap)->arenas.closed->pages, 2000, 8 * ARENA_PAGES);
  assert_in_range(fixture_stats(&f).arenas_committed, 0, 14);
  fixture_close(&f);
}

/* A compaction empties the arenas that closed pages lie in. */
static void what_is_closed_may_be_compacted(void **state) {
  (void)state;
  open_quarantined(0);
  {
    const char *alone = dead(300 * PAGE, true);
    pair *kept = cradle_new(f.m, T_PAIR, sizeof(pair));
    CRADLE_ROOT(f.m, kept);
    const char *beside = dead(30 * PAGE, true);
    const pair *before = kept;
    assert_false(can_be_read(beside));
    cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    assert_ptr_not_equal(kept, before);
    assert_int_equal(fixture_stats(&f).arenas_in_use, 1);
    assert_false(can_be_read(before));
    assert_false(can_be_read(alone));
    assert_false(can_be_read(beside));
    cradle_explanation explanation;
    assert_true(cradle_explain_address(f.heap, beside, &explanation, sizeof explanation));
    assert_non_null(strstr(explanation.text, "stale reference into the old generation, where no memory is"));
  }
  fixture_close(&f);
}

/* Committed memory without objects is not dropped, not even before a fork: so the poison of dead small objects stays
 * visible, too. */
static void what_stays_committed_is_poison(void **state) {
  (void)state;
  for (int forks = 0; forks < 2; forks++) {
    open_quarantined(0);
    pair *object = cradle_new(f.m, T_PAIR, sizeof(pair));
    cradle_push(f.m, object);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    const cradle_word *before = cradle_pop(f.m);
    if (forks) {
      cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
      assert_true(cradle_fork_prepare(f.heap, NULL));
      cradle_fork_done(f.heap);
    } else {
      cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
    }
    assert_int_equal(fixture_stats(&f).arenas_in_use, 0);
    for (size_t i = 1; i < sizeof(pair) / 8; i++) assert_int_equal(before[i], POISON_SWEPT);
    fixture_close(&f);
  }
}

/* Without a quarantine nothing is closed; under stress the memory holds poison instead. */
static void what_is_not_closed_is_poison(void **state) {
  (void)state;
  for (int old = 0; old < 2; old++) {
    open_stressed(1000000, 0);
    size_t bytes = old ? 40 * PAGE : 2 * ARENA_BYTES + 40 * PAGE;
    const cradle_word *text = (const cradle_word *)dead(bytes, old);
    for (size_t i = 0; i < bytes / 8; i++) assert_int_equal(text[i], old ? POISON_SWEPT : POISON_NURSERY);
    fixture_close(&f);
  }
}

/* So is an object's old place after a compaction, if its arena stays because a pinned object is in it. */
static void what_was_moved_is_poison(void **state) {
  (void)state;
  open_stressed(1, 1);
  {
    string *text = cradle_new_array(f.m, T_STRING, length_of(40 * PAGE));
    CRADLE_ROOT(f.m, text);
    void *pinned = cradle_new_with(f.m, T_STRING, cradle_array_layout_of(0, 0, 0), length_of(40 * PAGE),
                                   CRADLE_PINNED); /* text is old since */
    const cradle_word *before = (const cradle_word *)text;
    assert_int_equal((uintptr_t)pinned / ARENA_BYTES, (uintptr_t)before / ARENA_BYTES);
    (void)cradle_new(f.m, T_PAIR, sizeof(pair));
    assert_ptr_not_equal(text, before);
    for (size_t i = 0; i < 40 * PAGE / 8; i++) assert_int_equal(before[i], POISON_COMPACTED);
    cradle_unpin(f.m, pinned);
  }
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_died_young_is_closed),
      cmocka_unit_test(what_was_swept_is_closed),
      cmocka_unit_test(what_is_longer_than_an_arena_is_closed),
      cmocka_unit_test(what_is_closed_is_bounded),
      cmocka_unit_test(so_are_the_runs),
      cmocka_unit_test(what_is_closed_is_no_reason_to_fail),
      cmocka_unit_test(what_is_closed_makes_room_in_the_arenas),
      cmocka_unit_test(what_is_longer_than_an_arena_goes_round),
      cmocka_unit_test(what_is_closed_is_no_room_for_long_ones),
      cmocka_unit_test(the_check_names_what_is_broken),
      cmocka_unit_test(what_ends_an_arena_is_retired_in_it),
      cmocka_unit_test(larger_base_pages_are_not_closed),
      cmocka_unit_test(what_was_never_touched_is_not_either),
      cmocka_unit_test(what_leaves_the_ring_stays_inaccessible),
      cmocka_unit_test(what_is_closed_may_be_compacted),
      cmocka_unit_test(what_stays_committed_is_poison),
      cmocka_unit_test(what_is_not_closed_is_poison),
      cmocka_unit_test(what_was_moved_is_poison),
  };
  if (sysconf(_SC_PAGESIZE) > (long)PAGE) {
    puts("skipped: base pages above 4 KiB are not closed");
    return 77;
  }
  if (pipe(ends) != 0) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
