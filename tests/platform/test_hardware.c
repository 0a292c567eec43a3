/* Hardware detection under trees that each test writes: complete, missing, garbled and limited. The test
 * answers the system calls of hardware_calls.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/platform/hardware_calls.h"

#include "tests/inside.h"

/* --- the system, where it is not the machine's own --- */

static struct {
  bool refuses_affinity;
  const cpu_set_t *allowed; /* NULL: those of the process */
  int thp_disabled;         /* what prctl says; INT_MIN: what the kernel does */
  int name;                 /* of the figure that sysconf gives wrong, and its value; -1: none */
  long value;
  size_t at_once; /* the most bytes that one read gives; 0: no limit */
} machine;

/* The read before, which the next one may continue. */
static struct {
  int file;
  char *next;
  size_t left;
} before;

int stub_getaffinity(pid_t process, size_t size, cpu_set_t *allowed) {
  assert_int_equal(process, 0); /* this one */
  if (machine.refuses_affinity) return errno = EINVAL, -1;
  if (machine.allowed == NULL) return sched_getaffinity(process, size, allowed);
  *allowed = *machine.allowed;
  return 0;
}

int stub_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
  return machine.thp_disabled == INT_MIN ? prctl(option, a, b, c, d) : machine.thp_disabled;
}

long stub_sysconf(int name) {
  return name == machine.name ? machine.value : sysconf(name);
}

int stub_open(const char *path, int flags) {
  before.next = NULL;
  return open(path, flags);
}

/* A read goes on where the one before ended. Buffers are powers of two long, and the last byte is for the zero. */
ssize_t stub_read(int file, void *buffer, size_t size) {
  if (before.next != NULL) {
    assert_int_equal(file, before.file);
    assert_ptr_equal(buffer, before.next);
    assert_int_equal(size, before.left);
  }
  if (before.next == NULL && (size & (size + 1)) != 0) fail_msg("%zu bytes are not all but the last of a buffer", size);
  ssize_t got = read(file, buffer, machine.at_once != 0 && machine.at_once < size ? machine.at_once : size);
  before.file = file;
  before.next = (char *)buffer + (got > 0 ? got : 0);
  before.left = size - (size_t)(got > 0 ? got : 0);
  return got;
}

#define MIB ((size_t)1 << 20)
#define CPU "sys/devices/system/cpu/cpu"
#define THP "sys/kernel/mm/transparent_hugepage/"

/* Pretends a machine with so many processors. */
static void have_processors(int count) {
  static cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (int i = 0; i < count; i++) CPU_SET(2 * i, &allowed);
  machine.allowed = &allowed;
}

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
  assert_int_equal(stub_getaffinity(0, sizeof allowed, &allowed), 0);
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
  memset(&machine, 0, sizeof machine);
  machine.thp_disabled = INT_MIN;
  machine.name = -1;
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

static void detect_into(cradle_hardware *hardware) {
  crd_hardware_init(hardware);
  crd_hardware_read_under(hardware, root, HARDWARE_ALL);
}

static cradle_hardware detect(void) {
  cradle_hardware hardware;
  memset(&hardware, 0xA5, sizeof hardware);
  int next = dup(0);
  close(next);
  errno = 77;
  detect_into(&hardware);
  assert_int_equal(errno, 77);
  assert_int_equal(dup(0), next); /* every file was closed */
  close(next);
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

/* A CPU's caches are looked at up to the sixteenth, the CPUs up to the last that a set has. */
static void all_caches_of_all_cpus_count(void **state) {
  (void)state;
  static const unsigned cpus[] = {0, 9, 10, 99, CPU_SETSIZE - 1};
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) CPU_SET(cpus[i], &allowed);
  machine.allowed = &allowed;
  put_cache(5, 0, "2\n", "Unified\n", "1K\n"); /* not allowed */
  size_t kib = 3000;
  char size[32];
  for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
    snprintf(size, sizeof size, "%zuK\n", --kib);
    put_cache(cpus[i], 0, "2\n", "Data\n", size);
    assert_int_equal(detect().l2_bytes, kib << 10);
  }
  for (unsigned index = 1; index < 16; index++) {
    snprintf(size, sizeof size, "%zuK\n", --kib);
    put_cache(0, index, index % 2 == 0 ? "2\n" : "3\n", "Unified\n", size);
  }
  assert_int_equal(detect().l2_bytes, (kib + 1) << 10);
  assert_int_equal(detect().l3_bytes, kib << 10);
  put_cache(0, 16, "2\n", "Unified\n", "1K\n");
  assert_int_equal(detect().l2_bytes, (kib + 1) << 10);
  machine.refuses_affinity = true; /* then the first CPU stands for all */
  put_cache(9, 0, "2\n", "Unified\n", "1K\n");
  assert_int_equal(detect().l2_bytes, (kib + 1) << 10);
}

