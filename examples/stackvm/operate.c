#include "operate.h"

#include <math.h>

#include "lexer.h"

/* Replaces the top count values by one value. */
static void replace(vm *vm, size_t count, value v) {
  value *top = stack_top(vm) - count;
  *top = v;
  vm->stack.top = top + 1;
}

/* --- arithmetic --- */

static const char *const signs[INSTRUCTION_COUNT] = {
    [DO_ADD] = "+",  [DO_SUBTRACT] = "-",    [DO_MULTIPLY] = "*", [DO_DIVIDE] = "/",         [DO_MODULO] = "%",
    [DO_LESS] = "<", [DO_LESS_EQUAL] = "<=", [DO_GREATER] = ">",  [DO_GREATER_EQUAL] = ">=",
};

_Noreturn static void raise_operands(vm *vm, instruction instruction) {
  const value *operands = stack_top(vm) - 2;
  raise_error(vm, "\"%s\" cannot be used with %s and %s", signs[instruction], kind_name(operands[0]),
              kind_name(operands[1]));
}

/* The bytes of a string, or of a number, whose text is written to text. */
static size_t text_length(value v, char text[NUMBER_TEXT]) {
  return is_string(v) ? to_string(v)->length : number_text(to_double(v), text);
}
static const char *text_bytes(value v, const char *text) {
  return is_string(v) ? to_string(v)->bytes : text;
}

void operate_add(vm *vm) {
  char left[NUMBER_TEXT], right[NUMBER_TEXT];
  if (!is_string(stack_top(vm)[-1]) && !is_string(stack_top(vm)[-2])) raise_operands(vm, DO_ADD);
  for (int i = 1; i <= 2; i++) {
    if (is_number(stack_top(vm)[-i])) continue;
    cradle_kit_string *text = to_text(vm, stack_top(vm)[-i]);
    stack_top(vm)[-i] = object(text);
  }
  size_t left_length = text_length(stack_top(vm)[-2], left), right_length = text_length(stack_top(vm)[-1], right);
  cradle_kit_string *joined = cradle_kit_string_new(&vm->kit, NULL, left_length + right_length);
  const value *operands = stack_top(vm) - 2; /* where they are now */
  memcpy(joined->bytes, text_bytes(operands[0], left), left_length);
  memcpy(joined->bytes + left_length, text_bytes(operands[1], right), right_length);
  replace(vm, 2, object(joined));
}

