/* Runs a whole heap and makes each of its system calls fail in turn (memory_faults_calls.h says which). A variable
 * replaces the clock. Addresses and sizes must suit a base page larger than this machine's. */
#if defined(__linux__)

#include "tests/heap/memory_faults_calls.h"
#include "tests/support/heap_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/inside.h"

/* --- the seam --- */

static size_t unit_bytes; /* the base page size that addresses and sizes must be multiples of */
static unsigned unsuited; /* calls whose address or size is not a multiple */
static size_t largest;    /* bytes that one mapping was asked for */
static uint64_t clock_ns = 1;

static void suit(const void *address, size_t size) {
  if ((uintptr_t)address % unit_bytes != 0 || size % unit_bytes != 0) unsuited++;
}
void *seam_mmap(void *address, size_t size, int protection, int flags, int file, off_t offset) {
  suit(address, size);
  if (size > largest) largest = size;
  if (address != NULL) return mmap(address, size, protection, flags, file, offset);
  /* A kernel with pages of this size aligns mappings to them. */
  char *mapped = mmap(NULL, size + unit_bytes, protection, flags, file, offset);
  if (mapped == MAP_FAILED) return MAP_FAILED;
  char *start = (char *)(((uintptr_t)mapped + unit_bytes - 1) & ~(uintptr_t)(unit_bytes - 1));
  if (start != mapped) munmap(mapped, (size_t)(start - mapped));
  munmap(start + size, (size_t)(mapped + unit_bytes - start));
  return start;
}
int seam_munmap(void *address, size_t size) {
  suit(address, size);
  return munmap(address, size);
}
int seam_mprotect(void *address, size_t size, int protection) {
  suit(address, size);
  return mprotect(address, size, protection);
}
int seam_madvise(void *address, size_t size, int advice) {
  suit(address, size);
  return madvise(address, size, advice);
}
int seam_clock_gettime(clockid_t clock, struct timespec *now) {
  (void)clock;
  *now = (struct timespec){(time_t)(clock_ns / 1000000000u), (long)(clock_ns % 1000000000u)};
  return 0;
}

#define MIB ((size_t)1 << 20)

static struct {
  bool open;             /* calls are counted and may fail */
  unsigned first, every; /* call number `first` fails, then every `every`-th; first 0: no call fails */
  const char *only;      /* only calls of this name are counted; NULL: all calls */
  unsigned count;
  bool leaks; /* a refused call would have given memory or a file back */
} fault;

bool crd_fault_should_fail(const char *call, int *error);
bool crd_fault_should_fail(const char *call, int *error) {
  if (!fault.open) return false;
  if (fault.only != NULL && strcmp(call, fault.only) != 0) return false;
  fault.count++;
  if (fault.first == 0 || fault.count < fault.first) return false;
  if (fault.every == 0 ? fault.count != fault.first : (fault.count - fault.first) % fault.every != 0) return false;
  if (strcmp(call, "munmap") == 0 || strcmp(call, "close") == 0) fault.leaks = true;
  *error = fault.count % 3 == 0 ? EAGAIN : fault.count % 3 == 1 ? ENOMEM : EINVAL;
  return true;
}

static void refuse(const char *only, unsigned first, unsigned every) {
  memset(&fault, 0, sizeof fault);
  fault.open = true;
  fault.only = only;
  fault.first = first;
  fault.every = every;
}

static void heal(void) {
  fault.open = false;
}

/* --- a heap's life --- */

static cradle_hardware hardware;
static uint32_t nurseries; /* of quarantine */

static void life_options(fixture *f, cradle_options *options, cradle_hugepages policy) {
  cradle_options_init(options);
  hardware = (cradle_hardware){.page_bytes = unit_bytes,
                               .thp_page_bytes = 2 * MIB,
                               .pool_page_bytes = 2 * MIB,
                               .thp_mode = CRADLE_THP_MADVISE,
                               .l2_bytes = MIB,
                               .memory_bytes = (size_t)1 << 30};
  options->hardware = &hardware;
  options->types = fixture_types;
  options->type_count = T_COUNT;
  options->nursery_bytes = 256 << 10;
  options->reserve_bytes = 48 * MIB;
  options->quarantine = nurseries;
  options->hugepages_nursery = options->hugepages_arenas = policy;
  options->on_misuse = fixture_misuse;
  options->on_out_of_memory = fixture_shortage;
  options->user = f;
}

