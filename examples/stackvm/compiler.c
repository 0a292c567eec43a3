#include "compiler.h"

/* --- tokens --- */

/* How much of a token is shown: whole characters. */
static int shown_bytes(const token *token) {
  enum { SHOWN_MAX = 40 };
  size_t length = 0, bytes = 0;
  for (; length < token->length; length += bytes) {
    bytes = character_bytes(token->start + length, token->length - length);
    if (bytes == 0 || length + bytes > SHOWN_MAX) break;
  }
  return (int)length;
}

void fail_at(compiler *c, const token *where, const char *message) {
  *c->at_end = where->kind == TOKEN_END || where->is_cut;
  c->vm->line = where->line;
  if (where->kind == TOKEN_END) raise_error(c->vm, "%s, but the source ends here", message);
  raise_error(c->vm, "%s, at \"%.*s\"", message, shown_bytes(where), where->start);
}

void advance(compiler *c) {
  c->previous = c->current;
  c->current = lexer_next(&c->lexer);
  c->vm->line = c->current.line;
  if (at(c, TOKEN_WRONG)) fail_at(c, &c->current, c->current.wrong);
}

bool accept(compiler *c, token_kind kind) {
  if (!at(c, kind)) return false;
  advance(c);
  return true;
}

void expect(compiler *c, token_kind kind, const char *what) {
  if (accept(c, kind)) return;
  char message[96];
  snprintf(message, sizeof message, "expected %s", what);
  fail_at(c, &c->current, message);
}

/* Expects the ";" at the end of a statement; the last statement of an interactive source need not have it. */
static void end_statement(compiler *c) {
  bool may_lack = c->is_interactive && c->function->kind == FUNCTION_MAIN && c->function->depth == 0;
  if (!may_lack || !at(c, TOKEN_END)) expect(c, TOKEN_SEMICOLON, "\";\" after a statement");
}

void nest(compiler *c) {
  if (++c->nesting > NESTING_MAX) fail_at(c, &c->current, "this is nested more than 150 deep");
}

/* --- blocks and functions --- */

CRADLE_MAY_COLLECT static void compile_statement(compiler *c);

CRADLE_MAY_COLLECT static void compile_block_rest(compiler *c) {
  while (!at(c, TOKEN_RIGHT_BRACE)) {
    if (at(c, TOKEN_END)) fail_at(c, &c->current, "expected \"}\" at the end of a block");
    compile_statement(c);
  }
  advance(c);
}
CRADLE_MAY_COLLECT static void compile_block(compiler *c) {
  expect(c, TOKEN_LEFT_BRACE, "\"{\"");
  open_scope(c);
  compile_block_rest(c);
  close_scope(c);
}

static void compile_parameters(compiler *c) {
  function_state *function = c->function;
  expect(c, TOKEN_LEFT_PAREN, "\"(\" and the parameters");
  while (!at(c, TOKEN_RIGHT_PAREN)) {
    expect(c, TOKEN_NAME, "a parameter's name");
    add_local(c, c->previous.start, c->previous.length);
    function->height++;
    if (++function->prototype->arity > ARGUMENTS_MAX)
      fail_at(c, &c->previous, "a function has more than 200 parameters");
    if (!accept(c, TOKEN_COMMA)) break;
  }
  function->prototype->stack_need = function->height;
  expect(c, TOKEN_RIGHT_PAREN, "\")\" after the parameters");
}

void compile_function(compiler *c, function_kind kind, const token *name) {
  function_state state;
  nest(c);
  open_function(c, &state, kind, name);
  compile_parameters(c);
  expect(c, TOKEN_LEFT_BRACE, "\"{\" and the function's body");
  open_scope(c);
  compile_block_rest(c);
  close_function(c);
  emit_word(c, DO_CLOSURE, state.number);
  c->nesting--;
}

/* --- declarations --- */

CRADLE_MAY_COLLECT static void compile_let(compiler *c) {
  expect(c, TOKEN_NAME, "a variable's name after let");
  token name = c->previous;
  if (accept(c, TOKEN_SET))
    compile_expression(c);
  else
    emit(c, DO_NIL);
  end_statement(c);
  define_variable(c, &name);
}

/* A local function can use itself, so its variable is declared before its body. */
CRADLE_MAY_COLLECT static void compile_named_function(compiler *c) {
  advance(c);
  token name = c->previous;
  if (c->function->kind == FUNCTION_MAIN && c->function->depth == 0) {
    compile_function(c, FUNCTION_PLAIN, &name);
    define_variable(c, &name);
    return;
  }
  emit(c, DO_NIL);
  define_variable(c, &name);
  compile_function(c, FUNCTION_PLAIN, &name);
  emit_set(c, find_variable(c, &name));
}

