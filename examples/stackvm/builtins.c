/* The functions that every program has. Their arguments stay on the value stack until they return, so they are rooted;
 * arguments[i] is read again after each call that may collect. No builtin pushes. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "vm.h"

/* --- arguments --- */

_Noreturn static void raise_argument(vm *vm, const char *builtin, int index, const char *wanted, value got) {
  raise_error(vm, "%s: argument %d is %s; %s is wanted", builtin, index + 1, kind_name(got), wanted);
}

static double number_argument(vm *vm, const char *builtin, const value *arguments, int index) {
  if (!is_number(arguments[index])) raise_argument(vm, builtin, index, "a number", arguments[index]);
  return to_double(arguments[index]);
}
static cradle_kit_string *string_argument(vm *vm, const char *builtin, const value *arguments, int index) {
  if (!is_string(arguments[index])) raise_argument(vm, builtin, index, "a string", arguments[index]);
  return to_string(arguments[index]);
}
static cradle_kit_list *list_argument(vm *vm, const char *builtin, const value *arguments, int index) {
  if (!is_a(arguments[index], T_LIST)) raise_argument(vm, builtin, index, "a list", arguments[index]);
  return to_list(arguments[index]);
}
static cradle_kit_map *map_argument(vm *vm, const char *builtin, const value *arguments, int index) {
  if (!is_a(arguments[index], T_MAP)) raise_argument(vm, builtin, index, "a map", arguments[index]);
  return to_map(arguments[index]);
}
/* A whole number from 0 to most. */
static size_t index_argument(vm *vm, const char *builtin, const value *arguments, int index, size_t most) {
  size_t result;
  number_argument(vm, builtin, arguments, index);
  if (!to_index(arguments[index], most, &result))
    raise_error(vm, "%s: argument %d is not a whole number from 0 to %zu", builtin, index + 1, most);
  return result;
}

/* --- input and output --- */

static void print_all(const value *arguments, int count) {
  for (int i = 0; i < count; i++) {
    if (i > 0) putchar(' ');
    print_value(arguments[i], stdout);
  }
}
static value builtin_print(vm *vm, value *arguments, int count) {
  (void)vm;
  print_all(arguments, count);
  putchar('\n');
  return NIL;
}
static value builtin_write(vm *vm, value *arguments, int count) {
  (void)vm;
  print_all(arguments, count);
  return NIL;
}

CRADLE_MAY_COLLECT static cradle_kit_string *extend(vm *vm, cradle_kit_string *line, const char *part, size_t length) {
  CRADLE_ROOT(vm->mutator, line);
  cradle_kit_string *read = cradle_kit_string_new(&vm->kit, part, length);
  return line == NULL ? read : cradle_kit_string_join(&vm->kit, line, read);
}
/* Reads a line, without its newline, or nil. The line is put together on the heap, because no memory from malloc may be
 * held over an allocation. */
CRADLE_MAY_COLLECT static value builtin_input(vm *vm, value *arguments, int count) {
  (void)arguments;
  (void)count;
  char part[256];
  size_t length = 0;
  cradle_kit_string *line = NULL;
  fflush(stdout);
  int c = getchar();
  if (c == EOF) return NIL;
  for (; c != EOF && c != '\n'; c = getchar()) {
    part[length++] = (char)c;
    if (length < sizeof part) continue;
    line = extend(vm, line, part, length);
    length = 0;
  }
  return object(extend(vm, line, part, length));
}

/* --- all kinds --- */

CRADLE_MAY_COLLECT static value builtin_str(vm *vm, value *arguments, int count) {
  (void)count;
  return object(to_text(vm, arguments[0]));
}

/* The number that a string spells, or nil. */
static value builtin_num(vm *vm, value *arguments, int count) {
  char text[64], *end;
  (void)count;
  if (is_number(arguments[0])) return arguments[0];
  const cradle_kit_string *string = string_argument(vm, "num", arguments, 0);
  size_t start = 0, length = string->length;
  while (start < length && isspace((unsigned char)string->bytes[start])) start++;
  while (length > start && isspace((unsigned char)string->bytes[length - 1])) length--;
  if (length == start || length - start >= sizeof text) return NIL;
  memcpy(text, string->bytes + start, length - start);
  text[length - start] = '\0';
  if (text[strspn(text, "+-.0123456789eE")] != '\0') return NIL; /* no hexadecimal, no infinity */
  double n = strtod(text, &end);
  return *end == '\0' ? number(n) : NIL;
}

CRADLE_MAY_COLLECT static value builtin_type(vm *vm, value *arguments, int count) {
  (void)count;
  const char *name = kind_name(arguments[0]), *space = strchr(name, ' ');
  name = space != NULL ? space + 1 : name;
  return object(cradle_kit_string_new(&vm->kit, name, strlen(name)));
}