/* A list of vectors, the word on the shadow stack; false when memory ran out. */
CRADLE_UNCHECKED_COLLECTION static bool grow(cradle_mutator *m, size_t bytes) {
  for (size_t made = 0; made < bytes; made += 1024) {
    vector *fresh = cradle_new_array(m, T_VECTOR, 1024 / 8 - 2);
    if (fresh == NULL) return false;
    fresh->item[0] = (void *)(uintptr_t)*cradle_peek(m, 0);
    *cradle_peek(m, 0) = (cradle_word)(uintptr_t)fresh;
  }
  return true;
}

static size_t length(cradle_mutator *m) {
  size_t count = 0;
  for (vector *at = (vector *)(uintptr_t)*cradle_peek(m, 0); at != NULL; at = at->item[0]) count++;
  return count;
}

static void assert_sound(cradle_heap *heap) {
  cradle_error error;
  if (!cradle_heap_verify(heap, &error)) fail_msg("call %u: %s", fault.count, error.message);
}

/* Takes and gives back memory in every way, and continues whatever is refused. */
CRADLE_UNCHECKED_COLLECTION static void use(fixture *f) {
  cradle_memory memory;
  cradle_statistics stats;
  (void)grow(f->m, 3 * MIB);
  assert_sound(f->heap);
  *cradle_peek(f->m, 0) = 0;
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  assert_sound(f->heap);
  (void)cradle_new_array(f->m, T_STRING, 5 * MIB);
  (void)cradle_new_array(f->m, T_STRING, MIB);
  (void)grow(f->m, 2 * MIB);
  (void)crd_arenas_prepare(&inside_old(f->heap)->arenas, inside_old(f->heap)->arenas.free_count + 1);
  clock_ns += 3000000000u;
  cradle_collect(f->m, CRADLE_COLLECT_MAJOR);
  clock_ns += 3000000000u;
  cradle_collect(f->m, CRADLE_COLLECT_MINOR);
  cradle_memory_report(f->heap, &memory, sizeof memory);
  cradle_heap_statistics(f->heap, &stats, sizeof stats);
  size_t before = length(f->m);
  if (cradle_fork_prepare(f->heap, NULL)) cradle_fork_done(f->heap);
  assert_int_equal(length(f->m), before);
  (void)grow(f->m, MIB);
  (void)cradle_release_memory(f->heap);
  assert_sound(f->heap);
}

/* Returns whether a heap was made. Once calls no longer fail, the heap must work as if none had failed. */
CRADLE_UNCHECKED_COLLECTION static bool live(cradle_hugepages policy) {
  fixture f = {.armed = false};
  cradle_options options;
  cradle_error error;
  life_options(&f, &options, policy);
  errno = 77;
  f.heap = cradle_heap_new(&options, &error);
  assert_int_equal(errno, 77);
  if (f.heap == NULL) {
    assert_true(error.message[0] != '\0');
    return false;
  }
  f.m = cradle_mutator_new(f.heap);
  if (f.m == NULL) {
    cradle_heap_free(f.heap);
    return false;
  }
  cradle_push(f.m, NULL);
  use(&f);
  heal();
  *cradle_peek(f.m, 0) = 0;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(grow(f.m, 2 * MIB));
  assert_int_equal(length(f.m), 2048);
  assert_sound(f.heap);
  cradle_pop_many(f.m, 1);
  cradle_mutator_free(f.m);
  cradle_heap_free(f.heap);
  return true;
}

static size_t address_space(void) {
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  assert_non_null(file);
  assert_int_equal(fscanf(file, "%lu", &pages), 1);
  fclose(file);
  return pages;
}