static void sizes_have_units(void **state) {
  (void)state;
  static const struct {
    const char *text;
    size_t bytes;
  } sizes[] = {{"1K\n", 1024},
               {"3M\n", 3 * MIB},
               {"1G\n", 1024 * MIB},
               {"123456", 123456},
               {"7\n", 7},
               {"8", 8},
               {"18014398509481983K\n", SIZE_MAX - 1023},
               {"17592186044415M\n", SIZE_MAX - MIB + 1},
               {"17179869183G\n", SIZE_MAX - 1024 * MIB + 1},
               {"18446744073709551615\n", SIZE_MAX}};
  have_processors(1);
  put_cpus("1K\n", "1K\n");
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    put(CPU "0/cache/index2/size", sizes[i].text);
    cradle_hardware hardware = detect();
    assert_int_equal(hardware.l2_bytes, sizes[i].bytes);
    assert_int_equal(hardware.l2_source, CRADLE_SOURCE_SYSFS);
  }
}

static void figures_that_nobody_tells_have_defaults(void **state) {
  (void)state;
#ifdef _SC_LEVEL2_CACHE_SIZE
  machine.name = _SC_LEVEL2_CACHE_SIZE;
  machine.value = -1;
  assert_int_equal(detect().l2_bytes, MIB);
  assert_int_equal(detect().l2_source, CRADLE_SOURCE_DEFAULT);
  machine.value = 1;
  assert_int_equal(detect().l2_bytes, 1);
  assert_int_equal(detect().l2_source, CRADLE_SOURCE_SYSCONF);
#endif
  cradle_hardware hardware;
  machine.name = _SC_PAGESIZE;
  machine.value = -1;
  crd_hardware_init(&hardware);
  assert_int_equal(hardware.page_bytes, 4096);
  assert_int_equal(hardware.memory_bytes | hardware.l2_bytes, 0);
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
                                        "1T\n",
                                        "/\n",
                                        ":\n",
                                        "18014398509481984K\n",
                                        "18446744073709551616\n",
                                        "99999999999999999999K\n",
                                        "99999999999999999G\n"};
  have_processors(1);
  put_cpus("", "");
  for (size_t i = 0; i < sizeof garbled / sizeof *garbled; i++) {
    put(CPU "0/cache/index2/size", garbled[i]);
    put(CPU "0/cache/index3/size", garbled[i]);
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

/* A CPU's caches end with the first folder that tells no level. */
static void a_cache_without_a_level_is_the_last(void **state) {
  (void)state;
  have_processors(1);
  put_cpus("1280K\n", "24M\n");
  put_cache(0, 1, "2\n", "", "1K\n"); /* is passed over */
  put_cache(0, 3, "", "Unified\n", "24M\n");
  put_cache(0, 4, "2\n", "Unified\n", "1K\n");
  assert_int_equal(detect().l2_bytes, 1280 << 10);
}

/* --- paths --- */

static void numbers_in_paths_are_decimal(void **state) {
  (void)state;
  static const unsigned numbers[] = {0, 7, 9, 10, 11, 99, 100, 101, 999, 1000, CPU_SETSIZE - 1};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i] >= CPU_SETSIZE) continue; /* it is 128 in musl */
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(numbers[i], &one);
    machine.allowed = &one;
    char size[16];
    snprintf(size, sizeof size, "%zuK\n", i + 1);
    put_cache(numbers[i], 0, "2\n", "Unified\n", size);
    assert_int_equal(detect().l2_bytes, (i + 1) << 10);
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
  /* What is left of such a path must not be looked for where the process is. */
  char here[1024];
  assert_non_null(getcwd(here, sizeof here));
  put_cpus("123K\n", "123K\n");
  put("sys/fs/cgroup/memory.max", "4096\n");
  assert_int_equal(chdir(root), 0);
  crd_hardware_init(&hardware);
  crd_hardware_read_under(&hardware, longer, HARDWARE_ALL);
  assert_int_equal(chdir(here), 0);
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
  put(THP "hpage_pmd_size", "2097152\n"); /* without a mode */
  assert_int_equal(detect().thp_page_bytes, 0);
  assert_int_equal(detect().thp_mode, CRADLE_THP_UNKNOWN);
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
    detect_into(&hardware);
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

