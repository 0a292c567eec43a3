#include "object.h"

#include "vm.h"

const cradle_type object_types[T_COUNT] = {
    [T_CLOSURE] = {.name = "closure",
                   .size = sizeof(closure),
                   .items = CRADLE_ITEMS_REFERENCES,
                   .item_size = 8,
                   .length_offset = offsetof(closure, upvalue_count),
                   .mend = mend_closure},
    [T_UPVALUE] = {.name = "upvalue",
                   .size = sizeof(upvalue),
                   .values = CRADLE_SLOT(upvalue, closed),
                   .references = CRADLE_SLOT(upvalue, next)},
    [T_CLASS] = {.name = "class",
                 .size = sizeof(class),
                 .references = CRADLE_SLOT(class, name) | CRADLE_SLOT(class, members) | CRADLE_SLOT(class, methods) |
                               CRADLE_SLOT(class, parent)},
    [T_INSTANCE] = {.name = "instance",
                    .size = sizeof(instance),
                    .references = CRADLE_SLOT(instance, class) | CRADLE_SLOT(instance, fields)},
    [T_FIELDS] = {.name = "fields",
                  .size = sizeof(fields),
                  .items = CRADLE_ITEMS_VALUES,
                  .item_size = 8,
                  .length_offset = offsetof(fields, length)},
    [T_BOUND] = {.name = "bound method",
                 .size = sizeof(bound),
                 .values = CRADLE_SLOT(bound, receiver),
                 .references = CRADLE_SLOT(bound, method)},
    [T_NATIVE] = {.name = "builtin", .size = sizeof(native), .symbols = CRADLE_SLOT(native, description)},
    [T_CODE] = {.name = "code",
                .size = sizeof(code),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(code, length)},
    CRADLE_KIT_ROWS(T_KIT),
};

const char *kind_name(value v) {
  if (is_number(v)) return "a number";
  if (v == NIL) return "nil";
  if (!is_object(v)) return "a boolean";
  switch (cradle_type_of(address(v))) {
  case T_STRING: return "a string";
  case T_LIST: return "a list";
  case T_MAP: return "a map";
  case T_CLASS: return "a class";
  case T_INSTANCE: return "an instance";
  default: return "a function";
  }
}

bool equal_values(value a, value b) {
  if (are_numbers(a, b)) return to_double(a) == to_double(b);
  if (a == b) return true;
  return is_string(a) && is_string(b) && cradle_kit_string_compare(to_string(a), to_string(b)) == 0;
}

value to_key(value v) {
  if (!is_number(v)) return v;
  double n = to_double(v);
  return n != n ? number(__builtin_nan("")) : number(n + 0.0);
}

/* --- classes --- */

class *new_class(vm *vm, cradle_kit_string *name) {
  CRADLE_ROOT(vm->mutator, name);
  cradle_kit_map *members = cradle_kit_map_new(&vm->kit, &cradle_kit_keys_strings);
  CRADLE_ROOT(vm->mutator, members);
  cradle_kit_list *methods = cradle_kit_list_new(&vm->kit, 4);
  CRADLE_ROOT(vm->mutator, methods);
  class *made = CRADLE_NEW(vm->mutator, class, T_CLASS);
  made->name = name;
  made->members = members;
  made->methods = methods;
  made->id = ++vm->class_count;
  made->init = MEMBER_NONE;
  return made;
}

CRADLE_MAY_COLLECT static void set_member(vm *vm, class *of, cradle_kit_string *name, uint32_t member) {
  cradle_kit_map_set(&vm->kit, of->members, object(name), number(member));
}

void inherit(vm *vm, class *into, class *parent) {
  CRADLE_ROOT(vm->mutator, into);
  CRADLE_ROOT(vm->mutator, parent);
  cradle_store(vm->mutator, into, &into->parent, parent);
  into->field_count = parent->field_count;
  into->init = parent->init;
  for (size_t i = 0; i < parent->methods->length; i++)
    cradle_kit_list_append(&vm->kit, into->methods, cradle_kit_list_get(parent->methods, i));
  for (size_t e = cradle_kit_map_next(parent->members, 0); e != CRADLE_KIT_MAP_NONE;
       e = cradle_kit_map_next(parent->members, e + 1))
    cradle_kit_map_set(&vm->kit, into->members, cradle_kit_map_key_at(parent->members, e),
                       cradle_kit_map_value_at(parent->members, e));
}

void add_method(vm *vm, class *into, cradle_kit_string *name, closure *method) {
  CRADLE_ROOT(vm->mutator, into);
  CRADLE_ROOT(vm->mutator, name);
  uint32_t member = (uint32_t)into->methods->length | MEMBER_METHOD;
  cradle_kit_list_append(&vm->kit, into->methods, object(method));
  set_member(vm, into, name, member);
  if (name->length == 4 && memcmp(name->bytes, "init", 4) == 0) into->init = member;
}

uint32_t find_member(vm *vm, const class *of, cradle_kit_string *name) {
  value member = cradle_kit_map_get(&vm->kit, of->members, object(name), UNDEFINED);
  return member == UNDEFINED ? MEMBER_NONE : (uint32_t)to_double(member);
}

uint32_t want_field(vm *vm, class *of, cradle_kit_string *name) {
  uint32_t member = find_member(vm, of, name);
  if (member != MEMBER_NONE) return member;
  if (of->field_count == FIELDS_MAX) raise_error(vm, "a class has no room for more than %d fields", FIELDS_MAX);
  CRADLE_ROOT(vm->mutator, of);
  member = (uint32_t)of->field_count;
  set_member(vm, of, name, member);
  of->field_count++;
  return member;
}

CRADLE_MAY_COLLECT static void grow_fields(vm *vm, instance *of, size_t length) {
  CRADLE_ROOT(vm->mutator, of);
  fields *larger = CRADLE_NEW_ARRAY(vm->mutator, fields, T_FIELDS, items, length, length);
  for (size_t i = 0; i < length; i++) larger->items[i] = i < of->fields->length ? of->fields->items[i] : UNDEFINED;
  cradle_store(vm->mutator, of, &of->fields, larger);
}

void set_field(vm *vm, instance *of, uint32_t number, value v) {
  CRADLE_ROOT(vm->mutator, of);
  if (number >= of->fields->length) {
    CRADLE_ROOT_VALUE(vm->mutator, v);
    grow_fields(vm, of, 2 * (size_t)number);
  }
  cradle_store_value(vm->mutator, of->fields, &of->fields->items[number], v);
}
