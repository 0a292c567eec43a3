/* Turns data into code. Variables are found here, not while running: a local variable by the number of frames to go out
 * and the slot, a global variable in its symbol. The variables of let, letrec, internal definitions and the like have
 * slots in the frame of the lambda expression around them, which makes a let as cheap as a store; it runs at most once
 * for each frame, because loops are calls.
 */
#include "syntax.h"

#include <string.h>

enum { SLOTS_MAX = 2000 };

static node *compile_body(scheme *s, scope *in, value body, uint64_t where) CRADLE_MAY_COLLECT;

/* --- making nodes --- */

node *new_constant(scheme *s, value content) {
  CRADLE_ROOT_VALUE(s->m, content);
  constant *made = CRADLE_NEW(s->m, constant, T_CONSTANT);
  made->constant = content;
  return &made->header;
}

const primitive_row syntax_rows[] = {{"cons", cons_row, 2, 2},
                                     {"append", append_row, 0, -1},
                                     {"list->vector", list_to_vector_row, 1, 1},
                                     {"memv", memv_row, 2, 2},
                                     {"make-promise", make_promise_row, 1, 1},
                                     {"call-with-values", call_with_values_row, 2, 2},
                                     {"raise", raise_row, 1, 1}};
const size_t syntax_row_count = sizeof syntax_rows / sizeof *syntax_rows;

node *new_primitive(scheme *s, primitive_function *function) {
  size_t i = 0;
  while (syntax_rows[i].function != function) i++;
  primitive *made = CRADLE_NEW(s->m, primitive, T_PRIMITIVE);
  made->row = &syntax_rows[i];
  return new_constant(s, value_of(made));
}

node *new_if(scheme *s, node *test, node *consequent, node *alternative) {
  CRADLE_ROOT(s->m, test);
  CRADLE_ROOT(s->m, consequent);
  CRADLE_ROOT(s->m, alternative);
  conditional *made = CRADLE_NEW(s->m, conditional, T_IF);
  made->test = test;
  made->consequent = consequent;
  made->alternative = alternative;
  return &made->header;
}

node *new_sequence(scheme *s, uint32_t type, size_t count, uint64_t where) {
  sequence *made = CRADLE_NEW_ARRAY(s->m, sequence, type, nodes, length, count);
  made->where = where;
  for (size_t i = 0; i < count; i++) made->nodes[i] = object_of(*cradle_peek(s->m, count - 1 - i));
  cradle_pop_many(s->m, count);
  return &made->header;
}

node *new_call(scheme *s, node *procedure, node *first, node *second, uint64_t where) {
  cradle_push(s->m, procedure);
  cradle_push(s->m, first);
  if (second != NULL) cradle_push(s->m, second);
  return new_sequence(s, T_CALL, second != NULL ? 3 : 2, where);
}

/* --- variables --- */

uint32_t add_variable(scheme *s, scope *in, value name, uint64_t where) {
  if (!is_symbol(name)) fail_at(s, where, name, "syntax: a variable's name expected, not");
  if (in->slots == SLOTS_MAX) fail_at(s, where, name, "syntax: more than %d variables in one procedure:", SLOTS_MAX);
  uint32_t slot = in->slots++;
  value entry = cons(s, name, fixnum(slot));
  in->names = cons(s, entry, in->names);
  return slot;
}

void add_distinct(scheme *s, scope *in, value name, value before, uint64_t where) {
  for (value names = in->names; names != before; names = cdr(names))
    if (car(car(names)) == name) fail_at(s, where, name, "syntax: two variables of one name:");
  add_variable(s, in, name, where);
}

/* false: the name is not of a local variable. */
static bool find_variable(const scope *in, value name, uint32_t *depth, uint32_t *slot) {
  for (*depth = 0; in != NULL; in = in->outer, ++*depth)
    for (value names = in->names; names != NIL; names = cdr(names))
      if (car(car(names)) == name) return *slot = (uint32_t)fixnum_of(cdr(car(names))), true;
  return false;
}

