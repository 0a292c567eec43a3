/* Procedures about procedures: apply, call/cc, dynamic-wind, raise and its kin, promises; output, load. */
#include "scheme.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* apply itself is done by the evaluator, in the place of the call; only when it is passed to a procedure is it
 * called. */
value apply_row(scheme *s, size_t count, const value *args) {
  int64_t length = list_length(args[count - 1]);
  if (length < 0) fail(s, args[count - 1], "apply wants a list as its last argument, not");
  if (length > ARGUMENTS_MAX) fail(s, NOT_GIVEN, "more than %d arguments", ARGUMENTS_MAX);
  for (size_t i = 1; i + 1 < count; i++) cradle_push_word(s->m, args[i]);
  for (value list = args[count - 1]; list != NIL; list = cdr(list)) cradle_push_word(s->m, car(list));
  return apply(s, args[0], count - 2 + (size_t)length);
}

/* --- continuations: a way out of what is being done, as long as it is being done --- */

CRADLE_MAY_COLLECT static value call_cc_row(scheme *s, size_t count, const value *args) {
  (void)count;
  escape here;
  escape_init(s, &here);
  if (setjmp(here.landing) != 0) return escape_land(s, &here);
  continuation *made = CRADLE_NEW(s->m, continuation, T_CONTINUATION);
  made->number = here.number;
  value result = apply_1(s, args[0], value_of(made));
  escape_leave(s, &here);
  return result;
}

CRADLE_MAY_COLLECT static value dynamic_wind_row(scheme *s, size_t count, const value *args) {
  (void)count;
  apply(s, args[0], 0);
  value winder = cons(s, args[2], s->handlers);
  s->winders = cons(s, winder, s->winders);
  value result = apply(s, args[1], 0);
  CRADLE_ROOT_VALUE(s->m, result);
  s->winders = cdr(s->winders);
  apply(s, args[2], 0);
  return result;
}

/* --- several values --- */

CRADLE_MAY_COLLECT static value values_row(scheme *s, size_t count, const value *args) {
  if (count == 1) return args[0];
  values *made = CRADLE_NEW_ARRAY(s->m, values, T_VALUES, items, length, count);
  for (size_t i = 0; i < count; i++) made->items[i] = args[i];
  return value_of(made);
}
value call_with_values_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value result = apply(s, args[0], 0);
  if (!is_a(result, T_VALUES)) return apply_1(s, args[1], result);
  const values *several = object_of(result);
  for (size_t i = 0; i < several->length; i++) cradle_push_word(s->m, several->items[i]);
  return apply(s, args[1], several->length);
}

/* --- errors --- */

value raise_row(scheme *s, size_t count, const value *args) {
  (void)count;
  raise_value(s, args[0]);
}
CRADLE_MAY_COLLECT static value raise_continuable_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value handlers = living_handlers(s, s->handlers);
  CRADLE_ROOT_VALUE(s->m, handlers);
  if (is_fixnum(innermost_handler(handlers))) raise_value(s, args[0]);
  s->handlers = cdr(handlers);
  value result = apply_1(s, car(handlers), args[0]);
  s->handlers = handlers;
  return result;
}
CRADLE_MAY_COLLECT static value with_exception_handler_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value handlers = s->handlers;
  CRADLE_ROOT_VALUE(s->m, handlers);
  s->handlers = cons(s, args[0], handlers);
  value result = apply(s, args[1], 0);
  s->handlers = handlers;
  return result;
}
CRADLE_MAY_COLLECT static value error_row(scheme *s, size_t count, const value *args) {
  value irritants = NIL;
  for (size_t i = count; i > 1; i--) irritants = cons(s, args[i - 1], irritants);
  CRADLE_ROOT_VALUE(s->m, irritants);
  error *made = CRADLE_NEW(s->m, error, T_ERROR);
  made->message = args[0];
  made->irritants = irritants;
  made->where = s->where;
  raise_value(s, value_of(made));
}
CRADLE_MAY_COLLECT static value is_error_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_a(args[0], T_ERROR));
}
CRADLE_MAY_COLLECT static value error_message_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_type(s, args[0], T_ERROR, "an error");
  return ((const error *)object_of(args[0]))->message;
}
CRADLE_MAY_COLLECT static value error_irritants_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_type(s, args[0], T_ERROR, "an error");
  return ((const error *)object_of(args[0]))->irritants;
}

/* --- promises --- */

value make_promise_row(scheme *s, size_t count, const value *args) {
  (void)count;
  promise *made = CRADLE_NEW(s->m, promise, T_PROMISE);
  made->content = args[0];
  return value_of(made);
}
CRADLE_MAY_COLLECT static value force_row(scheme *s, size_t count, const value *args) {
  (void)count;
  if (!is_a(args[0], T_PROMISE)) return args[0];
  promise *p = object_of(args[0]);
  if (p->is_done) return p->content;
  value result = apply(s, p->content, 0);
  p = object_of(args[0]);
  if (p->is_done) return p->content; /* it forced itself */
  p->is_done = true;
  cradle_store_value(s->m, p, &p->content, result);
  return result;
}

