/* Code: a prototype, which the compiler makes from a function, and the instructions of the machine.
 *
 * A prototype lies outside of the heap, because code does not move; its constants are in vm->constants, a root range,
 * and an instruction names them by a number of 16 bits. Prototypes live as long as the VM, except those of a program
 * that did not compile.
 */
#ifndef STACKVM_CODE_H
#define STACKVM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* name, bytes of operands, values that it takes from the stack, change in the number of values there (both without the
 * values that an operand counts, as those of CALL)
 *
 * Operands of one byte are variables or counts, those of two bytes (low byte first) constants, globals, caches and
 * distances. The comments show the stack before and after. */
#define INSTRUCTIONS(I) \
  I(CONSTANT, 2, 0, 1) /* -> constant */ \
  I(NIL, 0, 0, 1) \
  I(FALSE, 0, 0, 1) \
  I(TRUE, 0, 0, 1) \
  I(POP, 0, 1, -1) \
  I(SHOW, 0, 1, -1) /* prints what is not nil */ \
  I(DUP, 0, 1, 1)   /* a -> a a */ \
  I(DUP2, 0, 2, 2)  /* a b -> a b a b */ \
  I(GET_LOCAL, 1, 0, 1) \
  I(SET_LOCAL, 1, 1, -1) \
  I(GET_LOCALS, 2, 0, 2) /* two GET_LOCAL */ \
  I(GET_UPVALUE, 1, 0, 1) \
  I(SET_UPVALUE, 1, 1, -1) \
  I(GET_GLOBAL, 2, 0, 1) \
  I(SET_GLOBAL, 2, 1, -1) \
  I(DEFINE_GLOBAL, 2, 1, -1) \
  I(GET_FIELD, 4, 1, 0)    /* object -> value; name, cache */ \
  I(SET_FIELD, 4, 2, -2)   /* object value -> */ \
  I(GET_SUPER, 2, 2, -1)   /* this parent -> method bound to this; name */ \
  I(GET_INDEX, 0, 2, -1)   /* object key -> value */ \
  I(INDEX_LOCALS, 2, 0, 1) /* GET_LOCALS, GET_INDEX */ \
  I(SET_INDEX, 0, 3, -3)   /* object key value -> */ \
  I(ADD, 0, 2, -1) \
  I(SUBTRACT, 0, 2, -1) \
  I(ADD_LOCAL, 1, 1, 0) /* GET_LOCAL, ADD; and so on */ \
  I(SUBTRACT_LOCAL, 1, 1, 0) \
  I(ADD_CONSTANT, 2, 1, 0) \
  I(SUBTRACT_CONSTANT, 2, 1, 0) \
  I(MULTIPLY, 0, 2, -1) \
  I(DIVIDE, 0, 2, -1) \
  I(MODULO, 0, 2, -1) \
  I(NEGATE, 0, 1, 0) \
  I(NOT, 0, 1, 0) \
  I(EQUAL, 0, 2, -1) \
  I(UNEQUAL, 0, 2, -1) \
  I(LESS, 0, 2, -1) \
  I(LESS_EQUAL, 0, 2, -1) \
  I(GREATER, 0, 2, -1) \
  I(GREATER_EQUAL, 0, 2, -1) \
  I(JUMP, 2, 0, 0) /* forwards */ \
  I(LOOP, 2, 0, 0) /* backwards */ \
  I(JUMP_IF_FALSE, 2, 1, -1) \
  I(AND, 2, 1, -1)    /* a -> a, jumping, when it is false; else a -> */ \
  I(OR, 2, 1, -1)     /* a -> a, jumping, when it is true; else a -> */ \
  I(CALL, 1, 1, 0)    /* callee arguments -> result */ \
  I(INVOKE, 5, 2, -1) /* object object arguments -> result; name, cache, count */ \
  I(RETURN, 0, 1, -1) \
  I(CLOSURE, 2, 0, 1) /* -> closure; number of a prototype */ \
  I(CLOSE_UPVALUE, 0, 1, -1) \
  I(LIST, 1, 0, 1)        /* items -> list */ \
  I(EXTEND_LIST, 1, 1, 0) /* list items -> list */ \
  I(MAP, 1, 0, 1)         /* keys and values -> map; pairs */ \
  I(EXTEND_MAP, 1, 1, 0)  /* map keys and values -> map */ \
  I(CLASS, 2, 0, 1)       /* -> class; name */ \
  I(INHERIT, 0, 2, -1)    /* parent class -> parent */ \
  I(METHOD, 2, 2, -1)     /* class closure -> class; name */ \
  I(NEXT_KEY, 3, 0, 1)    /* -> key, or jumps; local that holds the collection, before a counter */ \
  I(NEXT_PAIR, 3, 0, 2)   /* -> key value, or jumps */ \
  I(TRY, 2, 0, 0)         /* errors from here on go to the distance, with the error on the stack */ \
  I(END_TRY, 0, 0, 0) \
  I(THROW, 0, 1, -1)

typedef enum instruction {
#define I(name, bytes, takes, effect) DO_##name,
  INSTRUCTIONS(I)
#undef I
      INSTRUCTION_COUNT
} instruction;

/* An inline cache: where a GET_FIELD, SET_FIELD or INVOKE last found its member. */
typedef struct inline_cache {
  uint64_t class_id; /* 0: the cache is empty */
  uint32_t member;
} inline_cache;

typedef struct captured {
  uint8_t index;
  bool is_local; /* a local of the enclosing function, else one of its upvalues */
} captured;

typedef struct line_entry {
  uint32_t start; /* code from here on */
  uint32_t line;
} line_entry;

typedef struct prototype {
  char *name;
  char *file;
  uint8_t *code;
  line_entry *lines;
  captured *upvalues;
  inline_cache *caches;
  uint32_t number;                 /* its index in vm->prototypes */
  uint32_t name_bytes, file_bytes; /* with the zero at the end */
  uint32_t code_count, code_room;
  uint32_t line_count, line_room;
  uint32_t upvalue_count, upvalue_room;
  uint32_t cache_count, cache_room;
  uint32_t stack_need;      /* the most values that a call has on the stack, callee and arguments included */
  uint32_t fewest_upvalues; /* of an image's: its closure with the fewest has so many */
  int arity;
  bool is_method; /* called with a receiver before the arguments */
} prototype;

/* NULL when memory runs out. The strings are copied. */
prototype *prototype_new(const char *name, size_t name_length, const char *file);
void prototype_free(prototype *prototype);
uint32_t prototype_line(const prototype *prototype, size_t position);

/* Makes room for one more item in a growing array: false when memory runs out. */
#define grow(items, count, room) ((count) < (room) || grow_array((void **)&(items), sizeof *(items), &(room)))
bool grow_array(void **items, size_t item_bytes, uint32_t *room);

int instruction_bytes(instruction instruction); /* operands only */
int instruction_takes(instruction instruction);
int instruction_effect(instruction instruction);
/* How many values more than it takes and leaves it has on the stack in between. */
unsigned instruction_extra(instruction instruction);
/* How many values the operand counts that the instruction takes, too; operands: those behind the instruction. */
unsigned instruction_counts(instruction instruction, const uint8_t *operands);

#endif
