/* The heap's memory through the public interface: which pages a policy gets, what is reported of them, what goes back
 * to the system, forks, and machines that refuse. Tests that a machine cannot run are skipped by name. */
#include "tests/support/heap_fixture.h"
#include "tests/support/machine.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define OVERCOMMIT_FILE "/proc/sys/vm/overcommit_memory"
#define GROUPS "/sys/fs/cgroup/memory"

/* --- the system --- */

/* Resizes the pool so that exactly this number of pages is free. */
static bool size_pool(size_t pages) {
  size_t busy = meminfo("HugePages_Total:") - meminfo("HugePages_Free:");
  return meminfo("Hugepagesize:") == 2048 && put(POOL_FILE, busy + pages) && meminfo("HugePages_Free:") == pages;
}

static bool has_thp(void) {
  char mode[64] = "";
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
  if (file == NULL) return false;
  bool read = fgets(mode, sizeof mode, file) != NULL;
  fclose(file);
  return read && strstr(mode, "[never]") == NULL &&
         number_in("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "") == HUGE_BYTES;
}

/* The kernel's flags of the page behind the address, from /proc/kpageflags, which only root reads; -1: cannot be read.
 * */
static int page_flag(const void *address, int flag) {
  uint64_t entry = 0, flags = 0;
  size_t page = kernel_page_bytes();
  int pagemap = open("/proc/self/pagemap", O_RDONLY), kpageflags = open("/proc/kpageflags", O_RDONLY);
  bool got = pagemap >= 0 && kpageflags >= 0 &&
             pread(pagemap, &entry, 8, (off_t)((uintptr_t)address / page * 8)) == 8 &&
             pread(kpageflags, &flags, 8, (off_t)((entry & ((UINT64_C(1) << 55) - 1)) * 8)) == 8 && entry << 9 != 0;
  close(pagemap);
  close(kpageflags);
  return got ? (int)(flags >> flag & 1) : -1;
}
#define FLAG_HUGETLB 17
#define FLAG_THP 22

/* --- a heap that grows --- */

typedef struct notes {
  char text[2000];
  cradle_event arenas; /* the last measured one */
} notes;

static void take_note(void *data, const cradle_event *event) {
  notes *all = data;
  if (event->kind == CRADLE_EVENT_ARENAS && event->u.arenas.measured) all->arenas = *event;
  if (event->kind != CRADLE_EVENT_NOTE) return;
  assert_non_null(event->u.note.text);
  size_t length = strlen(all->text);
  snprintf(all->text + length, sizeof all->text - length, "%s\n", event->u.note.text);
}

/* Ignores the environment: these tests choose pages and sizes themselves. */
static void memory_options(cradle_options *options) {
  cradle_options_init(options);
  options->on_out_of_memory = fixture_shortage;
  options->types = fixture_types;
  options->type_count = T_COUNT;
  options->nursery_bytes = 4 * MIB;
  options->reserve_bytes = (size_t)1 << 30;
}

#define CHUNK_BYTES 2048

/* A list of strings of 2 KiB, each full of its number; the list is the word on the shadow stack at depth 0. */
CRADLE_UNCHECKED_COLLECTION static bool grow(cradle_mutator *m, size_t bytes) {
  for (size_t made = 0; made < bytes; made += CHUNK_BYTES) {
    string *text = cradle_new_array(m, T_STRING, CHUNK_BYTES - 64);
    if (text == NULL) return false;
    memset(text->byte, (int)(made / CHUNK_BYTES % 251), text->length);
    cradle_push(m, text);
    pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
    if (fresh == NULL) return cradle_pop_many(m, 1), false;
    fresh->first = cradle_pop(m);
    fresh->rest = (pair *)(uintptr_t)*cradle_peek(m, 0);
    *cradle_peek(m, 0) = (cradle_word)(uintptr_t)fresh;
  }
  return true;
}

/* Checks that each string is still full of one number; returns their bytes. */
static size_t intact_bytes(cradle_mutator *m) {
  size_t bytes = 0;
  for (pair *at = (pair *)(uintptr_t)*cradle_peek(m, 0); at != NULL; at = at->rest) {
    string *text = (string *)at->first;
    for (size_t i = 1; i < text->length; i += 97)
      if (text->byte[i] != text->byte[0]) return 0;
    bytes += CHUNK_BYTES;
  }
  return bytes;
}

static bool is_sound(cradle_heap *heap) {
  cradle_error error;
  if (cradle_heap_verify(heap, &error)) return true;
  print_message("%s\n", error.message);
  return false;
}

static void open_heap(fixture *f, cradle_options *options) {
  options->on_misuse = fixture_misuse;
  options->user = f;
  fixture_open_with(f, options);
  cradle_push(f->m, NULL);
  f->checkpoint = cradle_checkpoint_save(f->m);
}

static void close_heap(fixture *f) {
  assert_true(is_sound(f->heap));
  cradle_pop_many(f->m, 1);
  fixture_close(f);
}

static cradle_memory report_of(const fixture *f) {
  cradle_memory memory;
  cradle_memory_report(f->heap, &memory, sizeof memory);
  return memory;
}

static void assert_grows(fixture *f, size_t bytes) {
  size_t before = intact_bytes(f->m);
  assert_true(grow(f->m, bytes));
  assert_int_equal(intact_bytes(f->m), before + bytes);
}

/* --- what is reported --- */

static void a_report_tells_the_regions(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  memory_options(&options);
  open_heap(&f, &options);
  cradle_memory memory = report_of(&f);
  assert_int_equal(memory.arenas.reserved_bytes, (size_t)1 << 30);
  size_t lead = memory.nursery.start % HUGE_BYTES == 0 ? 0 : HUGE_BYTES - memory.nursery.start % HUGE_BYTES;
  assert_int_equal(memory.nursery.reserved_bytes, 4 * MIB + lead);
  assert_int_equal(memory.nursery.committed_bytes, 4 * MIB + lead);
  assert_string_equal(memory.metadata.name, "cradle metadata");
  if (memory.nursery.obtained != CRADLE_BACKING_UNKNOWN) /* no page is touched before the first allocation */
    assert_int_equal(memory.nursery.obtained, CRADLE_BACKING_NOTHING);
  assert_grows(&f, 64 * MIB);
  memory = report_of(&f);
  cradle_statistics stats = fixture_stats(&f);
  assert_int_equal(memory.arenas.committed_bytes, stats.arenas_committed * stats.arena_bytes);
  assert_int_equal(memory.metadata.committed_bytes, stats.metadata_bytes);
  /* most arenas were never taken */
  assert_true(memory.metadata.reserved_bytes > 4 * memory.metadata.committed_bytes);
  assert_int_equal(memory.arenas_taken - memory.arenas_given_back, stats.arenas_committed);
  assert_int_equal(memory.arenas.pool_bytes, 0);
  if (memory.arenas.obtained == CRADLE_BACKING_UNKNOWN) {
    print_message("the system does not tell what backs memory\n");
  } else {
    assert_in_range(memory.arenas.resident_bytes, 60 * MIB, memory.arenas.committed_bytes);
    assert_in_range(memory.nursery.resident_bytes, MIB, 4 * MIB + lead);
  }
  close_heap(&f);
}

/* Partly huge counts too: where memory is fragmented, the kernel lacks a huge page for some parts. */
static bool is_huge(const cradle_region *region) {
  return region->obtained == CRADLE_BACKING_HUGE || region->obtained == CRADLE_BACKING_PARTLY_HUGE;
}

static void each_region_gets_its_own_pages(void **state) {
  (void)state;
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_AUTO, CRADLE_HUGEPAGES_OFF};
  if (!has_thp()) SKIP("the system gives no transparent huge pages of 2 MiB");
  for (int i = 0; i < 4; i++) {
    fixture f;
    cradle_options options;
    memory_options(&options);
    options.hugepages_nursery = policies[i % 2];
    options.hugepages_arenas = policies[i / 2];
    open_heap(&f, &options);
    assert_grows(&f, 32 * MIB);
    cradle_memory memory = report_of(&f);
    if (memory.nursery.obtained == CRADLE_BACKING_UNKNOWN) {
      close_heap(&f);
      SKIP("the system does not tell what backs memory");
    }
    assert_int_equal(memory.nursery.asked, options.hugepages_nursery);
    assert_int_equal(is_huge(&memory.nursery), i % 2 == 0);
    assert_int_equal(is_huge(&memory.arenas), i / 2 == 0);
    int flag = page_flag((void *)memory.arenas.start, FLAG_THP);
    if (flag < 0)
      print_message("/proc/kpageflags cannot be read\n");
    else if (memory.arenas.obtained != CRADLE_BACKING_PARTLY_HUGE)
      assert_int_equal(flag, i / 2 == 0);
    close_heap(&f);
  }
}

