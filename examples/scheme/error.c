/* Errors: objects with a message, irritants and the line, which are raised. */
#include "scheme.h"
#include "system.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_MAX = 400 };

CRADLE_MAY_COLLECT static value new_error(scheme *s, uint64_t where, value irritant, const char *message) {
  CRADLE_ROOT_VALUE(s->m, irritant);
  error *made = CRADLE_NEW(s->m, error, T_ERROR);
  CRADLE_ROOT(s->m, made);
  made->where = where;
  made->message = made->irritants = NIL;
  value part = new_string(s, message, strlen(message));
  cradle_store_value(s->m, made, &made->message, part);
  if (irritant != NOT_GIVEN) {
    part = cons(s, irritant, NIL);
    cradle_store_value(s->m, made, &made->irritants, part);
  }
  return value_of(made);
}

void fail_at(scheme *s, uint64_t where, value irritant, const char *format, ...) {
  char message[MESSAGE_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  raise_value(s, new_error(s, where, irritant, message));
}

void fail(scheme *s, value irritant, const char *format, ...) {
  char message[MESSAGE_MAX];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  raise_value(s, new_error(s, s->where, irritant, message));
}

void fail_type(scheme *s, value culprit, const char *wanted) {
  fail(s, culprit, "%s expected, not", wanted);
}

size_t index_of(scheme *s, value v, size_t limit) {
  if (!is_fixnum(v)) fail_type(s, v, "an index");
  if (limit == SIZE_MAX && fixnum_of(v) < 0) fail_type(s, v, "0 or more");
  if (fixnum_of(v) < 0 || (uint64_t)fixnum_of(v) >= limit) fail(s, v, "index out of range (below %zu):", limit);
  return (size_t)fixnum_of(v);
}

/* For errors that leave no room to run a handler where they happen: escapes to the nearest guard, or the prompt. */
CRADLE_MAY_COLLECT _Noreturn static void raise_without_handlers(scheme *s, value raised) {
  value handlers = living_handlers(s, s->handlers);
  while (!is_fixnum(innermost_handler(handlers))) handlers = living_handlers(s, cdr(handlers));
  escape_to(s, find_escape(s, innermost_handler(handlers)), raised);
}

void fail_deep(scheme *s) {
  raise_without_handlers(s, new_error(s, s->where, NOT_GIVEN, "recursion is too deep"));
}

/* No guard keeps a program from ending. */
void fail_interrupted(scheme *s) {
  is_interrupted = false;
  clearerr(stdout); /* the signal may have broken off a write */
  escape *outermost = s->escapes;
  while (outermost->outer != NULL) outermost = outermost->outer;
  escape_to(s, outermost, new_error(s, s->where, NOT_GIVEN, "interrupted"));
}

/* --- memory runs out --- */

#define ROOM_LEAST_BYTES ((uint64_t)4 << 20)

/* Raises the maximum heap by a sixteenth, so that there is room to handle the error and to drop the objects that hold
 * the memory. It is not raised for an object larger than that, because there is still room for smaller objects. Without
 * a maximum heap the system has refused memory, and nothing helps. */
CRADLE_MAY_COLLECT static void raise_max(scheme *s) {
  cradle_statistics now;
  cradle_heap_statistics(s->heap, &now, sizeof now);
  uint64_t max = now.heap_max_bytes, more = max / 16 > ROOM_LEAST_BYTES ? max / 16 : ROOM_LEAST_BYTES;
  if (max == 0 || s->refused_bytes > more || !cradle_heap_set_max(s->m, max + more, NULL)) return;
  if (s->usual_max_bytes == 0) s->usual_max_bytes = max;
  s->tries_usual_max = true;
  s->refused_bytes = 0;
}

bool restore_max(scheme *s) {
  if (s->usual_max_bytes == 0) return true;
  s->tries_usual_max = false;
  if (!cradle_heap_set_max(s->m, s->usual_max_bytes, NULL)) return false;
  s->usual_max_bytes = 0;
  return true;
}

void restore_max_or_raise(scheme *s) {
  if (!restore_max(s) && s->refused_bytes != 0) raise_max(s);
}

CRADLE_UNCHECKED_COLLECTION void memory_ran_out(void *data, cradle_mutator *m, size_t size, const char *message) {
  (void)m;
  scheme *s = data;
  if (s->memory_error == 0) {
    fprintf(stderr, "scheme: %s\n", message);
    exit(1);
  }
  s->refused_bytes = size != 0 ? size : 1; /* something beside the objects, such as a place in a weak set */
  if (s->usual_max_bytes == 0) raise_max(s);
  ((error *)object_of(s->memory_error))->where = s->where;
  raise_without_handlers(s, s->memory_error);
}

void init_errors(scheme *s) {
  s->memory_error = new_error(s, 0, NOT_GIVEN, "out of memory");
}

static void print_whole_error(scheme *s, FILE *to, value raised) {
  if (!is_a(raised, T_ERROR)) {
    fputs("error: raised ", to);
    print(s, to, raised, true);
    return;
  }
  const error *e = object_of(raised);
  uint32_t line = (uint32_t)e->where;
  if (line != 0) {
    print(s, to, cradle_kit_list_get(s->files, e->where >> 32), false);
    fprintf(to, ":%u: ", line);
  }
  fputs("error: ", to);
  print(s, to, e->message, false);
  for (value irritant = e->irritants; is_pair(irritant); irritant = cdr(irritant)) {
    fputc(' ', to);
    print(s, to, car(irritant), true);
  }
}

/* A name or a raised object may contain any bytes, and the output may be a terminal. The buffer holds one byte more
 * than is shown. */
void print_error(scheme *s, FILE *to, value raised) {
  enum { SHOWN_BYTES = 2000 };
  char text[SHOWN_BYTES + 1];
  FILE *file = memory_file_open(text, sizeof text);
  if (file == NULL) return;
  print_whole_error(s, file, raised);
  memory_file_close(file, text, sizeof text);
  size_t length = strlen(text), shown = length < SHOWN_BYTES ? length : SHOWN_BYTES - 4;
  for (size_t i = 0; i < shown; i++) {
    unsigned char byte = (unsigned char)text[i], before = i == 0 ? 0 : (unsigned char)text[i - 1];
    unsigned char next = i + 1 < length ? (unsigned char)text[i + 1] : 0;
    /* A terminal, in UTF-8: the second line of control characters has two bytes. */
    bool controls = byte < ' ' || byte == 0x7f || (before == 0xc2 && byte < 0xa0) || (byte == 0xc2 && next < 0xa0);
    putc(controls ? '?' : byte, to);
  }
  if (shown < length) fputs("...", to);
  fputc('\n', to);
}
