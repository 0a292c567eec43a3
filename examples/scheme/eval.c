/* Running code: a recursive function over the nodes, in which a call in tail position is a turn of the loop.
 *
 * Rooting: eval_slow roots its node and its environment, once for all that it does; the procedure and the arguments of
 * a call are pushed on the shadow stack as they are computed. What is read from a rooted variable is read again after
 * every call.
 */
#include "scheme.h"

volatile sig_atomic_t is_interrupted;

/* --- environments --- */

/* The arguments beyond those that the procedure names, as a list. */
CRADLE_MAY_COLLECT static value rest_of(scheme *s, size_t count, size_t required) {
  value rest = NIL;
  for (size_t i = count; i > required; i--) rest = cons(s, *cradle_peek(s->m, count - i), rest);
  return rest;
}

/* The environment of a call of a closure, which is in a root. The arguments are the count words on top of the shadow
 * stack and stay there. */
CRADLE_MAY_COLLECT static frame *bind(scheme *s, const cradle_word *function, size_t count) {
  check_interrupt(s);
  const lambda *l = ((const closure *)object_of(*function))->lambda;
  size_t required = l->required, slots = l->slots;
  bool has_rest = l->has_rest;
  if (CRADLE_UNLIKELY(count < required || (count > required && !has_rest)))
    fail(s, *function, "%zu arguments for a procedure of %s%zu:", count, has_rest ? "at least " : "", required);
  if (CRADLE_UNLIKELY(has_rest)) cradle_push_word(s->m, rest_of(s, count, required));
  frame *made = CRADLE_NEW_ARRAY_UNINITIALIZED(s->m, frame, T_FRAME, slots, length, slots);
  size_t filled = 0;
  if (CRADLE_UNLIKELY(has_rest)) made->slots[required] = (value)(uintptr_t)cradle_pop(s->m);
  for (const cradle_word *args = s->m->shadow_top - count; filled < required; filled++)
    made->slots[filled] = args[filled];
  for (filled += has_rest; filled < slots; filled++) made->slots[filled] = UNBOUND;
  made->procedure = object_of(*function);
  return made;
}

static inline frame *go_out(frame *env, uint32_t depth) {
  for (; depth > 0; depth--) env = env->procedure->outer;
  return env;
}

/* --- calls --- */

bool is_procedure(value v) {
  if (!is_reference(v)) return false;
  uint32_t type = cradle_type_of(object_of(v));
  return type == T_CLOSURE || type == T_PRIMITIVE || type == T_CONTINUATION || type == T_RECORD_PROCEDURE;
}

CRADLE_MAY_COLLECT static value apply_record(scheme *s, value procedure, size_t count, const value *args) {
  CRADLE_ROOT_VALUE(s->m, procedure);
  const record_procedure *p = object_of(procedure);
  size_t wanted = p->operation == RECORD_MAKE ? (size_t)list_length(p->argument) : p->operation == RECORD_SET ? 2 : 1;
  if (count != wanted) fail(s, procedure, "%zu arguments for a procedure of %zu:", count, wanted);
  if (p->operation == RECORD_MAKE) {
    size_t length = (size_t)list_length(p->type->fields);
    record *made = CRADLE_NEW_ARRAY(s->m, record, T_RECORD, fields, length, length);
    p = object_of(procedure);
    made->type = p->type;
    for (size_t i = 0; i < length; i++) made->fields[i] = FALSE;
    value field = p->argument;
    for (size_t i = 0; i < count; i++, field = cdr(field)) made->fields[fixnum_of(car(field))] = args[i];
    return value_of(made);
  }
  bool is_one = is_a(args[0], T_RECORD) && ((const record *)object_of(args[0]))->type == p->type;
  if (p->operation == RECORD_IS) return boolean(is_one);
  if (!is_one)
    fail(s, args[0], "a record of type %.*s expected, not",
         TEXT_OF(((cradle_kit_symbol *)object_of(p->type->name))->name));
  record *r = object_of(args[0]);
  if (p->operation == RECORD_GET) return r->fields[fixnum_of(p->argument)];
  cradle_store_value(s->m, r, &r->fields[fixnum_of(p->argument)], args[1]);
  return UNSPECIFIED;
}

