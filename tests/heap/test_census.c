/* Tests that live objects are counted by type: the events against what the test has made. */
#include "tests/support/forks.h"
#include "tests/support/granted.h"
#include "tests/support/services.h"

#include "tests/inside.h"

enum { ROWS_MOST = 40 };

/* The rows of the last major collection. */
static struct {
  __typeof__(((cradle_event *)0)->u.types) rows[ROWS_MOST];
  size_t count;
  uint64_t number, marked, types_wanted, notes;
} seen;

static void see(void *data, const cradle_event *event) {
  (void)data;
  if (event->kind == CRADLE_EVENT_MAJOR_BEGIN) seen.marked = 0;
  if (event->kind == CRADLE_EVENT_STEP_END) seen.marked += event->u.step.marked_objects;
  if (event->kind == CRADLE_EVENT_NOTE)
    seen.notes += strcmp(event->u.note.text, "no memory to count live objects by type") == 0;
  if (event->kind != CRADLE_EVENT_TYPES) return;
  if (event->u.types.number != seen.number) seen.count = 0;
  seen.number = event->u.types.number;
  assert_true(seen.count < ROWS_MOST);
  seen.rows[seen.count++] = event->u.types;
}

static void listen(cradle_options *options) {
  options->listener = (cradle_listener){see, NULL};
  options->report_types = seen.types_wanted;
  options->gc_threads = 0; /* tests/old/test_markers.c has a census with helpers */
}

/* A vector that holds lists of pairs; the last string is a large object. */
enum { FINALS = 50, STRINGS = 100, LARGE_BYTES = 20000 };
static size_t pairs; /* fewer under stress; half as many die */

static void open_seen(fixture *f, uint64_t types) {
  memset(&seen, 0, sizeof seen);
  seen.types_wanted = types;
  services_open_with(f, listen);
  pairs = f->stressed ? 2000 : 60000;
}

static void collect(fixture *f) {
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  assert_int_equal(seen.number, fixture_stats(f).major_collections);
}

static const __typeof__(seen.rows[0]) *row_of(uint32_t type) {
  for (size_t i = 0; i < seen.count; i++)
    if (seen.rows[i].type == type && seen.rows[i].types == 1 && strcmp(seen.rows[i].name, "(rest)") != 0)
      return &seen.rows[i];
  return NULL;
}

static void check_row(uint32_t type, const char *name, uint64_t objects, uint64_t bytes) {
  const __typeof__(seen.rows[0]) *row = row_of(type);
  if (row == NULL) fail_msg("no row of %s", name);
  assert_string_equal(row->name, name);
  assert_int_equal(row->live_objects, objects);
  assert_int_equal(row->live_bytes, bytes);
}

static void check_objects(uint32_t type, uint64_t objects) {
  const __typeof__(seen.rows[0]) *row = row_of(type);
  assert_int_equal(row == NULL ? 0 : row->live_objects, objects);
}

static uint64_t bytes_seen(void) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < seen.count; i++) bytes += seen.rows[i].live_bytes;
  return bytes;
}

static vector *make_all(fixture *f) {
  vector *roots = cradle_new_array(f->m, T_VECTOR, STRINGS + 3);
  CRADLE_ROOT(f->m, roots);
  for (size_t i = 0; i < pairs + pairs / 2; i++) {
    pair *p = new_pair(f, roots->item[i < pairs]);
    cradle_store(f->m, roots, &roots->item[i < pairs], p);
    if (i % 30 == 0 && i < 30 * FINALS) {
      final *last = new_final(f, i, roots->item[2]);
      cradle_store(f->m, roots, &roots->item[2], last);
    }
  }
  for (size_t i = 0; i < STRINGS; i++) {
    string *text = cradle_new_array(f->m, T_STRING, i + 1 == STRINGS ? LARGE_BYTES : 8);
    cradle_store(f->m, roots, &roots->item[3 + i], text);
  }
  roots->item[false] = NULL;
  return roots;
}