/* AddressSanitizer sometimes maps 64 KiB more for its stacks, so with it only growth that repeats counts as a leak. */
#ifdef CRADLE_ASAN
#define RUNS_MOST 2
#else
#define RUNS_MOST 1
#endif

static unsigned run(cradle_hugepages policy, const char *only, unsigned first, unsigned every) {
  size_t grown = 1;
  for (int i = 0; i < RUNS_MOST && grown != 0; i++) {
    size_t before = address_space();
    refuse(only, first, every);
    (void)live(policy);
    heal();
    grown = fault.leaks ? 0 : address_space() - before;
  }
  if (grown != 0)
    fail_msg("%s, call %u, then every %u: the process is %ld pages larger", only != NULL ? only : "any call", first,
             every, (long)grown);
  return fault.count;
}

static int warm_up(void **state) {
  (void)state;
  unit_bytes = (size_t)sysconf(_SC_PAGESIZE);
  unsuited = 0;
  heal();
  for (int i = 0; i < 3; i++) assert_true(live(CRADLE_HUGEPAGES_AUTO));
  return 0;
}

/* --- tests --- */

static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_AUTO, CRADLE_HUGEPAGES_HUGETLB,
                                            CRADLE_HUGEPAGES_HUGETLB_STRICT, CRADLE_HUGEPAGES_OFF};
#define POLICIES (sizeof policies / sizeof *policies)

/* 1 with the argument --every-call. Otherwise the test tries a sample of the calls, different for each policy, and a
 * smaller sample where each run takes several times as long. */
#ifdef CRADLE_ASAN
static unsigned stride = 15;
#else
static unsigned stride = 5;
#endif

static void each_call_fails_once(void **state) {
  (void)state;
  for (size_t p = 0; p < 2; p++) {
    unsigned calls = run(policies[p], NULL, 0, 0);
    for (unsigned n = 1 + (unsigned)p % stride; n <= calls; n += stride) run(policies[p], NULL, n, 0);
  }
  for (unsigned n = 1; n <= 50; n++) run(CRADLE_HUGEPAGES_HUGETLB_STRICT, NULL, n, 0); /* its creation */
}

static void every_nth_call_fails(void **state) {
  (void)state;
  for (size_t p = 0; p < 2; p++) {
    unsigned calls = run(policies[p], NULL, 0, 0);
    for (unsigned n = 1 + (unsigned)p % stride; n <= calls / 2; n += n < 20 ? 1 : stride)
      run(policies[p], NULL, n, n); /* a larger n fails once */
  }
}

/* All calls fail from some point on, as in a system that has run out of memory. */
static void a_call_fails_from_some_time_on(void **state) {
  (void)state;
  static const char *const calls[] = {"mmap", "mprotect", "mremap", "madvise",      "munmap",
                                      "open", "ioctl",    "prctl",  "clock_gettime"};
  for (size_t p = 0; p < 2; p++)
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
      unsigned times = run(policies[p], calls[i], 0, 0);
      if (times == 0 && p == 1) fail_msg("%s is never called", calls[i]);
      for (unsigned n = 1; n <= times; n += 1 + times * stride / 100) run(policies[p], calls[i], n, 1);
    }
}

static void calls_suit_larger_base_pages(void **state) {
  (void)state;
  static const size_t units[] = {4096, 16384, 65536};
  for (size_t i = 0; i < 3; i++) {
    unit_bytes = units[i];
    for (size_t p = 0; p < POLICIES; p++) {
      unsuited = 0;
      assert_true(live(policies[p]));
      if (unsuited != 0) fail_msg("%u calls do not suit pages of %zu bytes", unsuited, unit_bytes);
    }
  }
  unit_bytes = 4096;
}

/* run() compares the process's sizes before and after. */
static void a_quarantine_is_given_back(void **state) {
  (void)state;
  nurseries = 2;
  assert_true(live(CRADLE_HUGEPAGES_AUTO));
  run(CRADLE_HUGEPAGES_AUTO, NULL, 0, 0);
  nurseries = 0;
}

