/* Hardware, read from /sys and /proc on Linux, from sysconf and defaults elsewhere. */
#include "gc/platform/hardware.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#if defined(__linux__)
#include <sched.h>
#include <sys/prctl.h>
#endif

#define L2_DEFAULT_BYTES ((size_t)1 << 20)
#define PAGE_DEFAULT_BYTES ((size_t)4096)
#define PATH_BYTES 512
#define FILE_BYTES 8192
#define CACHE_INDEXES 16

/* --- text --- */

typedef struct path {
  char text[PATH_BYTES];
  size_t length;
} path;

static void path_add(path *p, const char *words) {
  size_t length = strlen(words);
  if (p->length + length >= PATH_BYTES) length = PATH_BYTES - 1 - p->length;
  memcpy(p->text + p->length, words, length);
  p->length += length;
  p->text[p->length] = '\0';
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

static path path_under(const char *root, const char *rest) {
  path p = {.length = 0};
  path_add(&p, root);
  path_add(&p, rest);
  return p;
}

/* The start of a file, terminated. false: it cannot be read. */
static bool read_file(const path *p, char *buffer, size_t size) {
  int file = open(p->text, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  size_t held = 0;
  ssize_t got;
  while (held < size - 1 && (got = read(file, buffer + held, size - 1 - held)) > 0) held += (size_t)got;
  close(file);
  buffer[held] = '\0';
  return held > 0;
}

/* A number with an optional K, M or G right behind it and nothing else on its line. false: it is none. */
static bool parse_bytes(const char *text, size_t *bytes) {
  size_t value = 0;
  const char *at = text;
  for (; *at >= '0' && *at <= '9'; at++)
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (size_t)(*at - '0'), &value)) return false;
  if (at == text) return false;
  unsigned shift = *at == 'K' ? 10 : *at == 'M' ? 20 : *at == 'G' ? 30 : 0;
  if (shift != 0) at++;
  if (*at != '\n' && *at != '\0') return false;
  if (value > SIZE_MAX >> shift) return false;
  *bytes = value << shift;
  return true;
}

static bool read_bytes(const path *p, size_t *bytes) {
  char text[64];
  return read_file(p, text, sizeof text) && parse_bytes(text, bytes);
}

static size_t from_sysconf(int name) {
  long value = sysconf(name);
  return value > 0 ? (size_t)value : 0;
}

#if defined(__linux__)

/* --- caches --- */

/* Size of the data or unified cache of the level that the CPU's index describes, or 0. */
static size_t cache_at(const char *root, unsigned cpu, unsigned index, char level) {
  path folder = path_under(root, "sys/devices/system/cpu/cpu");
  path_number(&folder, cpu);
  path_add(&folder, "/cache/index");
  path_number(&folder, index);
  path file = folder;
  char text[64];
  size_t bytes;
  path_add(&file, "/level");
  if (!read_file(&file, text, sizeof text) || text[0] != level) return 0;
  file = folder;
  path_add(&file, "/type");
  if (!read_file(&file, text, sizeof text) || text[0] == 'I') return 0;
  file = folder;
  path_add(&file, "/size");
  return read_bytes(&file, &bytes) ? bytes : 0;
}

static size_t cache_of(const char *root, unsigned cpu, char level) {
  for (unsigned index = 0; index < CACHE_INDEXES; index++) {
    size_t bytes = cache_at(root, cpu, index, level);
    if (bytes != 0) return bytes;
  }
  return 0;
}

/* The smallest over the CPUs that the process may run on; a CPU that does not tell is left out. */
static size_t smallest_cache(const char *root, char level) {
  size_t smallest = 0;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    CPU_ZERO(&allowed);
    CPU_SET(0, &allowed);
  }
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    size_t bytes = cache_of(root, cpu, level);
    if (bytes != 0 && (smallest == 0 || bytes < smallest)) smallest = bytes;
  }
  return smallest;
}

static void detect_caches(cradle_hardware *hardware, const char *root) {
  hardware->l2_bytes = smallest_cache(root, '2');
  hardware->l3_bytes = smallest_cache(root, '3');
  hardware->l2_source = hardware->l2_bytes != 0 ? CRADLE_SOURCE_SYSFS : CRADLE_SOURCE_DEFAULT;
  hardware->l3_source = hardware->l3_bytes != 0 ? CRADLE_SOURCE_SYSFS : CRADLE_SOURCE_DEFAULT;
}

/* --- huge pages --- */

static bool thp_disabled_for_process(void) {
  return prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1;
}

