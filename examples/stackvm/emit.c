#include <string.h>

#include "compiler.h"

/* --- instructions --- */

static void add_byte(compiler *c, unsigned byte) {
  prototype *prototype = c->function->prototype;
  if (prototype->code_count == CODE_MAX) fail_at(c, &c->previous, "a function has more than 65535 bytes of code");
  if (!grow(prototype->code, prototype->code_count, prototype->code_room)) raise_out_of_memory(c->vm);
  prototype->code[prototype->code_count++] = (uint8_t)byte;
}

static bool is_on_last_line(const compiler *c) {
  const prototype *prototype = c->function->prototype;
  return prototype->line_count > 0 && prototype->lines[prototype->line_count - 1].line == c->previous.line;
}

static void note_line(compiler *c) {
  prototype *prototype = c->function->prototype;
  uint32_t line = c->previous.line;
  if (is_on_last_line(c)) return;
  if (!grow(prototype->lines, prototype->line_count, prototype->line_room)) raise_out_of_memory(c->vm);
  prototype->lines[prototype->line_count++] = (line_entry){prototype->code_count, line};
}

static void change_height(compiler *c, int effect) {
  function_state *function = c->function;
  function->height = (uint32_t)((int)function->height + effect);
  if (function->height > function->prototype->stack_need) function->prototype->stack_need = function->height;
}

/* Pairs of instructions that often follow each other. They become one instruction, with the operands of both. */
static const struct {
  uint8_t first, second, both;
} fusions[] = {
    {DO_GET_LOCAL, DO_GET_LOCAL, DO_GET_LOCALS}, {DO_GET_LOCALS, DO_GET_INDEX, DO_INDEX_LOCALS},
    {DO_GET_LOCAL, DO_ADD, DO_ADD_LOCAL},        {DO_GET_LOCAL, DO_SUBTRACT, DO_SUBTRACT_LOCAL},
    {DO_CONSTANT, DO_ADD, DO_ADD_CONSTANT},      {DO_CONSTANT, DO_SUBTRACT, DO_SUBTRACT_CONSTANT},
};

/* Fuses the last instruction and this one, unless a jump may lead between them. */
static bool fuse(compiler *c, instruction instruction) {
  if (c->function->last == NOWHERE || !is_on_last_line(c)) return false;
  uint8_t *last = &c->function->prototype->code[c->function->last];
  for (size_t i = 0; i < sizeof fusions / sizeof *fusions; i++) {
    if (fusions[i].first != *last || fusions[i].second != instruction) continue;
    *last = fusions[i].both;
    return true;
  }
  return false;
}

uint32_t emit(compiler *c, instruction instruction) {
  if (!fuse(c, instruction)) {
    note_line(c);
    c->function->last = c->function->prototype->code_count;
    add_byte(c, instruction);
  }
  change_height(c, instruction_effect(instruction));
  return c->function->prototype->code_count;
}

void emit_byte(compiler *c, instruction instruction, unsigned operand) {
  emit(c, instruction);
  add_byte(c, operand);
  change_height(c, -(int)instruction_counts(instruction, &(uint8_t){(uint8_t)operand}));
}

void emit_operand_word(compiler *c, unsigned operand) {
  add_byte(c, operand & 0xff);
  add_byte(c, operand >> 8);
}
void emit_word(compiler *c, instruction instruction, unsigned operand) {
  emit(c, instruction);
  emit_operand_word(c, operand);
}

void emit_count(compiler *c, unsigned count) {
  add_byte(c, count);
  change_height(c, -(int)count);
}

uint32_t new_cache(compiler *c) {
  prototype *prototype = c->function->prototype;
  if (!grow(prototype->caches, prototype->cache_count, prototype->cache_room)) raise_out_of_memory(c->vm);
  prototype->caches[prototype->cache_count] = (inline_cache){0, 0};
  return prototype->cache_count++;
}