static int heap_without_thp(void) {
  if (prctl(PR_SET_THP_DISABLE, 1ul, 0ul, 0ul, 0ul) != 0) return 2;
  fixture f;
  notes all = {.text = ""};
  cradle_options options;
  memory_options(&options);
  options.listener = (cradle_listener){take_note, &all};
  open_heap(&f, &options);
  if (!grow(f.m, 32 * MIB) || intact_bytes(f.m) != 32 * MIB || !is_sound(f.heap)) return 3;
  cradle_memory memory = report_of(&f);
  if (memory.arenas.obtained == CRADLE_BACKING_UNKNOWN) return 4;
  if (memory.arenas.obtained != CRADLE_BACKING_BASE || memory.nursery.huge_bytes != 0) return 5;
  return strstr(all.text, "transparent huge pages are disabled (mode never): base pages") == NULL ? 6 : 0;
}

static void a_process_without_transparent_huge_pages_works_and_says_so(void **state) {
  (void)state;
  int status = status_of_child(heap_without_thp);
  if (status == 2) SKIP("the system cannot disable huge pages for a process");
  if (status == 4) SKIP("the system does not tell what backs memory");
  assert_int_equal(status, 0);
}

static void major_collections_report_what_the_kernel_gave(void **state) {
  (void)state;
  fixture f;
  notes all = {.text = ""};
  cradle_options options;
  memory_options(&options);
  options.listener = (cradle_listener){take_note, &all};
  open_heap(&f, &options);
  assert_grows(&f, 64 * MIB);
  cradle_collect(f.m, CRADLE_COLLECT_FULL); /* gives the empty arenas back, which sends an event */
  *cradle_peek(f.m, 0) = 0;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  if (all.arenas.kind == CRADLE_EVENT_ARENAS) {
    assert_int_equal(all.arenas.u.arenas.asked, CRADLE_HUGEPAGES_AUTO);
    assert_true(all.arenas.u.arenas.given_back >= 30);
    assert_true(all.arenas.u.arenas.resident_bytes <= all.arenas.u.arenas.committed * HUGE_BYTES);
  } else {
    print_message("the system does not tell what backs memory\n");
  }
  close_heap(&f);
}

