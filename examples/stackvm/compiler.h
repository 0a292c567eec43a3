/* The compiler's inside: one pass from tokens to code, in three files.
 *
 *   compiler.c      statements, functions and classes
 *   expressions.c   expressions and assignments
 *   emit.c          instructions, variables and scopes
 *
 * An error is raised (vm.h) at once, so only the first is reported. Nothing leaks then: prototypes are in
 * vm->prototypes from the start, and the states of functions are on the C stack.
 */
#ifndef STACKVM_COMPILER_H
#define STACKVM_COMPILER_H

#include "lexer.h"
#include "vm.h"

#define LOCALS_MAX 251 /* 250 variables, and the function itself */
#define UPVALUES_MAX 250
#define ARGUMENTS_MAX 200
#define NESTING_MAX 150 /* of expressions and statements: each level takes some C stack */
#define CODE_MAX UINT16_MAX
#define NOWHERE UINT32_MAX

typedef struct local {
  const char *name; /* in the source, or a word of the compiler's */
  size_t length;
  int depth; /* of its scope */
  bool is_captured;
} local;

/* Forward jumps to the same place are chained through their distances until the place is known. */
typedef struct loop {
  struct loop *outer;
  uint32_t breaks, continues; /* the chains' first positions, or NOWHERE */
  int depth;                  /* the scope outside of its body */
  int tries;                  /* open tries outside of the loop */
} loop;

typedef enum function_kind { FUNCTION_MAIN, FUNCTION_PLAIN, FUNCTION_METHOD, FUNCTION_INIT } function_kind;

typedef struct function_state {
  struct function_state *outer;
  prototype *prototype;
  uint32_t number; /* of the prototype */
  function_kind kind;
  local locals[LOCALS_MAX];
  int local_count;
  int depth; /* of scopes */
  int tries; /* open ones */
  loop *loop;
  uint32_t height; /* values on the stack here */
  uint32_t last;   /* where the last instruction is, or NOWHERE if a jump may lead behind it */
} function_state;

typedef struct class_state {
  struct class_state *outer;
  bool has_parent;
} class_state;

typedef struct compiler {
  vm *vm;
  lexer lexer;
  token current, previous;
  function_state *function;
  class_state *class;
  int nesting;
  bool is_interactive;
  bool *at_end; /* set when the error is that the source ends */
} compiler;

/* --- compiler.c: tokens --- */

_Noreturn void fail_at(compiler *c, const token *where, const char *message);
void advance(compiler *c);
static inline bool at(const compiler *c, token_kind kind) {
  return c->current.kind == kind;
}
bool accept(compiler *c, token_kind kind);
/* Fails with "expected" and what if the current token is of another kind. */
void expect(compiler *c, token_kind kind, const char *what);
void nest(compiler *c);

/* Compiles a function from its parameters on; the code leaves the closure on the stack. */
void compile_function(compiler *c, function_kind kind, const token *name) CRADLE_MAY_COLLECT;

/* --- expressions.c --- */

void compile_expression(compiler *c) CRADLE_MAY_COLLECT;
/* Compiles an assignment, or an expression whose value the given instruction takes off the stack. */
void compile_simple_statement(compiler *c, instruction drop) CRADLE_MAY_COLLECT;

/* --- emit.c --- */

uint32_t emit(compiler *c, instruction instruction);
void emit_byte(compiler *c, instruction instruction, unsigned operand);
void emit_word(compiler *c, instruction instruction, unsigned operand);
void emit_operand_word(compiler *c, unsigned operand);
/* Emits the last operand of an INVOKE, the number of arguments, which it takes off the stack. */
void emit_count(compiler *c, unsigned count);
/* The number of a new inline cache. */
uint32_t new_cache(compiler *c);
uint32_t name_constant(compiler *c, const token *name) CRADLE_MAY_COLLECT;
void emit_number(compiler *c, double n) CRADLE_MAY_COLLECT;
void emit_string(compiler *c, const token *string) CRADLE_MAY_COLLECT;

/* Emits a forward jump and returns its position, for land(). */
uint32_t emit_jump(compiler *c, instruction instruction);
void land(compiler *c, uint32_t jump);
/* The place that a LOOP goes back to. */
uint32_t loop_start(compiler *c);
void emit_loop(compiler *c, uint32_t start);
void chain_jump(compiler *c, uint32_t *chain);
void land_chain(compiler *c, uint32_t chain);

void open_scope(compiler *c);
void close_scope(compiler *c);
/* Emits the code that leaves all scopes deeper than depth. For the compiler the scopes stay open. */
void leave_scopes(compiler *c, int depth);
/* Makes the value on top of the stack a local. */
void add_local(compiler *c, const char *name, size_t length);
/* Makes the value on top of the stack the variable: a local or, outside of all scopes, a global. */
void define_variable(compiler *c, const token *name) CRADLE_MAY_COLLECT;

typedef struct variable {
  instruction get, set;
  unsigned number;
} variable;
variable find_variable(compiler *c, const token *name) CRADLE_MAY_COLLECT;
void emit_get(compiler *c, variable variable);
void emit_set(compiler *c, variable variable);

void open_function(compiler *c, function_state *state, function_kind kind, const token *name);
void close_function(compiler *c);

#endif
