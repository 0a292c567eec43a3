/* Checks the code of an image before it runs. The interpreter trusts its code, and a file may be damaged.
 *
 * All paths through a function are followed, with the number of values on the stack and of open tries. Where paths
 * meet, they must agree. So each instruction is looked at once, and a jump may lead anywhere as long as what is there
 * can run. What the values are is not known here: the few instructions that trust the compiler in that ask themselves
 * (want() in operate.h). */
#include "vm.h"

#include <stdlib.h>

/* What holds before an instruction. */
typedef struct state {
  uint32_t height, tries;
  bool is_known;
} state;

typedef struct checker {
  const vm *vm;
  const prototype *of;
  state *states;  /* before each byte of the code */
  uint32_t *todo; /* positions whose state is known and that were not looked at */
  uint32_t todo_count;
  const char *fault; /* the first one, or NULL */
} checker;

static void demand(checker *c, bool holds, const char *fault) {
  if (!holds && c->fault == NULL) c->fault = fault;
}

/* A path leads to a position. */
static void follow(checker *c, int64_t position, state with) {
  demand(c, position >= 0 && position < c->of->code_count, "it goes on outside of the code");
  demand(c, with.height <= c->of->stack_need, "it needs more of the stack than the function asks for");
  if (c->fault != NULL) return;
  state *known = &c->states[position];
  if (known->is_known) {
    demand(c, known->height == with.height && known->tries == with.tries, "paths with different stacks meet");
    return;
  }
  *known = (state){with.height, with.tries, true};
  c->todo[c->todo_count++] = (uint32_t)position;
}

/* --- operands --- */

static unsigned word_at(const uint8_t *operands) {
  return operands[0] | (unsigned)operands[1] << 8;
}

static void check_local(checker *c, unsigned number, uint32_t height) {
  demand(c, number < height, "there is no such local variable");
}
static void check_constant(checker *c, unsigned number, bool is_name) {
  const value *constants = c->vm->constants.base;
  demand(c, number < array_count(&c->vm->constants), "there is no such constant");
  demand(c, c->fault != NULL || !is_name || is_string(constants[number]), "a name is no string");
}
static void check_cache(checker *c, unsigned number) {
  demand(c, number < c->of->cache_count, "there is no such cache");
}

/* The variables that a new closure captures. Slot 0 is the running function, which is no variable. */
static void check_closure(checker *c, unsigned number, uint32_t height) {
  demand(c, number < c->vm->prototype_count, "there is no such function");
  if (c->fault != NULL) return;
  const prototype *made = c->vm->prototypes[number];
  for (uint32_t i = 0; i < made->upvalue_count; i++) {
    captured from = made->upvalues[i];
    demand(c, from.is_local ? from.index > 0 && from.index < height : from.index < c->of->upvalue_count,
           "a closure captures a variable that is not there");
  }
}

static void check_operands(checker *c, instruction instruction, const uint8_t *at, uint32_t height) {
  switch (instruction) {
  case DO_SET_LOCAL: demand(c, at[0] > 0, "the running function is overwritten"); /* fallthrough */
  case DO_GET_LOCAL:
  case DO_ADD_LOCAL:
  case DO_SUBTRACT_LOCAL: check_local(c, at[0], height); break;
  case DO_GET_LOCALS: /* the second may be what the first has pushed, when that becomes a variable */
    check_local(c, at[0], height), check_local(c, at[1], height + 1);
    break;
  case DO_INDEX_LOCALS: check_local(c, at[0], height), check_local(c, at[1], height); break;
  case DO_NEXT_KEY:
  case DO_NEXT_PAIR:
    check_local(c, at[0] + 1U, height), demand(c, at[0] > 0, "the running function is overwritten");
    break;
  case DO_GET_UPVALUE:
  case DO_SET_UPVALUE: demand(c, at[0] < c->of->upvalue_count, "there is no such captured variable"); break;
  case DO_GET_GLOBAL:
  case DO_SET_GLOBAL:
  case DO_DEFINE_GLOBAL: demand(c, word_at(at) < array_count(&c->vm->globals), "there is no such global"); break;
  case DO_CONSTANT:
  case DO_ADD_CONSTANT:
  case DO_SUBTRACT_CONSTANT: check_constant(c, word_at(at), false); break;
  case DO_GET_SUPER:
  case DO_CLASS:
  case DO_METHOD: check_constant(c, word_at(at), true); break;
  case DO_GET_FIELD:
  case DO_SET_FIELD:
  case DO_INVOKE: check_constant(c, word_at(at), true), check_cache(c, word_at(at + 2)); break;
  case DO_CLOSURE: check_closure(c, word_at(at), height); break;
  default: break;
  }
}