/* --- the world --- */

CRADLE_MAY_COLLECT static value display_row(scheme *s, size_t count, const value *args) {
  (void)count;
  print(s, stdout, args[0], false);
  check_interrupt(s);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value write_row(scheme *s, size_t count, const value *args) {
  (void)count;
  print(s, stdout, args[0], true);
  check_interrupt(s);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value write_char_row(scheme *s, size_t count, const value *args) {
  (void)count;
  if (!is_character(args[0])) fail_type(s, args[0], "a character");
  print(s, stdout, args[0], false);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value newline_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count, (void)args;
  putchar('\n');
  return UNSPECIFIED;
}
void run_source(scheme *s, bool prints) {
  for (;;) {
    value datum = read_datum(s);
    if (datum == END_OF_FILE) break;
    s->where = is_a(datum, T_SOURCE_PAIR) ? ((const source_pair *)object_of(datum))->where
                                          : where_of(s->source->file, s->source->line);
    value result = run(s, compile(s, datum));
    if (!prints || result == UNSPECIFIED) continue;
    print(s, stdout, result, true);
    check_interrupt(s);
    putchar('\n');
  }
  source_close(s);
}

char *read_file(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char *text = NULL;
  size_t room = 0, used = 0, got = 0;
  do {
    used += got;
    if (used == room) {
      char *grown = realloc(text, room = room == 0 ? 1 << 16 : 2 * room);
      if (grown == NULL) break;
      text = grown;
    }
  } while ((got = fread(text + used, 1, room - used, file)) > 0);
  int failure = ferror(file) || text == NULL ? errno : 0;
  fclose(file);
  *length = used;
  if (failure == 0) return text;
  free(text);
  errno = failure;
  return NULL;
}

void load(scheme *s, const char *path) {
  size_t length;
  char *text = read_file(path, &length);
  if (text == NULL) fail(s, NOT_GIVEN, "%s: %s", path, strerror(errno));
  source_open(s, text, length, path);
  run_source(s, false);
}

CRADLE_MAY_COLLECT static value load_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_type(s, args[0], T_STRING, "a string");
  const cradle_kit_string *name = object_of(args[0]);
  char path[4096];
  snprintf(path, sizeof path, "%.*s", TEXT_OF(name));
  load(s, path);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value eval_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return run(s, compile(s, args[0]));
}
CRADLE_MAY_COLLECT static value exit_row(scheme *s, size_t count, const value *args) {
  s->exit_status = count == 0 || args[0] == TRUE ? 0 : is_fixnum(args[0]) ? (int)(fixnum_of(args[0]) & 0xff) : 1;
  s->wants_exit = true;
  escape *outermost = s->escapes;
  while (outermost->outer != NULL) outermost = outermost->outer;
  escape_to(s, outermost, EXIT);
}
CRADLE_MAY_COLLECT static value run_time_row(scheme *s, size_t count, const value *args) {
  (void)count, (void)args;
  return new_flonum(s, (double)clock() / CLOCKS_PER_SEC);
}
CRADLE_MAY_COLLECT static value gc_row(scheme *s, size_t count, const value *args) {
  (void)count, (void)args;
  cradle_collect(s->m, CRADLE_COLLECT_FULL);
  return UNSPECIFIED;
}

void define_primitives(scheme *s, const primitive_row *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    primitive *made = CRADLE_NEW(s->m, primitive, T_PRIMITIVE);
    CRADLE_ROOT(s->m, made);
    made->row = &rows[i];
    cradle_kit_symbol *name = object_of(symbol(s, rows[i].name));
    define_global(s, name, value_of(made));
  }
}

const primitive_row control_rows[] = {
    {"apply", apply_row, 2, -1},
    {"call-with-current-continuation", call_cc_row, 1, 1},
    {"call/cc", call_cc_row, 1, 1},
    {"dynamic-wind", dynamic_wind_row, 3, 3},
    {"values", values_row, 0, -1},
    {"call-with-values", call_with_values_row, 2, 2},
    {"raise", raise_row, 1, 1},
    {"raise-continuable", raise_continuable_row, 1, 1},
    {"with-exception-handler", with_exception_handler_row, 2, 2},
    {"error", error_row, 1, -1},
    {"error-object?", is_error_row, 1, 1},
    {"error-object-message", error_message_row, 1, 1},
    {"error-object-irritants", error_irritants_row, 1, 1},
    {"make-promise", make_promise_row, 1, 1},
    {"force", force_row, 1, 1},
    {"display", display_row, 1, 1},
    {"write", write_row, 1, 1},
    {"write-char", write_char_row, 1, 1},
    {"newline", newline_row, 0, 0},
    {"load", load_row, 1, 1},
    {"eval", eval_row, 1, 2},
    {"exit", exit_row, 0, 1},
    {"runtime", run_time_row, 0, 0},
    {"gc", gc_row, 0, 0},
};
const size_t control_row_count = sizeof control_rows / sizeof *control_rows;
