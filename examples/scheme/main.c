/* scheme [--gc-stats] [--image=FILE] [--save-image=FILE] [--stack=SIZE] [--help] [FILE...]: runs the files, or reads
 * from the prompt (or standard input) without any. */
#include "scheme.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line_edit.h"
#include "system.h"

/* AddressSanitizer gives up at a longjmp over a stack that is much larger than the usual ones. */
#ifdef CRADLE_ASAN
#define STACK_DEFAULT "32M"
#else
#define STACK_DEFAULT "256M"
#endif
#define STACK_LEAST_BYTES ((size_t)1 << 20)
/* Besides, for what does not check (errors, output, the collector) and for thread-local storage, where glibc puts it
 * here. */
#define STACK_RESERVE_BYTES ((size_t)1 << 20)

/* --- the heap --- */

static const cradle_type types[T_COUNT] = {
    [T_PAIR] = {.name = "pair", .size = sizeof(pair), .values = CRADLE_SLOT(pair, car) | CRADLE_SLOT(pair, cdr)},
    [T_SOURCE_PAIR] = {.name = "source pair",
                       .size = sizeof(source_pair),
                       .values = CRADLE_SLOT(pair, car) | CRADLE_SLOT(pair, cdr)},
    [T_FLONUM] = {.name = "flonum", .size = sizeof(flonum)},
    [T_CLOSURE] = {.name = "closure",
                   .size = sizeof(closure),
                   .references = CRADLE_SLOT(closure, lambda) | CRADLE_SLOT(closure, outer)},
    [T_PRIMITIVE] = {.name = "primitive", .size = sizeof(primitive), .symbols = CRADLE_SLOT(primitive, row)},
    [T_CONTINUATION] = {.name = "continuation", .size = sizeof(continuation)},
    [T_FRAME] = {.name = "frame",
                 .size = sizeof(frame),
                 .references = CRADLE_SLOT(frame, procedure),
                 .items = CRADLE_ITEMS_VALUES,
                 .item_size = 8,
                 .length_offset = offsetof(frame, length)},
    [T_VALUES] = {.name = "values",
                  .size = sizeof(values),
                  .items = CRADLE_ITEMS_VALUES,
                  .item_size = 8,
                  .length_offset = offsetof(values, length)},
    [T_ERROR] = {.name = "error",
                 .size = sizeof(error),
                 .values = CRADLE_SLOT(error, message) | CRADLE_SLOT(error, irritants)},
    [T_PROMISE] = {.name = "promise", .size = sizeof(promise), .values = CRADLE_SLOT(promise, content)},
    [T_RECORD_TYPE] = {.name = "record type",
                       .size = sizeof(record_type),
                       .values = CRADLE_SLOT(record_type, name) | CRADLE_SLOT(record_type, fields)},
    [T_RECORD] = {.name = "record",
                  .size = sizeof(record),
                  .references = CRADLE_SLOT(record, type),
                  .items = CRADLE_ITEMS_VALUES,
                  .item_size = 8,
                  .length_offset = offsetof(record, length)},
    [T_RECORD_PROCEDURE] = {.name = "record procedure",
                            .size = sizeof(record_procedure),
                            .references = CRADLE_SLOT(record_procedure, type),
                            .values = CRADLE_SLOT(record_procedure, name) | CRADLE_SLOT(record_procedure, argument)},
    [T_CONSTANT] = {.name = "constant", .size = sizeof(constant), .values = CRADLE_SLOT(constant, constant)},
    [T_LOCAL] = {.name = "local", .size = sizeof(variable), .values = CRADLE_SLOT(variable, symbol)},
    [T_OUTER] = {.name = "outer", .size = sizeof(variable), .values = CRADLE_SLOT(variable, symbol)},
    [T_GLOBAL] = {.name = "global", .size = sizeof(global), .references = CRADLE_SLOT(global, symbol)},
    [T_SET_LOCAL] = {.name = "set local",
                     .size = sizeof(set_local),
                     .references = CRADLE_SLOT(set_local, content),
                     .values = CRADLE_SLOT(set_local, symbol)},
    [T_SET_GLOBAL] = {.name = "set global",
                      .size = sizeof(set_global),
                      .references = CRADLE_SLOT(set_global, content) | CRADLE_SLOT(set_global, symbol)},
    [T_IF] = {.name = "if",
              .size = sizeof(conditional),
              .references = CRADLE_SLOT(conditional, test) | CRADLE_SLOT(conditional, consequent) |
                            CRADLE_SLOT(conditional, alternative)},
    [T_LAMBDA] = {.name = "lambda",
                  .size = sizeof(lambda),
                  .references = CRADLE_SLOT(lambda, body),
                  .values = CRADLE_SLOT(lambda, name)},
#define SEQUENCE_ROW(what) \
  {.name = what, \
   .size = sizeof(sequence), \
   .items = CRADLE_ITEMS_REFERENCES, \
   .item_size = 8, \
   .length_offset = offsetof(sequence, length)}
    [T_SEQUENCE] = SEQUENCE_ROW("sequence"),
    [T_AND] = SEQUENCE_ROW("and"),
    [T_OR] = SEQUENCE_ROW("or"),
    [T_CALL] = SEQUENCE_ROW("call"),
    [T_GUARD] = {.name = "guard",
                 .size = sizeof(guard),
                 .references = CRADLE_SLOT(guard, body) | CRADLE_SLOT(guard, handler)},
    CRADLE_KIT_ROWS(T_KIT),
};

