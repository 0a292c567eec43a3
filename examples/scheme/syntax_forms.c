/* The derived forms: cond, case, do, let-values, quasiquote, delay, guard, define-record-type. Part of syntax.c's job,
 * by its functions. */
#include "syntax.h"

/* A variable's name that no program can write. */
CRADLE_MAY_COLLECT static value new_name(scheme *s) {
  cradle_kit_symbol *made = CRADLE_NEW(s->m, cradle_kit_symbol, T_SYMBOL);
  CRADLE_ROOT(s->m, made);
  cradle_kit_string *name = cradle_kit_string_new(&s->kit, "temporary", 9);
  cradle_store(s->m, made, &made->name, name);
  made->hash = 1;
  return value_of(made);
}
CRADLE_MAY_COLLECT static value new_temporary(scheme *s, scope *in, uint64_t where) {
  value name = new_name(s);
  CRADLE_ROOT_VALUE(s->m, name);
  add_variable(s, in, name, where);
  return name;
}

/* --- cond and case --- */

CRADLE_MAY_COLLECT static node *compile_clauses(scheme *s, scope *in, value clauses, node *otherwise, uint64_t where);

/* (test => procedure) */
CRADLE_MAY_COLLECT static node *compile_arrow(scheme *s, scope *in, value clauses, node *otherwise, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, clauses);
  CRADLE_ROOT(s->m, otherwise);
  check_form(s, car(clauses), 3, 3, where);
  value temporary = new_temporary(s, in, where);
  CRADLE_ROOT_VALUE(s->m, temporary);
  node *store = compile_form(s, in, car(car(clauses)), where), *procedure = NULL, *use = NULL;
  CRADLE_ROOT(s->m, store);
  CRADLE_ROOT(s->m, procedure);
  store = new_set(s, in, temporary, store, true, where);
  procedure = compile_form(s, in, car(cdr(cdr(car(clauses)))), where);
  use = new_reference(s, in, temporary, where);
  procedure = new_call(s, procedure, use, NULL, where);
  node *rest = compile_clauses(s, in, cdr(clauses), otherwise, where);
  CRADLE_ROOT(s->m, rest);
  node *test = new_reference(s, in, temporary, where);
  test = new_if(s, test, procedure, rest);
  cradle_push(s->m, store);
  cradle_push(s->m, test);
  return new_sequence(s, T_SEQUENCE, 2, where);
}

/* otherwise NULL: nothing in particular. */
CRADLE_MAY_COLLECT static node *compile_clauses(scheme *s, scope *in, value clauses, node *otherwise, uint64_t where) {
  if (clauses == NIL) return otherwise != NULL ? otherwise : new_constant(s, UNSPECIFIED);
  CRADLE_ROOT_VALUE(s->m, clauses);
  CRADLE_ROOT(s->m, otherwise);
  value clause = car(clauses);
  CRADLE_ROOT_VALUE(s->m, clause);
  where = place_of(clause, where);
  check_form(s, clause, 1, -1, where);
  if (is_form(in, clause, "else")) return compile_sequence(s, in, cdr(clause), T_SEQUENCE, where);
  if (is_form(in, cdr(clause), "=>")) return compile_arrow(s, in, clauses, otherwise, where);
  node *test = compile_form(s, in, car(clause), where), *rest = NULL;
  CRADLE_ROOT(s->m, test);
  CRADLE_ROOT(s->m, rest);
  rest = compile_clauses(s, in, cdr(clauses), otherwise, where);
  if (cdr(clause) == NIL) {
    cradle_push(s->m, test);
    cradle_push(s->m, rest);
    return new_sequence(s, T_OR, 2, where);
  }
  node *body = compile_sequence(s, in, cdr(clause), T_SEQUENCE, where);
  return new_if(s, test, body, rest);
}

CRADLE_MAY_COLLECT node *form_cond(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 2, -1, where);
  return compile_clauses(s, in, cdr(form), NULL, where);
}

CRADLE_MAY_COLLECT static node *compile_cases(scheme *s, scope *in, value clauses, value key, uint64_t where) {
  if (clauses == NIL) return new_constant(s, UNSPECIFIED);
  CRADLE_ROOT_VALUE(s->m, clauses);
  CRADLE_ROOT_VALUE(s->m, key);
  where = place_of(car(clauses), where);
  check_form(s, car(clauses), 2, -1, where);
  if (is_form(in, car(clauses), "else")) return compile_sequence(s, in, cdr(car(clauses)), T_SEQUENCE, where);
  node *test = new_primitive(s, memv_row), *tested = NULL, *data = NULL;
  CRADLE_ROOT(s->m, test);
  CRADLE_ROOT(s->m, tested);
  CRADLE_ROOT(s->m, data);
  tested = new_reference(s, in, key, where);
  data = new_constant(s, car(car(clauses)));
  test = new_call(s, test, tested, data, where);
  data = compile_cases(s, in, cdr(clauses), key, where);
  tested = compile_sequence(s, in, cdr(car(clauses)), T_SEQUENCE, where);
  return new_if(s, test, tested, data);
}

