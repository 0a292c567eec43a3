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
#define SYSCONF_KNOWS_L2 false
#if defined(__x86_64__) && defined(__has_include)
#if __has_include(<sys/platform/x86.h>)
#include <sys/platform/x86.h>
#undef SYSCONF_KNOWS_L2
#define SYSCONF_KNOWS_L2 (!x86_cpu_present(x86_cpu_HYBRID))
#endif
#endif

#include "gc/platform/calls.h"

#define L2_DEFAULT_BYTES ((size_t)1 << 20)
#define PAGE_DEFAULT_BYTES ((size_t)4096)
#define CACHE_INDEXES 16

/* What sysconf is asked for caches. Only glibc answers; others know no such name. */
#ifdef _SC_LEVEL2_CACHE_SIZE
enum { L2_NAME = _SC_LEVEL2_CACHE_SIZE, L3_NAME = _SC_LEVEL3_CACHE_SIZE };
#else
enum { L2_NAME = -1, L3_NAME = -1 };
#endif

static size_t from_sysconf(int name) {
  long value = sysconf(name);
  return value > 0 ? (size_t)value : 0;
}

#if defined(__linux__)

/* --- text, without stdio and malloc --- */

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
  if (number >= 10) path_number(p, number / 10);
  path_add(p, (char[]){(char)('0' + number % 10), '\0'});
}

static path path_under(const path *folder, const char *rest) {
  path p = *folder;
  path_add(&p, rest);
  return p;
}