/* What is free cannot go back, so the maximum that was asked for does not hold. The error names one that does. */
CRADLE_UNCHECKED_COLLECTION static void a_maximum_above_what_cannot_go_back_is_named(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  cradle_error error;
  life_options(&f, &options, CRADLE_HUGEPAGES_OFF);
  fixture_open_with(&f, &options);
  for (int i = 0; i < 4; i++) cradle_push(f.m, cradle_new_array(f.m, T_STRING, 6 * MIB));
  cradle_pop_many(f.m, 4);
  refuse(NULL, 1, 1);
  assert_false(cradle_heap_set_max(f.m, 8 * MIB, &error));
  if (strstr(error.message, "did not take the free memory back") == NULL) fail_msg("\"%s\"", error.message);
  assert_string_equal(error.option, "heap_max_bytes");
  assert_in_range(error.accepted, 32 * MIB, 36 * MIB); /* each text has four arenas */
  uint64_t least = error.accepted;
  assert_false(cradle_heap_set_max(f.m, least - 1, &error));
  assert_true(cradle_heap_set_max(f.m, least, &error));
  heal();
  assert_true(cradle_heap_set_max(f.m, 8 * MIB, &error));
  fixture_close(&f);
}

/* Memory whose protection cannot be changed is neither lost nor used; the verifier counts the pages. */
static void quarantine_bears_refusals(void **state) {
  (void)state;
  nurseries = 2;
  assert_true(live(CRADLE_HUGEPAGES_AUTO));
  unsigned times = run(CRADLE_HUGEPAGES_AUTO, "mprotect", 0, 0);
  for (unsigned n = 1; n <= times; n++)
    for (unsigned every = 0; every < 2; every++) run(CRADLE_HUGEPAGES_AUTO, "mprotect", n, every);
  for (unsigned n = 2; n < 20; n++) run(CRADLE_HUGEPAGES_AUTO, "mprotect", n, n);
  unsigned calls = run(CRADLE_HUGEPAGES_AUTO, NULL, 0, 0);
  for (unsigned n = 1; n <= calls; n += stride) run(CRADLE_HUGEPAGES_AUTO, NULL, n, 0);
  for (unit_bytes = 16384; unit_bytes <= 65536; unit_bytes *= 4) {
    unsuited = 0;
    assert_true(live(CRADLE_HUGEPAGES_AUTO));
    assert_int_equal(unsuited, 0);
  }
  unit_bytes = 4096;
  nurseries = 0;
}

static const char protect_refused[] = "quarantine: the system refuses to protect pages; what moved stays accessible";
static unsigned protect_notes;

/* While a listener hears of it, the collection has not emptied the nursery yet. */
static void on_protect_refused(void *data, const cradle_event *event) {
  fixture *f = data;
  if (strcmp(event->u.note.text, protect_refused) != 0) return;
  protect_notes++;
  assert_in_range(fixture_stats(f).allocated_bytes, 1, MIB);
}

/* Each collection opens pages and then closes others. Only the closing is refused, each time; the heap says so once. */
CRADLE_UNCHECKED_COLLECTION static void pages_that_cannot_be_closed_are_noted_once(void **state) {
  (void)state;
  fixture f = {.armed = false};
  cradle_options options;
  nurseries = 2;
  life_options(&f, &options, CRADLE_HUGEPAGES_AUTO);
  options.listener = (cradle_listener){fixture_listen, &f};
  fixture_open_with(&f, &options);
  f.listener = on_protect_refused;
  f.listener_data = &f;
  f.listens_to = EVENT_BIT(CRADLE_EVENT_NOTE);
  protect_notes = 0;
  refuse("mprotect", 2, 2);
  for (unsigned i = 1; i <= 5; i++) {
    pair *dies = cradle_new(f.m, T_PAIR, sizeof(pair));
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_int_equal(fault.count, 2 * i);
    assert_ptr_not_equal(dies, inside_nursery(f.heap)->start); /* which has moved on all the same */
  }
  heal();
  assert_int_equal(protect_notes, 1);
  assert_sound(f.heap);
  fixture_close(&f);
  nurseries = 0;
}