CRADLE_MAY_COLLECT node *form_case(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  node *store = compile_form(s, in, car(cdr(form)), where);
  CRADLE_ROOT(s->m, store);
  value key = new_temporary(s, in, where);
  CRADLE_ROOT_VALUE(s->m, key);
  store = new_set(s, in, key, store, true, where);
  node *cases = compile_cases(s, in, cdr(cdr(form)), key, where);
  cradle_push(s->m, store);
  cradle_push(s->m, cases);
  return new_sequence(s, T_SEQUENCE, 2, where);
}

/* --- do: a named let --- */

/* The lists that loops need are built on a rooted list, the last part first. */
CRADLE_MAY_COLLECT node *form_do(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value bindings = NIL, steps = NIL, spec = car(cdr(form)), loop = NIL, built = NIL, part = NIL;
  CRADLE_ROOT_VALUE(s->m, bindings);
  CRADLE_ROOT_VALUE(s->m, steps);
  CRADLE_ROOT_VALUE(s->m, spec);
  CRADLE_ROOT_VALUE(s->m, loop);
  CRADLE_ROOT_VALUE(s->m, built);
  CRADLE_ROOT_VALUE(s->m, part);
  loop = symbol(s, " loop");
  check_form(s, spec, 0, -1, where);
  for (; spec != NIL; spec = cdr(spec)) {
    check_form(s, car(spec), 2, 3, where);
    part = list_2(s, car(car(spec)), car(cdr(car(spec))));
    bindings = cons(s, part, bindings);
    value step = cdr(cdr(car(spec)));
    steps = cons(s, step != NIL ? car(step) : car(car(spec)), steps);
  }
  check_form(s, car(cdr(cdr(form))), 1, -1, where);
  bindings = reverse_in_place(s, bindings, NIL);
  steps = reverse_in_place(s, steps, NIL);
  steps = cons(s, loop, steps);
  for (spec = cdr(cdr(cdr(form))); spec != NIL; spec = cdr(spec)) built = cons(s, car(spec), built);
  built = cons(s, steps, built); /* the body and the next turn, backwards */
  built = reverse_in_place(s, built, NIL);
  part = symbol(s, "begin");
  built = cons(s, part, built);
  built = cons(s, built, NIL);
  part = cdr(car(cdr(cdr(form))));
  if (part != NIL) {
    spec = symbol(s, "begin");
    part = cons(s, spec, part);
  } else {
    part = UNSPECIFIED;
  }
  built = cons(s, part, built);
  built = cons(s, car(car(cdr(cdr(form)))), built);
  part = symbol(s, "if");
  built = cons(s, part, built);
  built = cons(s, built, NIL);
  built = cons(s, bindings, built);
  built = cons(s, loop, built);
  part = symbol(s, "let");
  built = cons(s, part, built);
  return compile_form(s, in, built, where);
}

/* --- several values: let*-values as calls of call-with-values, let-values as a let*-values of other names with a let
 * in it --- */

CRADLE_MAY_COLLECT static void check_bindings(scheme *s, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  check_form(s, car(cdr(form)), 0, -1, where);
  for (value bindings = car(cdr(form)); bindings != NIL; bindings = cdr(bindings))
    if (list_length(car(bindings)) != 2) fail_at(s, where, car(bindings), "syntax: malformed binding");
}