static bool is_text(const token *token, const char *text) {
  return token->length == strlen(text) && memcmp(token->start, text, token->length) == 0;
}
static bool is_same(const token *a, const token *b) {
  return a->length == b->length && memcmp(a->start, b->start, a->length) == 0;
}

CRADLE_MAY_COLLECT static void compile_method(compiler *c) {
  expect(c, TOKEN_NAME, "a method's name or \"}\"");
  token name = c->previous;
  uint32_t constant = name_constant(c, &name);
  compile_function(c, is_text(&name, "init") ? FUNCTION_INIT : FUNCTION_METHOD, &name);
  emit_word(c, DO_METHOD, constant);
}

/* class NAME : PARENT { METHOD... }. A parent is a hidden local named super around the methods, which capture it. */
CRADLE_MAY_COLLECT static void compile_class(compiler *c) {
  expect(c, TOKEN_NAME, "a class's name");
  token name = c->previous;
  class_state state = {.outer = c->class};
  emit_word(c, DO_CLASS, name_constant(c, &name));
  define_variable(c, &name);
  open_scope(c);
  if (accept(c, TOKEN_COLON)) {
    expect(c, TOKEN_NAME, "the parent's name");
    if (is_text(&c->previous, "super")) fail_at(c, &c->previous, "super is no class");
    if (is_same(&c->previous, &name)) fail_at(c, &c->previous, "a class cannot be its own parent");
    emit_get(c, find_variable(c, &c->previous));
    add_local(c, "super", 5);
    emit_get(c, find_variable(c, &name));
    emit(c, DO_INHERIT);
    state.has_parent = true;
  }
  c->class = &state;
  emit_get(c, find_variable(c, &name));
  expect(c, TOKEN_LEFT_BRACE, "\"{\" and the class's methods");
  while (!accept(c, TOKEN_RIGHT_BRACE)) compile_method(c);
  emit(c, DO_POP);
  c->class = state.outer;
  close_scope(c);
}

/* --- control --- */

CRADLE_MAY_COLLECT static uint32_t compile_condition(compiler *c) {
  expect(c, TOKEN_LEFT_PAREN, "\"(\" and a condition");
  compile_expression(c);
  expect(c, TOKEN_RIGHT_PAREN, "\")\" after the condition");
  return emit_jump(c, DO_JUMP_IF_FALSE);
}

/* The statement that an if or a loop governs, in a scope of its own. */
CRADLE_MAY_COLLECT static void compile_body(compiler *c) {
  open_scope(c);
  compile_statement(c);
  close_scope(c);
}

CRADLE_MAY_COLLECT static void compile_if(compiler *c) {
  uint32_t to_else = compile_condition(c);
  compile_body(c);
  if (!accept(c, TOKEN_ELSE)) {
    land(c, to_else);
    return;
  }
  uint32_t to_end = emit_jump(c, DO_JUMP);
  land(c, to_else);
  compile_body(c);
  land(c, to_end);
}

static void open_loop(compiler *c, loop *loop) {
  loop->outer = c->function->loop;
  loop->breaks = loop->continues = NOWHERE;
  loop->depth = c->function->depth;
  loop->tries = c->function->tries;
  c->function->loop = loop;
}
static void close_loop(compiler *c, const loop *loop) {
  land_chain(c, loop->breaks);
  c->function->loop = loop->outer;
}

CRADLE_MAY_COLLECT static void compile_while(compiler *c) {
  loop loop;
  open_loop(c, &loop);
  uint32_t start = loop_start(c);
  uint32_t to_end = compile_condition(c);
  compile_body(c);
  land_chain(c, loop.continues);
  emit_loop(c, start);
  land(c, to_end);
  close_loop(c, &loop);
}

/* Skips the tokens up to the ")" that ends the header of a for. */
static void skip_step(compiler *c) {
  for (int open = 0; open > 0 || !at(c, TOKEN_RIGHT_PAREN); advance(c)) {
    if (at(c, TOKEN_END)) fail_at(c, &c->current, "expected \")\" after the header of for");
    if (at(c, TOKEN_LEFT_PAREN)) open++;
    if (at(c, TOKEN_RIGHT_PAREN)) open--;
  }
}

/* for (FIRST; CONDITION; STEP) BODY from the condition on. The step is skipped at first; the lexer goes back and
 * compiles it after the body. */
