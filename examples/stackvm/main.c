/* stackvm [--gc-stats] [--image=FILE] [--save-image=FILE] [FILE]: runs a program. Without a file it reads and runs one
 * statement after the other. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system.h"
#include "vm.h"

static const char usage[] =
    "usage: stackvm [--gc-stats] [--image=FILE] [--save-image=FILE] [FILE]\n"
    "Runs the program in FILE, - for standard input; without FILE it reads statements and runs each at once.\n"
    "--image begins with what an image has; --save-image saves one of all that the program has defined.\n"
    "--gc-stats tells at the end what the collector did. CRADLE_ variables: docs/environment.md.\n";

/* --- text from files: a growing buffer --- */

typedef struct buffer {
  char *text;
  size_t length, room;
} buffer;

static void add_text(buffer *buffer, const char *text, size_t length) {
  if (buffer->length + length > buffer->room) {
    size_t room = 2 * buffer->room + length + 4096;
    char *grown = realloc(buffer->text, room);
    if (grown == NULL) {
      fputs("stackvm: no memory for the source\n", stderr);
      exit(1);
    }
    buffer->text = grown;
    buffer->room = room;
  }
  memcpy(buffer->text + buffer->length, text, length);
  buffer->length += length;
}

static bool read_all(FILE *file, buffer *into) {
  char part[4096];
  size_t length;
  while ((length = fread(part, 1, sizeof part, file)) > 0) add_text(into, part, length);
  return !ferror(file);
}

static bool read_file(const char *path, buffer *into) {
  struct stat about;
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  bool is_directory = file != NULL && fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode);
  if (is_directory) errno = EISDIR;
  bool is_read = file != NULL && !is_directory && read_all(file, into);
  if (!is_read) fprintf(stderr, "stackvm: %s: %s\n", path, strerror(errno));
  if (file != NULL && file != stdin) fclose(file);
  return is_read;
}

/* --- the two ways to run --- */

CRADLE_MAY_COLLECT static bool run_file(vm *vm, const char *path) {
  buffer text = {.length = 0};
  bool at_end, is_done = false;
  if (read_file(path, &text)) {
    source source = {.file = strcmp(path, "-") == 0 ? "stdin" : path, .length = text.length, .at_end = &at_end};
    source.text = text.text != NULL ? text.text : "";
    is_done = run_source(vm, &source);
  }
  free(text.text);
  return is_done;
}

/* Appends the next line of standard input with its newline. false at the end of the input. */
static bool read_line(buffer *into, bool is_terminal, const char *prompt) {
  size_t before = into->length;
  if (is_terminal) fputs(prompt, stdout);
  fflush(stdout);
  for (int c = 0; c != '\n' && (c = getchar()) != EOF;) add_text(into, &(char){(char)c}, 1);
  return into->length > before;
}

/* Reads and runs statements, which may be several lines long. Returns whether all went well, for scripts that pipe into
 * it. */
CRADLE_MAY_COLLECT static bool run_lines(vm *vm) {
  buffer text = {.length = 0};
  bool is_terminal = isatty(STDIN_FILENO), at_end = false, all_done = true;
  while (read_line(&text, is_terminal, at_end ? ". " : "> ")) {
    source source = {
        .file = "stdin", .text = text.text, .length = text.length, .is_interactive = true, .at_end = &at_end};
    bool is_done = run_source(vm, &source);
    if (at_end) continue;
    all_done = all_done && is_done;
    text.length = 0;
  }
  if (at_end) {
    source source = {.file = "stdin", .text = text.text, .length = text.length, .at_end = &at_end};
    all_done = run_source(vm, &source) && all_done;
  }
  if (is_terminal) putchar('\n');
  free(text.text);
  return all_done;
}

/* --- statistics --- */

static void print_stats(const vm *vm, uint64_t elapsed_ns) {
  cradle_statistics stats;
  cradle_heap_statistics(vm->heap, &stats, sizeof stats);
  uint64_t collector_ns = stats.minor_ns + stats.major_ns + stats.compact_ns;
  fflush(stdout);
  fprintf(stderr, "gc: %llu minor collections, %llu major\n", (unsigned long long)stats.minor_collections,
          (unsigned long long)stats.major_collections);
  fprintf(stderr, "gc: %.1f MiB allocated, %.1f MiB promoted, %.1f MiB in the old generation now\n",
          (double)stats.allocated_bytes / 1048576, (double)stats.promoted_bytes / 1048576,
          (double)stats.old_bytes / 1048576);
  fprintf(stderr, "gc: %.3f s of %.3f s, %.1f %%\n", (double)collector_ns / 1e9, (double)elapsed_ns / 1e9,
          100.0 * (double)collector_ns / (double)elapsed_ns);
  fprintf(stderr, "gc: longest pause %.3f ms, peak memory %.1f MiB\n", (double)stats.pause_max_ns / 1e6,
          peak_bytes() / 1048576);
}

int main(int argc, char **argv) {
  static vm vm;
  uint64_t start_ns = now_ns();
  bool wants_stats = false;
  const char *image = NULL, *save = NULL;
  int argument = 1;
  for (; argument < argc && argv[argument][0] == '-' && argv[argument][1] != '\0'; argument++) {
    if (strcmp(argv[argument], "--gc-stats") == 0) {
      wants_stats = true;
    } else if (strncmp(argv[argument], "--image=", 8) == 0) {
      image = argv[argument] + 8;
    } else if (strncmp(argv[argument], "--save-image=", 13) == 0) {
      save = argv[argument] + 13;
    } else {
      bool is_help = strcmp(argv[argument], "--help") == 0;
      if (!is_help) fprintf(stderr, "stackvm: unknown option: %s\n", argv[argument]);
      fputs(usage, is_help ? stdout : stderr);
      return is_help ? 0 : 2;
    }
  }
  if (argc - argument > 1) {
    fprintf(stderr, "stackvm: one file at most\n%s", usage);
    return 2;
  }
  vm_start(&vm, image);
  bool is_done = argument < argc ? run_file(&vm, argv[argument]) : run_lines(&vm);
  if (is_done && save != NULL) save_image(&vm, save);
  if (wants_stats) print_stats(&vm, now_ns() - start_ns);
  vm_stop(&vm);
  if (fflush(stdout) != 0) {
    fprintf(stderr, "stackvm: standard output: %s\n", strerror(errno));
    return 1;
  }
  return is_done ? 0 : 1;
}
