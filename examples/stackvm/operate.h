/* The instructions beyond their fast cases in interpreter.c. Like its instruction, each function takes its operands
 * from the value stack and leaves its result there. All may raise errors. */
#ifndef STACKVM_OPERATE_H
#define STACKVM_OPERATE_H

#include "vm.h"

/* What the compiler makes sure of, and check_code (verify.c) does not know of the code of an image. */
static inline void want(vm *vm, bool holds) {
  if (CRADLE_UNLIKELY(!holds)) raise_error(vm, "the code is damaged: a value is not of the kind that it needs");
}

/* --- operate.c --- */

void operate_add(vm *vm) CRADLE_MAY_COLLECT; /* numbers, or strings with anything */
/* SUBTRACT to MODULO. */
void operate_arithmetic(vm *vm, instruction instruction);
/* LESS to GREATER_EQUAL, of numbers or of strings. */
void operate_compare(vm *vm, instruction instruction);
double modulo(double a, double b);

void get_index(vm *vm);
void set_index(vm *vm) CRADLE_MAY_COLLECT;
void get_field(vm *vm, value name, inline_cache *cache) CRADLE_MAY_COLLECT;
void put_field(vm *vm, value name, inline_cache *cache) CRADLE_MAY_COLLECT;
void get_super(vm *vm, value name) CRADLE_MAY_COLLECT;

void make_list(vm *vm, size_t count) CRADLE_MAY_COLLECT;
void extend_list(vm *vm, size_t count) CRADLE_MAY_COLLECT;
void make_map(vm *vm, size_t count) CRADLE_MAY_COLLECT;
void extend_map(vm *vm, size_t count) CRADLE_MAY_COLLECT;
void make_class(vm *vm, value name) CRADLE_MAY_COLLECT;
void operate_inherit(vm *vm) CRADLE_MAY_COLLECT;

/* Pushes the next key of the collection in a stack slot and, with pair, its item. The slot above the collection is the
 * counter. false: the last key is past. */
bool next_item(vm *vm, size_t slot, bool pair) CRADLE_MAY_COLLECT;

_Noreturn void raise_undefined(vm *vm, unsigned global);

/* --- call.c --- */

/* Calls the value below count arguments. A closure gets a frame; anything else that can be called leaves its result. */
void call_value(vm *vm, size_t count) CRADLE_MAY_COLLECT;
/* INVOKE: below the arguments, the object is on the stack twice. */
void invoke(vm *vm, value name, inline_cache *cache, size_t count) CRADLE_MAY_COLLECT;
/* Makes a frame for the closure that lies below the top slots - 1 values; the number of arguments was checked. */
void enter(vm *vm, const closure *closure, size_t slots);
_Noreturn void raise_arity(vm *vm, const char *name, int least, int most, size_t count);
/* Whether there is room for a frame of the prototype whose slots begin at base. */
static inline bool has_room(const vm *vm, const prototype *prototype, const value *base) {
  return vm->frame_count < vm->frame_room && (size_t)((value *)vm->stack.limit - base) > prototype->stack_need;
}

void open_try(vm *vm, const uint8_t *next);
/* Goes to the innermost handler, whose frame becomes the current one, with the error on the stack. */
void land_error(vm *vm) CRADLE_MAY_COLLECT;

#endif