/* The interpreter's own variables, and what the escapes in C's frames hold. */
static void visit_roots(void *data, cradle_visitor *visitor) {
  scheme *s = data;
  cradle_visit(visitor, &s->globals, CRADLE_KIND_REFERENCE);
  cradle_visit(visitor, &s->files, CRADLE_KIND_REFERENCE);
  cradle_visit(visitor, &s->handlers, CRADLE_KIND_VALUE);
  cradle_visit(visitor, &s->winders, CRADLE_KIND_VALUE);
  cradle_visit(visitor, &s->transfer, CRADLE_KIND_VALUE);
  cradle_visit(visitor, &s->memory_error, CRADLE_KIND_VALUE);
  for (escape *e = s->escapes; e != NULL; e = e->outer) {
    cradle_visit(visitor, &e->handlers, CRADLE_KIND_VALUE);
    cradle_visit(visitor, &e->winders, CRADLE_KIND_VALUE);
  }
}

CRADLE_UNCHECKED_COLLECTION static void stop(scheme *s) {
  cradle_weak_set_free(s->symbols);
  cradle_mutator_free(s->m);
  cradle_heap_free(s->heap);
}

/* path: of the image that the heap begins with, or NULL. */
static bool start(scheme *s, size_t stack_bytes, const char *path) CRADLE_GRANTS_COLLECTION;
CRADLE_UNCHECKED_COLLECTION static bool start(scheme *s, size_t stack_bytes, const char *path) {
  cradle_options options;
  cradle_image image = {.path = path, .sealed = true};
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.gc_threads = CRADLE_GC_THREADS_AUTO;
  options.encoding = cradle_encoding_of(0, 0, 1 << TAG_REFERENCE);
  options.shadow_stack = CRADLE_KIND_VALUE;
  options.shadow_stack_bytes = stack_bytes + 2 * ARGUMENTS_MAX * sizeof(value);
  options.on_out_of_memory = memory_ran_out;
  options.user = s;
  options.stack = (cradle_stack){profiled_frames, s};
  cradle_error error;
  cradle_image_symbol *symbols = path == NULL ? NULL : row_symbols(&image.symbol_count);
  image.symbols = symbols;
  if (path != NULL) options.image = &image;
  s->heap = cradle_heap_new_from_environment(&options, &error);
  free(symbols);
  s->m = s->heap != NULL ? cradle_mutator_new(s->heap) : NULL;
  if (s->m == NULL) {
    fprintf(stderr, "scheme: %s\n", s->heap == NULL ? error.message : "no memory for the mutator");
    cradle_heap_free(s->heap);
    return false;
  }
  s->handlers = s->winders = NIL;
  s->transfer = UNSPECIFIED;
  cradle_root_callback_set(s->heap, visit_roots, s);
  cradle_kit_init(&s->kit, s->m, T_KIT);
  s->kit.data = s;
  if (path != NULL) {
    take_image(s);
    init_errors(s);
    return true;
  }
  s->symbols = cradle_weak_set_new(s->m, NULL, NULL);
  s->globals = cradle_kit_list_new(&s->kit, 0);
  s->files = cradle_kit_list_new(&s->kit, 0);
  init_errors(s);
  define_primitives(s, number_rows, number_row_count);
  define_primitives(s, number_text_rows, number_text_row_count);
  define_primitives(s, list_rows, list_row_count);
  define_primitives(s, walk_rows, walk_row_count);
  define_primitives(s, text_rows, text_row_count);
  define_primitives(s, table_rows, table_row_count);
  define_primitives(s, control_rows, control_row_count);
  return true;
}