CRADLE_MAY_COLLECT static void compile_counting_for(compiler *c) {
  loop loop;
  open_loop(c, &loop);
  uint32_t start = loop_start(c), to_end = NOWHERE;
  if (!at(c, TOKEN_SEMICOLON)) {
    compile_expression(c);
    to_end = emit_jump(c, DO_JUMP_IF_FALSE);
  }
  expect(c, TOKEN_SEMICOLON, "\";\" after the condition of for");
  const lexer step_lexer = c->lexer;
  const token step = c->current;
  skip_step(c);
  expect(c, TOKEN_RIGHT_PAREN, "\")\"");
  compile_body(c);
  land_chain(c, loop.continues);
  const lexer end_lexer = c->lexer;
  const token end = c->current;
  c->lexer = step_lexer;
  c->current = step;
  if (!at(c, TOKEN_RIGHT_PAREN)) compile_simple_statement(c, DO_POP);
  if (!at(c, TOKEN_RIGHT_PAREN)) fail_at(c, &c->current, "expected \")\" after the header of for");
  c->lexer = end_lexer;
  c->current = end;
  emit_loop(c, start);
  if (to_end != NOWHERE) land(c, to_end);
  close_loop(c, &loop);
}

/* for (let NAME in COLLECTION) BODY, or NAME, NAME in it: from the "in" on. The collection and a counter are hidden
 * locals; the names are new variables in each round. */
CRADLE_MAY_COLLECT static void compile_collection_for(compiler *c, const token *key, const token *item) {
  loop loop;
  expect(c, TOKEN_IN, "\"in\" and a collection");
  compile_expression(c);
  expect(c, TOKEN_RIGHT_PAREN, "\")\" after the collection");
  int collection = c->function->local_count;
  add_local(c, "", 0);
  emit_number(c, 0);
  add_local(c, "", 0);
  open_loop(c, &loop);
  uint32_t start = loop_start(c);
  emit_byte(c, item != NULL ? DO_NEXT_PAIR : DO_NEXT_KEY, (unsigned)collection);
  emit_operand_word(c, 0);
  uint32_t to_end = c->function->prototype->code_count - 2;
  open_scope(c);
  add_local(c, key->start, key->length);
  if (item != NULL) add_local(c, item->start, item->length);
  compile_statement(c);
  close_scope(c);
  land_chain(c, loop.continues);
  emit_loop(c, start);
  land(c, to_end);
  close_loop(c, &loop);
}

CRADLE_MAY_COLLECT static void compile_for(compiler *c) {
  expect(c, TOKEN_LEFT_PAREN, "\"(\" after for");
  open_scope(c);
  if (accept(c, TOKEN_LET)) {
    expect(c, TOKEN_NAME, "a variable's name after let");
    token first = c->previous, second;
    bool pair = accept(c, TOKEN_COMMA);
    if (pair) {
      expect(c, TOKEN_NAME, "the second variable's name");
      second = c->previous;
    }
    if (pair || at(c, TOKEN_IN)) {
      compile_collection_for(c, &first, pair ? &second : NULL);
      close_scope(c);
      return;
    }
    expect(c, TOKEN_SET, "\"=\" or \"in\" after a variable of for");
    compile_expression(c);
    add_local(c, first.start, first.length);
  } else if (!at(c, TOKEN_SEMICOLON)) {
    compile_simple_statement(c, DO_POP);
  }
  expect(c, TOKEN_SEMICOLON, "\";\" in the header of for");
  compile_counting_for(c);
  close_scope(c);
}

static void leave_tries(compiler *c, int tries) {
  for (int i = c->function->tries; i > tries; i--) emit(c, DO_END_TRY);
}

static void compile_jump(compiler *c, bool is_break) {
  loop *loop = c->function->loop;
  if (loop == NULL) fail_at(c, &c->previous, "this is outside of a loop");
  uint32_t height = c->function->height;
  leave_tries(c, loop->tries);
  leave_scopes(c, loop->depth);
  chain_jump(c, is_break ? &loop->breaks : &loop->continues);
  c->function->height = height; /* for the code behind, which does not run */
  end_statement(c);
}

CRADLE_MAY_COLLECT static void compile_return(compiler *c) {
  if (accept(c, TOKEN_SEMICOLON)) {
    if (c->function->kind == FUNCTION_INIT)
      emit_byte(c, DO_GET_LOCAL, 1);
    else
      emit(c, DO_NIL);
  } else {
    if (c->function->kind == FUNCTION_INIT) fail_at(c, &c->previous, "init returns the instance and nothing else");
    compile_expression(c);
    end_statement(c);
  }
  leave_tries(c, 0);
  emit(c, DO_RETURN);
}