/* --- other machines' page sizes --- */

static void larger_base_pages_serve(void **state) {
  (void)state;
  static const size_t pages[] = {16384, 65536};
  for (size_t i = 0; i < 2; i++) {
    fixture f;
    notes all = {.text = ""};
    cradle_options options;
    cradle_hardware hardware = {.page_bytes = pages[i],
                                .thp_page_bytes = pages[i] / 8 * pages[i],
                                .thp_mode = CRADLE_THP_ALWAYS,
                                .l2_bytes = MIB,
                                .memory_bytes = (size_t)1 << 30};
    memory_options(&options);
    options.hardware = &hardware;
    options.listener = (cradle_listener){take_note, &all};
    options.nursery_bytes = 5 * MIB + 8;
    open_heap(&f, &options);
    assert_grows(&f, 32 * MIB);
    cradle_memory memory = report_of(&f);
    const cradle_region *regions[] = {&memory.nursery, &memory.arenas, &memory.metadata};
    for (int r = 0; r < 3; r++) {
      assert_int_equal(regions[r]->start % pages[i], 0);
      assert_int_equal(regions[r]->reserved_bytes % pages[i], 0);
      assert_int_equal(regions[r]->committed_bytes % pages[i], 0);
      assert_int_equal(regions[r]->huge_bytes, 0);
    }
    assert_non_null(strstr(all.text, "larger than an arena: base pages"));
    close_heap(&f);
  }
}

/* --- the pool --- */