static void what_the_process_disabled_comes_first(void **state) {
  (void)state;
  static const char *const modes[] = {"[never]\n", "[madvise]\n", "[always]\n"};
  static const cradle_thp_mode plain[] = {CRADLE_THP_NEVER, CRADLE_THP_MADVISE, CRADLE_THP_ALWAYS};
  for (size_t i = 0; i < 3; i++) {
    put(THP "enabled", modes[i]);
    machine.thp_disabled = -1; /* unknown to the kernel */
    assert_int_equal(detect().thp_mode, plain[i]);
    machine.thp_disabled = 0;
    assert_int_equal(detect().thp_mode, plain[i]);
    machine.thp_disabled = 1;
    assert_int_equal(detect().thp_mode, CRADLE_THP_NEVER);
    machine.thp_disabled = 3;
    assert_int_equal(detect().thp_mode, plain[i] == CRADLE_THP_ALWAYS ? CRADLE_THP_MADVISE : plain[i]);
  }
}

static void meminfo_tells_the_pool(void **state) {
  (void)state;
  put("proc/meminfo", "MemTotal:       16384 kB\nHugePages_Total:      12\nHugePages_Free:        7\n"
                      "Hugepagesize:       2048 kB\nHugetlb:           24576 kB\n");
  cradle_hardware hardware = detect();
  assert_int_equal(hardware.pool_page_bytes, 2 * MIB);
  assert_int_equal(hardware.pool_pages_free, 7);
  put("proc/meminfo", "Hugepagesize: 1 kB\nHugePages_Free:1\n");
  hardware = detect();
  assert_int_equal(hardware.pool_page_bytes, 1024);
  assert_int_equal(hardware.pool_pages_free, 1);
  put("proc/meminfo", "HugePages_Free: 18446744073709551615\nHugepagesize: 9007199254740992 kB\n");
  hardware = detect();
  assert_int_equal(hardware.pool_page_bytes, (size_t)1 << 63);
  assert_int_equal(hardware.pool_pages_free, SIZE_MAX);
}

/* A file is read in as many pieces as the system makes of it, and what does not fit is left out. */
static void files_are_read_piece_by_piece(void **state) {
  (void)state;
  static char text[20000];
  memset(text, '-', sizeof text - 1);
  for (size_t at = 99; at < sizeof text - 1; at += 100) text[at] = '\n';
  static const char told[] = "\nHugepagesize: 2048 kB\nHugePages_Free: 7\n";
  /* what fits is used to the last byte, which is the last but one of the buffer */
  memcpy(text + HARDWARE_FILE_BYTES - 1 - (sizeof told - 1), told, sizeof told - 1);
  put("proc/meminfo", text);
  put_cpus("1280K\n", "24M\n");
  put(THP "enabled", "always [madvise] never\n");
  for (machine.at_once = 0; machine.at_once < 1000; machine.at_once = 3 * machine.at_once + 1) {
    cradle_hardware hardware = detect();
    assert_int_equal(hardware.l2_bytes, 1280 << 10);
    assert_int_equal(hardware.thp_mode, machine.thp_disabled == 1 ? CRADLE_THP_NEVER : CRADLE_THP_MADVISE);
    assert_int_equal(hardware.pool_page_bytes, 2 * MIB);
    assert_int_equal(hardware.pool_pages_free, 7);
  }
}