static bool is_apply(value v) {
  return is_a(v, T_PRIMITIVE) && ((const primitive *)object_of(v))->row->function == apply_row;
}

/* Calls a procedure that is not a closure. The arguments are on top of the shadow stack and stay there. */
CRADLE_MAY_COLLECT static value apply_other(scheme *s, value procedure, size_t count) {
  const value *args = (const value *)(s->m->shadow_top - count);
  if (CRADLE_LIKELY(is_a(procedure, T_PRIMITIVE))) {
    const primitive_row *row = ((const primitive *)object_of(procedure))->row;
    if (CRADLE_UNLIKELY(count < (size_t)row->least || (row->most >= 0 && count > (size_t)row->most)))
      fail(s, procedure, "%zu arguments for a procedure of %s%d:", count, row->most != row->least ? "at least " : "",
           row->least);
    return row->function(s, count, args);
  }
  switch (is_reference(procedure) ? cradle_type_of(object_of(procedure)) : T_COUNT) {
  case T_RECORD_PROCEDURE: return apply_record(s, procedure, count, args);
  case T_CONTINUATION: {
    escape *to = find_escape(s, procedure);
    if (to == NULL) fail(s, NOT_GIVEN, "the continuation's call/cc has returned already");
    if (count != 1) fail(s, NOT_GIVEN, "a continuation wants one value, not %zu", count);
    escape_to(s, to, args[0]);
  }
  default: fail(s, procedure, "not a procedure:");
  }
}

/* Replaces (apply procedure x ... list), which is on the shadow stack with count arguments, by the call that it means;
 * returns the count of its arguments. */
CRADLE_MAY_COLLECT static size_t spread(scheme *s, size_t count) {
  value list = *cradle_peek(s->m, 0);
  int64_t more = list_length(list);
  if (more < 0) fail(s, list, "apply wants a list as its last argument, not");
  if (more > ARGUMENTS_MAX) fail(s, NOT_GIVEN, "more than %d arguments", ARGUMENTS_MAX);
  cradle_word *words = cradle_peek(s->m, count); /* it writes them: a pointer below the top would not say so */
  for (size_t i = 0; i < count; i++) words[i] = words[i + 1];
  cradle_pop_many(s->m, 2);
  for (; list != NIL; list = cdr(list)) cradle_push_word(s->m, car(list));
  return count - 2 + (size_t)more;
}

/* --- evaluation --- */

CRADLE_MAY_COLLECT static value eval_slow(scheme *s, node *code, frame *env);

/* Nodes that need no call are done here. */
CRADLE_MAY_COLLECT static inline value eval(scheme *s, node *code, frame *env) {
  value v;
  switch (cradle_type_of(code)) {
  case T_CONSTANT: return ((const constant *)code)->constant;
  case T_LOCAL:
    v = env->slots[((const variable *)code)->index];
    if (CRADLE_LIKELY(v != UNBOUND)) return v;
    break;
  case T_OUTER:
    v = go_out(env, ((const variable *)code)->depth)->slots[((const variable *)code)->index];
    if (CRADLE_LIKELY(v != UNBOUND)) return v;
    break;
  case T_GLOBAL:
    v = ((const global *)code)->symbol->value;
    if (CRADLE_LIKELY(v != 0)) return v;
    break;
  default: break;
  }
  return eval_slow(s, code, env);
}

/* false: an object was raised, which is in *result. */
CRADLE_MAY_COLLECT CRADLE_NOINLINE static bool eval_guarded(scheme *s, node *body, frame *env, value *result) {
  CRADLE_ROOT(s->m, body);
  CRADLE_ROOT(s->m, env);
  if (CRADLE_UNLIKELY(s->tries_usual_max)) restore_max(s); /* once: it may take a full collection */
  escape here;
  escape_init(s, &here);
  s->handlers = cons(s, fixnum((int64_t)here.number), s->handlers);
  if (setjmp(here.landing) == 0) {
    *result = eval(s, body, env);
    escape_leave(s, &here);
    return true;
  }
  *result = escape_land(s, &here);
  return false;
}