static value builtin_len(vm *vm, value *arguments, int count) {
  (void)count;
  if (is_string(arguments[0])) return number((double)to_string(arguments[0])->length);
  if (is_a(arguments[0], T_LIST)) return number((double)to_list(arguments[0])->length);
  if (is_a(arguments[0], T_MAP)) return number((double)to_map(arguments[0])->count);
  raise_argument(vm, "len", 0, "a string, list or map", arguments[0]);
}

/* --- lists and maps --- */

CRADLE_MAY_COLLECT static value builtin_push(vm *vm, value *arguments, int count) {
  cradle_kit_list *list = list_argument(vm, "push", arguments, 0);
  for (int i = 1; i < count; i++) {
    cradle_kit_list_append(&vm->kit, list, arguments[i]);
    list = to_list(arguments[0]);
  }
  return arguments[0];
}

static value builtin_pop(vm *vm, value *arguments, int count) {
  (void)count;
  cradle_kit_list *list = list_argument(vm, "pop", arguments, 0);
  if (list->length == 0) raise_error(vm, "pop: the list is empty");
  return cradle_kit_list_pop(list);
}

CRADLE_MAY_COLLECT static value builtin_insert(vm *vm, value *arguments, int count) {
  (void)count;
  cradle_kit_list *list = list_argument(vm, "insert", arguments, 0);
  cradle_kit_list_insert(&vm->kit, list, index_argument(vm, "insert", arguments, 1, list->length), arguments[2]);
  return arguments[0];
}

/* Removes the item at an index from a list, or a key from a map; returns what was there. */
static value builtin_remove(vm *vm, value *arguments, int count) {
  (void)count;
  if (is_a(arguments[0], T_MAP)) {
    value old = cradle_kit_map_get(&vm->kit, to_map(arguments[0]), to_key(arguments[1]), NIL);
    cradle_kit_map_remove(&vm->kit, to_map(arguments[0]), to_key(arguments[1]));
    return old;
  }
  if (!is_a(arguments[0], T_LIST)) raise_argument(vm, "remove", 0, "a list or map", arguments[0]);
  cradle_kit_list *list = to_list(arguments[0]);
  if (list->length == 0) raise_error(vm, "remove: the list is empty");
  return cradle_kit_list_remove(&vm->kit, list, index_argument(vm, "remove", arguments, 1, list->length - 1));
}

static value builtin_has(vm *vm, value *arguments, int count) {
  (void)count;
  cradle_kit_map *map = map_argument(vm, "has", arguments, 0);
  return boolean(cradle_kit_map_find(&vm->kit, map, to_key(arguments[1])) != CRADLE_KIT_MAP_NONE);
}

CRADLE_MAY_COLLECT static value builtin_keys(vm *vm, value *arguments, int count) {
  (void)count;
  size_t length = map_argument(vm, "keys", arguments, 0)->count;
  cradle_kit_list *keys = cradle_kit_list_new(&vm->kit, length);
  const cradle_kit_map *map = to_map(arguments[0]); /* it may have moved; the appends below have room */
  // cradle-rootcheck: ok an append with room does not collect
  for (size_t e = cradle_kit_map_next(map, 0); e != CRADLE_KIT_MAP_NONE; e = cradle_kit_map_next(map, e + 1))
    cradle_kit_list_append(&vm->kit, keys, cradle_kit_map_key_at(map, e)); // cradle-rootcheck: ok there is room
  return object(keys);                                                     // cradle-rootcheck: ok there was room
}

static int compare_numbers(const void *left, const void *right) {
  double a = to_double(*(const value *)left), b = to_double(*(const value *)right);
  return (a > b) - (a < b);
}
static int compare_strings(const void *left, const void *right) {
  return cradle_kit_string_compare(to_string(*(const value *)left), to_string(*(const value *)right));
}

/* Sorts a copy outside the heap and stores it back with the barrier, because the collector must know of each store into
 * the list. */
static value builtin_sort(vm *vm, value *arguments, int count) {
  (void)count;
  cradle_kit_list *list = list_argument(vm, "sort", arguments, 0);
  size_t length = list->length, strings = 0, numbers = 0;
  if (length == 0) return arguments[0];
  for (size_t i = 0; i < length; i++) {
    strings += is_string(cradle_kit_list_get(list, i));
    numbers += is_number(cradle_kit_list_get(list, i));
  }
  if (strings != length && numbers != length) raise_error(vm, "sort: wants all numbers or all strings");
  value *sorted = malloc(length * sizeof(value));
  if (sorted == NULL) raise_out_of_memory(vm);
  for (size_t i = 0; i < length; i++) sorted[i] = cradle_kit_list_get(list, i);
  qsort(sorted, length, sizeof(value), strings == length ? compare_strings : compare_numbers);
  for (size_t i = 0; i < length; i++) cradle_kit_list_set(&vm->kit, list, i, sorted[i]);
  free(sorted);
  return arguments[0];
}