/* Then the files are opened as what standard input was. */
static void a_process_may_have_no_standard_input(void **state) {
  (void)state;
  have_processors(1);
  put_cpus("1280K\n", "24M\n");
  int input = dup(0);
  cradle_hardware hardware;
  close(0);
  detect_into(&hardware);
  dup2(input, 0);
  close(input);
  assert_int_equal(hardware.l2_bytes, 1280 << 10);
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

/* It is no limit: the memory stays what it is. */
static void the_lowest_soft_limit_of_all_groups_counts(void **state) {
  (void)state;
  put("proc/self/cgroup", "0::/slice/app\n");
  put("sys/fs/cgroup/slice/app/memory.high", "max\n");
  assert_int_equal(detect().group_high_bytes, 0);
  put("sys/fs/cgroup/slice/memory.high", "33554432\n");
  put("sys/fs/cgroup/slice/app/memory.high", "50331648\n");
  put("sys/fs/cgroup/slice/app/memory.max", "67108864\n");
  assert_int_equal(detect().group_high_bytes, 32 * MIB);
  assert_int_equal(detect().group_bytes, 64 * MIB);
  assert_int_equal(detect().memory_bytes, 64 * MIB);
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

static void a_limit_that_is_not_below_physical_memory_is_none(void **state) {
  (void)state;
  char text[32];
  put("proc/self/cgroup", "0::/app\n");
  machine.name = _SC_PHYS_PAGES;
  machine.value = 100;
  for (size_t pages = 99; pages <= 101; pages++) {
    snprintf(text, sizeof text, "%zu\n", pages * (size_t)sysconf(_SC_PAGESIZE));
    put("sys/fs/cgroup/app/memory.max", text);
    cradle_hardware hardware = detect();
    assert_int_equal(hardware.memory_bytes, (pages < 100 ? 99 : 100) * (size_t)sysconf(_SC_PAGESIZE));
    assert_int_equal(hardware.group_bytes, pages < 100 ? hardware.memory_bytes : 0);
  }
  put("sys/fs/cgroup/app/memory.max", "67108864\n");
  machine.value = -1; /* then the limit alone is known */
  assert_int_equal(detect().memory_bytes, 64 * MIB);
  assert_int_equal(detect().group_bytes, 64 * MIB);
  put("sys/fs/cgroup/app/memory.max", "max\n");
  assert_int_equal(detect().memory_bytes, 0);
  machine.value = LONG_MAX;
  assert_int_equal(detect().memory_bytes, SIZE_MAX);
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  machine.value = (long)(SIZE_MAX / page);
  assert_int_equal(detect().memory_bytes, SIZE_MAX - page + 1);
}

/* Such a group has no limit here, and none of a group with a shorter name. */
static void a_group_with_too_long_a_path_is_left_out(void **state) {
  (void)state;
  char group[512], name[600], text[600];
  const int half = (int)(400 - strlen(root)) / 2; /* of what is above the group: a name has at most 255 bytes */
  size_t fitting = 0, others = 0;
  for (size_t length = 20; length <= 100; length++) {
    size_t used = (size_t)snprintf(group, sizeof group, "/%0*d/%0*d/", half, 0, half, 0);
    memset(group + used, 'g', length);
    group[used + length] = '\0';
    snprintf(name, sizeof name, "sys/fs/cgroup%s/memory.max", group);
    snprintf(text, sizeof text, "0::%s\n", group);
    put("proc/self/cgroup", text);
    bool fits = strlen(root) + strlen(name) < HARDWARE_PATH_BYTES;
    put(name, "1048576\n");
    assert_int_equal(detect().memory_bytes, fits ? MIB : physical_bytes());
    *(fits ? &fitting : &others) += 1;
  }
  assert_true(fitting > 3 && others > 3);
}

/* --- processors --- */

static void processors_are_those_that_the_process_may_use(void **state) {
  (void)state;
  have_processors(1);
  assert_int_equal(detect().processors, 1);
  have_processors(64);
  assert_int_equal(detect().processors, 64);
  machine.refuses_affinity = true;
  assert_int_equal(detect().processors, sysconf(_SC_NPROCESSORS_ONLN));
  machine.name = _SC_NPROCESSORS_ONLN;
  machine.value = 1;
  assert_int_equal(detect().processors, 1);
  machine.value = 5000;
  assert_int_equal(detect().processors, 5000);
  machine.value = -1; /* unknown */
  assert_int_equal(detect().processors, 0);
}

/* Whole processors, rounded down, but at least one. */
static void quotas_of_version_2_limit_processors(void **state) {
  (void)state;
  static const struct {
    const char *text;
    unsigned processors;
  } quotas[] = {{"max 100000\n", 64},     {"100000 100000\n", 1},    {"99999 100000\n", 1},  {"1 100000\n", 1},
                {"0 100000\n", 1},        {"199999 100000\n", 1},    {"200000 100000\n", 2}, {"20 1\n", 20},
                {"6400000 100000\n", 64}, {"99900000 100000\n", 64}, {"200000 0\n", 64},     {"200000\n", 64},
                {"200000\t100000\n", 64}, {"200000 max\n", 64},      {"-1 100000\n", 64},    {"", 64}};
  have_processors(64);
  put("proc/self/cgroup", "0::/app\n");
  for (size_t i = 0; i < sizeof quotas / sizeof *quotas; i++) {
    put("sys/fs/cgroup/app/cpu.max", quotas[i].text);
    assert_int_equal(detect().processors, quotas[i].processors);
  }
  put("sys/fs/cgroup/app/cpu.max", "700000 100000\n");
  put("sys/fs/cgroup/cpu.max", "500000 100000\n");
  assert_int_equal(detect().processors, 5);
  put("sys/fs/cgroup/cpu.max", "800000 100000\n");
  assert_int_equal(detect().processors, 7);
}

static void quotas_of_version_1_limit_processors(void **state) {
  (void)state;
  static const char *const lists[] = {"4:cpu:/box\n", "4:cpu,cpuacct:/box\n", "4:cpuacct,cpu:/box\n",
                                      "9:cpuset:/other\n4:cpuacct,cpux,cpu:/box\n0::/\n"};
  static const char *const others[] = {"4:cpuset:/box\n", "4:cpux,cpuacct:/box\n", "4:xcpu:/box\n",
                                       "4:cpuacct,xcpu,cpux:/box\n", "4::/box\n"};
  have_processors(64);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  put("proc/self/cgroup", lists[0]);
  assert_int_equal(detect().processors, 64); /* without a period */
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    put("proc/self/cgroup", lists[i]);
    assert_int_equal(detect().processors, 3);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    put("proc/self/cgroup", others[i]);
    assert_int_equal(detect().processors, 64);
  }
  put("proc/self/cgroup", lists[0]);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "-1\n"); /* no limit */
  assert_int_equal(detect().processors, 64);
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "0\n");
  assert_int_equal(detect().processors, 64);
}

