/* The interpreter's loop.
 *
 * It keeps the frame, the next instruction, the first slot and the top of the value stack in locals. SAVE puts them
 * where the collector and the error messages look; it precedes every call that may collect, raise or look at the stack.
 * LOAD takes them from there after calls that may have changed the frame or moved the stack, RELOAD_TOP after those
 * that only push and pop.
 */
#include "allocate.h"
#include "operate.h"

/* -Wpedantic objects to labels as values, an extension of gcc and clang. */
#pragma GCC diagnostic ignored "-Wpedantic"

#define SAVE() (frame->next = next, vm->stack.top = top)
#define LOAD() \
  (frame = &vm->frames[vm->frame_count - 1], next = frame->next, base = stack_base(vm) + frame->base, \
   top = stack_top(vm))
#define RELOAD_TOP() (top = stack_top(vm))

#define BYTE() (*next++)
#define WORD() (next += 2, (unsigned)next[-2] | (unsigned)next[-1] << 8)
#define CONSTANT() (constants[WORD()])
#define PUSH(v) (*top++ = (v))

#define CASE(name) do_##name
#define NEXT() goto *labels[*next++]

#define ARITHMETIC(name, operator) \
  CASE(name) : { \
    value a = top[-2], b = top[-1]; \
    if (CRADLE_LIKELY(are_numbers(a, b))) { \
      top--; \
      top[-1] = number(to_double(a) operator to_double(b)); \
      NEXT(); \
    } \
    SAVE(); \
    operate_arithmetic(vm, DO_##name); \
    RELOAD_TOP(); \
    NEXT(); \
  }

/* As above, with a right operand that is not on the stack. */
#define ARITHMETIC_WITH(name, operand, operator, slowly) \
  CASE(name) : { \
    value a = top[-1], b = operand; \
    if (CRADLE_LIKELY(are_numbers(a, b))) { \
      top[-1] = number(to_double(a) operator to_double(b)); \
      NEXT(); \
    } \
    PUSH(b); \
    SAVE(); \
    slowly; \
    RELOAD_TOP(); \
    NEXT(); \
  }

/* A branch mostly follows a comparison, so both are done at once. */
#define BRANCH(condition) \
  do { \
    bool holds = (condition); \
    top -= 2; \
    if (CRADLE_LIKELY(*next == DO_JUMP_IF_FALSE)) { \
      next++; \
      unsigned distance = WORD(); \
      if (!holds) next += distance; \
      NEXT(); \
    } \
    PUSH(boolean(holds)); \
    NEXT(); \
  } while (0)

#define COMPARISON(name, operator) \
  CASE(name) : { \
    value a = top[-2], b = top[-1]; \
    if (CRADLE_LIKELY(are_numbers(a, b))) BRANCH(to_double(a) operator to_double(b)); \
    SAVE(); \
    operate_compare(vm, DO_##name); \
    RELOAD_TOP(); \
    NEXT(); \
  }

/* The field of the instance v that the cache has, or NULL. */
static inline value *cached_field(value v, const inline_cache *cache) {
  if (!is_a(v, T_INSTANCE)) return NULL;
  const instance *instance = to_instance(v);
  if (instance->class->id != cache->class_id || cache->member >= instance->fields->length) return NULL;
  return &instance->fields->items[cache->member];
}
/* The method of the instance that the cache has, or NULL. */
static inline closure *cached_method(value v, const inline_cache *cache) {
  if (!is_a(v, T_INSTANCE) || to_instance(v)->class->id != cache->class_id || !(cache->member & MEMBER_METHOD))
    return NULL;
  return to_closure(cradle_kit_list_get(to_instance(v)->class->methods, cache->member & ~MEMBER_METHOD));
}
/* The item of a list at a whole number within it, or NULL. */
static inline cradle_word *list_item(value list, value index) {
  if (!is_a(list, T_LIST) || !is_number(index)) return NULL;
  double n = to_double(index);
  if (!(n >= 0 && n < 0x1p62)) return NULL;
  int64_t i = (int64_t)n; /* signed: one instruction */
  return (double)i == n && (uint64_t)i < to_list(list)->length ? &to_list(list)->array->items[i] : NULL;
}

/* Runs the current frame until the first one returns. */
CRADLE_MAY_COLLECT static void run(vm *vm) {
#define I(name, bytes, takes, effect) &&do_##name,
  static const void *const labels[] = {INSTRUCTIONS(I)};
#undef I
  const value *const constants = vm->constants.base;
  value *const globals = vm->globals.base;
  frame *frame;
  const uint8_t *next;
  value *base, *top;
  LOAD();
  NEXT();

  CASE(CONSTANT) : PUSH(CONSTANT());
  NEXT();
  CASE(NIL) : PUSH(NIL);
  NEXT();
  CASE(FALSE) : PUSH(FALSE);
  NEXT();
  CASE(TRUE) : PUSH(TRUE);
  NEXT();
  CASE(POP) : top--;
  NEXT();
  CASE(SHOW) : if (*--top != NIL) {
    print_value(*top, stdout);
    putchar('\n');
  }
  NEXT();
  CASE(DUP) : top[0] = top[-1];
  top++;
  NEXT();
  CASE(DUP2) : top[0] = top[-2];
  top[1] = top[-1];
  top += 2;
  NEXT();

  /* --- variables --- */

  CASE(GET_LOCAL) : PUSH(base[BYTE()]);
  NEXT();
  CASE(SET_LOCAL) : base[BYTE()] = *--top;
  NEXT();
  CASE(GET_LOCALS) : top[0] = base[next[0]];
  top[1] = base[next[1]]; /* which may be the first */
  top += 2;
  next += 2;
  NEXT();
  CASE(GET_UPVALUE) : {
    const upvalue *from = to_closure(base[0])->upvalues[BYTE()];
    PUSH(from->slot == CLOSED ? from->closed : stack_base(vm)[from->slot]);
    NEXT();
  }
  CASE(SET_UPVALUE) : {
    upvalue *into = to_closure(base[0])->upvalues[BYTE()];
    value v = *--top;
    if (into->slot == CLOSED)
      cradle_store_value(vm->mutator, into, &into->closed, v);
    else
      stack_base(vm)[into->slot] = v;
    NEXT();
  }
  CASE(GET_GLOBAL) : {
    unsigned global = WORD();
    value v = globals[global];
    if (CRADLE_LIKELY(v != UNDEFINED)) {
      PUSH(v);
      NEXT();
    }
    SAVE();
    raise_undefined(vm, global);
  }
  CASE(SET_GLOBAL) : {
    unsigned global = WORD();
    if (CRADLE_LIKELY(globals[global] != UNDEFINED)) {
      globals[global] = *--top;
      NEXT();
    }
    SAVE();
    raise_undefined(vm, global);
  }
  CASE(DEFINE_GLOBAL) : globals[WORD()] = *--top;
  NEXT();

  /* --- fields and items --- */

  CASE(GET_FIELD) : {
    value name = CONSTANT();
    inline_cache *cache = &frame->prototype->caches[WORD()];
    const value *field = cached_field(top[-1], cache);
    if (CRADLE_LIKELY(field != NULL && *field != UNDEFINED)) {
      top[-1] = *field;
      NEXT();
    }
    SAVE();
    get_field(vm, name, cache);
    RELOAD_TOP();
    NEXT();
  }
  CASE(SET_FIELD) : {
    value name = CONSTANT();
    inline_cache *cache = &frame->prototype->caches[WORD()];
    value *field = cached_field(top[-2], cache);
    if (CRADLE_LIKELY(field != NULL)) {
      cradle_store_value(vm->mutator, to_instance(top[-2])->fields, field, top[-1]);
      top -= 2;
      NEXT();
    }
    SAVE();
    put_field(vm, name, cache);
    RELOAD_TOP();
    NEXT();
  }
  CASE(GET_SUPER) : {
    value name = CONSTANT();
    SAVE();
    get_super(vm, name);
    RELOAD_TOP();
    NEXT();
  }
  CASE(GET_INDEX) : {
    const cradle_word *item = list_item(top[-2], top[-1]);
    if (CRADLE_LIKELY(item != NULL)) {
      top--;
      top[-1] = *item;
      NEXT();
    }
    SAVE();
    get_index(vm);
    RELOAD_TOP();
    NEXT();
  }
  CASE(INDEX_LOCALS) : {
    value list = base[next[0]], index = base[next[1]];
    const cradle_word *item = list_item(list, index);
    next += 2;
    if (CRADLE_LIKELY(item != NULL)) {
      PUSH(*item);
      NEXT();
    }
    PUSH(list);
    PUSH(index);
    SAVE();
    get_index(vm);
    RELOAD_TOP();
    NEXT();
  }
  CASE(SET_INDEX) : {
    cradle_word *item = list_item(top[-3], top[-2]);
    if (CRADLE_LIKELY(item != NULL)) {
      cradle_store_value(vm->mutator, to_list(top[-3])->array, item, top[-1]);
      top -= 3;
      NEXT();
    }
    SAVE();
    set_index(vm);
    RELOAD_TOP();
    NEXT();
  }

  /* --- operators --- */

  CASE(ADD) : {
    value a = top[-2], b = top[-1];
    if (CRADLE_LIKELY(are_numbers(a, b))) {
      top--;
      top[-1] = number(to_double(a) + to_double(b));
      NEXT();
    }
    SAVE();
    operate_add(vm);
    RELOAD_TOP();
    NEXT();
  }
  ARITHMETIC_WITH(ADD_LOCAL, base[BYTE()], +, operate_add(vm))
  ARITHMETIC_WITH(ADD_CONSTANT, CONSTANT(), +, operate_add(vm))
  ARITHMETIC(SUBTRACT, -)
  ARITHMETIC_WITH(SUBTRACT_LOCAL, base[BYTE()], -, operate_arithmetic(vm, DO_SUBTRACT))
  ARITHMETIC_WITH(SUBTRACT_CONSTANT, CONSTANT(), -, operate_arithmetic(vm, DO_SUBTRACT))
  ARITHMETIC(MULTIPLY, *)
  ARITHMETIC(DIVIDE, /)
  CASE(MODULO) : SAVE();
  operate_arithmetic(vm, DO_MODULO);
  RELOAD_TOP();
  NEXT();
  CASE(NEGATE) : if (CRADLE_LIKELY(is_number(top[-1]))) {
    top[-1] = number(-to_double(top[-1]));
    NEXT();
  }
  SAVE();
  raise_error(vm, "\"-\" cannot be used with %s", kind_name(top[-1]));
  CASE(NOT) : top[-1] = boolean(!is_true(top[-1]));
  NEXT();
  CASE(EQUAL) : BRANCH(equal_values(top[-2], top[-1]));
  CASE(UNEQUAL) : BRANCH(!equal_values(top[-2], top[-1]));
  COMPARISON(LESS, <)
  COMPARISON(LESS_EQUAL, <=)
  COMPARISON(GREATER, >)
  COMPARISON(GREATER_EQUAL, >=)

  /* --- jumps --- */

  CASE(JUMP) : {
    unsigned distance = WORD();
    next += distance;
    NEXT();
  }
  CASE(LOOP) : {
    unsigned distance = WORD();
    next -= distance;
    NEXT();
  }
  CASE(JUMP_IF_FALSE) : {
    unsigned distance = WORD();
    if (!is_true(*--top)) next += distance;
    NEXT();
  }
  CASE(AND) : {
    unsigned distance = WORD();
    if (is_true(top[-1]))
      top--;
    else
      next += distance;
    NEXT();
  }
  CASE(OR) : {
    unsigned distance = WORD();
    if (is_true(top[-1]))
      next += distance;
    else
      top--;
    NEXT();
  }

  /* --- calls --- */

  const closure *callee;
  size_t slots;
  CASE(CALL) : {
    size_t count = BYTE();
    value v = top[-1 - (ptrdiff_t)count];
    SAVE();
    if (CRADLE_LIKELY(is_a(v, T_CLOSURE))) {
      callee = to_closure(v);
      slots = count + 1;
      if (CRADLE_LIKELY((size_t)callee->prototype->arity == count)) goto enter;
    }
    call_value(vm, count);
    LOAD();
    NEXT();
  }
  CASE(INVOKE) : {
    value name = CONSTANT();
    inline_cache *cache = &frame->prototype->caches[WORD()];
    size_t count = BYTE();
    callee = cached_method(top[-1 - (ptrdiff_t)count], cache);
    SAVE();
    if (CRADLE_LIKELY(callee != NULL)) {
      slots = count + 2;
      top[-(ptrdiff_t)slots] = object(callee);
      if (CRADLE_LIKELY((size_t)callee->prototype->arity == count)) goto enter;
      raise_arity(vm, callee->prototype->name, callee->prototype->arity, callee->prototype->arity, count);
    }
    invoke(vm, name, cache, count);
    LOAD();
    NEXT();
  }
enter:
  if (CRADLE_LIKELY(has_room(vm, callee->prototype, top - slots))) {
    base = top - slots;
    next = callee->prototype->code;
    frame = &vm->frames[vm->frame_count++];
    frame->prototype = callee->prototype;
    frame->base = (size_t)(base - stack_base(vm));
    NEXT();
  }
  enter(vm, callee, slots);
  LOAD();
  NEXT();

  CASE(RETURN) : {
    value result = top[-1];
    if (vm->open_upvalues != NULL) close_upvalues(vm, frame->base);
    top = base;
    PUSH(result);
    vm->frame_count--;
    if (vm->frame_count == 0) {
      vm->stack.top = vm->stack.base;
      return;
    }
    frame--;
    next = frame->next;
    base = stack_base(vm) + frame->base;
    NEXT();
  }

  /* --- what allocates --- */

  CASE(CLOSURE) : {
    const prototype *prototype = vm->prototypes[WORD()];
    SAVE();
    const closure *made = new_closure(vm, prototype, frame->base);
    PUSH(object(made));
    NEXT();
  }
  CASE(CLOSE_UPVALUE) : close_upvalues(vm, (size_t)(top - 1 - stack_base(vm)));
  top--;
  NEXT();
  CASE(LIST) : {
    size_t count = BYTE();
    SAVE();
    make_list(vm, count);
    RELOAD_TOP();
    NEXT();
  }
  CASE(EXTEND_LIST) : {
    size_t count = BYTE();
    SAVE();
    extend_list(vm, count);
    RELOAD_TOP();
    NEXT();
  }
  CASE(MAP) : {
    size_t count = BYTE();
    SAVE();
    make_map(vm, count);
    LOAD();
    NEXT();
  }
  CASE(EXTEND_MAP) : {
    size_t count = BYTE();
    SAVE();
    extend_map(vm, count);
    RELOAD_TOP();
    NEXT();
  }
  CASE(CLASS) : {
    value name = CONSTANT();
    SAVE();
    make_class(vm, name);
    RELOAD_TOP();
    NEXT();
  }
  CASE(INHERIT) : SAVE();
  operate_inherit(vm);
  RELOAD_TOP();
  NEXT();
  CASE(METHOD) : {
    value name = CONSTANT();
    SAVE();
    want(vm, is_a(top[-2], T_CLASS) && is_a(top[-1], T_CLOSURE));
    add_method(vm, to_class(top[-2]), to_string(name), to_closure(top[-1]));
    top--;
    NEXT();
  }

  /* --- for and try --- */

  CASE(NEXT_KEY) : {
    unsigned slot = BYTE(), distance = WORD();
    SAVE();
    if (!next_item(vm, frame->base + slot, false)) next += distance;
    RELOAD_TOP();
    NEXT();
  }
  CASE(NEXT_PAIR) : {
    unsigned slot = BYTE(), distance = WORD();
    SAVE();
    if (!next_item(vm, frame->base + slot, true)) next += distance;
    RELOAD_TOP();
    NEXT();
  }
  CASE(TRY) : {
    unsigned distance = WORD();
    SAVE();
    open_try(vm, next + distance);
    NEXT();
  }
  CASE(END_TRY) : vm->handler_count--;
  NEXT();
  CASE(THROW) : {
    SAVE();
    raise_value(vm, top[-1]);
  }
}

/* --- programs --- */

CRADLE_MAY_COLLECT static void start_program(vm *vm, void *data) {
  const prototype *main_function = compile(vm, data);
  array_reserve(vm, &vm->stack, 1);
  closure *made = new_closure(vm, main_function, 0);
  push(vm, object(made));
  enter(vm, made, 1);
  run(vm);
}

CRADLE_MAY_COLLECT static void resume_program(vm *vm, void *data) {
  (void)data;
  land_error(vm);
  run(vm);
}

/* The code of a program that did not compile is freed. A program that ran keeps its code, because closures may use
 * it. */
static void drop_prototypes(vm *vm, uint32_t count) {
  while (vm->prototype_count > count) prototype_free(vm->prototypes[--vm->prototype_count]);
}

bool run_source(vm *vm, const source *source) {
  uint32_t prototypes = vm->prototype_count;
  *source->at_end = false;
  settle_heap_max(vm);
  bool is_done = protect(vm, start_program, (void *)(uintptr_t)source);
  while (!is_done && vm->handler_count > 0) is_done = protect(vm, resume_program, NULL);
  if (is_done) return true;
  if (vm->frame_count == 0) drop_prototypes(vm, prototypes);
  if (!source->is_interactive || !*source->at_end) report_error(vm);
  forget_error(vm);
  return false;
}
