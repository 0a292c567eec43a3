/* Hardware detection under trees that each test writes: complete, missing, garbled and limited. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gc/platform/hardware.h"

#define MIB ((size_t)1 << 20)
#define CPU "sys/devices/system/cpu/cpu"
#define THP "sys/kernel/mm/transparent_hugepage/"

/* --- the tree --- */

static char root[64];

static void make_folders(char *path) {
  for (char *at = path + strlen(root); (at = strchr(at, '/')) != NULL; at++) {
    *at = '\0';
    mkdir(path, 0755);
    *at = '/';
  }
}

static void put(const char *name, const char *text) {
  char path[1024];
  snprintf(path, sizeof path, "%s%s", root, name);
  make_folders(path);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(text, file);
  fclose(file);
}

static void put_cache(unsigned cpu, unsigned index, const char *level, const char *type, const char *size) {
  const char *names[] = {"level", "type", "size"}, *texts[] = {level, type, size};
  for (size_t i = 0; i < 3; i++) {
    char path[256];
    snprintf(path, sizeof path, CPU "%u/cache/index%u/%s", cpu, index, names[i]);
    put(path, texts[i]);
  }
}

/* The same caches for every CPU that the process may run on: where it runs does not matter. */
static void put_cpus(const char *l2_size, const char *l3_size) {
  cpu_set_t allowed;
  assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    put_cache(cpu, 0, "1\n", "Data\n", "48K\n");
    put_cache(cpu, 1, "2\n", "Instruction\n", "64K\n");
    put_cache(cpu, 2, "2\n", "Unified\n", l2_size);
    put_cache(cpu, 3, "3\n", "Unified\n", l3_size);
  }
}

static int make_root(void **state) {
  (void)state;
  strcpy(root, "/tmp/cradle-hardware-XXXXXX");
  if (mkdtemp(root) == NULL) return -1;
  strcat(root, "/");
  return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *walk) {
  (void)info, (void)kind, (void)walk;
  return remove(path);
}

static int remove_root(void **state) {
  (void)state;
  return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static cradle_hardware detect(void) {
  cradle_hardware hardware;
  memset(&hardware, 0xA5, sizeof hardware);
  errno = 77;
  crd_hardware_detect_under(&hardware, root);
  assert_int_equal(errno, 77);
  assert_int_equal(hardware.page_bytes, sysconf(_SC_PAGESIZE));
  return hardware;
}

/* If sysfs has no caches, detection uses the machine's sysconf, and after that the default. */
static void assert_caches_without_sysfs(const cradle_hardware *hardware) {
#ifdef _SC_LEVEL2_CACHE_SIZE
  long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE), l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
  long l2 = 0, l3 = 0; /* musl */
#endif
  assert_int_equal(hardware->l2_bytes, l2 > 0 ? (size_t)l2 : MIB);
  assert_int_equal(hardware->l3_bytes, l3 > 0 ? (size_t)l3 : 0);
  assert_int_equal(hardware->l2_source, l2 > 0 ? CRADLE_SOURCE_SYSCONF : CRADLE_SOURCE_DEFAULT);
  assert_int_equal(hardware->l3_source, l3 > 0 ? CRADLE_SOURCE_SYSCONF : CRADLE_SOURCE_DEFAULT);
}