node *new_reference(scheme *s, const scope *in, value name, uint64_t where) {
  uint32_t depth, slot;
  CRADLE_ROOT_VALUE(s->m, name);
  if (find_variable(in, name, &depth, &slot)) {
    variable *made = CRADLE_NEW(s->m, variable, depth == 0 ? T_LOCAL : T_OUTER);
    made->symbol = name;
    made->depth = depth;
    made->index = slot;
    made->where = where;
    return &made->header;
  }
  global *made = CRADLE_NEW(s->m, global, T_GLOBAL);
  made->symbol = object_of(name);
  made->where = where;
  return &made->header;
}

node *new_set(scheme *s, const scope *in, value name, node *content, bool defines, uint64_t where) {
  uint32_t depth, slot;
  CRADLE_ROOT_VALUE(s->m, name);
  CRADLE_ROOT(s->m, content);
  if (find_variable(in, name, &depth, &slot)) {
    set_local *made = CRADLE_NEW(s->m, set_local, T_SET_LOCAL);
    *made = (set_local){made->header, content, name, depth, slot, defines, where};
    return &made->header;
  }
  set_global *made = CRADLE_NEW(s->m, set_global, T_SET_GLOBAL);
  *made = (set_global){made->header, content, object_of(name), defines, where};
  return &made->header;
}

/* --- parts of forms --- */

uint64_t place_of(value form, uint64_t where) {
  return is_a(form, T_SOURCE_PAIR) ? ((const source_pair *)object_of(form))->where : where;
}

void check_form(scheme *s, value form, int64_t least, int64_t most, uint64_t where) {
  int64_t length = list_length(form);
  if (length < least || (most >= 0 && length > most)) fail_at(s, where, form, "syntax: malformed");
}

node *compile_sequence(scheme *s, scope *in, value forms, uint32_t type, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, forms);
  size_t count = 0;
  for (; is_pair(forms); forms = cdr(forms), count++) {
    node *part = compile_form(s, in, car(forms), place_of(forms, where));
    cradle_push(s->m, part);
  }
  if (count == 0) return new_constant(s, UNSPECIFIED);
  return count == 1 && type != T_CALL ? cradle_pop(s->m) : new_sequence(s, type, count, where);
}

/* A lambda expression's node from its parameters and its body. */
node *compile_lambda(scheme *s, scope *outer, value name, value parameters, value body, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, name);
  CRADLE_ROOT_VALUE(s->m, parameters);
  CRADLE_ROOT_VALUE(s->m, body);
  scope in = {.outer = outer, .names = NIL};
  CRADLE_ROOT_VALUE(s->m, in.names);
  check_form(s, body, 1, -1, where);
  uint32_t required = 0;
  for (; is_pair(parameters); parameters = cdr(parameters), required++)
    add_distinct(s, &in, car(parameters), NIL, where);
  bool has_rest = parameters != NIL;
  if (has_rest) add_distinct(s, &in, parameters, NIL, where);
  node *code = compile_body(s, &in, body, where);
  CRADLE_ROOT(s->m, code);
  lambda *made = CRADLE_NEW(s->m, lambda, T_LAMBDA);
  *made = (lambda){made->header, code, name, required, in.slots, has_rest, where};
  return &made->header;
}

/* (define (name . parameters) body ...) and (define name content): the name, and what it is to be. */
CRADLE_MAY_COLLECT static value defined_name(scheme *s, value form, uint64_t where) {
  check_form(s, form, 2, -1, where);
  value name = car(cdr(form));
  for (; is_pair(name); name = car(name)) check_interrupt(s); /* what eval gets may be a circle */
  if (!is_symbol(name)) fail_at(s, where, form, "syntax: malformed");
  return name;
}
CRADLE_MAY_COLLECT static node *compile_definition(scheme *s, scope *in, value form, uint64_t where) {
  value name = defined_name(s, form, where);
  value target = car(cdr(form));
  if (is_pair(target)) return compile_lambda(s, in, name, cdr(target), cdr(cdr(form)), where);
  check_form(s, form, 2, 3, where);
  if (cdr(cdr(form)) == NIL) return new_constant(s, UNSPECIFIED);
  value content = car(cdr(cdr(form)));
  if (is_form(in, content, "lambda") && list_length(content) >= 3)
    return compile_lambda(s, in, name, car(cdr(content)), cdr(cdr(content)), place_of(content, where));
  return compile_form(s, in, content, where);
}