static void each_type_has_its_objects(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 20);
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    collect(&f);
    uint64_t large = (LARGE_BYTES + sizeof(string) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    check_row(T_PAIR, "pair", pairs, pairs * sizeof(pair));
    check_row(T_FINAL, "final", FINALS, FINALS * sizeof(final));
    check_row(T_STRING, "string", STRINGS, (STRINGS - 1) * (sizeof(string) + 8) + large);
    const __typeof__(seen.rows[0]) *vectors = row_of(T_VECTOR);
    assert_true(vectors != NULL && vectors->live_objects == 1 &&
                vectors->live_bytes >= sizeof(vector) + 8 * roots->length);
    uint64_t objects = 0, bytes = 0;
    for (size_t i = 0; i < seen.count; i++) {
      assert_true(i == 0 || seen.rows[i].live_bytes <= seen.rows[i - 1].live_bytes);
      objects += seen.rows[i].live_objects;
      bytes += seen.rows[i].live_bytes;
    }
    assert_int_equal(seen.count, 4);
    assert_int_equal(objects, seen.marked);
    assert_int_equal(bytes, fixture_stats(&f).old_bytes);
  }
  fixture_close(&f);
}

static void small_types_are_summed_up(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 2);
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    collect(&f);
    assert_int_equal(seen.count, 3);
    assert_int_equal(seen.rows[0].type, T_PAIR);
    assert_int_equal(seen.rows[1].type, T_STRING);
    assert_string_equal(seen.rows[2].name, "(rest)");
    assert_int_equal(seen.rows[2].types, 2);
    assert_int_equal(seen.rows[2].type, 0);
    assert_int_equal(seen.rows[2].live_objects, FINALS + 1);
    assert_int_equal(seen.rows[0].live_bytes + seen.rows[1].live_bytes + seen.rows[2].live_bytes,
                     fixture_stats(&f).old_bytes);
  }
  fixture_close(&f);
}

static void begin_sweep(fixture *f) CRADLE_MAY_COLLECT {
  collect(f);
  while (inside_major(f->heap)->phase != MAJOR_SWEEPING) (void)cradle_collect_step(f->m, 0);
}

/* What is made, stored and dropped while the sweep goes on does not count: marking was over. */
static void the_program_runs_on_between(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 20);
  if (f.stressed) { /* which ends the collection when it wants to */
    fixture_close(&f);
    return;
  }
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    begin_sweep(&f);
    uint64_t before = seen.number, steps = 0;
    roots->item[1] = NULL;
    uint32_t late = cradle_type_add(f.heap, &(cradle_type){.name = "late", .size = sizeof(pair)});
    for (; seen.number == before; steps++) {
      pair *other = CRADLE_NEW(f.m, pair, late);
      CRADLE_ROOT(f.m, other);
      pair *p = new_pair(&f, roots->item[false]);
      cradle_store(f.m, p, &p->rest, other);
      cradle_store(f.m, roots, &roots->item[false], p);
      (void)cradle_collect_step(f.m, 0);
    }
    assert_true(steps > 2);
    check_row(T_PAIR, "pair", pairs, pairs * sizeof(pair));
    collect(&f);
    check_row(T_PAIR, "pair", steps, steps * sizeof(pair));
    check_row(late, "late", steps, steps * sizeof(pair));
  }
  fixture_close(&f);
}

/* What is weak, pinned, finalized, of external size or in several arenas counts once as long as it lives, and for
 * nothing but its place. */