CRADLE_MAY_COLLECT node *form_let_star_values(scheme *s, scope *in, value form, uint64_t where) {
  check_bindings(s, form, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value bindings = car(cdr(form)), body = cdr(cdr(form));
  if (bindings == NIL) {
    node *procedure = compile_lambda(s, in, FALSE, NIL, body, where);
    cradle_push(s->m, procedure);
    return new_sequence(s, T_CALL, 1, where);
  }
  CRADLE_ROOT_VALUE(s->m, bindings);
  CRADLE_ROOT_VALUE(s->m, body);
  node *call = new_primitive(s, call_with_values_row), *producer = NULL;
  CRADLE_ROOT(s->m, call);
  CRADLE_ROOT(s->m, producer);
  producer = compile_lambda(s, in, FALSE, NIL, cdr(car(bindings)), where);
  if (cdr(bindings) != NIL) {
    body = cons(s, cdr(bindings), body);
    body = cons(s, car(form), body);
    body = cons(s, body, NIL);
  }
  node *consumer = compile_lambda(s, in, FALSE, car(car(bindings)), body, where);
  return new_call(s, call, producer, consumer, where);
}

/* The parameters under new names; a binding (name new-name) of each is put before *bindings, which is rooted. */
CRADLE_MAY_COLLECT static value rename_parameters(scheme *s, value parameters, value *bindings, uint64_t where) {
  value renamed = NIL, name = NIL;
  CRADLE_ROOT_VALUE(s->m, parameters);
  CRADLE_ROOT_VALUE(s->m, renamed);
  CRADLE_ROOT_VALUE(s->m, name);
  while (parameters != NIL) {
    bool is_rest = !is_pair(parameters);
    value old_name = is_rest ? parameters : car(parameters);
    if (!is_symbol(old_name)) fail_at(s, where, old_name, "syntax: a variable's name expected, not");
    CRADLE_ROOT_VALUE(s->m, old_name);
    name = new_name(s);
    value binding = list_2(s, old_name, name);
    *bindings = cons(s, binding, *bindings);
    if (is_rest) return reverse_in_place(s, renamed, name);
    renamed = cons(s, name, renamed);
    parameters = cdr(parameters);
  }
  return reverse_in_place(s, renamed, NIL);
}

CRADLE_MAY_COLLECT node *form_let_values(scheme *s, scope *in, value form, uint64_t where) {
  check_bindings(s, form, where);
  CRADLE_ROOT_VALUE(s->m, form);
  value bindings = car(cdr(form)), renamed = NIL, names = NIL, part = NIL;
  CRADLE_ROOT_VALUE(s->m, bindings);
  CRADLE_ROOT_VALUE(s->m, renamed);
  CRADLE_ROOT_VALUE(s->m, names);
  CRADLE_ROOT_VALUE(s->m, part);
  for (; bindings != NIL; bindings = cdr(bindings)) {
    part = rename_parameters(s, car(car(bindings)), &names, where);
    part = cons(s, part, cdr(car(bindings)));
    renamed = cons(s, part, renamed);
  }
  renamed = reverse_in_place(s, renamed, NIL);
  part = cons(s, names, cdr(cdr(form)));
  value head = symbol(s, "let");
  part = cons(s, head, part);
  part = list_2(s, renamed, part);
  head = symbol(s, "let*-values");
  part = cons(s, head, part);
  return form_let_star_values(s, in, part, where);
}

/* --- quasiquote --- */

CRADLE_MAY_COLLECT static node *compile_template(scheme *s, scope *in, value template, int depth, uint64_t where);

CRADLE_MAY_COLLECT static node *cons_nodes(scheme *s, primitive_function *function, node *first, node *second,
                                           uint64_t where) {
  CRADLE_ROOT(s->m, first);
  CRADLE_ROOT(s->m, second);
  node *procedure = new_primitive(s, function);
  return new_call(s, procedure, first, second, where);
}

CRADLE_MAY_COLLECT static node *compile_template_pair(scheme *s, scope *in, value template, int depth, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, template);
  if (is_form(in, template, "unquote") && list_length(template) == 2 && depth == 1)
    return compile_form(s, in, car(cdr(template)), where);
  if (is_form(in, template, "unquote") || is_form(in, template, "unquote-splicing")) depth--;
  if (is_form(in, template, "quasiquote")) depth++;
  bool splices = depth == 1 && is_form(in, car(template), "unquote-splicing") && list_length(car(template)) == 2;
  node *first = splices ? compile_form(s, in, car(cdr(car(template))), where)
                        : compile_template(s, in, car(template), depth, where);
  CRADLE_ROOT(s->m, first);
  node *rest = compile_template(s, in, cdr(template), depth, where);
  return cons_nodes(s, splices ? append_row : cons_row, first, rest, where);
}

CRADLE_MAY_COLLECT static node *compile_template(scheme *s, scope *in, value template, int depth, uint64_t where) {
  check_stack(s);
  if (is_pair(template)) return compile_template_pair(s, in, template, depth, where);
  if (!is_a(template, T_VECTOR)) return new_constant(s, template);
  CRADLE_ROOT_VALUE(s->m, template);
  value list = NIL;
  for (size_t i = ((const cradle_kit_array *)object_of(template))->length; i > 0; i--)
    list = cons(s, ((const cradle_kit_array *)object_of(template))->items[i - 1], list);
  node *content = compile_template(s, in, list, depth, where);
  return cons_nodes(s, list_to_vector_row, content, NULL, where);
}

CRADLE_MAY_COLLECT node *form_quasiquote(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 2, 2, where);
  return compile_template(s, in, car(cdr(form)), 1, where);
}

/* --- delay, guard --- */

CRADLE_MAY_COLLECT node *form_delay(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 2, 2, where);
  node *procedure = compile_lambda(s, in, FALSE, NIL, cdr(form), where);
  return cons_nodes(s, make_promise_row, procedure, NULL, where);
}