CRADLE_MAY_COLLECT static void compile_try(compiler *c) {
  uint32_t to_catch = emit_jump(c, DO_TRY);
  c->function->tries++;
  compile_block(c);
  c->function->tries--;
  emit(c, DO_END_TRY);
  uint32_t to_end = emit_jump(c, DO_JUMP);
  land(c, to_catch);
  expect(c, TOKEN_CATCH, "catch after a try's block");
  expect(c, TOKEN_LEFT_PAREN, "\"(\" and a variable after catch");
  expect(c, TOKEN_NAME, "the name of catch's variable");
  open_scope(c);
  c->function->height++; /* the error, which the handler finds on the stack */
  add_local(c, c->previous.start, c->previous.length);
  expect(c, TOKEN_RIGHT_PAREN, "\")\"");
  compile_block(c);
  close_scope(c);
  land(c, to_end);
}

CRADLE_MAY_COLLECT static void compile_throw(compiler *c) {
  compile_expression(c);
  end_statement(c);
  emit(c, DO_THROW);
}

/* fn NAME declares a function; any other fn begins an expression. */
static bool at_named_function(const compiler *c) {
  lexer ahead = c->lexer;
  return at(c, TOKEN_FN) && lexer_next(&ahead).kind == TOKEN_NAME;
}

static void compile_statement(compiler *c) {
  nest(c);
  if (at_named_function(c)) {
    advance(c);
    compile_named_function(c);
  } else if (accept(c, TOKEN_LET)) {
    compile_let(c);
  } else if (accept(c, TOKEN_CLASS)) {
    compile_class(c);
  } else if (accept(c, TOKEN_IF)) {
    compile_if(c);
  } else if (accept(c, TOKEN_WHILE)) {
    compile_while(c);
  } else if (accept(c, TOKEN_FOR)) {
    compile_for(c);
  } else if (accept(c, TOKEN_BREAK)) {
    compile_jump(c, true);
  } else if (accept(c, TOKEN_CONTINUE)) {
    compile_jump(c, false);
  } else if (accept(c, TOKEN_RETURN)) {
    compile_return(c);
  } else if (accept(c, TOKEN_TRY)) {
    compile_try(c);
  } else if (accept(c, TOKEN_THROW)) {
    compile_throw(c);
  } else if (at(c, TOKEN_LEFT_BRACE)) {
    compile_block(c);
  } else if (!accept(c, TOKEN_SEMICOLON)) {
    bool is_shown = c->is_interactive && c->function->kind == FUNCTION_MAIN && c->function->depth == 0;
    compile_simple_statement(c, is_shown ? DO_SHOW : DO_POP);
    end_statement(c);
  }
  c->nesting--;
}

/* --- the whole --- */

static void check_encoding(vm *vm, const char *text, size_t length) {
  for (size_t i = 0; i < length;) {
    size_t bytes = character_bytes(text + i, length - i);
    if (bytes == 0) raise_error(vm, "this is not UTF-8: byte 0x%02x", (unsigned char)text[i]);
    if (text[i] == '\n') vm->line++;
    i += bytes;
  }
}

/* Skips what may precede a program: a byte order mark, and a line that names its interpreter. */
static void skip_preamble(lexer *lexer) {
  static const char mark[] = "\xef\xbb\xbf";
  size_t length = (size_t)(lexer->end - lexer->next);
  if (length >= 3 && memcmp(lexer->next, mark, 3) == 0) lexer->next += 3;
  if (lexer->end - lexer->next < 2 || lexer->next[0] != '#' || lexer->next[1] != '!') return;
  while (lexer->next < lexer->end && *lexer->next != '\n') lexer->next++;
}

const prototype *compile(vm *vm, const source *source) {
  compiler c = {.vm = vm,
                .lexer = {source->text, source->text + source->length, 1},
                .is_interactive = source->is_interactive,
                .at_end = source->at_end};
  function_state state;
  const token name = {.start = "main", .length = 4};
  vm->file = source->file;
  vm->line = 1;
  check_encoding(vm, source->text, source->length);
  skip_preamble(&c.lexer);
  open_function(&c, &state, FUNCTION_MAIN, &name);
  advance(&c);
  while (!at(&c, TOKEN_END)) compile_statement(&c);
  close_function(&c);
  return state.prototype;
}
