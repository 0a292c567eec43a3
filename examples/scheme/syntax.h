/* What syntax.c and syntax_forms.c share. */
#ifndef SCHEME_SYNTAX_H
#define SCHEME_SYNTAX_H

#include "scheme.h"

/* The variables of a lambda expression that is being compiled. */
typedef struct scope {
  struct scope *outer;
  value names; /* list of (symbol . slot), the innermost first; rooted where the scope is made */
  uint32_t slots;
} scope;

/* where is the line that errors are told at. */
typedef node *form_function(scheme *s, scope *in, value form, uint64_t where);
form_function form_cond, form_case, form_do, form_let_values, form_let_star_values, form_quasiquote, form_delay,
    form_guard, form_record_type;

node *compile_form(scheme *s, scope *in, value datum, uint64_t where) CRADLE_MAY_COLLECT;
node *compile_sequence(scheme *s, scope *in, value forms, uint32_t type, uint64_t where) CRADLE_MAY_COLLECT;
node *compile_lambda(scheme *s, scope *outer, value name, value parameters, value body, uint64_t where)
    CRADLE_MAY_COLLECT;

node *new_constant(scheme *s, value content) CRADLE_MAY_COLLECT;
node *new_primitive(scheme *s, primitive_function *function) CRADLE_MAY_COLLECT;
node *new_if(scheme *s, node *test, node *consequent, node *alternative) CRADLE_MAY_COLLECT;
/* second NULL: a call with one argument. */
node *new_call(scheme *s, node *procedure, node *first, node *second, uint64_t where) CRADLE_MAY_COLLECT;
/* The last count words of the shadow stack are the nodes, which are taken away. */
node *new_sequence(scheme *s, uint32_t type, size_t count, uint64_t where) CRADLE_MAY_COLLECT;
node *new_reference(scheme *s, const scope *in, value name, uint64_t where) CRADLE_MAY_COLLECT;
node *new_set(scheme *s, const scope *in, value name, node *content, bool defines, uint64_t where) CRADLE_MAY_COLLECT;
/* A new variable of the scope; returns its slot. */
uint32_t add_variable(scheme *s, scope *in, value name, uint64_t where) CRADLE_MAY_COLLECT;

/* The same, in a form whose variables, those since `before`, have different names. */
void add_distinct(scheme *s, scope *in, value name, value before, uint64_t where) CRADLE_MAY_COLLECT;

/* Where a form stands, when it was read from a text. */
uint64_t place_of(value form, uint64_t where);
/* Whether the form begins with the name, and the name is not a local variable's. */
bool is_form(const scope *in, value form, const char *name);
/* A list of least to most parts, most -1: any number; else it fails. */
void check_form(scheme *s, value form, int64_t least, int64_t most, uint64_t where) CRADLE_MAY_COLLECT;

#endif