static void print_statistics(scheme *s) {
  cradle_statistics t;
  cradle_heap_statistics(s->heap, &t, sizeof t);
  fprintf(stderr,
          "minor collections  %llu in %.3f s, the longest %.3f ms\n"
          "major collections  %llu in %.3f s\n"
          "longest pause      %.3f ms\n"
          "allocated          %.1f MiB, promoted %.1f MiB\n"
          "old generation     %.1f MiB, nursery %.1f MiB, committed %.1f MiB\n",
          (unsigned long long)t.minor_collections, (double)t.minor_ns / 1e9, (double)t.minor_max_ns / 1e6,
          (unsigned long long)t.major_collections, (double)t.major_ns / 1e9, (double)t.pause_max_ns / 1e6,
          (double)t.allocated_bytes / 0x1p20, (double)t.promoted_bytes / 0x1p20, (double)t.old_bytes / 0x1p20,
          (double)t.nursery_bytes / 0x1p20, (double)t.committed_bytes / 0x1p20);
}

/* --- running --- */

/* Runs the program in text, which is from malloc. false: it failed and said so, or the program wants to end. */
CRADLE_MAY_COLLECT static bool run_text(scheme *s, char *text, size_t length, const char *name, bool prints) {
  escape here;
  escape_init(s, &here);
  s->handlers = fixnum((int64_t)here.number);
  if (setjmp(here.landing) == 0) {
    source_open(s, text, length, name);
    run_source(s, prints);
    escape_leave(s, &here);
    return true;
  }
  s->handlers = here.handlers = fixnum((int64_t)here.number);
  value raised = escape_land(s, &here);
  fflush(stdout);
  if (raised == EXIT) return false;
  print_error(s, stderr, raised);
  s->exit_status = 1;
  return false;
}

CRADLE_MAY_COLLECT static int run_file(scheme *s, const char *path) {
  size_t length;
  char *text = read_file(path, &length);
  if (text == NULL) {
    fprintf(stderr, "scheme: %s: %s\n", path, strerror(errno));
    return s->exit_status = 1;
  }
  return run_text(s, text, length, path, false) ? 0 : s->exit_status;
}

static void interrupt(int signal) {
  (void)signal;
  is_interrupted = true;
}

/* Reads lines until they make a whole expression, or until the end of input. */
static char *read_expression(bool prompts, size_t *length) {
  char *text = NULL;
  *length = 0;
  for (;;) {
    char *line = edit_line(!prompts ? NULL : text == NULL ? "> " : "  ");
    if (is_interrupted) { /* what was typed is forgotten */
      is_interrupted = false;
      putchar('\n');
      free(line);
      free(text);
      text = NULL;
      *length = 0;
      continue;
    }
    if (line == NULL) return text;
    size_t more = strlen(line);
    char *grown = realloc(text, *length + more + 2);
    if (grown == NULL) {
      free(line);
      return text;
    }
    text = grown;
    memcpy(text + *length, line, more);
    *length += more;
    text[(*length)++] = '\n';
    free(line);
    if (is_complete(text, *length)) return text;
  }
}

CRADLE_MAY_COLLECT static void run_prompt(scheme *s) {
  bool prompts = isatty(STDIN_FILENO);
  if (prompts) catch_interrupts(interrupt);
  edit_begin(prompts);
  size_t length;
  for (char *text; (text = read_expression(prompts, &length)) != NULL;) {
    s->wants_exit = false;
    is_interrupted = false;
    restore_max_or_raise(s);
    run_text(s, text, length, "input", true);
    fflush(stdout);
    if (s->wants_exit) break;
  }
  if (prompts && !s->wants_exit) putchar('\n');
  edit_end();
}