/* Both versions may be mounted at once, and the lower limit counts. A version that the list of groups does not name
 * counts with its topmost group alone. */
static void the_lowest_limit_of_both_versions_counts(void **state) {
  (void)state;
  have_processors(64);
  put("proc/self/cgroup", "4:cpu:/box\n0::/app\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000\n");
  put("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
  put("sys/fs/cgroup/app/cpu.max", "500000 100000\n");
  assert_int_equal(detect().processors, 3);
  put("sys/fs/cgroup/app/cpu.max", "200000 100000\n");
  assert_int_equal(detect().processors, 2);
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  assert_int_equal(detect().processors, 1);
  put("sys/fs/cgroup/app/cpu.max", "500000 100000\n");
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "700000\n");
  put("proc/self/cgroup", "0::/app\n");
  assert_int_equal(detect().processors, 5);
  put("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "400000\n");
  assert_int_equal(detect().processors, 4);
  put("sys/fs/cgroup/cpu.max", "600000 100000\n");
  put("sys/fs/cgroup/app/cpu.max", "200000 100000\n");
  put("proc/self/cgroup", "4:cpu:/none\n");
  assert_int_equal(detect().processors, 4);
  put("sys/fs/cgroup/cpu.max", "200000 100000\n");
  assert_int_equal(detect().processors, 2);
  put("sys/fs/cgroup/cpu.max", "600000 100000\n");
  static const char *const lists[] = {"garbage\n", "4:garbage\n", "4:cpuset:/box\n", "", "0::/none"};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    put("proc/self/cgroup", lists[i]);
    assert_int_equal(detect().processors, 4);
  }
}

