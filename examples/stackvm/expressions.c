/* Expressions, by precedence climbing.
 *
 * The left side of an assignment is first compiled as an expression. Its last instruction, a GET of some kind, is held
 * back (struct operand) until the next token shows whether it must become a SET. */
#include "compiler.h"

typedef enum place_kind { PLACE_NONE, PLACE_VARIABLE, PLACE_FIELD, PLACE_INDEX } place_kind;

/* Either a value that is on the stack (PLACE_NONE), or a place: then its object and key are on the stack, and its GET
 * is not emitted so far. */
typedef struct operand {
  place_kind kind;
  variable variable;
  uint32_t field; /* name constant */
} operand;

typedef enum precedence { ANY, ALTERNATIVE, OR, AND, EQUALITY, ORDER, SUM, PRODUCT, UNARY } precedence;

static const struct {
  precedence precedence;
  instruction instruction;
} binary[TOKEN_WRONG + 1] = {
    [TOKEN_EQUAL] = {EQUALITY, DO_EQUAL},
    [TOKEN_UNEQUAL] = {EQUALITY, DO_UNEQUAL},
    [TOKEN_LESS] = {ORDER, DO_LESS},
    [TOKEN_LESS_EQUAL] = {ORDER, DO_LESS_EQUAL},
    [TOKEN_GREATER] = {ORDER, DO_GREATER},
    [TOKEN_GREATER_EQUAL] = {ORDER, DO_GREATER_EQUAL},
    [TOKEN_PLUS] = {SUM, DO_ADD},
    [TOKEN_MINUS] = {SUM, DO_SUBTRACT},
    [TOKEN_STAR] = {PRODUCT, DO_MULTIPLY},
    [TOKEN_SLASH] = {PRODUCT, DO_DIVIDE},
    [TOKEN_PERCENT] = {PRODUCT, DO_MODULO},
    [TOKEN_AND] = {AND, DO_AND},
    [TOKEN_OR] = {OR, DO_OR},
    [TOKEN_QUESTION] = {ALTERNATIVE, DO_JUMP_IF_FALSE},
};

CRADLE_MAY_COLLECT static operand compile_operand(compiler *c, precedence least);

static void emit_field(compiler *c, instruction instruction, uint32_t name) {
  emit_word(c, instruction, name);
  uint32_t cache = new_cache(c);
  if (cache >= OPERANDS_MAX) fail_at(c, &c->previous, "a function accesses more than 65535 fields");
  emit_operand_word(c, cache);
}

static void emit_get_place(compiler *c, operand place) {
  switch (place.kind) {
  case PLACE_NONE: break;
  case PLACE_VARIABLE: emit_get(c, place.variable); break;
  case PLACE_FIELD: emit_field(c, DO_GET_FIELD, place.field); break;
  case PLACE_INDEX: emit(c, DO_GET_INDEX); break;
  }
}
static void emit_set_place(compiler *c, operand place) {
  switch (place.kind) {
  case PLACE_NONE: break;
  case PLACE_VARIABLE: emit_set(c, place.variable); break;
  case PLACE_FIELD: emit_field(c, DO_SET_FIELD, place.field); break;
  case PLACE_INDEX: emit(c, DO_SET_INDEX); break;
  }
}

CRADLE_MAY_COLLECT static void compile_value(compiler *c, precedence least) {
  emit_get_place(c, compile_operand(c, least));
}
void compile_expression(compiler *c) {
  compile_value(c, ANY);
}

static const operand on_stack = {.kind = PLACE_NONE};

/* --- primaries --- */

/* Items are compiled in parts of at most this many, so that a long literal needs no deep stack. */
enum { LITERAL_PART = 32 };

CRADLE_MAY_COLLECT static void compile_list(compiler *c) {
  unsigned part = 0;
  instruction make = DO_LIST;
  while (!at(c, TOKEN_RIGHT_BRACKET)) {
    compile_expression(c);
    if (++part == LITERAL_PART) {
      emit_byte(c, make, part);
      make = DO_EXTEND_LIST;
      part = 0;
    }
    if (!accept(c, TOKEN_COMMA)) break;
  }
  expect(c, TOKEN_RIGHT_BRACKET, "\"]\" after the items of a list");
  if (part > 0 || make == DO_LIST) emit_byte(c, make, part);
}