bool is_form(const scope *in, value form, const char *name) {
  uint32_t depth, slot;
  if (!is_pair(form) || !is_symbol(car(form)) || find_variable(in, car(form), &depth, &slot)) return false;
  const cradle_kit_string *head = ((const cradle_kit_symbol *)object_of(car(form)))->name;
  return head->length == strlen(name) && memcmp(head->bytes, name, head->length) == 0;
}

/* A body: the names of its definitions are known in all of it, so they get their slots first. */
CRADLE_MAY_COLLECT static node *compile_body(scheme *s, scope *in, value body, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, body);
  value rest = body;
  CRADLE_ROOT_VALUE(s->m, rest);
  for (; is_pair(rest); rest = cdr(rest)) {
    if (is_form(in, car(rest), "define")) {
      value name = defined_name(s, car(rest), place_of(car(rest), where));
      add_variable(s, in, name, where);
    } else if (is_form(in, car(rest), "define-record-type")) {
      fail_at(s, place_of(car(rest), where), car(car(rest)), "syntax: only outside of procedures:");
    }
  }
  return compile_sequence(s, in, body, T_SEQUENCE, where);
}

/* --- the forms --- */

CRADLE_MAY_COLLECT static node *form_quote(scheme *s, scope *in, value form, uint64_t where) {
  (void)in;
  check_form(s, form, 2, 2, where);
  return new_constant(s, car(cdr(form)));
}

CRADLE_MAY_COLLECT static node *form_if(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, 4, where);
  CRADLE_ROOT_VALUE(s->m, form);
  node *test = compile_form(s, in, car(cdr(form)), where), *consequent = NULL;
  CRADLE_ROOT(s->m, test);
  CRADLE_ROOT(s->m, consequent);
  consequent = compile_form(s, in, car(cdr(cdr(form))), where);
  value rest = cdr(cdr(cdr(form)));
  node *alternative = rest == NIL ? new_constant(s, UNSPECIFIED) : compile_form(s, in, car(rest), where);
  return new_if(s, test, consequent, alternative);
}

CRADLE_MAY_COLLECT static node *form_define(scheme *s, scope *in, value form, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, form);
  node *content = compile_definition(s, in, form, where);
  value name = defined_name(s, form, where);
  uint32_t depth, slot;
  if (in->outer != NULL && !(find_variable(in, name, &depth, &slot) && depth == 0))
    fail_at(s, where, name, "syntax: a definition must stand at the beginning of a body:");
  return new_set(s, in, name, content, true, where);
}

CRADLE_MAY_COLLECT static node *form_set(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, 3, where);
  CRADLE_ROOT_VALUE(s->m, form);
  if (!is_symbol(car(cdr(form)))) fail_at(s, where, form, "syntax: malformed");
  node *content = compile_form(s, in, car(cdr(cdr(form))), where);
  return new_set(s, in, car(cdr(form)), content, false, where);
}

CRADLE_MAY_COLLECT static node *form_lambda(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  return compile_lambda(s, in, FALSE, car(cdr(form)), cdr(cdr(form)), where);
}

CRADLE_MAY_COLLECT static node *form_begin(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 1, -1, where);
  return compile_sequence(s, in, cdr(form), T_SEQUENCE, where);
}

CRADLE_MAY_COLLECT static node *form_and(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 1, -1, where);
  return cdr(form) == NIL ? new_constant(s, TRUE) : compile_sequence(s, in, cdr(form), T_AND, where);
}
CRADLE_MAY_COLLECT static node *form_or(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 1, -1, where);
  return cdr(form) == NIL ? new_constant(s, FALSE) : compile_sequence(s, in, cdr(form), T_OR, where);
}