CRADLE_MAY_COLLECT static value new_closure(scheme *s, node *code, frame *env) {
  CRADLE_ROOT(s->m, code);
  CRADLE_ROOT(s->m, env);
  closure *made = CRADLE_NEW_UNINITIALIZED(s->m, closure, T_CLOSURE);
  made->lambda = (lambda *)code;
  made->outer = env;
  return value_of(made);
}

CRADLE_MAY_COLLECT static void set_variable(scheme *s, node *code, frame *env, value content) {
  if (cradle_type_of(code) == T_SET_LOCAL) {
    const set_local *set = (const set_local *)code;
    frame *holder = go_out(env, set->depth);
    if (holder->slots[set->index] == UNBOUND && !set->defines)
      fail_at(s, set->where, set->symbol, "set! of a variable before its definition:");
    cradle_store_value(s->m, holder, &holder->slots[set->index], content);
    return;
  }
  const set_global *set = (const set_global *)code;
  if (set->symbol->value != 0) {
    cradle_store_value(s->m, set->symbol, &set->symbol->value, content);
    return;
  }
  if (!set->defines) fail_at(s, set->where, value_of(set->symbol), "set! of an unbound variable:");
  define_global(s, set->symbol, content);
}

static inline void activation_end(activation *a) {
  a->scheme->activations = a->outer;
}

CRADLE_MAY_COLLECT static value eval_slow(scheme *s, node *code, frame *env) {
  check_stack(s);
  CRADLE_ROOT(s->m, code);
  CRADLE_ROOT(s->m, env);
  __attribute__((__cleanup__(activation_end))) activation here = {s->activations, &env, s};
  s->activations = &here;
  for (;;) {
    switch (cradle_type_of(code)) {
    case T_CONSTANT: return ((const constant *)code)->constant;
    case T_LOCAL:
    case T_OUTER: {
      const variable *v = (const variable *)code;
      value content = go_out(env, v->depth)->slots[v->index];
      if (content == UNBOUND) fail_at(s, v->where, v->symbol, "variable used before its definition:");
      return content;
    }
    case T_GLOBAL: {
      const global *g = (const global *)code;
      if (g->symbol->value == 0) fail_at(s, g->where, value_of(g->symbol), "unbound variable:");
      return g->symbol->value;
    }
    case T_SET_LOCAL:
    case T_SET_GLOBAL: {
      value content = eval(s, ((const set_local *)code)->content, env);
      set_variable(s, code, env, content);
      return UNSPECIFIED;
    }
    case T_IF: {
      bool holds = eval(s, ((const conditional *)code)->test, env) != FALSE;
      code = holds ? ((const conditional *)code)->consequent : ((const conditional *)code)->alternative;
      continue;
    }
    case T_LAMBDA: return new_closure(s, code, env);
    case T_SEQUENCE: {
      size_t last = ((const sequence *)code)->length - 1;
      for (size_t i = 0; i < last; i++) eval(s, ((const sequence *)code)->nodes[i], env);
      code = ((const sequence *)code)->nodes[last];
      continue;
    }
    case T_AND:
    case T_OR: {
      bool ends_with = cradle_type_of(code) == T_OR;
      size_t last = ((const sequence *)code)->length - 1;
      for (size_t i = 0; i < last; i++) {
        value v = eval(s, ((const sequence *)code)->nodes[i], env);
        if ((v != FALSE) == ends_with) return v;
      }
      code = ((const sequence *)code)->nodes[last];
      continue;
    }
    case T_GUARD: {
      value v;
      if (eval_guarded(s, ((const guard *)code)->body, env, &v)) return v;
      cradle_store_value(s->m, env, &env->slots[((const guard *)code)->index], v);
      code = ((const guard *)code)->handler;
      continue;
    }
    default: break; /* T_CALL */
    }
    size_t count = ((const sequence *)code)->length - 1;
    for (size_t i = 0; i <= count; i++) {
      value v = eval(s, ((const sequence *)code)->nodes[i], env);
      cradle_push_word(s->m, v);
    }
    s->where = ((const sequence *)code)->where;
    while (!is_a(*cradle_peek(s->m, count), T_CLOSURE)) {
      if (!is_apply(*cradle_peek(s->m, count)) || count < 2) {
        value result = apply_other(s, *cradle_peek(s->m, count), count);
        cradle_pop_many(s->m, count + 1);
        return result;
      }
      count = spread(s, count);
    }
    env = bind(s, cradle_peek(s->m, count), count);
    code = ((const closure *)object_of(*cradle_peek(s->m, count)))->lambda->body;
    cradle_pop_many(s->m, count + 1);
  }
}

