/* Hardware, read from /sys and /proc on Linux, from hardware_sysctl.c, sysconf and defaults elsewhere. */
#include "gc/platform/hardware.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#endif
/* glibc from 2.33 on keeps what it asked the processor when the program began, so that sysconf need not ask again. On a
 * virtual machine each question to the processor takes some 8 microseconds. */
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#define KNOWS_CORES 1
#endif
#endif

#include "gc/platform/calls.h"

#define L2_DEFAULT_BYTES ((size_t)1 << 20)
#define PAGE_DEFAULT_BYTES ((size_t)4096)
#define CACHE_INDEXES 16

static size_t from_sysconf(int name) {
  long value = sysconf(name);
  return value > 0 ? (size_t)value : 0;
}

#if defined(__linux__)

/* --- text ---
 *
 * Paths and numbers without stdio and malloc: the collector uses no stdio, and reading the machine allocates
 * nothing. */

/* A path that did not fit names no file: its length is HARDWARE_PATH_BYTES. */
typedef struct path {
  char text[HARDWARE_PATH_BYTES];
  size_t length;
} path;

static void path_add(path *p, const char *words) {
  size_t length = strlen(words);
  if (length >= HARDWARE_PATH_BYTES - p->length) {
    p->length = HARDWARE_PATH_BYTES;
    return;
  }
  memcpy(p->text + p->length, words, length + 1);
  p->length += length;
}

static void path_number(path *p, unsigned number) {
  char digits[12] = {0};
  size_t at = sizeof digits - 1;
  do {
    digits[--at] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  path_add(p, digits + at);
}

static path path_under(const path *folder, const char *rest) {
  path p = *folder;
  path_add(&p, rest);
  return p;
}

static path path_of(const char *root, const char *rest) {
  path p = {.length = 0};
  path_add(&p, root);
  return path_under(&p, rest);
}

/* The start of a file, terminated. false: it cannot be read, or is empty. */
static bool read_file(const path *p, char *buffer, size_t size) {
  int file = p->length < HARDWARE_PATH_BYTES ? open(p->text, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return false;
  size_t held = 0;
  ssize_t got;
  while (held < size - 1 && (got = read(file, buffer + held, size - 1 - held)) > 0) held += (size_t)got;
  close(file);
  buffer[held] = '\0';
  return held > 0;
}

/* Returns what follows the digits; NULL: there are none, or the number is too large. */
static const char *parse_number(const char *text, size_t *number) {
  size_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++) {
    size_t digit = (size_t)(*at - '0');
    if (value > (SIZE_MAX - digit) / 10) return NULL;
    value = value * 10 + digit;
  }
  *number = value;
  return at != text ? at : NULL;
}

static bool ends_line(char c) {
  return c == '\n' || c == '\0';
}

/* A number with an optional K, M or G right behind it and nothing else on its line. */
static bool parse_bytes(const char *text, size_t *bytes) {
  size_t value;
  const char *at = parse_number(text, &value);
  if (at == NULL) return false;
  unsigned shift = *at == 'K' ? 10 : *at == 'M' ? 20 : *at == 'G' ? 30 : 0;
  if (shift != 0) at++;
  if (!ends_line(*at) || value > SIZE_MAX >> shift) return false;
  *bytes = value << shift;
  return true;
}

static bool read_bytes(const path *p, size_t *bytes) {
  char text[64];
  return read_file(p, text, sizeof text) && parse_bytes(text, bytes);
}

/* --- caches --- */

/* Notes the cache that the folder describes, if it is an L2 or L3 that holds data. false: there is no such folder, so
 * this CPU has no more caches. */
static bool add_cache(const path *folder, crd_caches *seen) {
  char level[16], type[32];
  path level_file = path_under(folder, "/level"), type_file = path_under(folder, "/type");
  path size_file = path_under(folder, "/size");
  size_t bytes;
  if (!read_file(&level_file, level, sizeof level)) return false;
  if (!ends_line(level[1]) || (level[0] != '2' && level[0] != '3')) return true;
  if (!read_file(&type_file, type, sizeof type)) return true;
  if (strcmp(type, "Data\n") != 0 && strcmp(type, "Unified\n") != 0) return true;
  if (read_bytes(&size_file, &bytes)) crd_hardware_lower(level[0] == '2' ? &seen->l2_bytes : &seen->l3_bytes, bytes);
  return true;
}

/* Goes through the caches of a CPU, index0 and so on, until there is no next one. */
static void add_caches_of(const char *root, unsigned cpu, crd_caches *seen) {
  path folder = path_of(root, "sys/devices/system/cpu/cpu");
  path_number(&folder, cpu);
  path_add(&folder, "/cache/index");
  for (unsigned index = 0; index < CACHE_INDEXES; index++) {
    path cache = folder;
    path_number(&cache, index);
    if (!add_cache(&cache, seen)) return;
  }
}

/* The CPUs that the process may run on. If the machine has more than the set has room for, the first one stands for
 * all. */
static void allowed_cpus(cpu_set_t *allowed) {
  if (sched_getaffinity(0, sizeof *allowed, allowed) == 0) return;
  CPU_ZERO(allowed);
  CPU_SET(0, allowed);
}

static void take_cache(size_t seen, size_t *bytes, cradle_source *source) {
  if (*bytes != 0 || seen == 0) return;
  *bytes = seen;
  *source = CRADLE_SOURCE_SYSFS;
}

/* The smallest caches of the CPUs that the process may run on [hardware.2]. CPUs that tell nothing are left out. */
static void read_caches(cradle_hardware *hardware, const char *root) {
  crd_caches seen = {0, 0};
  cpu_set_t allowed;
  allowed_cpus(&allowed);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &allowed)) add_caches_of(root, cpu, &seen);
  take_cache(seen.l2_bytes, &hardware->l2_bytes, &hardware->l2_source);
  take_cache(seen.l3_bytes, &hardware->l3_bytes, &hardware->l3_source);
}