/* Pages of 2 MiB make nurseries longer than the check of the options takes them for. */
static void no_ring_is_above_its_limit(void **state) {
  (void)state;
  fixture f = {.armed = false};
  cradle_options options;
  cradle_error error;
  life_options(&f, &options, CRADLE_HUGEPAGES_AUTO);
  hardware.page_bytes = 2 * MIB;
  options.nursery_bytes = 16 * MIB + (64 << 10);
  options.quarantine = 3800;
  assert_true(options.nursery_bytes * (options.quarantine + 2) < CRADLE_QUARANTINE_MAX_BYTES);
  largest = 0;
  assert_null(cradle_heap_new(&options, &error));
  assert_string_equal(error.message, "memory for the nurseries of the quarantine was refused, or above 64 GiB");
  assert_true(largest <= CRADLE_QUARANTINE_MAX_BYTES);
}

/* The quarantine's ring of closed runs bears refusals too when it is full. */
static void a_full_ring_bears_refusals(void **state) {
  (void)state;
  fixture f = {.armed = false};
  cradle_options options;
  nurseries = 2;
  life_options(&f, &options, CRADLE_HUGEPAGES_AUTO);
  fixture_open_with(&f, &options);
  const crd_arenas *arenas = &inside_old(f.heap)->arenas;
  for (unsigned i = 0; i < 300; i++) {
    if (i == 100) refuse("mprotect", 1, 1);
    if (i == 180) heal();
    (void)cradle_new_array(f.m, T_STRING, (40 + i % 9) << 10);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    assert_sound(f.heap);
    if (i == 99 || i == 299) assert_int_equal(arenas->closed->count, 64);
  }
  while (arenas->closed->pages > 0) assert_true(crd_closed_open_oldest(&inside_old(f.heap)->arenas));
  assert_sound(f.heap);
  fixture_close(&f);
  nurseries = 0;
}

/* By the heap's clock, unused memory is given back after four seconds of collections. */
CRADLE_UNCHECKED_COLLECTION static void a_heap_gives_back_by_its_clock(void **state) {
  (void)state;
  fixture f = {.armed = false};
  cradle_options options;
  life_options(&f, &options, CRADLE_HUGEPAGES_AUTO);
  options.reserve_bytes = (size_t)1 << 30;
  fixture_open_with(&f, &options);
  cradle_push(f.m, NULL);
  assert_true(grow(f.m, 400 * MIB));
  *cradle_peek(f.m, 0) = 0;
  assert_true(grow(f.m, 10 * MIB));
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  uint64_t dropped = clock_ns;
  while (clock_ns < dropped + 2000000000u) {
    clock_ns += 100000000u;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
  assert_true(fixture_stats(&f).arenas_committed >= 200);
  while (clock_ns < dropped + 5000000000u) { /* some arenas a pause */
    clock_ns += 20000000u;
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  }
  uint64_t kept = fixture_stats(&f).arenas_committed * 2 * MIB;
  assert_in_range(kept, 10 * MIB, 10 * MIB + 39 * MIB); /* a tenth of the rest */
  assert_sound(f.heap);
  cradle_pop_many(f.m, 1);
  fixture_close(&f);
}

static uint64_t files_closed;

static void close_file(void *user, void *file) {
  (void)user;
  (void)file;
  files_closed++;
}

static const cradle_type registered_types[] = {
    {.name = "weak pair",
     .size = sizeof(pair),
     .references = CRADLE_SLOT(pair, rest),
     .weak = CRADLE_SLOT(pair, first)},
    {.name = "final", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first), .finalizer = 1},
    {.name = "file", .size = sizeof(pair), .destructor = close_file},
    {.name = "table",
     .size = sizeof(vector),
     .items = CRADLE_ITEMS_EPHEMERONS,
     .item_size = 16,
     .length_offset = offsetof(vector, length)},
};