/* --- strings and lists --- */

CRADLE_MAY_COLLECT static value builtin_slice(vm *vm, value *arguments, int count) {
  bool is_text = is_string(arguments[0]);
  if (!is_text && !is_a(arguments[0], T_LIST)) raise_argument(vm, "slice", 0, "a string or list", arguments[0]);
  size_t length = is_text ? to_string(arguments[0])->length : to_list(arguments[0])->length;
  size_t start = index_argument(vm, "slice", arguments, 1, length);
  size_t end = count > 2 ? index_argument(vm, "slice", arguments, 2, length) : length;
  if (end < start) end = start;
  if (is_text) return object(cradle_kit_string_slice(&vm->kit, to_string(arguments[0]), start, end));
  cradle_kit_list *part = cradle_kit_list_new(&vm->kit, end - start);
  for (size_t i = start; i < end; i++)
    // cradle-rootcheck: ok an append with room does not collect
    cradle_kit_list_append(&vm->kit, part, cradle_kit_list_get(to_list(arguments[0]), i));
  return object(part); // cradle-rootcheck: ok there was room
}

/* Where the second string first occurs in the first, from a byte on; or nil. */
static value builtin_find(vm *vm, value *arguments, int count) {
  const cradle_kit_string *text = string_argument(vm, "find", arguments, 0),
                          *sought = string_argument(vm, "find", arguments, 1);
  size_t start = count > 2 ? index_argument(vm, "find", arguments, 2, text->length) : 0;
  for (; start + sought->length <= text->length; start++)
    if (memcmp(text->bytes + start, sought->bytes, sought->length) == 0) return number((double)start);
  return NIL;
}

static size_t item_text(value item, char text[NUMBER_TEXT], const char **bytes) {
  *bytes = is_string(item) ? to_string(item)->bytes : text;
  return is_string(item) ? to_string(item)->length : number_text(to_double(item), text);
}

/* Joins the strings and numbers of a list into one string, with a separator between them. */
CRADLE_MAY_COLLECT static value builtin_join(vm *vm, value *arguments, int count) {
  const cradle_kit_list *list = list_argument(vm, "join", arguments, 0);
  const cradle_kit_string *between = count > 1 ? string_argument(vm, "join", arguments, 1) : NULL;
  char text[NUMBER_TEXT];
  const char *bytes;
  size_t between_length = between == NULL ? 0 : between->length, total = 0;
  for (size_t i = 0; i < list->length; i++) {
    value item = cradle_kit_list_get(list, i);
    if (!is_number(item) && !is_string(item)) raise_error(vm, "join: item %zu is %s", i, kind_name(item));
    total += item_text(item, text, &bytes) + (i > 0 ? between_length : 0);
  }
  cradle_kit_string *made = cradle_kit_string_new(&vm->kit, NULL, total);
  list = to_list(arguments[0]);
  char *end = made->bytes;
  for (size_t i = 0; i < list->length; i++) {
    if (i > 0 && between_length > 0) memcpy(end, to_string(arguments[1])->bytes, between_length);
    if (i > 0) end += between_length;
    size_t length = item_text(cradle_kit_list_get(list, i), text, &bytes);
    memcpy(end, bytes, length);
    end += length;
  }
  return object(made);
}

/* The parts of a string between the occurrences of a separator. */
CRADLE_MAY_COLLECT static value builtin_split(vm *vm, value *arguments, int count) {
  (void)count;
  string_argument(vm, "split", arguments, 0);
  size_t between = string_argument(vm, "split", arguments, 1)->length;
  if (between == 0) raise_error(vm, "split: the separator is empty");
  cradle_kit_list *parts = cradle_kit_list_new(&vm->kit, 4);
  CRADLE_ROOT(vm->mutator, parts);
  for (size_t start = 0, end = 0;; end++) {
    cradle_kit_string *text = to_string(arguments[0]);
    bool is_last = end + between > text->length;
    if (!is_last && memcmp(text->bytes + end, to_string(arguments[1])->bytes, between) != 0) continue;
    cradle_kit_string *part = cradle_kit_string_slice(&vm->kit, text, start, is_last ? text->length : end);
    cradle_kit_list_append(&vm->kit, parts, object(part));
    if (is_last) return object(parts);
    start = end + between;
    end = start - 1;
  }
}