/* The remainder with the sign of b, as floor division needs it. */
double modulo(double a, double b) {
  if (fabs(a) < 1e15 && fabs(b) < 1e15 && a == (double)(int64_t)a && b == (double)(int64_t)b && b != 0) {
    int64_t rest = (int64_t)a % (int64_t)b;
    return (double)(rest != 0 && (rest < 0) != (b < 0) ? rest + (int64_t)b : rest);
  }
  double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

void operate_arithmetic(vm *vm, instruction instruction) {
  const value *operands = stack_top(vm) - 2;
  if (!are_numbers(operands[0], operands[1])) raise_operands(vm, instruction);
  double a = to_double(operands[0]), b = to_double(operands[1]);
  switch (instruction) {
  case DO_SUBTRACT: replace(vm, 2, number(a - b)); break;
  case DO_MULTIPLY: replace(vm, 2, number(a * b)); break;
  case DO_DIVIDE: replace(vm, 2, number(a / b)); break;
  default: replace(vm, 2, number(modulo(a, b))); break;
  }
}

void operate_compare(vm *vm, instruction instruction) {
  const value *operands = stack_top(vm) - 2;
  if (!is_string(operands[0]) || !is_string(operands[1])) raise_operands(vm, instruction);
  int order = cradle_kit_string_compare(to_string(operands[0]), to_string(operands[1]));
  switch (instruction) {
  case DO_LESS: replace(vm, 2, boolean(order < 0)); break;
  case DO_LESS_EQUAL: replace(vm, 2, boolean(order <= 0)); break;
  case DO_GREATER: replace(vm, 2, boolean(order > 0)); break;
  default: replace(vm, 2, boolean(order >= 0)); break;
  }
}

void raise_undefined(vm *vm, unsigned global) {
  const cradle_kit_map *names = vm->global_numbers;
  size_t entry = cradle_kit_map_next(names, 0);
  while (cradle_kit_map_value_at(names, entry) != number(global)) entry = cradle_kit_map_next(names, entry + 1);
  const cradle_kit_string *name = to_string(cradle_kit_map_key_at(names, entry));
  raise_error(vm, "there is no variable \"%.*s\"", (int)name->length, name->bytes);
}

/* --- items --- */

static size_t list_index(vm *vm, size_t length, value index) {
  size_t i;
  if (!is_number(index)) raise_error(vm, "the index is %s; a number is wanted", kind_name(index));
  if (!to_index(index, length, &i) || i == length) {
    char text[NUMBER_TEXT];
    number_text(to_double(index), text);
    raise_error(vm, "the index is %s, and the length %zu", text, length);
  }
  return i;
}

void get_index(vm *vm) {
  value collection = stack_top(vm)[-2], key = stack_top(vm)[-1];
  if (is_a(collection, T_MAP)) {
    replace(vm, 2, cradle_kit_map_get(&vm->kit, to_map(collection), to_key(key), NIL));
  } else if (is_a(collection, T_LIST)) {
    replace(vm, 2, cradle_kit_list_get(to_list(collection), list_index(vm, to_list(collection)->length, key)));
  } else {
    raise_error(vm, "%s has no items", kind_name(collection));
  }
}

void set_index(vm *vm) {
  value collection = stack_top(vm)[-3], key = stack_top(vm)[-2], item = stack_top(vm)[-1];
  if (is_a(collection, T_MAP)) {
    cradle_kit_map_set(&vm->kit, to_map(collection), to_key(key), item);
  } else if (is_a(collection, T_LIST)) {
    cradle_kit_list_set(&vm->kit, to_list(collection), list_index(vm, to_list(collection)->length, key), item);
  } else {
    raise_error(vm, "%s has no items to be set", kind_name(collection));
  }
  vm->stack.top = stack_top(vm) - 3;
}

/* --- fields --- */

_Noreturn static void raise_no_member(vm *vm, value of, value name) {
  const cradle_kit_string *text = to_string(name);
  if (is_a(of, T_INSTANCE)) {
    const cradle_kit_string *class_name = to_instance(of)->class->name;
    raise_error(vm, "%.*s has no field or method \"%.*s\"", (int)class_name->length, class_name->bytes,
                (int)text->length, text->bytes);
  }
  raise_error(vm, "%s has no field \"%.*s\"", kind_name(of), (int)text->length, text->bytes);
}

CRADLE_MAY_COLLECT static value bind(vm *vm, const value *receiver, closure *method) {
  CRADLE_ROOT(vm->mutator, method);
  bound *made = CRADLE_NEW(vm->mutator, bound, T_BOUND);
  made->receiver = *receiver;
  made->method = method;
  return object(made);
}

static closure *method_of(const class *of, uint32_t member) {
  return to_closure(cradle_kit_list_get(of->methods, member & ~MEMBER_METHOD));
}

void get_field(vm *vm, value name, inline_cache *cache) {
  value of = stack_top(vm)[-1];
  if (is_a(of, T_MAP)) {
    replace(vm, 1, cradle_kit_map_get(&vm->kit, to_map(of), name, NIL));
    return;
  }
  if (!is_a(of, T_INSTANCE)) raise_no_member(vm, of, name);
  const instance *instance = to_instance(of);
  uint32_t member = find_member(vm, instance->class, to_string(name));
  if (member == MEMBER_NONE) raise_no_member(vm, of, name);
  *cache = (inline_cache){instance->class->id, member};
  if (member & MEMBER_METHOD) {
    replace(vm, 1, bind(vm, stack_top(vm) - 1, method_of(instance->class, member)));
    return;
  }
  if (member >= instance->fields->length || instance->fields->items[member] == UNDEFINED) raise_no_member(vm, of, name);
  replace(vm, 1, instance->fields->items[member]);
}

void put_field(vm *vm, value name, inline_cache *cache) {
  value of = stack_top(vm)[-2];
  if (is_a(of, T_MAP)) {
    cradle_kit_map_set(&vm->kit, to_map(of), name, stack_top(vm)[-1]);
  } else if (is_a(of, T_INSTANCE)) {
    uint32_t member = want_field(vm, to_instance(of)->class, to_string(name));
    instance *instance = to_instance(stack_top(vm)[-2]); /* want_field may have moved it */
    if (member & MEMBER_METHOD) raise_error(vm, "a method cannot be set");
    *cache = (inline_cache){instance->class->id, member};
    set_field(vm, instance, member, stack_top(vm)[-1]);
  } else {
    raise_error(vm, "%s has no fields to be set", kind_name(of));
  }
  vm->stack.top = stack_top(vm) - 2;
}

void get_super(vm *vm, value name) {
  want(vm, is_a(stack_top(vm)[-1], T_CLASS));
  const class *parent = to_class(stack_top(vm)[-1]);
  uint32_t member = find_member(vm, parent, to_string(name));
  if (member == MEMBER_NONE || !(member & MEMBER_METHOD))
    raise_error(vm, "the parent has no method \"%.*s\"", (int)to_string(name)->length, to_string(name)->bytes);
  replace(vm, 2, bind(vm, stack_top(vm) - 2, method_of(parent, member)));
}

/* --- literals and classes --- */

void make_list(vm *vm, size_t count) {
  cradle_kit_list *made = cradle_kit_list_new(&vm->kit, count);
  const value *items = stack_top(vm) - count;
  // cradle-rootcheck: ok an append with room does not collect
  for (size_t i = 0; i < count; i++) cradle_kit_list_append(&vm->kit, made, items[i]);
  replace(vm, count, object(made)); // cradle-rootcheck: ok there was room
}

void extend_list(vm *vm, size_t count) {
  size_t first = array_count(&vm->stack) - count;
  want(vm, is_a(stack_base(vm)[first - 1], T_LIST));
  for (size_t i = first; i < first + count; i++)
    cradle_kit_list_append(&vm->kit, to_list(stack_base(vm)[first - 1]), stack_base(vm)[i]);
  vm->stack.top = stack_top(vm) - count;
}

void make_map(vm *vm, size_t count) {
  array_reserve(vm, &vm->stack, 1);
  cradle_kit_map *made = cradle_kit_map_new(&vm->kit, &cradle_kit_keys_strings);
  memmove(stack_top(vm) - 2 * count + 1, stack_top(vm) - 2 * count, 2 * count * sizeof(value));
  *(stack_top(vm) - 2 * count) = object(made);
  vm->stack.top = stack_top(vm) + 1;
  extend_map(vm, count);
}

void extend_map(vm *vm, size_t count) {
  want(vm, is_a(*(stack_top(vm) - 2 * count - 1), T_MAP));
  for (size_t i = 0; i < count; i++) {
    const value *pair = stack_top(vm) - 2 * (count - i);
    cradle_kit_map_set(&vm->kit, to_map(*(stack_top(vm) - 2 * count - 1)), to_key(pair[0]), pair[1]);
  }
  vm->stack.top = stack_top(vm) - 2 * count;
}

void make_class(vm *vm, value name) {
  class *made = new_class(vm, to_string(name));
  replace(vm, 0, object(made));
}

void operate_inherit(vm *vm) {
  value parent = stack_top(vm)[-2];
  if (!is_a(parent, T_CLASS)) raise_error(vm, "the parent of a class is %s", kind_name(parent));
  want(vm, is_a(stack_top(vm)[-1], T_CLASS));
  inherit(vm, to_class(stack_top(vm)[-1]), to_class(parent));
  pop(vm);
}

/* --- for --- */

/* Pushes a character of a string; a byte that is not UTF-8 is a character of its own. */
CRADLE_MAY_COLLECT static size_t push_character(vm *vm, cradle_kit_string *string, size_t start) {
  size_t bytes = character_bytes(string->bytes + start, string->length - start);
  if (bytes == 0) bytes = 1;
  cradle_kit_string *made = cradle_kit_string_slice(&vm->kit, string, start, start + bytes);
  replace(vm, 0, object(made));
  return start + bytes;
}

bool next_item(vm *vm, size_t slot, bool pair) {
  value collection = stack_base(vm)[slot], counter = stack_base(vm)[slot + 1];
  want(vm, is_number(counter) && to_double(counter) >= 0 && to_double(counter) < 0x1p53);
  size_t at = (size_t)to_double(counter), next = at + 1;
  if (is_a(collection, T_LIST)) {
    if (at >= to_list(collection)->length) return false;
    if (pair) replace(vm, 0, number((double)at));
    replace(vm, 0, cradle_kit_list_get(to_list(collection), at));
  } else if (is_a(collection, T_MAP)) {
    size_t entry = cradle_kit_map_next(to_map(collection), at);
    if (entry == CRADLE_KIT_MAP_NONE) return false;
    replace(vm, 0, cradle_kit_map_key_at(to_map(collection), entry));
    if (pair) replace(vm, 0, cradle_kit_map_value_at(to_map(collection), entry));
    next = entry + 1;
  } else if (is_string(collection)) {
    if (at >= to_string(collection)->length) return false;
    if (pair) replace(vm, 0, number((double)at));
    next = push_character(vm, to_string(collection), at);
  } else {
    raise_error(vm, "for cannot go over %s", kind_name(collection));
  }
  stack_base(vm)[slot + 1] = number((double)next);
  return true;
}