static void push_name(compiler *c, const token *name) CRADLE_MAY_COLLECT;
static void push_name(compiler *c, const token *name) {
  push(c->vm, object(cradle_kit_string_new(&c->vm->kit, name->start, name->length)));
}
uint32_t name_constant(compiler *c, const token *name) {
  push_name(c, name);
  return constant_number(c->vm);
}

void emit_number(compiler *c, double n) {
  push(c->vm, number(n));
  emit_word(c, DO_CONSTANT, constant_number(c->vm));
}
void emit_string(compiler *c, const token *token) {
  const char *wrong;
  size_t length = string_contents(token, NULL, &wrong);
  if (length == SIZE_MAX) fail_at(c, token, wrong);
  cradle_kit_string *string = cradle_kit_string_new(&c->vm->kit, NULL, length);
  string_contents(token, string->bytes, &wrong);
  push(c->vm, object(string));
  emit_word(c, DO_CONSTANT, constant_number(c->vm));
}

/* --- jumps: the distance is counted from behind the instruction --- */

static void set_word(compiler *c, uint32_t position, unsigned word) {
  c->function->prototype->code[position] = (uint8_t)word;
  c->function->prototype->code[position + 1] = (uint8_t)(word >> 8);
}
static unsigned get_word(const compiler *c, uint32_t position) {
  const uint8_t *code = c->function->prototype->code;
  return code[position] | (unsigned)code[position + 1] << 8;
}

uint32_t emit_jump(compiler *c, instruction instruction) {
  emit_word(c, instruction, 0);
  return c->function->prototype->code_count - 2;
}
void land(compiler *c, uint32_t jump) {
  c->function->last = NOWHERE;
  set_word(c, jump, c->function->prototype->code_count - (jump + 2));
}
uint32_t loop_start(compiler *c) {
  c->function->last = NOWHERE;
  return c->function->prototype->code_count;
}
void emit_loop(compiler *c, uint32_t start) {
  uint32_t position = emit(c, DO_LOOP);
  emit_operand_word(c, position + 2 - start);
}

/* Until they land, each jump of a chain holds the position of the jump before it, which is never 0; the first jump
 * holds 0. */
void chain_jump(compiler *c, uint32_t *chain) {
  uint32_t jump = emit_jump(c, DO_JUMP);
  set_word(c, jump, *chain == NOWHERE ? 0 : *chain);
  *chain = jump;
}
void land_chain(compiler *c, uint32_t chain) {
  while (chain != NOWHERE) {
    unsigned previous = get_word(c, chain);
    land(c, chain);
    chain = previous == 0 ? NOWHERE : previous;
  }
}

/* --- scopes --- */

void open_scope(compiler *c) {
  c->function->depth++;
}

void leave_scopes(compiler *c, int depth) {
  const function_state *function = c->function;
  for (int i = function->local_count - 1; i >= 0 && function->locals[i].depth > depth; i--)
    emit(c, function->locals[i].is_captured ? DO_CLOSE_UPVALUE : DO_POP);
}

void close_scope(compiler *c) {
  function_state *function = c->function;
  leave_scopes(c, --function->depth);
  while (function->local_count > 0 && function->locals[function->local_count - 1].depth > function->depth)
    function->local_count--;
}

void add_local(compiler *c, const char *name, size_t length) {
  function_state *function = c->function;
  for (int i = function->local_count - 1; i >= 0 && function->locals[i].depth == function->depth; i--)
    if (length > 0 && function->locals[i].length == length && memcmp(function->locals[i].name, name, length) == 0)
      fail_at(c, &c->previous, "this block has a variable of that name");
  if (function->local_count == LOCALS_MAX)
    fail_at(c, &c->previous, "a function has more than 250 variables at one place");
  function->locals[function->local_count++] = (local){name, length, function->depth, false};
}

static bool is_global_scope(const compiler *c) {
  return c->function->kind == FUNCTION_MAIN && c->function->depth == 0;
}