/* --- the program --- */

typedef struct arguments {
  const char *image, *save; /* paths, or NULL */
  bool statistics;
  size_t stack_bytes;
  char **files;
  int status;
} arguments;

/* Runs in a thread of its own, whose stack is as large as the user wants, because the evaluator recurses when the
 * program does. */
CRADLE_UNCHECKED_COLLECTION static void *run_all(void *data) {
  arguments *a = data;
  scheme s = {.exit_status = 0};
  char here;
  s.stack_limit = &here - a->stack_bytes;
  if (!start(&s, a->stack_bytes, a->image)) {
    a->status = 1;
    return NULL;
  }
  s.shadow_most = s.m->shadow_base + a->stack_bytes / sizeof(value);
  if (*a->files == NULL && a->save == NULL) run_prompt(&s);
  for (char **file = a->files; *file != NULL && run_file(&s, *file) == 0 && !s.wants_exit; file++) continue;
  if (a->save != NULL && s.exit_status == 0 && !save_image(&s, a->save)) s.exit_status = 1;
  a->status = s.exit_status;
  fflush(stdout);
  if (a->statistics) print_statistics(&s);
  stop(&s);
  return NULL;
}

static void print_usage(FILE *to) {
  fputs("usage: scheme [--gc-stats] [--image=FILE] [--save-image=FILE] [--stack=SIZE] [FILE...]\n"
        "\n"
        "Runs the files, or reads from the prompt, or from standard input, when there are none.\n"
        "\n"
        "  --gc-stats      says at the end what the collector did\n"
        "  --image=FILE    begins with what an image has\n"
        "  --save-image=FILE  saves an image of what the files have defined\n"
        "  --stack=SIZE    for deep recursion: 1M or more; " STACK_DEFAULT " unless given\n"
        "  --help          prints this\n",
        to);
}

static int bad_usage(const char *given) {
  fprintf(stderr, "scheme: bad argument: %s\n", given);
  print_usage(stderr);
  return 2;
}

/* Reads a size such as 64M or 1G. */
static bool read_bytes(const char *text, size_t *bytes) {
  char *end;
  unsigned long long number = strtoull(text, &end, 10);
  unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (text[0] < '0' || text[0] > '9' || end[shift != 0] != '\0' || number > SIZE_MAX >> shift) return false;
  *bytes = (size_t)number << shift;
  return true;
}

int main(int argc, char **argv) {
  arguments a = {.files = argv + argc};
  read_bytes(STACK_DEFAULT, &a.stack_bytes);
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--gc-stats") == 0)
      a.statistics = true;
    else if (strcmp(argv[i], "--help") == 0)
      return print_usage(stdout), 0;
    else if (strncmp(argv[i], "--image=", 8) == 0)
      a.image = argv[i] + 8;
    else if (strncmp(argv[i], "--save-image=", 13) == 0)
      a.save = argv[i] + 13;
    else if (strncmp(argv[i], "--stack=", 8) == 0) {
      if (!read_bytes(argv[i] + 8, &a.stack_bytes) || a.stack_bytes < STACK_LEAST_BYTES ||
          a.stack_bytes > SIZE_MAX - STACK_RESERVE_BYTES)
        return bad_usage(argv[i]);
    } else if (argv[i][0] == '-' && argv[i][1] != '\0')
      return bad_usage(argv[i]);
    else {
      a.files = argv + i;
      break;
    }
  }
  pthread_attr_t attributes;
  pthread_t thread;
  int failure = pthread_attr_init(&attributes);
  if (failure == 0) failure = pthread_attr_setstacksize(&attributes, a.stack_bytes + STACK_RESERVE_BYTES);
  if (failure == 0) failure = pthread_create(&thread, &attributes, run_all, &a);
  if (failure != 0) {
    fprintf(stderr, "scheme: a stack of %zu bytes: %s\n", a.stack_bytes, strerror(failure));
    return 1;
  }
  leave_interrupts(); /* they are the other thread's, whose reading they end */
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attributes);
  return a.status;
}