/* --- learning --- */

static void caches_are_learnt_without_an_l2_and_with_one(void **state) {
  (void)state;
  cradle_hardware hardware;
  put_cpus("1280K\n", "24M\n");
  crd_hardware_init(&hardware);
  crd_hardware_read_under(&hardware, root, HARDWARE_L2);
  assert_int_equal(hardware.l2_bytes, 1280 << 10);
  crd_hardware_init(&hardware);
  hardware.l2_bytes = 5; /* known from elsewhere */
  crd_hardware_read_under(&hardware, root, HARDWARE_L2);
  assert_int_equal(hardware.l2_bytes, 5);
  assert_int_equal(hardware.l3_bytes, 0);
  crd_hardware_read_under(&hardware, root, HARDWARE_CACHES);
  assert_int_equal(hardware.l2_bytes, 5);
  assert_int_equal(hardware.l3_bytes, 24 * MIB);
}

/* Field by field: the bytes between fields may be any. */
static void assert_same_hardware(const cradle_hardware *a, const cradle_hardware *b) {
  assert_int_equal(a->page_bytes, b->page_bytes);
  assert_int_equal(a->thp_page_bytes, b->thp_page_bytes);
  assert_int_equal(a->pool_page_bytes, b->pool_page_bytes);
  assert_int_equal(a->pool_pages_free, b->pool_pages_free);
  assert_int_equal(a->thp_mode, b->thp_mode);
  assert_int_equal(a->l2_bytes, b->l2_bytes);
  assert_int_equal(a->l3_bytes, b->l3_bytes);
  assert_int_equal(a->memory_bytes, b->memory_bytes);
  assert_int_equal(a->group_bytes, b->group_bytes);
  assert_int_equal(a->l2_source, b->l2_source);
  assert_int_equal(a->l3_source, b->l3_source);
  assert_int_equal(a->processors, b->processors);
}

