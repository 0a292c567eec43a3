/* The allocations of the interpreter's loop, inline. Objects that belong together are carved out of one reservation.
 * That takes one check, and nothing can collect between them, so none of them needs a root. */
#ifndef STACKVM_ALLOCATE_H
#define STACKVM_ALLOCATE_H

#include "vm.h"

#define FIELDS_LEAST 4

/* Makes an instance of the class that is in a stack slot, with room for as many fields as instances of the class have
 * had so far. */
static inline instance *new_instance(vm *vm, const value *class_slot) CRADLE_MAY_COLLECT {
  uint64_t known = to_class(*class_slot)->field_count, length = known > FIELDS_LEAST ? known : FIELDS_LEAST;
  cradle_reservation room = cradle_reserve(vm->mutator, sizeof(instance) + CRADLE_ARRAY_BYTES(fields, items, length));
  instance *made = CRADLE_NEW_RESERVED(&room, instance, T_INSTANCE);
  made->class = to_class(*class_slot);
  made->fields = CRADLE_NEW_RESERVED_ARRAY(&room, fields, T_FIELDS, items, length, length);
  for (uint64_t i = 0; i < length; i++) made->fields->items[i] = UNDEFINED;
  return made;
}

/* Returns the open upvalue of a slot; makes it from the reservation if there is none. */
static inline upvalue *find_open(vm *vm, cradle_reservation *room, size_t slot) {
  upvalue *higher = NULL, *here = vm->open_upvalues;
  while (here != NULL && here->slot > slot) {
    higher = here;
    here = here->next;
  }
  if (here != NULL && here->slot == slot) return here;
  upvalue *made = CRADLE_NEW_RESERVED(room, upvalue, T_UPVALUE);
  made->slot = slot;
  made->closed = NIL;
  made->next = here;
  if (higher == NULL)
    vm->open_upvalues = made;
  else
    cradle_store(vm->mutator, higher, &higher->next, made);
  return made;
}

/* Makes a closure in the running function, whose callee is in the slot base. */
static inline closure *new_closure(vm *vm, const prototype *prototype, size_t base) CRADLE_MAY_COLLECT {
  size_t count = prototype->upvalue_count;
  cradle_reservation room =
      cradle_reserve(vm->mutator, CRADLE_ARRAY_BYTES(closure, upvalues, count) + count * sizeof(upvalue));
  closure *made = CRADLE_NEW_RESERVED_ARRAY(&room, closure, T_CLOSURE, upvalues, upvalue_count, count);
  made->prototype = prototype;
  made->number = prototype->number;
  for (size_t i = 0; i < count; i++) {
    captured from = prototype->upvalues[i];
    made->upvalues[i] = from.is_local ? find_open(vm, &room, base + from.index)
                                      : to_closure(stack_base(vm)[base])->upvalues[from.index];
  }
  return made;
}

#endif