static size_t physical_bytes(void) {
  return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* --- caches --- */

static void sysfs_tells_caches_of_data_only(void **state) {
  (void)state;
  put_cpus("1280K\n", "24M\n");
  cradle_hardware hardware = detect();
  assert_int_equal(hardware.l2_bytes, 1280 << 10);
  assert_int_equal(hardware.l3_bytes, 24 * MIB);
  assert_int_equal(hardware.l2_source, CRADLE_SOURCE_SYSFS);
  assert_int_equal(hardware.l3_source, CRADLE_SOURCE_SYSFS);
}

static void smallest_cache_of_the_allowed_cpus_counts(void **state) {
  (void)state;
  cpu_set_t all, one;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  unsigned cpus[3], count = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && count < 3; cpu++)
    if (CPU_ISSET(cpu, &all)) cpus[count++] = cpu;
  if (count < 2) {
    print_message("skipped: the process may run on one CPU only\n");
    skip();
  }
  put_cpus("2048K\n", "8192K\n");
  put_cache(cpus[0], 2, "2\n", "Unified\n", "4096K\n");
  put_cache(cpus[1], 2, "2\n", "Unified\n", "512K\n");
  assert_int_equal(detect().l2_bytes, 512 << 10); /* [hardware.2] */
  CPU_ZERO(&one);
  CPU_SET(cpus[0], &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  size_t alone = detect().l2_bytes;
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
  assert_int_equal(alone, 4 * MIB);
}

static void garbled_cache_sizes_tell_nothing(void **state) {
  (void)state;
  static const char *const garbled[] = {"12Q\n",
                                        "",
                                        "\n",
                                        "K\n",
                                        "-1K\n",
                                        "1 K\n",
                                        "0K\n",
                                        "1KB\n",
                                        " 12K\n",
                                        "0x10K\n",
                                        "99999999999999999999K\n",
                                        "99999999999999999G\n"};
  for (size_t i = 0; i < sizeof garbled / sizeof *garbled; i++) {
    put_cpus(garbled[i], garbled[i]);
    cradle_hardware hardware = detect();
    assert_caches_without_sysfs(&hardware);
  }
}

static void garbled_levels_and_types_tell_nothing(void **state) {
  (void)state;
  static const char *const levels[] = {"22\n", "x\n", "", "2\n"};
  static const char *const types[] = {"Unified\n", "Unified\n", "Unified\n", "Dat"};
  for (size_t i = 0; i < 4; i++) {
    put_cpus("0K\n", "0K\n");
    put_cache(0, 2, levels[i], types[i], "123K\n");
    cradle_hardware hardware = detect();
    assert_caches_without_sysfs(&hardware);
  }
}

/* --- nothing there --- */

/* [hardware.1] */
static void empty_tree_gives_defaults(void **state) {
  (void)state;
  cradle_hardware hardware = detect();
  assert_caches_without_sysfs(&hardware);
  assert_int_equal(hardware.thp_mode, CRADLE_THP_UNKNOWN);
  assert_int_equal(hardware.thp_page_bytes, 0);
  assert_int_equal(hardware.pool_page_bytes, 0);
  assert_int_equal(hardware.pool_pages_free, 0);
  assert_int_equal(hardware.memory_bytes, physical_bytes());
}

static void root_too_long_for_a_path_gives_defaults(void **state) {
  (void)state;
  static char longer[4096];
  memset(longer, 'x', sizeof longer - 1);
  cradle_hardware hardware;
  crd_hardware_detect_under(&hardware, longer);
  assert_caches_without_sysfs(&hardware);
  assert_int_equal(hardware.memory_bytes, physical_bytes());
}

/* --- huge pages --- */

static void thp_mode_is_the_one_in_brackets(void **state) {
  (void)state;
  static const struct {
    const char *text;
    cradle_thp_mode mode;
  } modes[] = {
      {"[always] madvise never\n", CRADLE_THP_ALWAYS},
      {"always [madvise] never\n", CRADLE_THP_MADVISE},
      {"always madvise [never]\n", CRADLE_THP_NEVER},
      {"always madvise never\n", CRADLE_THP_UNKNOWN},
      {"always [madv", CRADLE_THP_UNKNOWN},
      {"12Q\n", CRADLE_THP_UNKNOWN},
  };
  put(THP "hpage_pmd_size", "2097152\n");
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    put(THP "enabled", modes[i].text);
    cradle_hardware hardware = detect();
    assert_int_equal(hardware.thp_mode, modes[i].mode);
    assert_int_equal(hardware.thp_page_bytes, 2 * MIB);
  }
}

static void garbled_thp_page_is_none(void **state) {
  (void)state;
  static const char *const garbled[] = {"12Q\n", "", "3000000\n", "-2097152\n"};
  put(THP "enabled", "[always] madvise never\n");
  for (size_t i = 0; i < sizeof garbled / sizeof *garbled; i++) {
    put(THP "hpage_pmd_size", garbled[i]);
    assert_int_equal(detect().thp_page_bytes, 0);
  }
}

/* Runs in a child, because the refusal is inherited and stays. The child's status: 0 as wished,
 * 1 not, 2 the kernel cannot. */