CRADLE_MAY_COLLECT static node *compile_when(scheme *s, scope *in, value form, uint64_t where, bool wanted) {
  check_form(s, form, 3, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  node *test = compile_form(s, in, car(cdr(form)), where), *body = NULL, *other = NULL;
  CRADLE_ROOT(s->m, test);
  CRADLE_ROOT(s->m, body);
  body = compile_sequence(s, in, cdr(cdr(form)), T_SEQUENCE, where);
  other = new_constant(s, UNSPECIFIED);
  return wanted ? new_if(s, test, body, other) : new_if(s, test, other, body);
}
CRADLE_MAY_COLLECT static node *form_when(scheme *s, scope *in, value form, uint64_t where) {
  return compile_when(s, in, form, where, true);
}
CRADLE_MAY_COLLECT static node *form_unless(scheme *s, scope *in, value form, uint64_t where) {
  return compile_when(s, in, form, where, false);
}

/* --- let and its kin --- */

CRADLE_MAY_COLLECT static void check_binding(scheme *s, value binding, uint64_t where) {
  if (list_length(binding) != 2 || !is_symbol(car(binding))) fail_at(s, where, binding, "syntax: malformed binding");
}

/* Ends a let, whose nodes, its stores and its body, are the last count words of the shadow stack. */
CRADLE_MAY_COLLECT static node *end_let(scheme *s, scope *in, value body, size_t count, value names, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, names);
  check_form(s, body, 1, -1, where);
  node *code = compile_body(s, in, body, where);
  in->names = names; /* the slots stay taken: a closure may hold the frame */
  cradle_push(s->m, code);
  return new_sequence(s, T_SEQUENCE, count + 1, where);
}

/* (let name ((variable content) ...) body ...) */
CRADLE_MAY_COLLECT static node *compile_named_let(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 4, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value names = in->names, parameters = NIL, binding = car(cdr(cdr(form)));
  CRADLE_ROOT_VALUE(s->m, names);
  CRADLE_ROOT_VALUE(s->m, parameters);
  CRADLE_ROOT_VALUE(s->m, binding);
  check_form(s, binding, 0, -1, where);
  size_t count = 0;
  for (; binding != NIL; binding = cdr(binding), count++) {
    check_binding(s, car(binding), where);
    node *content = compile_form(s, in, car(cdr(car(binding))), where);
    cradle_push(s->m, content);
    parameters = cons(s, car(car(binding)), parameters);
  }
  parameters = reverse_in_place(s, parameters, NIL);
  value name = car(cdr(form));
  CRADLE_ROOT_VALUE(s->m, name);
  add_variable(s, in, name, where);
  node *code = compile_lambda(s, in, name, parameters, cdr(cdr(cdr(form))), where), *call = NULL;
  CRADLE_ROOT(s->m, code);
  code = new_set(s, in, name, code, true, where);
  call = new_reference(s, in, name, where);
  cradle_push(s->m, call); /* behind the arguments; it belongs before them */
  cradle_word *words = cradle_peek(s->m, count), procedure = words[count];
  for (size_t i = count; i > 0; i--) words[i] = words[i - 1];
  words[0] = procedure;
  call = new_sequence(s, T_CALL, count + 1, where);
  in->names = names;
  cradle_push(s->m, code);
  cradle_push(s->m, call);
  return new_sequence(s, T_SEQUENCE, 2, where);
}

