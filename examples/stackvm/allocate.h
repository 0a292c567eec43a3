/* The allocations of the interpreter's loop, inline. What belongs together is carved out of one reservation: one check
 * for all, and nothing between can collect, so nothing between needs a root. */
#ifndef STACKVM_ALLOCATE_H
#define STACKVM_ALLOCATE_H

#include "vm.h"

#define FIELDS_LEAST 4

/* An instance of the class in a stack slot, with room for the fields that its instances had so far. */
static inline instance *new_instance(vm *vm, const value *class_slot) CRADLE_MAY_COLLECT {
  uint64_t known = to_class(*class_slot)->field_count, length = known > FIELDS_LEAST ? known : FIELDS_LEAST;
  size_t fields_bytes = sizeof(fields) + length * sizeof(value);
  cradle_reservation room = cradle_reserve(vm->mutator, sizeof(instance) + fields_bytes);
  instance *made = cradle_new_reserved(&room, T_INSTANCE, sizeof(instance));
  made->class = to_class(*class_slot);
  made->fields = cradle_new_reserved(&room, T_FIELDS, fields_bytes);
  made->fields->length = length;
  for (uint64_t i = 0; i < length; i++) made->fields->items[i] = UNDEFINED;
  return made;
}

/* The open upvalue of a slot, made from the reservation when there is none. */
static inline upvalue *find_open(vm *vm, cradle_reservation *room, size_t slot) {
  upvalue *higher = NULL, *here = vm->open_upvalues;
  while (here != NULL && here->slot > slot) {
    higher = here;
    here = here->next;
  }
  if (here != NULL && here->slot == slot) return here;
  upvalue *made = cradle_new_reserved(room, T_UPVALUE, sizeof(upvalue));
  made->slot = slot;
  made->closed = NIL;
  made->next = here;
  if (higher == NULL)
    vm->open_upvalues = made;
  else
    cradle_store(vm->mutator, higher, &higher->next, made);
  return made;
}

/* A closure of the running function, whose callee is in the slot base. */
static inline closure *new_closure(vm *vm, const prototype *prototype, size_t base) CRADLE_MAY_COLLECT {
  size_t count = prototype->upvalue_count, bytes = sizeof(closure) + count * sizeof(upvalue *);
  cradle_reservation room = cradle_reserve(vm->mutator, bytes + count * sizeof(upvalue));
  closure *made = cradle_new_reserved(&room, T_CLOSURE, bytes);
  made->prototype = prototype;
  made->upvalue_count = count;
  for (size_t i = 0; i < count; i++) {
    captured from = prototype->upvalues[i];
    made->upvalues[i] = from.is_local ? find_open(vm, &room, base + from.index)
                                      : to_closure(stack_base(vm)[base])->upvalues[from.index];
  }
  return made;
}

#endif