static void registered_options(fixture *f, cradle_options *options) {
  life_options(f, options, CRADLE_HUGEPAGES_OFF);
  options->types = registered_types;
  options->type_count = sizeof registered_types / sizeof *registered_types;
}

/* Makes `count` objects of each type; returns how many files were made. */
CRADLE_UNCHECKED_COLLECTION static uint64_t register_all(cradle_mutator *m, unsigned times) {
  uint64_t files = 0;
  for (unsigned i = 0; i < times; i++) {
    for (uint32_t type = 0; type < 3; type++)
      files += cradle_new_registered(m, type, sizeof(pair)) != NULL && type == 2;
    (void)cradle_new_array(m, 3, 2);
  }
  return files;
}

/* Objects with finalizers, each referring to the one before it, must be finalized in that order; false: an object was
 * refused. */
CRADLE_UNCHECKED_COLLECTION static bool finalizers_come_in_order(cradle_mutator *m) {
  enum { LINKS = 5 };
  bool made = true;
  cradle_push(m, NULL);
  for (uintptr_t i = 0; i < LINKS && made; i++) {
    pair *final = cradle_new_registered(m, 1, sizeof(pair));
    made = final != NULL;
    if (!made) break;
    final->first = cradle_pop(m);
    final->rest = (pair *)i;
    cradle_push(m, final);
  }
  cradle_pop(m);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  uintptr_t next = LINKS;
  for (const pair *final; (final = cradle_finalizer_next(m, 1)) != NULL;)
    assert_int_equal((uintptr_t) final->rest, --next);
  return made && next == 0;
}

/* The lists reserve addresses when the first object for them is made. */
CRADLE_UNCHECKED_COLLECTION static void one_refusal_costs_neither_object_nor_order(void **state) {
  (void)state;
  for (unsigned n = 1, calls = n; n <= calls; n++) {
    fixture f = {.armed = false};
    cradle_options options;
    registered_options(&f, &options);
    fixture_open_with(&f, &options);
    refuse("mmap", n, 0);
    assert_true(finalizers_come_in_order(f.m));
    assert_int_equal(register_all(f.m, 1), 1);
    calls = fault.count;
    heal();
    while (cradle_finalizer_next(f.m, 1) != NULL) {}
    fixture_close(&f);
  }
}

/* A nursery holds more dead objects than a list has room for. */
CRADLE_UNCHECKED_COLLECTION static void the_dead_leave_the_list(void **state) {
  (void)state;
  fixture f = {.armed = false};
  cradle_options options;
  registered_options(&f, &options);
  options.reserve_bytes = 16 * MIB; /* a list for 256 Ki */
  options.nursery_bytes = 7 * MIB;
  fixture_open_with(&f, &options);
  for (size_t i = 0; i < 600000; i++) assert_non_null(cradle_new_registered(f.m, 0, sizeof(pair)));
  fixture_close(&f);
}

/* A heap that never collects, or NULL; *calls: the calls of mmap that making it took. With 12 MiB of memory it has a
 * nursery of 8 MiB. */
static cradle_heap *new_uncollected(unsigned first, unsigned every, unsigned *calls, cradle_error *error) {
  fixture f = {.armed = false};
  cradle_options options;
  life_options(&f, &options, CRADLE_HUGEPAGES_OFF);
  hardware.memory_bytes = 12 * MIB;
  options.gc = CRADLE_GC_OFF;
  options.nursery_bytes = 0;
  refuse("mmap", first, every);
  cradle_heap *heap = cradle_heap_new(&options, error);
  *calls = fault.count;
  heal();
  return heap;
}