value run(scheme *s, node *code) {
  value function = new_closure(s, code, NULL);
  return apply(s, function, 0);
}

value apply(scheme *s, value procedure, size_t count) {
  check_stack(s);
  CRADLE_ROOT_VALUE(s->m, procedure);
  value result;
  if (is_a(procedure, T_CLOSURE)) {
    frame *env = bind(s, &procedure, count);
    cradle_pop_many(s->m, count);
    return eval(s, ((const closure *)object_of(procedure))->lambda->body, env);
  }
  result = apply_other(s, procedure, count);
  cradle_pop_many(s->m, count);
  return result;
}

value apply_1(scheme *s, value procedure, value argument) {
  cradle_push_word(s->m, argument);
  return apply(s, procedure, 1);
}

/* --- escapes --- */

void escape_init(scheme *s, escape *e) {
  e->checkpoint = cradle_checkpoint_save(s->m);
  e->number = ++s->escape_count;
  e->handlers = s->handlers;
  e->winders = s->winders;
  e->activations = s->activations;
  e->source = s->source;
  e->outer = s->escapes;
  s->escapes = e;
}

void escape_leave(scheme *s, escape *e) {
  s->escapes = e->outer;
  s->handlers = e->handlers;
}

escape *find_escape(const scheme *s, value continuation_or_number) {
  uint64_t number = is_fixnum(continuation_or_number)
                        ? (uint64_t)fixnum_of(continuation_or_number)
                        : ((const continuation *)object_of(continuation_or_number))->number;
  escape *e = s->escapes;
  while (e != NULL && e->number != number) e = e->outer;
  return e;
}

void escape_to(scheme *s, escape *to, value transfer) {
  s->transfer = transfer;
  s->escapes = to; /* inner ones are dead from now on */
  longjmp(to->landing, 1);
}

/* The procedures of dynamic-wind run here and not before the longjmp, when there may have been no room for them. If one
 * of them raises an object, it may come here again, to the same escape, and the remaining procedures run then. */
value escape_land(scheme *s, escape *e) {
  cradle_checkpoint_restore(s->m, &e->checkpoint);
  value transfer = s->transfer;
  CRADLE_ROOT_VALUE(s->m, transfer);
  s->transfer = UNSPECIFIED;
  s->activations = e->activations;
  while (s->source != e->source) source_close(s);
  while (s->winders != e->winders) {
    value winder = car(s->winders);
    s->winders = cdr(s->winders);
    s->handlers = cdr(winder);
    apply(s, car(winder), 0);
  }
  s->handlers = e->handlers;
  s->escapes = e->outer;
  return transfer;
}

value living_handlers(const scheme *s, value handlers) {
  while (is_fixnum(innermost_handler(handlers)) && find_escape(s, innermost_handler(handlers)) == NULL)
    handlers = cdr(handlers);
  return handlers;
}

void raise_value(scheme *s, value raised) {
  s->handlers = living_handlers(s, s->handlers);
  value handler = innermost_handler(s->handlers);
  if (is_fixnum(handler)) escape_to(s, find_escape(s, handler), raised);
  CRADLE_ROOT_VALUE(s->m, raised);
  s->handlers = cdr(s->handlers);
  apply_1(s, handler, raised);
  fail(s, raised, "a handler returned to raise:");
}