void define_variable(compiler *c, const token *name) {
  if (!is_global_scope(c)) {
    add_local(c, name->start, name->length);
    return;
  }
  push_name(c, name);
  emit_word(c, DO_DEFINE_GLOBAL, global_number(c->vm));
}

/* --- variables --- */

static int find_local(const function_state *function, const token *name) {
  for (int i = function->local_count - 1; i >= 0; i--)
    if (function->locals[i].length == name->length && memcmp(function->locals[i].name, name->start, name->length) == 0)
      return i;
  return -1;
}

static int capture(compiler *c, function_state *function, unsigned index, bool is_local) {
  prototype *prototype = function->prototype;
  for (uint32_t i = 0; i < prototype->upvalue_count; i++)
    if (prototype->upvalues[i].index == index && prototype->upvalues[i].is_local == is_local) return (int)i;
  if (prototype->upvalue_count == UPVALUES_MAX)
    fail_at(c, &c->previous, "a function uses more than 250 variables of those around it");
  if (!grow(prototype->upvalues, prototype->upvalue_count, prototype->upvalue_room)) raise_out_of_memory(c->vm);
  prototype->upvalues[prototype->upvalue_count] = (captured){(uint8_t)index, is_local};
  return (int)prototype->upvalue_count++;
}

/* The number of the upvalue for the name in a function, captured through all functions between; -1: no enclosing
 * function has the variable. */
static int find_upvalue(compiler *c, function_state *function, const token *name) {
  if (function->outer == NULL) return -1;
  int index = find_local(function->outer, name);
  if (index >= 0) {
    function->outer->locals[index].is_captured = true;
    return capture(c, function, (unsigned)index, true);
  }
  index = find_upvalue(c, function->outer, name);
  return index < 0 ? -1 : capture(c, function, (unsigned)index, false);
}

variable find_variable(compiler *c, const token *name) {
  int index = find_local(c->function, name);
  if (index >= 0) return (variable){DO_GET_LOCAL, DO_SET_LOCAL, (unsigned)index};
  index = find_upvalue(c, c->function, name);
  if (index >= 0) return (variable){DO_GET_UPVALUE, DO_SET_UPVALUE, (unsigned)index};
  push_name(c, name);
  return (variable){DO_GET_GLOBAL, DO_SET_GLOBAL, global_number(c->vm)};
}

static void emit_access(compiler *c, instruction instruction, unsigned number) {
  if (instruction_bytes(instruction) == 1)
    emit_byte(c, instruction, number);
  else
    emit_word(c, instruction, number);
}
void emit_get(compiler *c, variable variable) {
  emit_access(c, variable.get, variable.number);
}
void emit_set(compiler *c, variable variable) {
  emit_access(c, variable.set, variable.number);
}

/* --- functions --- */

void open_function(compiler *c, function_state *state, function_kind kind, const token *name) {
  vm *vm = c->vm;
  *state = (function_state){.outer = c->function, .kind = kind, .number = vm->prototype_count, .last = NOWHERE};
  if (vm->prototype_count == OPERANDS_MAX) raise_error(vm, "there are more than %d functions", OPERANDS_MAX);
  if (!grow(vm->prototypes, vm->prototype_count, vm->prototype_room)) raise_out_of_memory(vm);
  state->prototype = prototype_new(name->start, name->length, c->vm->file);
  if (state->prototype == NULL) raise_out_of_memory(vm);
  state->prototype->number = vm->prototype_count;
  vm->prototypes[vm->prototype_count++] = state->prototype;
  c->function = state;
  change_height(c, 1);
  add_local(c, "", 0); /* the callee */
  state->prototype->is_method = kind == FUNCTION_METHOD || kind == FUNCTION_INIT;
  if (state->prototype->is_method) {
    change_height(c, 1);
    add_local(c, "this", 4);
  }
}

void close_function(compiler *c) {
  if (c->function->kind == FUNCTION_INIT)
    emit_byte(c, DO_GET_LOCAL, 1);
  else
    emit(c, DO_NIL);
  emit(c, DO_RETURN);
  c->function = c->function->outer;
}