/* Addresses for a nursery that is never collected are asked for in halves, down to 1 MiB. */
static void an_uncollected_nursery_is_halved(void **state) {
  (void)state;
  cradle_error error;
  unsigned calls, made, halved_at = 0;
  cradle_heap_free(new_uncollected(0, 0, &calls, &error));
  for (unsigned n = 1; n <= calls; n++) {
    cradle_heap *heap = new_uncollected(n, 0, &made, &error);
    if (heap == NULL) continue;
    size_t bytes = inside_nursery(heap)->bytes;
    cradle_heap_free(heap);
    if (bytes == 8 * MIB) continue;
    assert_int_equal(bytes, 4 * MIB);
    if (halved_at == 0) halved_at = n;
  }
  assert_true(halved_at > 0);
  assert_null(new_uncollected(halved_at, 1, &made, &error));
  assert_string_equal(error.message, "memory for the nursery was refused: the system refused it");
  assert_int_equal(made - halved_at, 3); /* 8 MiB, 4, 2 and 1 */
}

/* The lists of registered objects stay right, whichever call is refused and whatever is collected before memory is
 * available again. */
CRADLE_UNCHECKED_COLLECTION static void lists_are_refused_from(unsigned every) {
  for (unsigned n = 1, calls = n; n <= calls; n++) {
    fixture f = {.armed = false};
    cradle_options options;
    registered_options(&f, &options);
    fixture_open_with(&f, &options);
    files_closed = 0;
    refuse(NULL, n, every);
    uint64_t files = register_all(f.m, 3);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    files += register_all(f.m, 3);
    calls = fault.count;
    heal();
    assert_sound(f.heap);
    cradle_collect(f.m, CRADLE_COLLECT_MINOR);
    files += register_all(f.m, 9000); /* more than the first pages of a list hold */
    cradle_collect(f.m, CRADLE_COLLECT_FULL);
    assert_sound(f.heap);
    while (cradle_finalizer_next(f.m, 1) != NULL) {}
    assert_true(finalizers_come_in_order(f.m)); /* the refused memory was asked for again */
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
    assert_true(files >= 9000);
    assert_int_equal(files_closed, files);
  }
}

/* Each call once, and each with all that follow. */
CRADLE_UNCHECKED_COLLECTION static void lists_are_refused(void **state) {
  (void)state;
  lists_are_refused_from(0);
  lists_are_refused_from(1);
}

/* Arguments: --every-call, or --quick for those tests that take no longer than a second together. */
int main(int argc, char **argv) {
  if (argc > 1 && strcmp(argv[1], "--every-call") == 0) stride = 1;
  const struct CMUnitTest quick[] = {
      cmocka_unit_test_setup(one_refusal_costs_neither_object_nor_order, warm_up),
      cmocka_unit_test_setup(the_dead_leave_the_list, warm_up),
      cmocka_unit_test_setup(a_maximum_above_what_cannot_go_back_is_named, warm_up),
      cmocka_unit_test_setup(calls_suit_larger_base_pages, warm_up),
      cmocka_unit_test_setup(a_quarantine_is_given_back, warm_up),
      cmocka_unit_test_setup(pages_that_cannot_be_closed_are_noted_once, warm_up),
      cmocka_unit_test_setup(no_ring_is_above_its_limit, warm_up),
      cmocka_unit_test_setup(a_full_ring_bears_refusals, warm_up),
  };
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(lists_are_refused, warm_up),
      cmocka_unit_test_setup(an_uncollected_nursery_is_halved, warm_up),
      cmocka_unit_test_setup(each_call_fails_once, warm_up),
      cmocka_unit_test_setup(every_nth_call_fails, warm_up),
      cmocka_unit_test_setup(a_call_fails_from_some_time_on, warm_up),
      cmocka_unit_test_setup(quarantine_bears_refusals, warm_up),
      cmocka_unit_test_setup(a_heap_gives_back_by_its_clock, warm_up),
  };
  int failed = cmocka_run_group_tests(quick, NULL, NULL);
  if (argc > 1 && strcmp(argv[1], "--quick") == 0) return failed;
  return failed + cmocka_run_group_tests(tests, NULL, NULL);
}

#else

/* The exit status by which a test says that it was skipped. */
int main(void) {
  return 77;
}

#endif