/* --- huge pages --- */

static cradle_thp_mode parse_thp_mode(const char *text) {
  if (strstr(text, "[always]") != NULL) return CRADLE_THP_ALWAYS;
  if (strstr(text, "[madvise]") != NULL) return CRADLE_THP_MADVISE;
  if (strstr(text, "[never]") != NULL) return CRADLE_THP_NEVER;
  return CRADLE_THP_UNKNOWN;
}

/* A process can have refused transparent huge pages for itself, whatever the system's mode: altogether (1), or except
 * where they are advised (3). */
static cradle_thp_mode thp_mode_for_process(cradle_thp_mode mode) {
  int disabled = prctl(PR_GET_THP_DISABLE, 0ul, 0ul, 0ul, 0ul);
  if (disabled == 1) return CRADLE_THP_NEVER;
  if (disabled > 1 && mode == CRADLE_THP_ALWAYS) return CRADLE_THP_MADVISE;
  return mode;
}

static size_t power_of_two_or_0(size_t bytes) {
  return (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

static void read_thp(cradle_hardware *hardware, const char *root) {
  path mode = path_of(root, "sys/kernel/mm/transparent_hugepage/enabled");
  path page = path_of(root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  char text[128];
  size_t bytes;
  if (!read_file(&mode, text, sizeof text)) return;
  hardware->thp_mode = thp_mode_for_process(parse_thp_mode(text));
  if (read_bytes(&page, &bytes)) hardware->thp_page_bytes = power_of_two_or_0(bytes);
}

/* The number on the line that begins with the name, or 0; unit is what must follow it. */
static size_t meminfo(const char *text, const char *name, const char *unit) {
  const char *line = strstr(text, name);
  size_t number;
  if (line == NULL || (line != text && line[-1] != '\n')) return 0;
  for (line += strlen(name); *line == ' '; line++) {}
  line = parse_number(line, &number);
  return line != NULL && strncmp(line, unit, strlen(unit)) == 0 ? number : 0;
}

static void read_pool(cradle_hardware *hardware, const char *root) {
  path file = path_of(root, "proc/meminfo");
  char text[HARDWARE_FILE_BYTES];
  if (!read_file(&file, text, sizeof text)) return;
  size_t kib = meminfo(text, "Hugepagesize:", " kB\n");
  if (kib <= SIZE_MAX >> 10) hardware->pool_page_bytes = power_of_two_or_0(kib << 10);
  if (hardware->pool_page_bytes != 0) hardware->pool_pages_free = meminfo(text, "HugePages_Free:", "\n");
}

/* --- control groups ---
 *
 * A container has less memory and fewer processors than its machine. The limits are in files of the process's control
 * group, and each group above it may have a lower one. There are two versions of control groups with different files,
 * and a machine can use both at once. */

enum { GROUP_VERSION_1 = 1, GROUP_VERSION_2 = 2 };

/* What a controller limits, and where its limits are. */
typedef struct group_limits {
  const char *controller;
  const char *mount_1;                                          /* of version 1 */
  void (*look)(size_t *least, const path *folder, int version); /* lowers to the limit that a folder holds */
} group_limits;

/* A group without a limit says "max" in version 2, which is no number and so lowers nothing. In version 1 it says a
 * number that is more than any machine has. */
static void look_at_memory(size_t *least, const path *folder, int version) {
  path limit = path_under(folder, version == GROUP_VERSION_1 ? "/memory.limit_in_bytes" : "/memory.max");
  size_t value;
  if (read_bytes(&limit, &value)) crd_hardware_lower(least, value);
}

/* How many microseconds of processor time the group may use in a period. false: there is no limit. */
static bool read_quota(const path *folder, int version, size_t *quota, size_t *period) {
  char text[64];
  if (version == GROUP_VERSION_1) {
    path quota_file = path_under(folder, "/cpu.cfs_quota_us"), period_file = path_under(folder, "/cpu.cfs_period_us");
    return read_bytes(&quota_file, quota) && read_bytes(&period_file, period);
  }
  path file = path_under(folder, "/cpu.max");
  const char *at = read_file(&file, text, sizeof text) ? parse_number(text, quota) : NULL;
  return at != NULL && *at == ' ' && parse_number(at + 1, period) != NULL;
}

/* The quota in whole processors, rounded down, but at least one. Rounded down, because a second thread would use the
 * quota up early, and then all of the process waits for the next period. */
static void look_at_quota(size_t *least, const path *folder, int version) {
  size_t quota, period;
  if (!read_quota(folder, version, &quota, &period) || period == 0) return;
  crd_hardware_lower(least, quota / period != 0 ? quota / period : 1);
}

static void look_at_soft_memory(size_t *least, const path *folder, int version) {
  path limit = path_under(folder, "/memory.high");
  size_t value;
  if (version == GROUP_VERSION_2 && read_bytes(&limit, &value)) crd_hardware_lower(least, value);
}

static const group_limits soft_limits = {"memory", "sys/fs/cgroup/memory", look_at_soft_memory};
static const group_limits memory_limits = {"memory", "sys/fs/cgroup/memory", look_at_memory};
static const group_limits processor_limits = {"cpu", "sys/fs/cgroup/cpu", look_at_quota};

/* Lowers to the limit of the group and of every group above it, up to the mount. */
static int lower_to_group(size_t *least, const char *root, const group_limits *limits, int version, char *group) {
  path mount = path_of(root, version == GROUP_VERSION_1 ? limits->mount_1 : "sys/fs/cgroup");
  for (char *end;; *end = '\0') {
    path folder = path_under(&mount, group);
    limits->look(least, &folder, version);
    if ((end = strrchr(group, '/')) == NULL) return version;
  }
}

/* Whether a list of names with commas between them has the name. */
static bool names_controller(const char *list, const char *name) {
  size_t length = strlen(name);
  for (const char *at = list; (at = strstr(at, name)) != NULL; at += length)
    if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0')) return true;
  return false;
}

/* Looks at one line of /proc/self/cgroup, "number:controllers:path". In version 2 the controllers are empty. Returns
 * the version whose limits it led to; 0: none. */
static int lower_to_line(size_t *least, const char *root, const group_limits *limits, char *line) {
  char *controllers = strchr(line, ':');
  char *group = controllers != NULL ? strchr(++controllers, ':') : NULL;
  if (group == NULL) return 0;
  *group++ = '\0';
  if (*controllers == '\0') return lower_to_group(least, root, limits, GROUP_VERSION_2, group);
  bool named = names_controller(controllers, limits->controller);
  return named ? lower_to_group(least, root, limits, GROUP_VERSION_1, group) : 0;
}

/* Looks at each line of /proc/self/cgroup. Returns the versions whose limits they led to. */
static int lower_to_list(size_t *least, const char *root, const group_limits *limits) {
  path file = path_of(root, "proc/self/cgroup");
  char text[HARDWARE_FILE_BYTES];
  int seen = 0;
  if (!read_file(&file, text, sizeof text)) return 0;
  char *line = text;
  for (char *newline; (newline = strchr(line, '\n')) != NULL; line = newline + 1) {
    *newline = '\0';
    seen |= lower_to_line(least, root, limits, line);
  }
  return seen;
}

/* A version that the list does not mention may be mounted all the same: then the limits of its topmost group count. */
static void lower_to_groups(size_t *least, const char *root, const group_limits *limits) {
  char none[] = "";
  int seen = lower_to_list(least, root, limits);
  if (!(seen & GROUP_VERSION_1)) lower_to_group(least, root, limits, GROUP_VERSION_1, none);
  if (!(seen & GROUP_VERSION_2)) lower_to_group(least, root, limits, GROUP_VERSION_2, none);
}

/* --- memory and processors --- */

static void read_group(cradle_hardware *hardware, const char *root) {
  size_t limit = 0, soft = 0;
  lower_to_groups(&soft, root, &soft_limits);
  if (hardware->memory_bytes == 0 || soft < hardware->memory_bytes) hardware->group_high_bytes = soft;
  lower_to_groups(&limit, root, &memory_limits);
  if (limit == 0 || (hardware->memory_bytes != 0 && limit >= hardware->memory_bytes)) return;
  hardware->memory_bytes = hardware->group_bytes = limit;
}

static void read_processors(cradle_hardware *hardware, const char *root) {
  cpu_set_t allowed;
  size_t limit = hardware->processors;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) limit = (size_t)CPU_COUNT(&allowed);
  lower_to_groups(&limit, root, &processor_limits);
  hardware->processors = (uint32_t)limit;
}

static void read_system(cradle_hardware *hardware, const char *root, unsigned parts) {
  bool wants_l2 = parts & HARDWARE_L2 && hardware->l2_bytes == 0;
  if (parts & HARDWARE_CACHES || wants_l2) read_caches(hardware, root);
  if (parts & HARDWARE_THP) read_thp(hardware, root);
  if (parts & HARDWARE_POOL) read_pool(hardware, root);
  if (parts & HARDWARE_MEMORY) read_group(hardware, root);
  if (parts & HARDWARE_PROCESSORS) read_processors(hardware, root);
}

#else

/* root is for tests, which describe another machine by a tree of files. Only Linux describes machines so. */
static void read_system(cradle_hardware *hardware, const char *root, unsigned parts) {
  (void)root;
  crd_hardware_read_sysctl(hardware, parts);
}

#endif

/* --- all of it --- */

#if defined(_SC_LEVEL2_CACHE_SIZE)
static void ask_sysconf(int name, size_t *bytes, cradle_source *source) {
  if (*bytes != 0 || (*bytes = from_sysconf(name)) == 0) return;
  *source = CRADLE_SOURCE_SYSCONF;
}
#endif

/* Asks sysconf for the L2 where its answer is as good as that of sysfs, and quicker: see the header. */
static void ask_quick_l2(cradle_hardware *hardware) {
#if defined(KNOWS_CORES) && defined(_SC_LEVEL2_CACHE_SIZE)
  if (!x86_cpu_present(x86_cpu_HYBRID)) ask_sysconf(_SC_LEVEL2_CACHE_SIZE, &hardware->l2_bytes, &hardware->l2_source);
#else
  (void)hardware;
#endif
}

static void complete_caches(cradle_hardware *hardware, unsigned parts) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  ask_sysconf(_SC_LEVEL2_CACHE_SIZE, &hardware->l2_bytes, &hardware->l2_source);
  if (parts & HARDWARE_CACHES) ask_sysconf(_SC_LEVEL3_CACHE_SIZE, &hardware->l3_bytes, &hardware->l3_source);
#endif
  (void)parts;
  if (hardware->l2_bytes == 0) hardware->l2_bytes = L2_DEFAULT_BYTES;
}

static size_t physical_memory(size_t page_bytes) {
#if defined(_SC_PHYS_PAGES)
  size_t pages = from_sysconf(_SC_PHYS_PAGES);
  return pages <= SIZE_MAX / page_bytes ? pages * page_bytes : SIZE_MAX;
#else
  (void)page_bytes;
  return 0;
#endif
}

static uint32_t online_processors(void) {
#if defined(_SC_NPROCESSORS_ONLN)
  return (uint32_t)from_sysconf(_SC_NPROCESSORS_ONLN);
#else
  return 0;
#endif
}

void crd_hardware_init(cradle_hardware *hardware) {
  KEEP_ERRNO;
  *hardware = (cradle_hardware){.page_bytes = from_sysconf(_SC_PAGESIZE)};
  if (hardware->page_bytes == 0) hardware->page_bytes = PAGE_DEFAULT_BYTES;
}

size_t crd_hardware_memory(const cradle_hardware *hardware) {
  KEEP_ERRNO;
  return hardware->memory_bytes != 0 ? hardware->memory_bytes : physical_memory(hardware->page_bytes);
}

void crd_hardware_read_under(cradle_hardware *hardware, const char *root, unsigned parts) {
  KEEP_ERRNO;
  if (parts & HARDWARE_L2 && strcmp(root, "/") == 0) ask_quick_l2(hardware);
  if (parts & HARDWARE_MEMORY) hardware->memory_bytes = physical_memory(hardware->page_bytes);
  if (parts & HARDWARE_PROCESSORS) hardware->processors = online_processors();
  read_system(hardware, root, parts);
  if (parts & (HARDWARE_L2 | HARDWARE_CACHES)) complete_caches(hardware, parts);
}

void crd_hardware_learn(cradle_hardware *hardware, unsigned *known, unsigned parts) {
  parts &= ~*known;
  if (parts == 0) return;
  crd_hardware_read_under(hardware, "/", parts);
  *known |= parts;
}

void crd_hardware_detect(cradle_hardware *hardware) {
  crd_hardware_init(hardware);
  crd_hardware_read_under(hardware, "/", HARDWARE_ALL);
}