/* The start of a file, terminated. false: it cannot be read, or is empty; then the buffer holds "". */
static bool read_file(const path *folder, const char *name, char *buffer, size_t size) {
  path p = path_under(folder, name);
  int file = p.length < HARDWARE_PATH_BYTES ? open(p.text, O_RDONLY | O_CLOEXEC) : -1;
  size_t held = 0;
  ssize_t got;
  while (file >= 0 && held < size - 1 && (got = read(file, buffer + held, size - 1 - held)) > 0) held += (size_t)got;
  if (file >= 0) close(file);
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

static bool read_bytes(const path *folder, const char *name, size_t *bytes) {
  char text[64];
  return read_file(folder, name, text, sizeof text) && parse_bytes(text, bytes);
}

/* What follows a name on the first line that begins with it; NULL: there is no such line. */
static char *after_name(char *text, const char *name) {
  for (char *line = text; *line != '\0'; line += *line == '\n') {
    if (strncmp(line, name, strlen(name)) == 0) return line + strlen(name);
    line += strcspn(line, "\n");
  }
  return NULL;
}

/* --- caches --- */

/* Notes the cache that the folder describes, if it is an L2 or L3 that holds data. false: there is no such folder, so
 * this CPU has no more caches. */
static bool add_cache(const path *folder, crd_caches *seen) {
  char level[16], type[32];
  size_t bytes;
  if (!read_file(folder, "/level", level, sizeof level)) return false;
  if (!ends_line(level[1]) || (level[0] != '2' && level[0] != '3')) return true;
  if (!read_file(folder, "/type", type, sizeof type)) return true;
  if (strcmp(type, "Data\n") != 0 && strcmp(type, "Unified\n") != 0) return true;
  if (read_bytes(folder, "/size", &bytes))
    crd_hardware_lower(level[0] == '2' ? &seen->l2_bytes : &seen->l3_bytes, bytes);
  return true;
}

/* Goes through the caches of a CPU, index0 and so on, until there is no next one. */
static void add_caches_of(const path *root, unsigned cpu, crd_caches *seen) {
  path folder = path_under(root, "sys/devices/system/cpu/cpu");
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
static void read_caches(cradle_hardware *hardware, const path *root) {
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

static void read_thp(cradle_hardware *hardware, const path *root) {
  path folder = path_under(root, "sys/kernel/mm/transparent_hugepage");
  char text[128];
  size_t bytes;
  if (!read_file(&folder, "/enabled", text, sizeof text)) return;
  hardware->thp_mode = thp_mode_for_process(parse_thp_mode(text));
  if (read_bytes(&folder, "/hpage_pmd_size", &bytes)) hardware->thp_page_bytes = power_of_two_or_0(bytes);
}

/* The number on the line that begins with the name, or 0; unit is what must follow it. */
static size_t meminfo(char *text, const char *name, const char *unit) {
  const char *at = after_name(text, name);
  size_t number;
  if (at == NULL) return 0;
  at = parse_number(at + strspn(at, " "), &number);
  return at != NULL && strncmp(at, unit, strlen(unit)) == 0 ? number : 0;
}

static void read_pool(cradle_hardware *hardware, const path *root) {
  char text[HARDWARE_FILE_BYTES];
  if (!read_file(root, "proc/meminfo", text, sizeof text)) return;
  size_t kib = meminfo(text, "Hugepagesize:", " kB\n");
  if (kib <= SIZE_MAX >> 10) hardware->pool_page_bytes = power_of_two_or_0(kib << 10);
  if (hardware->pool_page_bytes != 0) hardware->pool_pages_free = meminfo(text, "HugePages_Free:", "\n");
}

/* --- control groups ---
 *
 * A container has less memory and fewer processors than its machine. The limits are in files of the process's control
 * group, and each group above it may have a lower one. There are two versions of control groups with different files,
 * and a machine can use both at once. */

typedef struct group_limit {
  const char *controller, *mount; /* controller "": version 2 */
  const char *file, *period;      /* period: the file of a quota's period; NULL: it follows the quota, if any */
} group_limit;

static const group_limit soft_memory[] = {{"", "sys/fs/cgroup", "/memory.high", NULL}};
static const group_limit memory[] = {{"", "sys/fs/cgroup", "/memory.max", NULL},
                                     {"memory", "sys/fs/cgroup/memory", "/memory.limit_in_bytes", NULL}};
static const group_limit quota[] = {{"", "sys/fs/cgroup", "/cpu.max", NULL},
                                    {"cpu", "sys/fs/cgroup/cpu", "/cpu.cfs_quota_us", "/cpu.cfs_period_us"}};

/* Lowers to the limit that a folder holds. "max" and -1 are no numbers, and lower nothing; in version 1, a group
 * without a limit has more memory than any machine. A quota of processor time counts in whole processors, rounded down,
 * but at least one: a second thread would use the quota up early, and then all of the process waits for the next
 * period. */
static void lower_to_folder(size_t *least, const path *folder, const group_limit *limit) {
  char text[64];
  size_t value, period;
  const char *at = read_file(folder, limit->file, text, sizeof text) ? parse_number(text, &value) : NULL;
  if (at == NULL) return;
  bool is_quota = limit->period != NULL || *at == ' ';
  if (*at == ' ' && (at = parse_number(at + 1, &period)) == NULL) return;
  if (limit->period != NULL && !read_bytes(folder, limit->period, &period)) return;
  if (!ends_line(*at) || (is_quota && period == 0)) return;
  if (is_quota) value = value / period != 0 ? value / period : 1;
  crd_hardware_lower(least, value);
}

/* The path of the process's group in the list of /proc/self/cgroup, whose lines are "number:controllers:path"; NULL:
 * the list does not mention the controller. In version 2 the controllers are empty. */
static char *group_of(char *list, const char *controller) {
  size_t length = strlen(controller);
  for (char *line = list; *line != '\0'; line += *line == '\n') {
    char *at = strchr(line, ':'), *end = at == NULL ? NULL : strchr(++at, ':');
    if (end == NULL) return NULL;
    for (; at <= end; at += strcspn(at, ",:") + 1)
      if (strncmp(at, controller, length) == 0 && (at[length] == ',' || at[length] == ':')) return end + 1;
    line += strcspn(line, "\n");
  }
  return NULL;
}

/* Lowers to the limits of the process's group and of every group above it, up to the mount. A version that the list
 * does not mention may be mounted all the same: then the limit of its topmost group counts. */
static void lower_to_groups(size_t *least, const path *root, const group_limit *limits, size_t count) {
  for (const group_limit *limit = limits; limit < limits + count; limit++) {
    path mount = path_under(root, limit->mount);
    char text[HARDWARE_FILE_BYTES], topmost[] = "";
    char *group = read_file(root, "proc/self/cgroup", text, sizeof text) ? group_of(text, limit->controller) : NULL;
    if (group == NULL) group = topmost;
    group[strcspn(group, "\n")] = '\0';
    for (char *end = group; end != NULL;) {
      path folder = path_under(&mount, group);
      lower_to_folder(least, &folder, limit);
      if ((end = strrchr(group, '/')) != NULL) *end = '\0';
    }
  }
}

static void read_group(cradle_hardware *hardware, const path *root) {
  size_t limit = 0, soft = 0;
  lower_to_groups(&soft, root, soft_memory, 1);
  if (hardware->memory_bytes == 0 || soft < hardware->memory_bytes) hardware->group_high_bytes = soft;
  lower_to_groups(&limit, root, memory, 2);
  if (limit == 0 || (hardware->memory_bytes != 0 && limit >= hardware->memory_bytes)) return;
  hardware->memory_bytes = hardware->group_bytes = limit;
}

static void read_processors(cradle_hardware *hardware, const path *root) {
  cpu_set_t allowed;
  size_t limit = hardware->processors;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) limit = (size_t)CPU_COUNT(&allowed);
  lower_to_groups(&limit, root, quota, 2);
  hardware->processors = (uint32_t)limit;
}

static void read_system(cradle_hardware *hardware, const char *root, unsigned parts) {
  path from = {.length = 0};
  path_add(&from, root);
  bool wants_l2 = parts & HARDWARE_L2 && hardware->l2_bytes == 0;
  if (parts & HARDWARE_CACHES || wants_l2) read_caches(hardware, &from);
  if (parts & HARDWARE_THP) read_thp(hardware, &from);
  if (parts & HARDWARE_POOL) read_pool(hardware, &from);
  if (parts & HARDWARE_MEMORY) read_group(hardware, &from);
  if (parts & HARDWARE_PROCESSORS) read_processors(hardware, &from);
}

#else

/* Only Linux describes machines by files. */
static void read_system(cradle_hardware *hardware, const char *root, unsigned parts) {
  (void)root;
  crd_hardware_read_sysctl(hardware, parts);
}

#endif

static void ask_sysconf(int name, size_t *bytes, cradle_source *source) {
  if (*bytes == 0 && (*bytes = from_sysconf(name)) != 0) *source = CRADLE_SOURCE_SYSCONF;
}

static size_t physical_memory(size_t page_bytes) {
  size_t pages = from_sysconf(_SC_PHYS_PAGES);
  return pages <= SIZE_MAX / page_bytes ? pages * page_bytes : SIZE_MAX;
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
  if (parts & HARDWARE_L2 && strcmp(root, "/") == 0 && SYSCONF_KNOWS_L2)
    ask_sysconf(L2_NAME, &hardware->l2_bytes, &hardware->l2_source);
  if (parts & HARDWARE_MEMORY) hardware->memory_bytes = physical_memory(hardware->page_bytes);
  if (parts & HARDWARE_PROCESSORS) hardware->processors = (uint32_t)from_sysconf(_SC_NPROCESSORS_ONLN);
  read_system(hardware, root, parts);
  if (!(parts & (HARDWARE_L2 | HARDWARE_CACHES))) return;
  ask_sysconf(L2_NAME, &hardware->l2_bytes, &hardware->l2_source);
  if (parts & HARDWARE_CACHES) ask_sysconf(L3_NAME, &hardware->l3_bytes, &hardware->l3_source);
  if (hardware->l2_bytes == 0) hardware->l2_bytes = L2_DEFAULT_BYTES;
}

void crd_hardware_learn(cradle_hardware *hardware, unsigned *known, unsigned parts) {
  parts &= ~*known;
  if (parts == 0) return;
  crd_hardware_read_under(hardware, "/", parts);
  *known |= parts;
}