/* Its pages do not fit an arena, so the nursery gets none of them. */
static void a_refused_nursery_is_noted(void **state) {
  (void)state;
  static const char *const words[] = {"the huge-page pool refused the nursery: base pages instead\n",
                                      "the huge-page pool refused the nursery: transparent huge pages instead\n"};
  for (int transparent = 0; transparent < 2; transparent++) {
    fixture f;
    notes all = {.text = ""};
    cradle_options options;
    cradle_hardware hardware = {.page_bytes = kernel_page_bytes(),
                                .pool_page_bytes = 4 * MIB,
                                .thp_page_bytes = 2 * MIB,
                                .thp_mode = transparent ? CRADLE_THP_ALWAYS : CRADLE_THP_ABSENT,
                                .l2_bytes = MIB,
                                .memory_bytes = (size_t)1 << 30};
    memory_options(&options);
    options.hardware = &hardware;
    options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB;
    options.listener = (cradle_listener){take_note, &all};
    open_heap(&f, &options);
    assert_int_equal(strncmp(all.text, words[transparent], strlen(words[transparent])), 0);
    close_heap(&f);
  }
}

static void the_pool_comes_first_and_its_end_leaves_no_hole(void **state) {
  (void)state;
  if (!size_pool(64)) SKIP("the pool cannot be given pages here");
  fixture f;
  notes all = {.text = ""};
  cradle_options options;
  memory_options(&options);
  options.listener = (cradle_listener){take_note, &all};
  options.hugepages_nursery = options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB;
  open_heap(&f, &options);
  cradle_memory memory = report_of(&f);
  if (memory.nursery.pool_bytes == 0 && memory.nursery.obtained == CRADLE_BACKING_UNKNOWN) {
    close_heap(&f);
    SKIP("this backend has no pool");
  }
  assert_int_equal(memory.nursery.pool_bytes, 4 * MIB);
  assert_int_equal(memory.nursery.obtained, CRADLE_BACKING_HUGE);
  assert_int_equal(memory.arenas.pool_bytes, memory.arenas.committed_bytes);
  assert_int_equal(page_flag((void *)memory.nursery.start, FLAG_HUGETLB), 1);
  assert_int_equal(page_flag((void *)memory.arenas.start, FLAG_HUGETLB), 1);
  assert_grows(&f, 200 * MIB);
  memory = report_of(&f);
  assert_int_equal(memory.arenas.pool_bytes, 62 * HUGE_BYTES);
  assert_true(memory.pool_refusals > 0);
  assert_non_null(strstr(all.text, "the huge-page pool refused arenas"));
  if (has_thp()) assert_true(memory.arenas.huge_bytes > memory.arenas.pool_bytes);
  void *probe = mmap((char *)memory.arenas.start, memory.arenas.reserved_bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  assert_ptr_equal(probe, MAP_FAILED);
  for (size_t at = 0; at < memory.arenas.committed_bytes; at += HUGE_BYTES) {
    probe = mmap((char *)memory.arenas.start + at, HUGE_BYTES, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    assert_ptr_equal(probe, MAP_FAILED);
  }
  cradle_error error;
  assert_false(cradle_fork_prepare(f.heap, &error));
  assert_non_null(strstr(error.message, "pool"));
  *cradle_peek(f.m, 0) = 0;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_true(meminfo("HugePages_Free:") >= 50);
  close_heap(&f);
  assert_int_equal(meminfo("HugePages_Free:"), 64);
}

static void no_fork_shares_pages_of_the_pool(void **state) {
  (void)state;
  if (!size_pool(32)) SKIP("the pool cannot be given pages here");
  for (int from_pool = 1; from_pool < 4; from_pool++) {
    fixture f;
    cradle_options options;
    cradle_error error;
    memory_options(&options);
    options.hugepages_nursery = from_pool & 1 ? CRADLE_HUGEPAGES_HUGETLB : CRADLE_HUGEPAGES_AUTO;
    options.hugepages_arenas = from_pool & 2 ? CRADLE_HUGEPAGES_HUGETLB : CRADLE_HUGEPAGES_AUTO;
    open_heap(&f, &options);
    cradle_memory memory = report_of(&f);
    uint64_t minors = fixture_stats(&f).minor_collections;
    if (memory.nursery.pool_bytes != 0 || memory.arenas.pool_bytes != 0) {
      assert_false(cradle_fork_prepare(f.heap, &error));
      assert_non_null(strstr(error.message, "pool"));
      assert_int_equal(fixture_stats(&f).minor_collections, minors); /* refused before anything was done */
      assert_int_equal(memory.nursery.pool_bytes != 0, from_pool & 1);
      assert_int_equal(memory.arenas.pool_bytes != 0, from_pool >> 1);
    } else {
      print_message("skipped: this backend has no pool\n");
    }
    close_heap(&f);
  }
}

/* Another process takes the rest of the pool while the heap grows, and after a compacting collection. The collection
 * drops empty arenas but keeps pages of the pool: before Linux 6.10 it may not get them back. */
static void a_pool_that_another_process_empties_kills_nobody(void **state) {
  (void)state;
  if (!size_pool(32)) SKIP("the pool cannot be given pages here");
  fixture f;
  cradle_options options;
  memory_options(&options);
  options.hugepages_nursery = options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB;
  open_heap(&f, &options);
  assert_grows(&f, 16 * MIB);
  cradle_collect(f.m, CRADLE_COLLECT_COMPACTING);
  cradle_memory memory = report_of(&f);
  if (memory.nursery.pool_bytes != 0) assert_int_equal(page_flag((void *)memory.nursery.start, FLAG_HUGETLB), 1);
  int ready[2];
  char byte = 0;
  assert_int_equal(pipe(ready), 0);
  pid_t thief = fork();
  if (thief == 0) {
    size_t left = meminfo("HugePages_Free:") * HUGE_BYTES;
    char *taken = mmap(NULL, left, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    for (size_t at = 0; taken != MAP_FAILED && at < left; at += HUGE_BYTES) taken[at] = 1;
    if (write(ready[1], &byte, 1) == 1) pause();
    _exit(0);
  }
  assert_int_equal(read(ready[0], &byte, 1), 1);
  assert_grows(&f, 64 * MIB);
  if (report_of(&f).nursery.pool_bytes != 0) assert_true(report_of(&f).pool_refusals > 0);
  kill(thief, SIGKILL);
  waitpid(thief, NULL, 0);
  close(ready[0]);
  close(ready[1]);
  assert_grows(&f, 16 * MIB);
  close_heap(&f);
}

static void a_strict_policy_fails_without_its_pool(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  memory_options(&options);
  if (meminfo("HugePages_Free:") != 0 && !size_pool(0)) SKIP("the pool has pages and cannot be emptied");
  options.hugepages_nursery = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(
      strstr(error.message, "hugepages_nursery: strict, but the pool of huge pages gave 0 of the 4194304 bytes"));
  assert_non_null(strstr(error.message, "vm.nr_hugepages"));
  options.hugepages_nursery = CRADLE_HUGEPAGES_AUTO;
  options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(strstr(error.message, "hugepages_arenas: strict"));
  if (!size_pool(16)) SKIP("the pool cannot be given pages here");
  options.hugepages_nursery = options.hugepages_arenas = CRADLE_HUGEPAGES_HUGETLB_STRICT;
  cradle_heap *heap = cradle_heap_new(&options, &error);
  if (heap == NULL) {
    assert_non_null(strstr(error.message, "strict"));
    SKIP("this backend has no pool");
  }
  cradle_heap_free(heap);
  assert_true(size_pool(3)); /* enough for the nursery, not for the promotion reserve */
  assert_null(cradle_heap_new(&options, &error));
  assert_non_null(strstr(error.message, "hugepages_arenas: strict"));
  assert_int_equal(meminfo("HugePages_Free:"), 3);
}

/* --- giving back --- */

static void memory_goes_back_when_asked(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  memory_options(&options);
  open_heap(&f, &options);
  assert_grows(&f, 256 * MIB);
  *cradle_peek(f.m, 0) = 0;
  assert_grows(&f, 16 * MIB);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
  cradle_memory before = report_of(&f);
  assert_true(before.arenas.committed_bytes >= 256 * MIB); /* recently wanted: kept */
  uint64_t given = cradle_release_memory(f.heap);
  cradle_memory after = report_of(&f);
  assert_int_equal(before.arenas.committed_bytes - after.arenas.committed_bytes, given);
  assert_true(given >= 216 * MIB); /* 90 % of the 240 */
  if (after.arenas.obtained != CRADLE_BACKING_UNKNOWN)
    assert_in_range(after.arenas.resident_bytes, 16 * MIB, after.arenas.committed_bytes);
  assert_int_equal(cradle_release_memory(f.heap), 0);
  assert_grows(&f, 64 * MIB);
  close_heap(&f);
}

/* --- forks --- */

/* What both processes do with their heap after a fork; 0: all is well. */
static int use_after_fork(fixture *f) {
  size_t before = intact_bytes(f->m);
  if (before == 0) return 10;
  if (!grow(f->m, 24 * MIB)) return 11;
  cradle_collect(f->m, CRADLE_COLLECT_FULL);
  if (!is_sound(f->heap)) return 12;
  return intact_bytes(f->m) == before + 24 * MIB ? 0 : 13;
}

/* The nursery lies on huge pages again, as far as the system reports it. */
static bool is_whole(const fixture *f) {
  cradle_memory memory = report_of(f);
  return memory.nursery.obtained == CRADLE_BACKING_UNKNOWN || is_huge(&memory.nursery);
}

static void both_processes_go_on_after_a_fork(void **state) {
  (void)state;
  static const cradle_hugepages policies[] = {CRADLE_HUGEPAGES_AUTO, CRADLE_HUGEPAGES_OFF};
  for (int i = 0; i < 2; i++) {
    fixture f;
    cradle_error error;
    cradle_options options;
    memory_options(&options);
    options.hugepages_nursery = options.hugepages_arenas = policies[i];
    open_heap(&f, &options);
    assert_grows(&f, 40 * MIB);
    assert_true(cradle_fork_prepare(f.heap, &error));
    assert_string_equal(error.message, "");
    /* No shared memory that a write would copy or split. */
    if (report_of(&f).nursery.obtained != CRADLE_BACKING_UNKNOWN)
      assert_int_equal(report_of(&f).nursery.obtained, CRADLE_BACKING_NOTHING);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      cradle_fork_done(f.heap);
      int result = use_after_fork(&f);
      _exit(result == 0 && i == 0 && has_thp() && !is_whole(&f) ? 14 : result);
    }
    cradle_fork_done(f.heap);
    assert_int_equal(use_after_fork(&f), 0);
    if (i == 0 && has_thp()) assert_true(is_whole(&f));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    close_heap(&f);
  }
}

static void a_heap_is_not_used_between_prepare_and_fork(void **state) {
  (void)state;
  fixture f;
  cradle_options options;
  memory_options(&options);
  open_heap(&f, &options);
  ASSERT_MISUSE(&f, "without cradle_fork_prepare", cradle_fork_done(f.heap));
  assert_true(cradle_fork_prepare(f.heap, NULL));
  if (FIXTURE_LANDS(&f)) (void)cradle_new(f.m, T_PAIR, sizeof(pair));
  assert_non_null(strstr(f.message, "called after cradle_fork_prepare"));
  cradle_fork_done(f.heap); /* as after a fork that failed */
  assert_grows(&f, 8 * MIB);
  cradle_pop_many(f.m, 1);
  cradle_mutator_free(f.m); /* cradle_fork_prepare needs no mutator */
  assert_true(cradle_fork_prepare(f.heap, NULL));
  f.message[0] = '\0';
  if (FIXTURE_LANDS(&f)) fail_msg("prepared twice: %d", cradle_fork_prepare(f.heap, NULL));
  assert_non_null(strstr(f.message, "cradle_fork_prepare: called after cradle_fork_prepare"));
  cradle_fork_done(f.heap);
  cradle_heap_free(f.heap);
}

static void a_heap_without_a_mutator_forks(void **state) {
  (void)state;
  cradle_options options;
  cradle_error error;
  memory_options(&options);
  cradle_heap *heap = cradle_heap_new(&options, &error);
  assert_non_null(heap);
  assert_true(cradle_fork_prepare(heap, &error));
  cradle_fork_done(heap);
  cradle_heap_free(heap);
}

/* --- limits --- */

/* Grows a heap until memory is refused. The heap must then be sound, and work again once its objects have died. */
static int grow_to_the_end(size_t at_least) {
  fixture f;
  cradle_options options;
  cradle_error error;
  memory_options(&options);
  options.reserve_bytes = (size_t)64 << 30;
  f.heap = cradle_heap_new(&options, &error);
  if (f.heap == NULL) return error.message[0] != '\0' ? 20 : 21;
  f.m = cradle_mutator_new(f.heap);
  if (f.m == NULL) return 22;
  cradle_push(f.m, NULL);
  while (grow(f.m, MIB)) {}
  size_t bytes = intact_bytes(f.m);
  if (bytes < at_least) return print_message("%zu MiB\n", bytes / MIB), 23;
  if (!is_sound(f.heap)) return 24;
  *cradle_peek(f.m, 0) = 0;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  if (!grow(f.m, bytes / 2) || !is_sound(f.heap)) return 25;
  return 0;
}

static size_t statm(int field) {
  unsigned long values[7] = {0};
  FILE *file = fopen("/proc/self/statm", "r");
  for (int i = 0; file != NULL && i < 7; i++)
    if (fscanf(file, "%lu", &values[i]) != 1) break;
  if (file != NULL) fclose(file);
  return values[field] * kernel_page_bytes();
}

static int under_address_limit(void) {
  struct rlimit limit = {512 * MIB, 512 * MIB};
  return setrlimit(RLIMIT_AS, &limit) != 0 ? 2 : grow_to_the_end(48 * MIB);
}

/* There is room for all that a heap needs, but not for its stacks at their largest size. */
static int under_a_low_address_limit(void) {
  struct rlimit limit = {statm(0) + 80 * MIB, statm(0) + 80 * MIB};
  return setrlimit(RLIMIT_AS, &limit) != 0 ? 2 : grow_to_the_end(8 * MIB);
}

/* The services' lists leave address space for each other and for the process. */
CRADLE_UNCHECKED_COLLECTION static int services_under_an_address_limit(void) {
  static const size_t limits[] = {(size_t)256 << 20, (size_t)4 << 30, (size_t)100 << 30};
  static const cradle_type kinds[] = {{.name = "weak", .size = 16, .weak = 2},
                                      {.name = "final", .size = 16, .finalizer = 1},
                                      {.name = "ephemeron", .size = 24, .ephemerons = 2}};
  for (size_t i = 0; i < 3; i++) {
    struct rlimit limit = {statm(0) + limits[i], RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0) return 2;
    fixture f;
    cradle_options options;
    memory_options(&options);
    options.reserve_bytes = (size_t)64 << 30;
    open_heap(&f, &options);
    for (size_t kind = 0; kind < 3; kind++) {
      uint32_t type = cradle_type_add(f.heap, &kinds[kind]);
      for (int n = 0; n < 20000; n++)
        if (cradle_new_registered(f.m, type, kinds[kind].size) == NULL) return 30 + (int)kind;
    }
    void *own = malloc(16 * MIB);
    if (own == NULL) return 33;
    free(own);
    cradle_pop_many(f.m, 1);
    cradle_mutator_free(f.m);
    cradle_heap_free(f.heap);
  }
  return 0;
}

static int under_data_limit(void) {
  size_t bytes = statm(5) + 160 * MIB;
  struct rlimit limit = {bytes, bytes};
  return setrlimit(RLIMIT_DATA, &limit) != 0 ? 2 : grow_to_the_end(48 * MIB);
}

#ifdef CRADLE_ASAN
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

static void limits_of_the_process_end_in_a_clean_refusal(void **state) {
  (void)state;
  if (SANITIZED) SKIP("AddressSanitizer's own reservations are above any limit");
  assert_int_equal(status_of_child(under_address_limit), 0);
  assert_int_equal(status_of_child(under_a_low_address_limit), 0);
  assert_int_equal(status_of_child(services_under_an_address_limit), 0);
  assert_int_equal(status_of_child(under_data_limit), 0);
}

/* A share of the cgroup's limit becomes the maximum unless the program set one. A heap is made even in a cgroup that is
 * too small for any heap. */
static void a_groups_limit_becomes_the_maximum(void **state) {
  (void)state;
  static const struct {
    size_t group, l2, asked;
    bool limited;
  } cases[] = {
      {128 * MIB, MIB, 0, true}, {128 * MIB, MIB, 256 * MIB, false}, {40 * MIB, 8 * MIB, 0, false}, {0, MIB, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f;
    notes all = {.text = ""};
    cradle_options options;
    cradle_hardware hardware = {.page_bytes = (size_t)sysconf(_SC_PAGESIZE),
                                .l2_bytes = cases[i].l2,
                                .memory_bytes = (size_t)1 << 30,
                                .group_bytes = cases[i].group};
    memory_options(&options);
    options.hardware = &hardware;
    options.nursery_bytes = 0;
    options.heap_max_bytes = cases[i].asked;
    options.listener = (cradle_listener){take_note, &all};
    open_heap(&f, &options);
    bool grew = grow(f.m, 110 * MIB);
    assert_int_equal(grew, !cases[i].limited);
    assert_int_equal(strstr(all.text, "three quarters of the cgroup's memory") != NULL, cases[i].limited);
    if (cases[i].limited) assert_in_range(intact_bytes(f.m), 64 * MIB, 96 * MIB);
    close_heap(&f);
  }
}

static char group[128];

static int under_group(void) {
  char path[160];
  snprintf(path, sizeof path, "%s/tasks", group);
  return put(path, (size_t)getpid()) ? grow_to_the_end(48 * MIB) : 2;
}

static void a_small_cgroup_ends_in_a_clean_refusal(void **state) {
  (void)state;
  char path[160];
  if (SANITIZED) SKIP("AddressSanitizer's shadow would count against the group");
  snprintf(group, sizeof group, GROUPS "/cradle-test-%d", (int)getpid());
  snprintf(path, sizeof path, "%s/memory.limit_in_bytes", group);
  if (mkdir(group, 0755) != 0) SKIP("no group of the memory controller (version 1) can be made");
  int status = put(path, 128 * MIB) ? status_of_child(under_group) : 2;
  rmdir(group);
  if (status == 2) SKIP("the group takes no limit or no process");
  assert_int_equal(status, 0);
}

static int to_256_mib(void) {
  fixture f;
  cradle_options options;
  memory_options(&options);
  options.reserve_bytes = (size_t)64 << 30;
  open_heap(&f, &options);
  return grow(f.m, 256 * MIB) && intact_bytes(f.m) == 256 * MIB && is_sound(f.heap) ? 0 : 1;
}

/* This changes a setting of the whole machine for a moment, and other processes may fail meanwhile. */
static void strict_overcommit_serves(void **state) {
  (void)state;
  if (getenv("TEST_OVERCOMMIT") == NULL) SKIP("changes vm.overcommit_memory for all; TEST_OVERCOMMIT=1 runs it");
  size_t before = number_in(OVERCOMMIT_FILE, "");
  if (!put(OVERCOMMIT_FILE, 2)) SKIP("vm.overcommit_memory cannot be set");
  int status = status_of_child(to_256_mib);
  assert_true(put(OVERCOMMIT_FILE, before));
  assert_int_equal(status, 0);
}

#define POOL_TEST(name) cmocka_unit_test_setup_teardown(name, remember_pool, restore_pool)

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_report_tells_the_regions),
      cmocka_unit_test(each_region_gets_its_own_pages),
      cmocka_unit_test(a_process_without_transparent_huge_pages_works_and_says_so),
      cmocka_unit_test(major_collections_report_what_the_kernel_gave),
      cmocka_unit_test(larger_base_pages_serve),
      cmocka_unit_test(a_refused_nursery_is_noted),
      POOL_TEST(the_pool_comes_first_and_its_end_leaves_no_hole),
      POOL_TEST(a_pool_that_another_process_empties_kills_nobody),
      POOL_TEST(a_strict_policy_fails_without_its_pool),
      POOL_TEST(no_fork_shares_pages_of_the_pool),
      cmocka_unit_test(memory_goes_back_when_asked),
      cmocka_unit_test(both_processes_go_on_after_a_fork),
      cmocka_unit_test(a_heap_is_not_used_between_prepare_and_fork),
      cmocka_unit_test(a_heap_without_a_mutator_forks),
      cmocka_unit_test(limits_of_the_process_end_in_a_clean_refusal),
      cmocka_unit_test(a_groups_limit_becomes_the_maximum),
      cmocka_unit_test(a_small_cgroup_ends_in_a_clean_refusal),
      cmocka_unit_test(strict_overcommit_serves),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