/* What is asked for becomes known, and nothing else changes. What is known is not looked at again. */
static void parts_are_learnt_one_by_one(void **state) {
  (void)state;
  cradle_hardware all, hardware;
  unsigned known = 0;
  machine.thp_disabled = 3;
  inside_hardware(&all);
  crd_hardware_init(&hardware);
  cradle_hardware expected = hardware;
  crd_hardware_learn(&hardware, &known, 0);
  assert_int_equal(known, 0);
  have_processors(7);
  crd_hardware_learn(&hardware, &known, HARDWARE_PROCESSORS);
  assert_int_equal(known, HARDWARE_PROCESSORS);
  assert_in_range(hardware.processors, 1, 7); /* 7, or what a quota leaves */
  expected.processors = hardware.processors;
  assert_same_hardware(&hardware, &expected);
  have_processors(1);
  errno = 77;
  crd_hardware_learn(&hardware, &known, HARDWARE_THP | HARDWARE_PROCESSORS);
  assert_int_equal(errno, 77);
  assert_int_equal(known, HARDWARE_PROCESSORS | HARDWARE_THP);
  expected.thp_mode = all.thp_mode, expected.thp_page_bytes = all.thp_page_bytes;
  assert_same_hardware(&hardware, &expected);
  crd_hardware_learn(&hardware, &known, HARDWARE_POOL);
  expected.pool_page_bytes = all.pool_page_bytes, expected.pool_pages_free = hardware.pool_pages_free;
  assert_same_hardware(&hardware, &expected);
  crd_hardware_learn(&hardware, &known, HARDWARE_MEMORY);
  expected.memory_bytes = all.memory_bytes, expected.group_bytes = all.group_bytes;
  assert_same_hardware(&hardware, &expected);
  machine.allowed = NULL;
  crd_hardware_learn(&hardware, &known, HARDWARE_L2);
  expected.l2_bytes = all.l2_bytes, expected.l2_source = all.l2_source;
  expected.l3_bytes = hardware.l3_bytes,
  expected.l3_source = hardware.l3_source; /* where sysfs is asked, it comes along */
  assert_same_hardware(&hardware, &expected);
  crd_hardware_learn(&hardware, &known, HARDWARE_ALL);
  assert_int_equal(known, HARDWARE_ALL);
  expected.l3_bytes = all.l3_bytes, expected.l3_source = all.l3_source;
  assert_same_hardware(&hardware, &expected);
}

/* --- the machine itself --- */

static void this_machine_is_plausible(void **state) {
  (void)state;
  cradle_hardware hardware;
  inside_hardware(&hardware);
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
      TREE_TEST(all_caches_of_all_cpus_count),
      TREE_TEST(sizes_have_units),
      TREE_TEST(figures_that_nobody_tells_have_defaults),
      TREE_TEST(garbled_cache_sizes_tell_nothing),
      TREE_TEST(garbled_levels_and_types_tell_nothing),
      TREE_TEST(a_cache_without_a_level_is_the_last),
      TREE_TEST(numbers_in_paths_are_decimal),
      TREE_TEST(empty_tree_gives_defaults),
      TREE_TEST(root_too_long_for_a_path_gives_defaults),
      TREE_TEST(thp_mode_is_the_one_in_brackets),
      TREE_TEST(garbled_thp_page_is_none),
      TREE_TEST(process_that_disabled_thp_has_none),
      TREE_TEST(process_that_disabled_thp_except_advised_has_madvise),
      TREE_TEST(what_the_process_disabled_comes_first),
      TREE_TEST(meminfo_tells_the_pool),
      TREE_TEST(files_are_read_piece_by_piece),
      TREE_TEST(a_process_may_have_no_standard_input),
      TREE_TEST(garbled_pool_is_none),
      TREE_TEST(own_group_of_version_2_limits_memory),
      TREE_TEST(groups_above_limit_memory_too),
      TREE_TEST(the_lowest_soft_limit_of_all_groups_counts),
      TREE_TEST(groups_of_version_1_limit_memory),
      TREE_TEST(root_group_counts_without_a_list_of_groups),
      TREE_TEST(limits_that_are_none_leave_physical_memory),
      TREE_TEST(a_limit_that_is_not_below_physical_memory_is_none),
      TREE_TEST(a_group_with_too_long_a_path_is_left_out),
      TREE_TEST(processors_are_those_that_the_process_may_use),
      TREE_TEST(quotas_of_version_2_limit_processors),
      TREE_TEST(quotas_of_version_1_limit_processors),
      TREE_TEST(the_lowest_limit_of_both_versions_counts),
      TREE_TEST(caches_are_learnt_without_an_l2_and_with_one),
      TREE_TEST(parts_are_learnt_one_by_one),
      TREE_TEST(this_machine_is_plausible),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
