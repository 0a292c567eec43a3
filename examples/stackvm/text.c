/* The text of values. Lists and maps are written to a limited depth and never inside themselves. Once the text is long,
 * no further list or map is begun: a few lists that contain each other many times would give an endless text. */
#include <math.h>
#include <stdlib.h>

#include "vm.h"

enum { DEPTH_MAX = 5, LONG_BYTES = 4 << 20 };

/* Where text goes: to a file, to memory, or nowhere, only to be counted. */
typedef struct sink {
  FILE *file;
  char *memory;
  size_t length;
} sink;

static void add(sink *sink, const char *text, size_t length) {
  if (sink->file != NULL) fwrite(text, 1, length, sink->file);
  if (sink->memory != NULL) memcpy(sink->memory + sink->length, text, length);
  sink->length += length;
}
static void add_text(sink *sink, const char *text) {
  add(sink, text, strlen(text));
}
static void add_string(sink *sink, const cradle_kit_string *string) {
  add(sink, string->bytes, string->length);
}

static size_t whole_text(int64_t n, char text[NUMBER_TEXT]) {
  char digits[NUMBER_TEXT];
  size_t count = 0, length = 0;
  if (n < 0) text[length++] = '-';
  for (uint64_t rest = (uint64_t)(n < 0 ? -n : n); rest > 0 || count == 0; rest /= 10)
    digits[count++] = (char)('0' + rest % 10);
  while (count > 0) text[length++] = digits[--count];
  text[length] = '\0';
  return length;
}

/* Whole numbers of up to 15 digits are written in full, other numbers with as few digits as distinguish them from their
 * neighbours. */
size_t number_text(double n, char text[NUMBER_TEXT]) {
  if (n != n) return (size_t)snprintf(text, NUMBER_TEXT, "nan");
  if (fabs(n) < 1e15 && n == floor(n)) return whole_text((int64_t)n, text);
  int length = 0;
  for (int digits = 15; digits <= 17; digits++) {
    length = snprintf(text, NUMBER_TEXT, "%.*g", digits, n);
    if (strtod(text, NULL) == n) break;
  }
  return (size_t)length;
}

/* A list or map that is being written, linked to the collections around it. Nothing allocates meanwhile, so nothing
 * moves. */
typedef struct collection {
  const struct collection *outer; /* or NULL */
  const void *object;
  int depth;
} collection;

static void add_value(sink *sink, value v, const collection *outer);

static bool is_written_out(const sink *sink, const collection *this) {
  if (this->depth >= DEPTH_MAX || (this->outer != NULL && sink->length > LONG_BYTES)) return false;
  for (const collection *around = this->outer; around != NULL; around = around->outer)
    if (around->object == this->object) return false;
  return true;
}

static collection inside(const collection *outer, const void *object) {
  return (collection){outer, object, outer == NULL ? 0 : outer->depth + 1};
}

static void add_list(sink *sink, const cradle_kit_list *list, const collection *outer) {
  const collection this = inside(outer, list);
  bool is_cut = list->length > 0 && !is_written_out(sink, &this);
  add_text(sink, "[");
  for (size_t i = 0; i < list->length && !is_cut; i++) {
    if (i > 0) add_text(sink, ", ");
    add_value(sink, cradle_kit_list_get(list, i), &this);
  }
  add_text(sink, is_cut ? "...]" : "]");
}

static void add_map(sink *sink, const cradle_kit_map *map, const collection *outer) {
  const collection this = inside(outer, map);
  bool is_cut = map->count > 0 && !is_written_out(sink, &this), is_first = true;
  add_text(sink, "{");
  for (size_t e = cradle_kit_map_next(map, 0); e != CRADLE_KIT_MAP_NONE && !is_cut;
       e = cradle_kit_map_next(map, e + 1)) {
    if (!is_first) add_text(sink, ", ");
    is_first = false;
    add_value(sink, cradle_kit_map_key_at(map, e), &this);
    add_text(sink, ": ");
    add_value(sink, cradle_kit_map_value_at(map, e), &this);
  }
  add_text(sink, is_cut ? "...}" : "}");
}

static void add_function(sink *sink, const char *kind, const char *name) {
  add_text(sink, kind);
  add_text(sink, name);
  add_text(sink, ">");
}

static void add_object(sink *sink, value v, const collection *outer) {
  switch (cradle_type_of(address(v))) {
  case T_STRING:
    if (outer != NULL) add_text(sink, "\"");
    add_string(sink, to_string(v));
    if (outer != NULL) add_text(sink, "\"");
    break;
  case T_LIST: add_list(sink, to_list(v), outer); break;
  case T_MAP: add_map(sink, to_map(v), outer); break;
  case T_CLASS:
    add_text(sink, "<class ");
    add_string(sink, to_class(v)->name);
    add_text(sink, ">");
    break;
  case T_INSTANCE:
    add_text(sink, "<");
    add_string(sink, to_instance(v)->class->name);
    add_text(sink, ">");
    break;
  case T_CLOSURE: add_function(sink, "<fn ", to_closure(v)->prototype->name); break;
  case T_BOUND: add_function(sink, "<method ", ((bound *)address(v))->method->prototype->name); break;
  default: add_function(sink, "<builtin ", ((native *)address(v))->description->name); break;
  }
}

static void add_value(sink *sink, value v, const collection *outer) {
  char text[NUMBER_TEXT];
  if (is_number(v))
    add(sink, text, number_text(to_double(v), text));
  else if (is_object(v))
    add_object(sink, v, outer);
  else
    add_text(sink, v == NIL ? "nil" : v == TRUE ? "true" : "false");
}

void print_value(value v, FILE *out) {
  sink sink = {.file = out};
  add_value(&sink, v, NULL);
}

cradle_kit_string *to_text(vm *vm, value v) {
  char text[NUMBER_TEXT];
  if (is_string(v)) return to_string(v);
  if (is_number(v)) return cradle_kit_string_new(&vm->kit, text, number_text(to_double(v), text));
  sink counted = {.length = 0}, written = {.length = 0};
  add_value(&counted, v, NULL);
  CRADLE_ROOT_VALUE(vm->mutator, v);
  cradle_kit_string *made = cradle_kit_string_new(&vm->kit, NULL, counted.length);
  written.memory = made->bytes;
  add_value(&written, v, NULL);
  return made;
}