static void each_kind_counts_once(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 20);
  {
    vector *roots = cradle_new_array(f.m, T_VECTOR, 6), *doomed = NULL;
    CRADLE_ROOT(f.m, roots);
    CRADLE_ROOT(f.m, doomed);
    doomed = cradle_new_array(f.m, T_VECTOR, 3);
#define PUT(into, at, made) \
  do { \
    void *made_ = (made); \
    cradle_store(f.m, into, &(into)->item[at], made_); \
  } while (0)
    PUT(doomed, 0, new_pair(&f, NULL));
    PUT(doomed, 1, new_final(&f, 1, doomed->item[0]));
    PUT(doomed, 2, new_file(&f, NULL, 1 << 20));
    PUT(roots, 0, new_weak(&f, doomed->item[2]));
    PUT(roots, 1, new_ephemeron(&f, roots, new_pair(&f, NULL)));
    PUT(roots, 2, new_ephemeron(&f, doomed, new_pair(&f, NULL)));
    PUT(roots, 3, new_file(&f, NULL, 1 << 20));
    PUT(roots, 4, cradle_new_array(f.m, T_STRING, 5 << 20));
    PUT(roots, 5, CRADLE_NEW_ARRAY_WITH(f.m, weaks, T_WEAKS, item, length, 100, 0));
    pair *pinned = cradle_pin(f.m, new_pair(&f, NULL));
    /* The doomed pair lives on, because the finalizer's object has it. */
    static const cradle_collection_kind kinds[] = {CRADLE_COLLECT_FULL, CRADLE_COLLECT_FULL, CRADLE_COLLECT_COMPACTING};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
      cradle_collect(f.m, kinds[i]);
      check_row(T_PAIR, "pair", i == 0 ? 4 : 3, (i == 0 ? 4 : 3) * sizeof(pair));
      check_row(T_FILE, "file", i == 0 ? 2 : 1, (i == 0 ? 2 : 1) * sizeof(file));
      check_objects(T_VECTOR, i == 0 ? 2 : 1);
      check_objects(T_FINAL, 1);
      check_objects(T_WEAK, 1);
      check_objects(T_WEAKS, 1);
      check_objects(T_EPHEMERON, 2);
      check_row(T_STRING, "string", 1, (5 << 20) + PAGE_BYTES);
      assert_int_equal(seen.rows[0].type, T_STRING);
      assert_int_equal(bytes_seen(), fixture_stats(&f).old_bytes);
      doomed = NULL;
    }
    cradle_unpin(f.m, pinned);
    collect(&f);
    check_objects(T_PAIR, 2);
  }
  fixture_close(&f);
}

static void both_count_on_after_a_fork(void **state) {
  (void)state;
  fixture f;
  if (!FORKS_ARE_TRIED) skip();
  open_seen(&f, 20);
  fixture_skip_stressed(&f, "stress ends the collection");
  pairs = 20000;
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    begin_sweep(&f);
    (void)cradle_collect_step(f.m, 0);
    uint64_t before = seen.number;
    int status;
    assert_true(cradle_fork_prepare(f.heap, NULL));
    pid_t child = fork();
    assert_true(child >= 0);
    cradle_fork_done(f.heap);
    assert_int_equal(seen.number, before);
    while (seen.number == before) (void)cradle_collect_step(f.m, 0);
    assert_int_equal(seen.number, before + 1);
    check_row(T_PAIR, "pair", pairs, pairs * sizeof(pair));
    check_objects(T_FINAL, FINALS);
    if (child == 0) _exit(0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
  }
  fixture_close(&f);
}

static void memory_is_refused(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 20);
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    seen.count = 0;
    granted_callocs = 0;
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    granted_callocs = INT_MAX;
    assert_int_equal(seen.count, 0);
    assert_true(f.stressed ? seen.notes > 0 : seen.notes == 1);
    collect(&f);
    check_row(T_PAIR, "pair", pairs, pairs * sizeof(pair));
  }
  fixture_close(&f);
}

static void end_in_a_sweep(void) {
  fixture f;
  open_seen(&f, 20);
  pairs = 2000;
  if (!f.stressed) {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    begin_sweep(&f);
  }
  fixture_close(&f);
}
static void a_heap_ends_while_it_counts(void **state) {
  (void)state;
  assert_leaves_no_memory(end_in_a_sweep);
}

static void nobody_asked(void **state) {
  (void)state;
  fixture f;
  open_seen(&f, 0);
  {
    vector *roots = make_all(&f);
    CRADLE_ROOT(f.m, roots);
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_int_equal(seen.count, 0);
  }
  fixture_close(&f);
}

static void too_many_are_refused(void **state) {
  (void)state;
  cradle_error error;
  cradle_options options;
  cradle_options_init(&options);
  options.report_types = 1001;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.option, "report_types");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_type_has_its_objects),   cmocka_unit_test(small_types_are_summed_up),
      cmocka_unit_test(the_program_runs_on_between), cmocka_unit_test(nobody_asked),
      cmocka_unit_test(too_many_are_refused),        cmocka_unit_test(each_kind_counts_once),
      cmocka_unit_test(both_count_on_after_a_fork),  cmocka_unit_test(memory_is_refused),
      cmocka_unit_test(a_heap_ends_while_it_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
