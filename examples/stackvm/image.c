/* Heap images. Objects are saved as they are. What lies outside of the heap is copied into a list for it: constants,
 * globals, and for each prototype an object with its contents. Closures know the numbers of their prototypes. */
#include "vm.h"

#include <stdlib.h>

enum { STATE_CONSTANTS, STATE_GLOBALS, STATE_CODE, STATE_CONSTANT_NUMBERS, STATE_GLOBAL_NUMBERS, STATE_CLASS_COUNT };

/* --- prototypes --- */

/* An array of a prototype. Inline caches are not saved: they begin empty. */
typedef struct part {
  void **items;
  uint32_t *count;
  size_t item_bytes;
} part;
#define PART(items, count) {(void **)&of->items, &of->count, sizeof *of->items}

typedef struct parts {
  part of[CODE_PARTS];
} parts;

static parts find_parts(prototype *of) {
  return (parts){{PART(name, name_bytes), PART(file, file_bytes), PART(code, code_count), PART(lines, line_count),
                  PART(upvalues, upvalue_count)}};
}

CRADLE_MAY_COLLECT static code *pack(vm *vm, prototype *from) {
  parts parts = find_parts(from);
  size_t bytes = 0, at = 0;
  for (int i = 0; i < CODE_PARTS; i++) bytes += *parts.of[i].count * parts.of[i].item_bytes;
  code *made = CRADLE_NEW_ARRAY(vm->mutator, code, T_CODE, bytes, length, bytes);
  made->arity = (uint32_t)from->arity;
  made->stack_need = from->stack_need;
  made->cache_count = from->cache_count;
  made->is_method = from->is_method;
  for (int i = 0; i < CODE_PARTS; i++) {
    size_t part_bytes = *parts.of[i].count * parts.of[i].item_bytes;
    if (part_bytes > 0) memcpy(made->bytes + at, *parts.of[i].items, part_bytes);
    made->counts[i] = *parts.of[i].count;
    at += part_bytes;
  }
  return made;
}

/* Fills in what check_code checks then. false: there is no memory, or from contradicts itself. */
static bool unpack(prototype *into, const code *from) {
  parts parts = find_parts(into);
  size_t at = 0;
  if (from->arity > UINT8_MAX || from->cache_count > from->length) return false;
  into->arity = (int)from->arity;
  into->is_method = from->is_method != 0;
  into->stack_need = from->stack_need;
  into->cache_count = from->cache_count;
  into->caches = calloc(from->cache_count + 1, sizeof *into->caches);
  if (into->caches == NULL) return false;
  for (int i = 0; i < CODE_PARTS; i++) {
    size_t bytes = from->counts[i] * parts.of[i].item_bytes;
    if (bytes > from->length - at) return false;
    *parts.of[i].count = from->counts[i];
    *parts.of[i].items = malloc(bytes + 1);
    if (*parts.of[i].items == NULL) return false;
    memcpy(*parts.of[i].items, from->bytes + at, bytes);
    at += bytes;
  }
  return at == from->length && into->upvalue_count <= into->fewest_upvalues;
}

/* The prototype with a number, which is empty until take_code fills it. NULL when memory runs out. */
static prototype *prototype_at(vm *vm, uint32_t number) {
  while (number >= vm->prototype_count) {
    if (!grow(vm->prototypes, vm->prototype_count, vm->prototype_room)) return NULL;
    prototype *made = calloc(1, sizeof *made);
    if (made == NULL) return NULL;
    made->number = vm->prototype_count;
    made->fewest_upvalues = UINT32_MAX;
    vm->prototypes[vm->prototype_count++] = made;
  }
  return vm->prototypes[number];
}

void mend_closure(void *user, void *object) {
  vm *vm = user;
  closure *closure = object;
  prototype *of = closure->number < OPERANDS_MAX ? prototype_at(vm, (uint32_t)closure->number) : NULL;
  if (of == NULL) raise_error(vm, "no memory for the code of the image");
  if (closure->upvalue_count < of->fewest_upvalues) of->fewest_upvalues = (uint32_t)closure->upvalue_count;
  closure->prototype = of;
}