static void detect_thp(cradle_hardware *hardware, const char *root) {
  path mode = path_under(root, "sys/kernel/mm/transparent_hugepage/enabled");
  path size = path_under(root, "sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  char text[128];
  if (!read_file(&mode, text, sizeof text)) return;
  if (strstr(text, "[always]") != NULL) hardware->thp_mode = CRADLE_THP_ALWAYS;
  if (strstr(text, "[madvise]") != NULL) hardware->thp_mode = CRADLE_THP_MADVISE;
  if (strstr(text, "[never]") != NULL || thp_disabled_for_process()) hardware->thp_mode = CRADLE_THP_NEVER;
  if (!read_bytes(&size, &hardware->thp_page_bytes)) hardware->thp_page_bytes = 0;
}

/* The number on the line of /proc/meminfo that starts with the name. */
static bool meminfo(const char *text, const char *name, size_t *number) {
  const char *line = strstr(text, name);
  if (line == NULL) return false;
  line += strlen(name);
  while (*line == ' ') line++;
  size_t value = 0;
  if (*line < '0' || *line > '9') return false;
  for (; *line >= '0' && *line <= '9'; line++)
    if (__builtin_mul_overflow(value, 10u, &value) || __builtin_add_overflow(value, (size_t)(*line - '0'), &value)) return false;
  *number = value;
  return true;
}

static void detect_pool(cradle_hardware *hardware, const char *root) {
  path file = path_under(root, "proc/meminfo");
  char text[FILE_BYTES];
  size_t kib, pages;
  if (!read_file(&file, text, sizeof text)) return;
  if (meminfo(text, "Hugepagesize:", &kib) && kib < SIZE_MAX >> 10) hardware->pool_page_bytes = kib << 10;
  if (meminfo(text, "HugePages_Free:", &pages)) hardware->pool_pages_free = pages;
}

/* --- memory --- */

static void lower_to(size_t *bytes, const path *limit) {
  size_t value;
  /* "max" is no number, and an unlimited v1 group says a number that no machine has */
  if (read_bytes(limit, &value) && value != 0 && (*bytes == 0 || value < *bytes)) *bytes = value;
}

static void lower_to_group(size_t *bytes, const char *root, const char *mount, const char *group, const char *file) {
  path limit = path_under(root, mount);
  path_add(&limit, group);
  path_add(&limit, file);
  lower_to(bytes, &limit);
}

/* The limits of the process's own control group and of the root one, in both versions. A line of /proc/self/cgroup is
 * number:controllers:path; version 2 has no controllers. */
static void lower_to_cgroup(size_t *bytes, const char *root) {
  path file = path_under(root, "proc/self/cgroup");
  char text[FILE_BYTES];
  lower_to_group(bytes, root, "sys/fs/cgroup", "", "/memory.max");
  lower_to_group(bytes, root, "sys/fs/cgroup/memory", "", "/memory.limit_in_bytes");
  if (!read_file(&file, text, sizeof text)) return;
  for (char *line = text, *newline; *line != '\0'; line = newline + 1) {
    newline = strchr(line, '\n');
    if (newline == NULL) return;
    *newline = '\0';
    char *controllers = strchr(line, ':'), *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    if (group == NULL) continue;
    if (group == controllers + 1) lower_to_group(bytes, root, "sys/fs/cgroup", group + 1, "/memory.max");
    if (strstr(controllers, "memory") != NULL && strstr(controllers, "memory") < group)
      lower_to_group(bytes, root, "sys/fs/cgroup/memory", group + 1, "/memory.limit_in_bytes");
  }
}

static void detect_system(cradle_hardware *hardware, const char *root) {
  detect_caches(hardware, root);
  detect_thp(hardware, root);
  detect_pool(hardware, root);
  lower_to_cgroup(&hardware->memory_bytes, root);
}

#else

static void detect_system(cradle_hardware *hardware, const char *root) {
  (void)hardware, (void)root;
}

#endif

/* --- all of it --- */

static void detect_by_sysconf(cradle_hardware *hardware) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  if (hardware->l2_bytes == 0 && (hardware->l2_bytes = from_sysconf(_SC_LEVEL2_CACHE_SIZE)) != 0)
    hardware->l2_source = CRADLE_SOURCE_SYSCONF;
  if (hardware->l3_bytes == 0 && (hardware->l3_bytes = from_sysconf(_SC_LEVEL3_CACHE_SIZE)) != 0)
    hardware->l3_source = CRADLE_SOURCE_SYSCONF;
#endif
  if (hardware->l2_bytes == 0) hardware->l2_bytes = L2_DEFAULT_BYTES;
}

static size_t physical_memory(size_t page_bytes) {
#if defined(_SC_PHYS_PAGES)
  size_t pages = from_sysconf(_SC_PHYS_PAGES), bytes;
  return __builtin_mul_overflow(pages, page_bytes, &bytes) ? 0 : bytes;
#else
  (void)page_bytes;
  return 0;
#endif
}

void crd_hardware_detect_under(cradle_hardware *hardware, const char *root) {
  int saved = errno;
  *hardware = (cradle_hardware){.page_bytes = from_sysconf(_SC_PAGESIZE)};
  if (hardware->page_bytes == 0) hardware->page_bytes = PAGE_DEFAULT_BYTES;
  hardware->memory_bytes = physical_memory(hardware->page_bytes);
  detect_system(hardware, root);
  detect_by_sysconf(hardware);
  errno = saved;
}

void crd_hardware_detect(cradle_hardware *hardware) {
  crd_hardware_detect_under(hardware, "/");
}