static value builtin_byte(vm *vm, value *arguments, int count) {
  (void)count;
  const cradle_kit_string *text = string_argument(vm, "byte", arguments, 0);
  if (text->length == 0) raise_error(vm, "byte: the string is empty");
  return number((unsigned char)text->bytes[index_argument(vm, "byte", arguments, 1, text->length - 1)]);
}

CRADLE_MAY_COLLECT static value builtin_char(vm *vm, value *arguments, int count) {
  (void)count;
  char byte = (char)(unsigned char)index_argument(vm, "char", arguments, 0, 255);
  return object(cradle_kit_string_new(&vm->kit, &byte, 1));
}

/* --- numbers --- */

static value builtin_floor(vm *vm, value *arguments, int count) {
  (void)count;
  return number(floor(number_argument(vm, "floor", arguments, 0)));
}
static value builtin_sqrt(vm *vm, value *arguments, int count) {
  (void)count;
  return number(sqrt(number_argument(vm, "sqrt", arguments, 0)));
}
static value builtin_abs(vm *vm, value *arguments, int count) {
  (void)count;
  return number(fabs(number_argument(vm, "abs", arguments, 0)));
}
static value builtin_min(vm *vm, value *arguments, int count) {
  double least = number_argument(vm, "min", arguments, 0);
  for (int i = 1; i < count; i++) least = fmin(least, number_argument(vm, "min", arguments, i));
  return number(least);
}
static value builtin_max(vm *vm, value *arguments, int count) {
  double most = number_argument(vm, "max", arguments, 0);
  for (int i = 1; i < count; i++) most = fmax(most, number_argument(vm, "max", arguments, i));
  return number(most);
}

/* --- the machine --- */

static value builtin_clock(vm *vm, value *arguments, int count) {
  (void)vm;
  (void)arguments;
  (void)count;
  return number((double)clock() / CLOCKS_PER_SEC);
}

CRADLE_MAY_COLLECT static value builtin_gc(vm *vm, value *arguments, int count) {
  (void)arguments;
  (void)count;
  cradle_collect(vm->mutator, CRADLE_COLLECT_FULL);
  return NIL;
}

static value builtin_assert(vm *vm, value *arguments, int count) {
  if (is_true(arguments[0])) return arguments[0];
  if (count > 1) raise_value(vm, arguments[1]);
  raise_error(vm, "the assertion does not hold");
}

/* --- the table --- */

static const native_description builtins[] = {
    {"abs", builtin_abs, 1, 1},       {"assert", builtin_assert, 1, 2}, {"byte", builtin_byte, 2, 2},
    {"char", builtin_char, 1, 1},     {"clock", builtin_clock, 0, 0},   {"find", builtin_find, 2, 3},
    {"floor", builtin_floor, 1, 1},   {"gc", builtin_gc, 0, 0},         {"has", builtin_has, 2, 2},
    {"input", builtin_input, 0, 0},   {"insert", builtin_insert, 3, 3}, {"join", builtin_join, 1, 2},
    {"keys", builtin_keys, 1, 1},     {"len", builtin_len, 1, 1},       {"max", builtin_max, 1, 200},
    {"min", builtin_min, 1, 200},     {"num", builtin_num, 1, 1},       {"pop", builtin_pop, 1, 1},
    {"print", builtin_print, 0, 200}, {"push", builtin_push, 2, 200},   {"remove", builtin_remove, 2, 2},
    {"slice", builtin_slice, 2, 3},   {"sort", builtin_sort, 1, 1},     {"split", builtin_split, 2, 2},
    {"sqrt", builtin_sqrt, 1, 1},     {"str", builtin_str, 1, 1},       {"type", builtin_type, 1, 1},
    {"write", builtin_write, 0, 200},
};

enum { BUILTINS = sizeof builtins / sizeof builtins[0] };

const cradle_image_symbol *image_symbols(size_t *count) {
  static cradle_image_symbol symbols[BUILTINS + 1];
  for (size_t i = 0; i < BUILTINS; i++) symbols[i] = (cradle_image_symbol){builtins[i].name, &builtins[i], NULL};
  symbols[BUILTINS] = (cradle_image_symbol){"strings as keys", &cradle_kit_keys_strings, NULL};
  *count = BUILTINS + 1;
  return symbols;
}

void define_builtins(vm *vm) {
  for (size_t i = 0; i < BUILTINS; i++) {
    push(vm, object(cradle_kit_string_new(&vm->kit, builtins[i].name, strlen(builtins[i].name))));
    uint32_t global = global_number(vm);
    native *made = CRADLE_NEW(vm->mutator, native, T_NATIVE);
    made->description = &builtins[i];
    ((value *)vm->globals.base)[global] = object(made);
  }
}