static void take_code(vm *vm, const cradle_kit_list *codes) {
  for (size_t i = 0; i < codes->length; i++) {
    prototype *into = prototype_at(vm, (uint32_t)i);
    value from = cradle_kit_list_get(codes, i);
    if (into == NULL || !is_a(from, T_CODE) || !unpack(into, address(from)))
      raise_error(vm, "no memory for the code of the image, or it is damaged");
  }
  if (vm->prototype_count > codes->length) raise_error(vm, "the image is damaged: it lacks code");
  for (uint32_t i = 0; i < vm->prototype_count; i++) check_code(vm, vm->prototypes[i]);
}

/* --- saving --- */

/* Appends to the list on top of the stack. */
CRADLE_MAY_COLLECT static void add(vm *vm, value v) {
  if (!cradle_kit_list_append(&vm->kit, to_list(stack_top(vm)[-1]), v)) raise_out_of_memory(vm);
}
CRADLE_MAY_COLLECT static void push_list(vm *vm) {
  push(vm, object(cradle_kit_list_new(&vm->kit, 0)));
}
/* Adds the list on top of the stack, which is popped, to the list below. */
CRADLE_MAY_COLLECT static void end_list(vm *vm) {
  value list = pop(vm);
  add(vm, list);
}
CRADLE_MAY_COLLECT static void add_array(vm *vm, const value_array *array) {
  push_list(vm);
  for (size_t i = 0; i < array_count(array); i++) add(vm, ((const value *)array->base)[i]);
  end_list(vm);
}

void save_image(vm *vm, const char *path) {
  cradle_image_root root = {"state", &vm->state, CRADLE_KIND_VALUE};
  size_t count;
  const cradle_image_symbol *symbols = image_symbols(&count);
  cradle_image_contents contents = {.roots = &root, .root_count = 1, .symbols = symbols, .symbol_count = count};
  cradle_error error;
  snprintf(vm->message, sizeof vm->message, "out of memory");
  push_list(vm);
  add_array(vm, &vm->constants);
  add_array(vm, &vm->globals);
  push_list(vm);
  for (uint32_t i = 0; i < vm->prototype_count; i++) add(vm, object(pack(vm, vm->prototypes[i])));
  end_list(vm);
  add(vm, object(vm->constant_numbers));
  add(vm, object(vm->global_numbers));
  add(vm, number((double)vm->class_count));
  vm->state = pop(vm);
  if (!cradle_image_save(vm->mutator, path, &contents, &error)) raise_error(vm, "%s", error.message);
  vm->state = NIL;
}

/* --- loading --- */

static value state_part(const vm *vm, size_t index) {
  return cradle_kit_list_get(to_list(vm->state), index);
}

static void take_array(vm *vm, value_array *array, value of) {
  const cradle_kit_list *list = to_list(of);
  array_reserve(vm, array, list->length);
  for (size_t i = 0; i < list->length; i++) ((value *)array->base)[i] = cradle_kit_list_get(list, i);
  array->top = (value *)array->base + list->length;
}

void take_image(vm *vm) {
  vm->state = cradle_image_root_get(vm->heap, "state");
  if (!is_a(vm->state, T_LIST)) raise_error(vm, "the image is not one of stackvm");
  take_array(vm, &vm->constants, state_part(vm, STATE_CONSTANTS));
  take_array(vm, &vm->globals, state_part(vm, STATE_GLOBALS));
  take_code(vm, to_list(state_part(vm, STATE_CODE)));
  vm->constant_numbers = to_map(state_part(vm, STATE_CONSTANT_NUMBERS));
  vm->global_numbers = to_map(state_part(vm, STATE_GLOBAL_NUMBERS));
  vm->class_count = (uint64_t)to_double(state_part(vm, STATE_CLASS_COUNT));
  vm->state = NIL;
}