static int thp_modes_of_a_child(unsigned long flags, cradle_thp_mode wished) {
  pid_t child = fork();
  if (child == 0) {
    if (prctl(PR_SET_THP_DISABLE, 1ul, flags, 0ul, 0ul) != 0) _exit(2);
    cradle_hardware hardware;
    crd_hardware_detect_under(&hardware, root);
    _exit(hardware.thp_mode != wished);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void process_that_disabled_thp_has_none(void **state) {
  (void)state;
  put(THP "enabled", "[always] madvise never\n");
  assert_int_equal(thp_modes_of_a_child(0, CRADLE_THP_NEVER), 0);
}

static void process_that_disabled_thp_except_advised_has_madvise(void **state) {
  (void)state;
  put(THP "enabled", "[always] madvise never\n");
  int status = thp_modes_of_a_child(2, CRADLE_THP_MADVISE);
  if (status == 2) {
    print_message("skipped: the kernel cannot disable huge pages except where advised\n");
    skip();
  }
  assert_int_equal(status, 0);
}

static void meminfo_tells_the_pool(void **state) {
  (void)state;
  put("proc/meminfo", "MemTotal:       16384 kB\nHugePages_Total:      12\nHugePages_Free:        7\n"
                      "Hugepagesize:       2048 kB\nHugetlb:           24576 kB\n");
  cradle_hardware hardware = detect();
  assert_int_equal(hardware.pool_page_bytes, 2 * MIB);
  assert_int_equal(hardware.pool_pages_free, 7);
}

static void garbled_pool_is_none(void **state) {
  (void)state;
  static const char *const garbled[] = {"Hugepagesize:     12Q kB\nHugePages_Free: 7\n",
                                        "Hugepagesize:     2048",
                                        "Hugepagesize:     3000 kB\nHugePages_Free: 7\n",
                                        "Hugepagesize: kB\n",
                                        "NotHugepagesize:  2048 kB\n",
                                        "Hugepagesize:     99999999999999999999999 kB\n",
                                        "Hugepagesize:   18446744073709551615 kB\n",
                                        "HugePages_Free:        7\n"};
  for (size_t i = 0; i < sizeof garbled / sizeof *garbled; i++) {
    put("proc/meminfo", garbled[i]);
    cradle_hardware hardware = detect();
    assert_int_equal(hardware.pool_page_bytes, 0);
    assert_int_equal(hardware.pool_pages_free, 0);
  }
  put("proc/meminfo", "Hugepagesize: 2048 kB\nHugePages_Free: 7x\n");
  assert_int_equal(detect().pool_pages_free, 0);
}

/* --- memory --- */

static void own_group_of_version_2_limits_memory(void **state) {
  (void)state;
  put("proc/self/cgroup", "0::/app/vm\n");
  put("sys/fs/cgroup/app/memory.max", "max\n");
  put("sys/fs/cgroup/app/vm/memory.max", "67108864\n");
  assert_int_equal(detect().memory_bytes, 64 * MIB);
  assert_int_equal(detect().group_bytes, 64 * MIB);
}

static void groups_above_limit_memory_too(void **state) {
  (void)state;
  put("proc/self/cgroup", "0::/slice/app/vm\n");
  put("sys/fs/cgroup/slice/memory.max", "33554432\n");
  put("sys/fs/cgroup/slice/app/vm/memory.max", "67108864\n");
  assert_int_equal(detect().memory_bytes, 32 * MIB);
  put("sys/fs/cgroup/memory.max", "16777216\n");
  assert_int_equal(detect().memory_bytes, 16 * MIB);
}

static void groups_of_version_1_limit_memory(void **state) {
  (void)state;
  put("proc/self/cgroup", "8:pids:/other\n4:cpu,memory:/box\n3:memoryish:/no\n0::/\n");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  put("sys/fs/cgroup/memory/other/memory.limit_in_bytes", "1048576\n");
  put("sys/fs/cgroup/memory/no/memory.limit_in_bytes", "1048576\n");
  put("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "50331648\n");
  assert_int_equal(detect().memory_bytes, 48 * MIB);
}

static void root_group_counts_without_a_list_of_groups(void **state) {
  (void)state;
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "50331648\n");
  assert_int_equal(detect().memory_bytes, 48 * MIB);
  put("sys/fs/cgroup/memory.max", "16777216\n");
  assert_int_equal(detect().memory_bytes, 16 * MIB);
}

static void limits_that_are_none_leave_physical_memory(void **state) {
  (void)state;
  static const char *const none[] = {"max\n", "", "12Q\n", "0\n", "-5\n", "9223372036854771712\n"};
  static const char *const groups[] = {"0::/app\n", "0::/app", "garbage\n", "0:\n", ":::\n", ""};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    put("proc/self/cgroup", groups[i]);
    put("sys/fs/cgroup/app/memory.max", none[i]);
    put("sys/fs/cgroup/memory.max", none[i]);
    assert_int_equal(detect().memory_bytes, physical_bytes());
    assert_int_equal(detect().group_bytes, 0);
  }
}

/* --- the machine itself --- */

static void this_machine_is_plausible(void **state) {
  (void)state;
  cradle_hardware hardware;
  crd_hardware_detect(&hardware);
  assert_int_equal(hardware.page_bytes, sysconf(_SC_PAGESIZE));
  assert_in_range(hardware.l2_bytes, 32 << 10, (size_t)1 << 30);
  assert_true(hardware.memory_bytes > 0 && hardware.memory_bytes <= physical_bytes());
  assert_true(hardware.thp_page_bytes % hardware.page_bytes == 0);
  assert_true(hardware.pool_page_bytes % hardware.page_bytes == 0);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, make_root, remove_root)

int main(void) {
  const struct CMUnitTest tests[] = {
      TREE_TEST(sysfs_tells_caches_of_data_only),
      TREE_TEST(smallest_cache_of_the_allowed_cpus_counts),
      TREE_TEST(garbled_cache_sizes_tell_nothing),
      TREE_TEST(garbled_levels_and_types_tell_nothing),
      TREE_TEST(empty_tree_gives_defaults),
      TREE_TEST(root_too_long_for_a_path_gives_defaults),
      TREE_TEST(thp_mode_is_the_one_in_brackets),
      TREE_TEST(garbled_thp_page_is_none),
      TREE_TEST(process_that_disabled_thp_has_none),
      TREE_TEST(process_that_disabled_thp_except_advised_has_madvise),
      TREE_TEST(meminfo_tells_the_pool),
      TREE_TEST(garbled_pool_is_none),
      TREE_TEST(own_group_of_version_2_limits_memory),
      TREE_TEST(groups_above_limit_memory_too),
      TREE_TEST(groups_of_version_1_limit_memory),
      TREE_TEST(root_group_counts_without_a_list_of_groups),
      TREE_TEST(limits_that_are_none_leave_physical_memory),
      cmocka_unit_test(this_machine_is_plausible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