/* --- paths --- */

/* Where an instruction at next[-1] may go on; its operands begin at next and end before position `after`. */
static void follow_all(checker *c, instruction instruction, const uint8_t *next, uint32_t after, state before) {
  unsigned count = instruction_counts(instruction, next);
  state then = before;
  uint32_t taken = (uint32_t)instruction_takes(instruction) + count;
  demand(c, before.height > taken, "it takes more from the stack than there is");
  demand(c, before.height + instruction_extra(instruction) <= c->of->stack_need,
         "it needs more of the stack than the function asks for");
  then.height = (uint32_t)((int64_t)before.height + instruction_effect(instruction) - count);
  switch (instruction) {
  case DO_RETURN: demand(c, before.tries == 0, "it returns from an open try"); /* fallthrough */
  case DO_THROW: return;
  case DO_JUMP: follow(c, (int64_t)after + word_at(next), then); return;
  case DO_LOOP: follow(c, (int64_t)after - word_at(next), then); return;
  case DO_JUMP_IF_FALSE: follow(c, (int64_t)after + word_at(next), then); break;
  case DO_AND:
  case DO_OR: follow(c, (int64_t)after + word_at(next), before); break;
  case DO_NEXT_KEY:
  case DO_NEXT_PAIR: follow(c, (int64_t)after + word_at(next + 1), before); break;
  case DO_TRY:
    follow(c, (int64_t)after + word_at(next), (state){before.height + 1, before.tries, true});
    then.tries++;
    break;
  case DO_END_TRY:
    demand(c, before.tries > 0, "it ends a try that is not open");
    then.tries--;
    break;
  default: break;
  }
  follow(c, after, then);
}

static void check_instruction(checker *c, uint32_t position) {
  const uint8_t *code = &c->of->code[position];
  demand(c, *code < INSTRUCTION_COUNT, "there is no such instruction");
  if (c->fault != NULL) return;
  uint32_t after = position + 1 + (uint32_t)instruction_bytes(*code);
  demand(c, after <= c->of->code_count, "the code ends in an instruction");
  if (c->fault == NULL) check_operands(c, *code, code + 1, c->states[position].height);
  if (c->fault == NULL) follow_all(c, *code, code + 1, after, c->states[position]);
}

static void check_whole(checker *c) {
  const prototype *of = c->of;
  demand(c, of->name_bytes > 0 && of->name[of->name_bytes - 1] == '\0', "its name has no end");
  demand(c, of->file_bytes > 0 && of->file[of->file_bytes - 1] == '\0', "its file has no end");
  demand(c, of->stack_need <= STACK_MAX, "it asks for too much of the stack");
  follow(c, 0, (state){1 + (uint32_t)of->arity + of->is_method, 0, true});
}

void check_code(vm *vm, const prototype *of) {
  checker c = {.vm = vm, .of = of};
  uint32_t position = 0;
  c.states = calloc((size_t)of->code_count + 1, sizeof *c.states);
  c.todo = calloc((size_t)of->code_count + 1, sizeof *c.todo);
  bool is_checked = c.states != NULL && c.todo != NULL;
  if (is_checked) check_whole(&c);
  while (c.todo_count > 0 && c.fault == NULL) check_instruction(&c, position = c.todo[--c.todo_count]);
  free(c.states);
  free(c.todo);
  if (!is_checked) raise_error(vm, "no memory to check the code of the image");
  if (c.fault != NULL)
    raise_error(vm, "the image is damaged: function %u, byte %u of its code: %s", of->number, position, c.fault);
}