/* (guard (variable clause ...) body ...): an object that no clause handles is raised again. */
CRADLE_MAY_COLLECT node *form_guard(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 3, -1, where);
  check_form(s, car(cdr(form)), 1, -1, where);
  CRADLE_ROOT_VALUE(s->m, form);
  node *body = compile_sequence(s, in, cdr(cdr(form)), T_SEQUENCE, where), *handler = NULL;
  CRADLE_ROOT(s->m, body);
  CRADLE_ROOT(s->m, handler);
  value names = in->names, name = car(car(cdr(form)));
  CRADLE_ROOT_VALUE(s->m, names);
  CRADLE_ROOT_VALUE(s->m, name);
  uint32_t slot = add_variable(s, in, name, where);
  handler = new_reference(s, in, name, where);
  handler = cons_nodes(s, raise_row, handler, NULL, where);
  handler = compile_clauses(s, in, cdr(car(cdr(form))), handler, where);
  in->names = names;
  guard *made = CRADLE_NEW(s->m, guard, T_GUARD);
  made->body = body;
  made->handler = handler;
  made->index = slot;
  return &made->header;
}

/* --- (define-record-type name (constructor field ...) predicate (field accessor [modifier]) ...) --- */

CRADLE_MAY_COLLECT static void push_record_definition(scheme *s, scope *in, value name, record_type *type,
                                                      record_operation operation, value argument, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, name);
  CRADLE_ROOT_VALUE(s->m, argument);
  CRADLE_ROOT(s->m, type);
  if (!is_symbol(name)) fail_at(s, where, name, "syntax: a name expected, not");
  record_procedure *made = CRADLE_NEW(s->m, record_procedure, T_RECORD_PROCEDURE);
  *made = (record_procedure){made->header, type, name, argument, operation};
  node *content = new_constant(s, value_of(made));
  content = new_set(s, in, name, content, true, where);
  cradle_push(s->m, content);
}

CRADLE_MAY_COLLECT static value field_number(scheme *s, value fields, value name, uint64_t where) {
  int64_t number = 0;
  for (; fields != NIL; fields = cdr(fields), number++)
    if (car(fields) == name) return fixnum(number);
  fail_at(s, where, name, "syntax: the record has no field");
}

CRADLE_MAY_COLLECT static value field_names(scheme *s, value specs, uint64_t where) {
  CRADLE_ROOT_VALUE(s->m, specs);
  value names = NIL;
  for (; specs != NIL; specs = cdr(specs)) {
    value spec = car(specs);
    if (!is_symbol(spec)) check_form(s, spec, 1, 3, where);
    names = cons(s, is_symbol(spec) ? spec : car(spec), names);
  }
  return reverse_in_place(s, names, NIL);
}

CRADLE_MAY_COLLECT node *form_record_type(scheme *s, scope *in, value form, uint64_t where) {
  check_form(s, form, 4, -1, where);
  if (in->outer != NULL) fail_at(s, where, car(form), "syntax: only outside of procedures:");
  CRADLE_ROOT_VALUE(s->m, form);
  record_type *type = CRADLE_NEW(s->m, record_type, T_RECORD_TYPE);
  CRADLE_ROOT(s->m, type);
  type->fields = NIL;
  type->name = is_pair(car(cdr(form))) ? car(car(cdr(form))) : car(cdr(form));
  value part = field_names(s, cdr(cdr(cdr(cdr(form)))), where);
  CRADLE_ROOT_VALUE(s->m, part);
  cradle_store_value(s->m, type, &type->fields, part);
  size_t count = 2;
  value rest = car(cdr(cdr(form))), numbers = NIL;
  CRADLE_ROOT_VALUE(s->m, rest);
  check_form(s, rest, 1, -1, where);
  for (part = cdr(rest); part != NIL; part = cdr(part)) {
    value number = field_number(s, type->fields, car(part), where);
    numbers = cons(s, number, numbers);
  }
  numbers = reverse_in_place(s, numbers, NIL);
  push_record_definition(s, in, car(rest), type, RECORD_MAKE, numbers, where);
  push_record_definition(s, in, car(cdr(cdr(cdr(form)))), type, RECORD_IS, NIL, where);
  int64_t number = 0;
  for (rest = cdr(cdr(cdr(cdr(form)))); rest != NIL; rest = cdr(rest), number++) {
    if (is_symbol(car(rest))) continue;
    part = cdr(car(rest));
    for (int modifies = 0; part != NIL; part = cdr(part), modifies++, count++)
      push_record_definition(s, in, car(part), type, modifies ? RECORD_SET : RECORD_GET, fixnum(number), where);
  }
  return new_sequence(s, T_SEQUENCE, count, where);
}
