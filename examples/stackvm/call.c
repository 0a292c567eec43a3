/* Calls, frames and the handlers of try. */

#include "allocate.h"
#include "operate.h"

/* --- frames --- */

/* Makes room for a frame whose slots begin at base, or raises an error. */
static void make_room(vm *vm, const prototype *prototype, size_t base) {
  size_t used = array_count(&vm->stack);
  if (vm->frame_count >= FRAMES_MAX || base + prototype->stack_need > STACK_MAX)
    raise_error(vm, "stack overflow: %u calls are open", vm->frame_count);
  if (!grow(vm->frames, vm->frame_count, vm->frame_room)) raise_out_of_memory(vm);
  array_reserve(vm, &vm->stack, base + prototype->stack_need + 1 - used);
}

void enter(vm *vm, const closure *closure, size_t slots) {
  const prototype *prototype = closure->prototype;
  size_t base = array_count(&vm->stack) - slots;
  if (!has_room(vm, prototype, stack_base(vm) + base)) make_room(vm, prototype, base);
  vm->frames[vm->frame_count++] = (frame){prototype, prototype->code, base};
}

void raise_arity(vm *vm, const char *name, int least, int most, size_t count) {
  if (least == most)
    raise_error(vm, "%s wants %d argument%s and got %zu", name, least, least == 1 ? "" : "s", count);
  else
    raise_error(vm, "%s wants %d to %d arguments and got %zu", name, least, most, count);
}

static void enter_checked(vm *vm, const closure *closure, size_t count, size_t slots) {
  const prototype *prototype = closure->prototype;
  if (count != (size_t)prototype->arity) raise_arity(vm, prototype->name, prototype->arity, prototype->arity, count);
  enter(vm, closure, slots);
}

/* --- calls --- */

CRADLE_MAY_COLLECT static void call_native(vm *vm, const native_description *native, size_t count) {
  if (count < (size_t)native->least || count > (size_t)native->most)
    raise_arity(vm, native->name, native->least, native->most, count);
  value *arguments = stack_top(vm) - count;
  arguments[-1] = native->function(vm, arguments, (int)count);
  vm->stack.top = arguments;
}

/* Puts a receiver between callee and arguments. */
static void insert_receiver(vm *vm, value receiver, size_t count) {
  array_reserve(vm, &vm->stack, 1);
  value *arguments = stack_top(vm) - count;
  memmove(arguments + 1, arguments, count * sizeof(value));
  *arguments = receiver;
  vm->stack.top = stack_top(vm) + 1;
}

CRADLE_MAY_COLLECT static void call_class(vm *vm, size_t count) {
  value *callee = stack_top(vm) - count - 1;
  instance *made = new_instance(vm, callee);
  const class *of = made->class;
  if (of->init == MEMBER_NONE) {
    if (count > 0) raise_error(vm, "%.*s has no init and wants no arguments", (int)of->name->length, of->name->bytes);
    *callee = object(made);
    return;
  }
  closure *init = to_closure(cradle_kit_list_get(of->methods, of->init & ~MEMBER_METHOD));
  *callee = object(init);
  insert_receiver(vm, object(made), count);
  enter_checked(vm, init, count, count + 2);
}

void call_value(vm *vm, size_t count) {
  value *callee = stack_top(vm) - count - 1;
  if (!is_object(*callee)) raise_error(vm, "%s cannot be called", kind_name(*callee));
  switch (cradle_type_of(address(*callee))) {
  case T_CLOSURE: enter_checked(vm, to_closure(*callee), count, count + 1); break;
  case T_NATIVE: call_native(vm, ((native *)address(*callee))->description, count); break;
  case T_CLASS: call_class(vm, count); break;
  case T_BOUND: {
    const bound *bound = address(*callee);
    *callee = object(bound->method);
    insert_receiver(vm, bound->receiver, count);
    enter_checked(vm, bound->method, count, count + 2);
    break;
  }
  default: raise_error(vm, "%s cannot be called", kind_name(*callee));
  }
}

/* Calls a function that is the value of a field. The function and the arguments move down over both copies of the
 * object. */
CRADLE_MAY_COLLECT static void call_field(vm *vm, value function, size_t count) {
  value *object = stack_top(vm) - count - 2;
  object[0] = function;
  memmove(object + 1, object + 2, count * sizeof(value));
  vm->stack.top = stack_top(vm) - 1;
  call_value(vm, count);
}

void invoke(vm *vm, value name, inline_cache *cache, size_t count) {
  value *slot = stack_top(vm) - count - 1, of = *slot;
  if (is_a(of, T_INSTANCE)) {
    const class *class = to_instance(of)->class;
    uint32_t member = find_member(vm, class, to_string(name));
    if (member != MEMBER_NONE && (member & MEMBER_METHOD)) {
      closure *method = to_closure(cradle_kit_list_get(class->methods, member & ~MEMBER_METHOD));
      *cache = (inline_cache){class->id, member};
      slot[-1] = object(method);
      enter_checked(vm, method, count, count + 2);
      return;
    }
  }
  push(vm, of);
  inline_cache unused;
  get_field(vm, name, &unused); /* raises an error when there is none */
  value function = pop(vm);
  call_field(vm, function, count);
}

/* --- try --- */

void open_try(vm *vm, const uint8_t *next) {
  if (!grow(vm->handlers, vm->handler_count, vm->handler_room)) raise_out_of_memory(vm);
  vm->handlers[vm->handler_count++] = (handler){next, vm->frame_count - 1, (uint32_t)array_count(&vm->stack)};
}

void land_error(vm *vm) {
  handler handler = vm->handlers[--vm->handler_count];
  vm->frame_count = handler.frame + 1;
  vm->frames[handler.frame].next = handler.next;
  close_upvalues(vm, handler.height);
  vm->stack.top = stack_base(vm) + handler.height;
  push(vm, take_error(vm));
}