CRADLE_MAY_COLLECT static node *form_let(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  if (is_symbol(car(cdr(form)))) return compile_named_let(s, in, form, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value names = in->names, added = names, binding = car(cdr(form));
  CRADLE_ROOT_VALUE(s->m, names);
  CRADLE_ROOT_VALUE(s->m, added);
  CRADLE_ROOT_VALUE(s->m, binding);
  check_form(s, binding, 0, -1, where);
  size_t count = 0;
  for (; binding != NIL; binding = cdr(binding), count++) {
    check_binding(s, car(binding), where);
    in->names = names; /* the new variables are not known in the contents */
    node *store = compile_form(s, in, car(cdr(car(binding))), where);
    CRADLE_ROOT(s->m, store);
    in->names = added;
    add_distinct(s, in, car(car(binding)), names, where);
    added = in->names;
    store = new_set(s, in, car(car(binding)), store, true, where);
    cradle_push(s->m, store);
  }
  in->names = added;
  return end_let(s, in, cdr(cdr(form)), count, names, where);
}

/* let*, and with is_recursive letrec and letrec*. */
CRADLE_MAY_COLLECT static node *compile_sequential_let(scheme *s, scope *in, value form, uint64_t where,
                                                       bool is_recursive) {
  check_form(s, form, 3, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value names = in->names, binding = car(cdr(form));
  CRADLE_ROOT_VALUE(s->m, names);
  CRADLE_ROOT_VALUE(s->m, binding);
  check_form(s, binding, 0, -1, where);
  for (; binding != NIL; binding = cdr(binding)) {
    check_binding(s, car(binding), where);
    if (is_recursive) add_distinct(s, in, car(car(binding)), names, where);
  }
  size_t count = 0;
  for (binding = car(cdr(form)); binding != NIL; binding = cdr(binding), count++) {
    node *store = compile_form(s, in, car(cdr(car(binding))), where);
    CRADLE_ROOT(s->m, store);
    if (!is_recursive) add_variable(s, in, car(car(binding)), where);
    store = new_set(s, in, car(car(binding)), store, true, where);
    cradle_push(s->m, store);
  }
  return end_let(s, in, cdr(cdr(form)), count, names, where);
}
CRADLE_MAY_COLLECT static node *form_let_star(scheme *s, scope *in, value form, uint64_t where) {
  return compile_sequential_let(s, in, form, where, false);
}
CRADLE_MAY_COLLECT static node *form_letrec(scheme *s, scope *in, value form, uint64_t where) {
  return compile_sequential_let(s, in, form, where, true);
}

/* --- all forms --- */

static const struct {
  const char *name;
  form_function *compile;
} forms[] = {
    {"quote", form_quote},
    {"if", form_if},
    {"define", form_define},
    {"set!", form_set},
    {"lambda", form_lambda},
    {"begin", form_begin},
    {"and", form_and},
    {"or", form_or},
    {"when", form_when},
    {"unless", form_unless},
    {"let", form_let},
    {"let*", form_let_star},
    {"letrec", form_letrec},
    {"letrec*", form_letrec},
    {"cond", form_cond},
    {"case", form_case},
    {"do", form_do},
    {"let-values", form_let_values},
    {"let*-values", form_let_star_values},
    {"delay", form_delay},
    {"quasiquote", form_quasiquote},
    {"guard", form_guard},
    {"define-record-type", form_record_type},
};

node *compile_form(scheme *s, scope *in, value datum, uint64_t where) {
  check_stack(s);
  where = place_of(datum, where);
  if (is_symbol(datum)) return new_reference(s, in, datum, where);
  if (datum == NIL) fail_at(s, where, NOT_GIVEN, "syntax: () is no expression");
  if (!is_pair(datum)) return new_constant(s, datum);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    if (is_form(in, datum, forms[i].name)) return forms[i].compile(s, in, datum, where);
  check_form(s, datum, 1, -1, where);
  return compile_sequence(s, in, datum, T_CALL, where);
}

node *compile(scheme *s, value datum) {
  scope in = {.outer = NULL, .names = NIL};
  CRADLE_ROOT_VALUE(s->m, in.names);
  node *code = compile_form(s, &in, datum, s->where);
  CRADLE_ROOT(s->m, code);
  lambda *made = CRADLE_NEW(s->m, lambda, T_LAMBDA);
  *made = (lambda){made->header, code, FALSE, 0, in.slots, false, 0};
  return &made->header;
}