CRADLE_MAY_COLLECT static void compile_map(compiler *c) {
  unsigned part = 0;
  instruction make = DO_MAP;
  while (!at(c, TOKEN_RIGHT_BRACE)) {
    if (accept(c, TOKEN_NAME)) {
      emit_word(c, DO_CONSTANT, name_constant(c, &c->previous));
    } else if (accept(c, TOKEN_LEFT_BRACKET)) {
      compile_expression(c);
      expect(c, TOKEN_RIGHT_BRACKET, "\"]\" after a computed key");
    } else if (accept(c, TOKEN_STRING)) {
      emit_string(c, &c->previous);
    } else {
      expect(c, TOKEN_NUMBER, "a key: a name, a string, a number or [expression]");
      emit_number(c, number_contents(&c->previous));
    }
    expect(c, TOKEN_COLON, "\":\" after a key");
    compile_expression(c);
    if (++part == LITERAL_PART) {
      emit_byte(c, make, part);
      make = DO_EXTEND_MAP;
      part = 0;
    }
    if (!accept(c, TOKEN_COMMA)) break;
  }
  expect(c, TOKEN_RIGHT_BRACE, "\"}\" after the entries of a map");
  if (part > 0 || make == DO_MAP) emit_byte(c, make, part);
}

CRADLE_MAY_COLLECT static void compile_super(compiler *c) {
  if (c->class == NULL || !c->class->has_parent) fail_at(c, &c->previous, "super outside of a class with a parent");
  const token this = {.start = "this", .length = 4}, super = {.start = "super", .length = 5};
  expect(c, TOKEN_DOT, "\".\" after super");
  expect(c, TOKEN_NAME, "a method's name");
  uint32_t name = name_constant(c, &c->previous);
  emit_get(c, find_variable(c, &this));
  emit_get(c, find_variable(c, &super));
  emit_word(c, DO_GET_SUPER, name);
}

CRADLE_MAY_COLLECT static operand compile_primary(compiler *c) {
  advance(c);
  switch (c->previous.kind) {
  case TOKEN_NUMBER: emit_number(c, number_contents(&c->previous)); return on_stack;
  case TOKEN_STRING: emit_string(c, &c->previous); return on_stack;
  case TOKEN_NIL: emit(c, DO_NIL); return on_stack;
  case TOKEN_TRUE: emit(c, DO_TRUE); return on_stack;
  case TOKEN_FALSE: emit(c, DO_FALSE); return on_stack;
  case TOKEN_LEFT_BRACKET: compile_list(c); return on_stack;
  case TOKEN_LEFT_BRACE: compile_map(c); return on_stack;
  case TOKEN_SUPER: compile_super(c); return on_stack;
  case TOKEN_NAME: return (operand){.kind = PLACE_VARIABLE, .variable = find_variable(c, &c->previous)};
  case TOKEN_THIS:
    if (c->class == NULL) fail_at(c, &c->previous, "this outside of a method");
    emit_get(c, find_variable(c, &c->previous));
    return on_stack;
  case TOKEN_LEFT_PAREN:
    compile_expression(c);
    expect(c, TOKEN_RIGHT_PAREN, "\")\"");
    return on_stack;
  case TOKEN_FN: {
    const token name = {.start = "fn", .length = 2};
    compile_function(c, FUNCTION_PLAIN, at(c, TOKEN_NAME) ? (advance(c), &c->previous) : &name);
    return on_stack;
  }
  default: fail_at(c, &c->previous, "expected an expression");
  }
}

/* --- what follows a primary --- */

CRADLE_MAY_COLLECT static unsigned compile_arguments(compiler *c) {
  unsigned count = 0;
  while (!at(c, TOKEN_RIGHT_PAREN)) {
    compile_expression(c);
    if (++count > ARGUMENTS_MAX) fail_at(c, &c->previous, "a call has more than 200 arguments");
    if (!accept(c, TOKEN_COMMA)) break;
  }
  expect(c, TOKEN_RIGHT_PAREN, "\")\" after the arguments");
  return count;
}

/* object.name(arguments): the object is on the stack twice, below as the place of the callee. */
CRADLE_MAY_COLLECT static void compile_invocation(compiler *c, uint32_t name) {
  emit(c, DO_DUP);
  unsigned count = compile_arguments(c);
  emit_field(c, DO_INVOKE, name);
  emit_count(c, count);
}

