/* Backtraces: writes which calls led here, as ready commands for addr2line.
 *
 * The loader knows which file an address is in and how far the file was moved when it was loaded (dl_iterate_phdr);
 * less that distance, it is the number that addr2line wants, in programs and shared libraries of every kind. Buffers
 * are small, because signal handlers run on small stacks. */
#include "gc/platform/backtrace.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <link.h>
#include <sys/auxv.h>
#endif

#include "gc/platform/calls.h"

#define LINE_BYTES 256
#define PATH_BYTES 768
/* The code at the program's entry point is at most so long. It makes one call, into the C library. */
#define ENTRY_BYTES 64

typedef struct line {
  char text[LINE_BYTES];
  size_t length;
} line;

static void flush(line *line) {
  const char *next = line->text;
  while (line->length > 0) {
    ssize_t written = write(STDERR_FILENO, next, line->length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    next += written;
    line->length -= (size_t)written;
  }
  line->length = 0;
}

static void add(line *line, const char *words, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (line->length == sizeof line->text) flush(line);
    line->text[line->length++] = words[i];
  }
}

static void add_words(line *line, const char *words) {
  add(line, words, strlen(words));
}

#ifdef __GLIBC__

static void add_address(line *line, uintptr_t address) {
  char digits[2 * sizeof address];
  size_t at = sizeof digits;
  do digits[--at] = "0123456789abcdef"[address % 16];
  while ((address /= 16) != 0);
  add_words(line, " 0x");
  add(line, digits + at, sizeof digits - at);
}

/* Adds a word of a shell command, in quotes if it needs any. */
static void add_quoted(line *line, const char *word) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._+-,:@%";
  bool quoted = word[strspn(word, plain)] != '\0';
  if (quoted) add_words(line, "'");
  for (; *word != '\0'; word++)
    if (*word == '\'')
      add_words(line, "'\\''");
    else
      add(line, word, 1);
  if (quoted) add_words(line, "'");
}

/* The file that an address is in. */
typedef struct file {
  uintptr_t address;
  const char *name; /* "": the program; NULL: none */
  uintptr_t loaded; /* the distance between an address in memory and the same one in the file */
} file;

/* dl_iterate_phdr calls this for each loaded file. 1: the address is in one of its segments, and the search is over. */
static int look_into(struct dl_phdr_info *info, size_t size, void *data) {
  file *file = data;
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || file->address - info->dlpi_addr - segment->p_vaddr >= segment->p_memsz) continue;
    file->name = info->dlpi_name;
    file->loaded = info->dlpi_addr;
    return 1;
  }
  return 0;
}

static file find(uintptr_t address) {
  file found = {.address = address};
  (void)dl_iterate_phdr(look_into, &found);
  return found;
}

/* The path of the program's file, or a word that the user will replace. A program that locked itself up may not be able
 * to ask for it, so crd_backtrace_prepare keeps it. */
static const char *known_program; /* atomic; NULL: nobody has prepared anything */

static const char *read_program(char path[PATH_BYTES]) {
  ssize_t length = readlink("/proc/self/exe", path, PATH_BYTES);
  if (length <= 0 || length == PATH_BYTES) return "PROGRAM";
  path[length] = '\0';
  return path;
}

/* Of two threads that do so at once the first one reads. */
static void learn_program(void) {
  static char path[PATH_BYTES];
  static bool begun;
  if (!__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED))
    __atomic_store_n(&known_program, read_program(path), __ATOMIC_RELEASE);
}

/* The depth of the trace without what called main: the program's entry point and, before it, a part of the C library.
 * They are the same in every program and help nobody. */
static size_t depth_from_main(const crd_backtrace *trace) {
  size_t depth = trace->depth;
  if (depth < 2 || trace->calls[depth - 1] - getauxval(AT_ENTRY) >= ENTRY_BYTES) return depth;
  file outermost = find(trace->calls[--depth - 1]);
  if (outermost.name == NULL || *outermost.name == '\0') return depth; /* linked statically */
  while (depth > 1 && find(trace->calls[depth - 1]).name == outermost.name) depth--;
  return depth;
}

void crd_backtrace_each_file(const crd_backtrace *trace, crd_backtrace_visit *visit, void *data) {
  char room[PATH_BYTES];
  uintptr_t addresses[BACKTRACE_MOST];
  const char *program = __atomic_load_n(&known_program, __ATOMIC_ACQUIRE);
  if (program == NULL) program = read_program(room);
  for (size_t i = 0, depth = depth_from_main(trace), count; i < depth; i += count) {
    file first = find(trace->calls[i]), next = first;
    for (count = 0; i + count < depth && next.name == first.name; next = find(trace->calls[i + count])) {
      addresses[count] = trace->calls[i + count] - next.loaded;
      if (i + ++count == depth) break;
    }
    visit(data, first.name != NULL && *first.name == '\0' ? program : first.name, addresses, count);
  }
}

static void add_command(void *data, const char *path, const uintptr_t *addresses, size_t count) {
  line *line = data;
  if (path == NULL) {
    add_words(line, "cradle: in no file (generated code?):");
  } else {
    add_words(line, "addr2line -f -p -i -e ");
    add_quoted(line, path);
  }
  for (size_t i = 0; i < count; i++) add_address(line, addresses[i]);
  add_words(line, "\n");
}

/* backtrace() gives return addresses, the first of them its own. A return address belongs to the next line, if the call
 * was the last thing on its line, so one less is kept: an address inside the call. */
void crd_backtrace_take(crd_backtrace *trace) {
  void *returns[1 + BACKTRACE_MOST];
  int depth = backtrace(returns, 1 + BACKTRACE_MOST);
  trace->depth = depth > 1 ? (size_t)depth - 1 : 0;
  for (size_t i = 0; i < trace->depth; i++) trace->calls[i] = (uintptr_t)returns[i + 1] - 1;
}

/* Calls every function of other libraries that a signal handler will need. The first call of such a function looks it
 * up, and that of backtrace() loads a library: neither is safe in a handler, and both take much of its stack. */
void crd_backtrace_prepare(void) {
  crd_backtrace trace;
  crd_backtrace_take(&trace);
  (void)find(0);
  learn_program();
  if (write(-1, "", 0) == 0) return; /* no system answers 0 */
}

#else

void crd_backtrace_take(crd_backtrace *trace) {
  trace->depth = 0;
}

void crd_backtrace_prepare(void) {}

void crd_backtrace_each_file(const crd_backtrace *trace, crd_backtrace_visit *visit, void *data) {
  (void)trace, (void)visit, (void)data;
}

static void add_command(void *data, const char *path, const uintptr_t *addresses, size_t count) {
  (void)data, (void)path, (void)addresses, (void)count;
}

#endif

void crd_backtrace_write(const crd_backtrace *trace) {
  KEEP_ERRNO;
  line line = {.length = 0};
  if (trace->depth != 0)
    crd_backtrace_each_file(trace, add_command, &line);
  else
    add_words(&line, "cradle: the calls are not known: the C library has no backtrace(), or it found none\n");
  flush(&line);
}
