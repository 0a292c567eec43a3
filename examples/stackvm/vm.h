/* The virtual machine: its heap, its stacks, and how errors leave.
 *
 *   [vm.1] The words of the value stack from base to top are current values at every call that may collect: code that
 *          keeps the top elsewhere (the interpreter's loop) stores it first.
 *   [vm.2] A running function's callee is in the first slot of its frame, a method's receiver in the second, so the
 *          value stack alone keeps all running functions and receivers alive.
 *   [vm.3] Open upvalues are in vm->open_upvalues, highest slot first, one for each variable.
 *   [vm.4] Errors longjmp to the innermost protect() and run no cleanup in between. So C functions here hold no memory
 *          from malloc over a call that may raise or collect.
 */
#ifndef STACKVM_VM_H
#define STACKVM_VM_H

#include <setjmp.h>
#include <stdio.h>

#include "code.h"
#include "object.h"

/* A growing array of values outside of the heap that the collector reads: the value stack, globals and constants. */
typedef struct value_array {
  void *base, *top, *limit; /* value * each; void * because the root range takes the address of the first two */
  cradle_root_range range;
} value_array;

typedef struct frame {
  const prototype *prototype;
  const uint8_t *next; /* the next instruction, up to date at calls that may raise or collect */
  size_t base;         /* index of its first slot on the value stack */
} frame;

/* An open try: where it goes on. */
typedef struct handler {
  const uint8_t *next;
  uint32_t frame;  /* index of its frame */
  uint32_t height; /* values on the stack */
} handler;

#define STACK_MAX ((size_t)1 << 20)
#define FRAMES_MAX ((uint32_t)1 << 16)
#define OPERANDS_MAX UINT16_MAX /* constants, globals, prototypes */
#define NUMBER_TEXT 32          /* bytes for the text of a number */

typedef struct protection {
  struct protection *outer;
  cradle_checkpoint checkpoint;
  jmp_buf landing;
} protection;

typedef struct vm {
  cradle_heap *heap;
  cradle_mutator *mutator;
  cradle_kit kit;

  value_array stack, constants, globals;
  frame *frames;
  uint32_t frame_count, frame_room;
  handler *handlers;
  uint32_t handler_count, handler_room;
  prototype **prototypes;
  uint32_t prototype_count, prototype_room;

  upvalue *open_upvalues;           /* a global root, like the next ones */
  cradle_kit_map *constant_numbers; /* constant -> its number */
  cradle_kit_map *global_numbers;   /* name -> its number */
  value thrown;                     /* the value on its way to a handler; UNDEFINED: the text of message */
  value out_of_memory;              /* thrown when memory runs out; made while there is memory */
  value state;                      /* while an image is saved or loaded: what it has besides objects */
  char message[256];
  const char *file; /* the file compiled last, and the line where the compiler is or was */
  uint32_t line;
  uint64_t class_count;

  size_t heap_max;       /* as the user wants it; 0: the collector decides */
  size_t heap_max_now;   /* higher, after memory ran out */
  bool is_out_of_memory; /* on the way to the innermost protect() */
  bool may_raise_max;

  protection *protection;
} vm;

/* Starts the VM, with the image in a file unless image is NULL. If that fails, says why and ends the program. */
void vm_start(vm *vm, const char *image) CRADLE_GRANTS_COLLECTION;
void vm_stop(vm *vm) CRADLE_REVOKES_COLLECTION;

/* --- errors --- */

/* Raises an error with a text. */
_Noreturn void raise_error(vm *vm, const char *format, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void raise_value(vm *vm, value thrown);
_Noreturn void raise_out_of_memory(vm *vm);
typedef void (*protected_function)(vm *vm, void *data);
/* Calls function(vm, data). false: an error was raised in it; the stacks are as the error left them. */
bool protect(vm *vm, protected_function function, void *data) CRADLE_MAY_COLLECT;
/* The value that a handler gets for the error on its way. */
value take_error(vm *vm) CRADLE_MAY_COLLECT;
/* Call it before a program, or the next line of the prompt, runs. If the maximum heap was raised because memory ran
 * out, puts it back if enough is free again. It may then be raised once. */
void settle_heap_max(vm *vm) CRADLE_MAY_COLLECT;
/* Prints the error on its way with the functions it left. */
void report_error(vm *vm);
/* Drops the error, and empties the stacks. */
void forget_error(vm *vm);

/* --- the value arrays --- */

static inline value *stack_base(const vm *vm) {
  return (value *)vm->stack.base;
}
static inline value *stack_top(const vm *vm) {
  return (value *)vm->stack.top;
}
static inline size_t array_count(const value_array *array) {
  return (size_t)((value *)array->top - (value *)array->base);
}
/* Makes room for count more values in an array; raises an error when memory runs out. */
void array_reserve(vm *vm, value_array *array, size_t count);
/* Pushes a value on the stack, which may move: for the compiler and the like. */
void push(vm *vm, value v);
static inline value pop(vm *vm) {
  value *top = (value *)vm->stack.top - 1;
  vm->stack.top = top;
  return *top;
}

/* --- names and constants; numbers below OPERANDS_MAX, or an error --- */

/* The number of the global whose name is on top of the stack, which is popped. A new global is made, with the value
 * UNDEFINED. */
uint32_t global_number(vm *vm) CRADLE_MAY_COLLECT;
/* The number of the constant on top of the stack, which is popped. */
uint32_t constant_number(vm *vm) CRADLE_MAY_COLLECT;

/* --- upvalues --- */

/* Closes the open upvalues of a slot and all above it. */
void close_upvalues(vm *vm, size_t slot);

/* --- the rest, by file --- */

typedef struct source {
  const char *file; /* for messages */
  const char *text;
  size_t length;
  bool is_interactive; /* shows the values of expressions; the last ";" may be left out */
  bool *at_end;        /* set when there is an error because the source ends */
} source;

/* compiler.c: the main function of a source. */
const prototype *compile(vm *vm, const source *source) CRADLE_MAY_COLLECT;
/* interpreter.c: compiles and runs a source. false: an error was raised and reported. (If the source is interactive, an
 * error that only says that it ended is not reported.) */
bool run_source(vm *vm, const source *source) CRADLE_MAY_COLLECT;
/* builtins.c */
void define_builtins(vm *vm) CRADLE_MAY_COLLECT;
/* What words of objects lead to: the builtins, by their names. */
const cradle_image_symbol *image_symbols(size_t *count);
/* image.c: saves all that was defined, when no program runs; takes over what vm_start has loaded. An error ends the
 * program. */
void save_image(vm *vm, const char *path) CRADLE_MAY_COLLECT;
void take_image(vm *vm);
/* verify.c: raises an error if the code of an image cannot be run. */
void check_code(vm *vm, const prototype *of);
/* text.c: the text that print prints. As a string; as a number's text, whose length is returned; or printed directly,
 * which allocates nothing. */
cradle_kit_string *to_text(vm *vm, value v) CRADLE_MAY_COLLECT;
size_t number_text(double n, char text[NUMBER_TEXT]);
void print_value(value v, FILE *out);

#endif