CRADLE_MAY_COLLECT static operand compile_suffixes(compiler *c) {
  operand operand = compile_primary(c);
  for (;;) {
    if (accept(c, TOKEN_LEFT_PAREN)) {
      if (operand.kind == PLACE_FIELD) {
        compile_invocation(c, operand.field);
      } else {
        emit_get_place(c, operand);
        emit_byte(c, DO_CALL, compile_arguments(c));
      }
      operand = on_stack;
    } else if (accept(c, TOKEN_DOT)) {
      emit_get_place(c, operand);
      expect(c, TOKEN_NAME, "a field's name after \".\"");
      operand.kind = PLACE_FIELD;
      operand.field = name_constant(c, &c->previous);
    } else if (accept(c, TOKEN_LEFT_BRACKET)) {
      emit_get_place(c, operand);
      compile_expression(c);
      expect(c, TOKEN_RIGHT_BRACKET, "\"]\" after an index");
      operand.kind = PLACE_INDEX;
    } else {
      return operand;
    }
  }
}

/* --- operators --- */

CRADLE_MAY_COLLECT static void compile_alternatives(compiler *c) {
  uint32_t to_second = emit_jump(c, DO_JUMP_IF_FALSE);
  uint32_t height = c->function->height;
  compile_value(c, ANY);
  expect(c, TOKEN_COLON, "\":\" and the other value after \"?\" and the one");
  uint32_t to_end = emit_jump(c, DO_JUMP);
  land(c, to_second);
  c->function->height = height;
  compile_value(c, ALTERNATIVE);
  land(c, to_end);
}

CRADLE_MAY_COLLECT static void compile_binary(compiler *c, token_kind kind) {
  uint32_t jump;
  switch (kind) {
  case TOKEN_QUESTION: compile_alternatives(c); break;
  case TOKEN_AND:
  case TOKEN_OR:
    jump = emit_jump(c, binary[kind].instruction);
    compile_value(c, (precedence)(binary[kind].precedence + 1));
    land(c, jump);
    break;
  default: compile_value(c, (precedence)(binary[kind].precedence + 1)); emit(c, binary[kind].instruction);
  }
}

/* Compiles an operand and the operators behind it that bind at least this strongly. */
static operand compile_operand(compiler *c, precedence least) {
  nest(c);
  operand operand = on_stack;
  if (accept(c, TOKEN_MINUS)) {
    compile_value(c, UNARY);
    emit(c, DO_NEGATE);
  } else if (accept(c, TOKEN_NOT)) {
    compile_value(c, UNARY);
    emit(c, DO_NOT);
  } else {
    operand = compile_suffixes(c);
  }
  for (;;) {
    token_kind kind = c->current.kind;
    if (binary[kind].precedence == ANY || binary[kind].precedence < least) break;
    emit_get_place(c, operand);
    operand = on_stack;
    advance(c);
    compile_binary(c, kind);
  }
  c->nesting--;
  return operand;
}

/* --- assignments --- */

static instruction compound(token_kind kind) {
  switch (kind) {
  case TOKEN_PLUS_SET: return DO_ADD;
  case TOKEN_MINUS_SET: return DO_SUBTRACT;
  case TOKEN_STAR_SET: return DO_MULTIPLY;
  case TOKEN_SLASH_SET: return DO_DIVIDE;
  default: return DO_MODULO;
  }
}

void compile_simple_statement(compiler *c, instruction drop) {
  operand place = compile_operand(c, ANY);
  token_kind kind = c->current.kind;
  if (kind != TOKEN_SET && (kind < TOKEN_PLUS_SET || kind > TOKEN_PERCENT_SET)) {
    emit_get_place(c, place);
    emit(c, drop);
    return;
  }
  if (place.kind == PLACE_NONE) fail_at(c, &c->current, "what is left of the assignment is no variable, field or item");
  advance(c);
  if (kind != TOKEN_SET) {
    if (place.kind == PLACE_FIELD) emit(c, DO_DUP);
    if (place.kind == PLACE_INDEX) emit(c, DO_DUP2);
    emit_get_place(c, place);
  }
  compile_expression(c);
  if (kind != TOKEN_SET) emit(c, compound(kind));
  emit_set_place(c, place);
}
