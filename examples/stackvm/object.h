/* The objects of the heap. Strings, lists and maps are the runtime kit's (cradle/kit.h); the rest is here.
 *
 *   [object.1] A closure's upvalues and an instance's fields are objects of their own, so that closures share variables
 *              and an instance stays the same object when it gets more fields.
 *   [object.2] An upvalue is open while the variable is on the value stack: slot is its index there. The stack may be
 *              moved by growing, so there is no pointer into it. Once closed, slot is CLOSED and the variable is in the
 *              upvalue.
 *   [object.3] All instances of a class number their fields alike: class->members maps a name to its number. A field
 *              that an instance lacks is UNDEFINED or beyond the end of its fields.
 *   [object.4] A member keeps its number from the first instance on, so that inline caches hold class id and number.
 */
#ifndef STACKVM_OBJECT_H
#define STACKVM_OBJECT_H

#include <cradle/kit.h>

#include "value.h"

struct vm;
struct prototype;

enum {
  T_CLOSURE,
  T_UPVALUE,
  T_CLASS,
  T_INSTANCE,
  T_FIELDS,
  T_BOUND,
  T_NATIVE,
  T_CODE,
  T_KIT,
  T_STRING = T_KIT + CRADLE_KIT_STRING,
  T_LIST = T_KIT + CRADLE_KIT_LIST,
  T_MAP = T_KIT + CRADLE_KIT_MAP,
  T_COUNT = T_KIT + CRADLE_KIT_TYPES,
};
extern const cradle_type object_types[T_COUNT];

#define CLOSED UINT64_MAX

typedef struct upvalue {
  uint64_t header;
  uint64_t slot;
  value closed;
  struct upvalue *next; /* the open upvalue of the next lower slot */
} upvalue;

typedef struct closure {
  uint64_t header;
  const struct prototype *prototype; /* outside of the heap: code does not move */
  uint64_t number;                   /* of the prototype, for images */
  uint64_t upvalue_count;
  upvalue *upvalues[];
} closure;

typedef struct class {
  uint64_t header;
  cradle_kit_string *name;
  cradle_kit_map *members; /* name -> member, as a number */
  cradle_kit_list *methods;
  struct class *parent; /* or NULL */
  uint64_t id;          /* unique, never 0 */
  uint64_t field_count;
  uint64_t init; /* the member that runs when an instance is made, or MEMBER_NONE */
} class;

/* A member: the number of a field or a method, with a bit that says which it is. */
#define MEMBER_METHOD UINT32_C(0x80000000)
#define MEMBER_NONE UINT32_MAX
#define FIELDS_MAX 1000

typedef struct fields {
  uint64_t header;
  uint64_t length;
  value items[];
} fields;
typedef struct instance {
  uint64_t header;
  class *class;
  fields *fields;
} instance;

/* A method taken out of an instance. */
typedef struct bound {
  uint64_t header;
  value receiver;
  closure *method;
} bound;

/* arguments[0 .. count - 1] are on the value stack, where they stay. */
typedef value (*native_function)(struct vm *vm, value *arguments, int count);
typedef struct native_description {
  const char *name;
  native_function function;
  int least, most; /* arguments */
} native_description;
typedef struct native {
  uint64_t header;
  const native_description *description;
} native;

/* The contents of a prototype, for images: its arrays one after the other, and their lengths. */
enum { CODE_PARTS = 5 };
typedef struct code {
  uint64_t header;
  uint64_t length;
  uint32_t arity, stack_need, cache_count, is_method;
  uint32_t counts[CODE_PARTS];
  uint8_t bytes[];
} code;

static inline bool is_string(value v) {
  return is_a(v, T_STRING);
}
static inline cradle_kit_string *to_string(value v) {
  return (cradle_kit_string *)address(v);
}
static inline cradle_kit_list *to_list(value v) {
  return (cradle_kit_list *)address(v);
}
static inline cradle_kit_map *to_map(value v) {
  return (cradle_kit_map *)address(v);
}
static inline closure *to_closure(value v) {
  return (closure *)address(v);
}
static inline class *to_class(value v) {
  return (class *)address(v);
}
static inline instance *to_instance(value v) {
  return (instance *)address(v);
}

/* image.c: gives a closure of an image its prototype. */
void mend_closure(void *vm, void *closure);
/* "a number", "a list" and so on, for messages. */
const char *kind_name(value v);
/* Compares numbers by value, strings by their bytes and everything else by identity. */
bool equal_values(value a, value b);
/* The key that stands for v in a map: 0 and -0 are one key, and so are all NaNs. */
value to_key(value v);

class *new_class(struct vm *vm, cradle_kit_string *name) CRADLE_MAY_COLLECT;
/* Gives the class all members of its parent. */
void inherit(struct vm *vm, class *into, class *parent) CRADLE_MAY_COLLECT;
void add_method(struct vm *vm, class *into, cradle_kit_string *name, closure *method) CRADLE_MAY_COLLECT;
uint32_t find_member(struct vm *vm, const class *of, cradle_kit_string *name);
/* The member for a field that will be set: it is added to the class if it is new. If a method has the name, the
 * method's number. */
uint32_t want_field(struct vm *vm, class *of, cradle_kit_string *name) CRADLE_MAY_COLLECT;
/* Sets a field, and makes room if there is none. */
void set_field(struct vm *vm, instance *of, uint32_t number, value v) CRADLE_MAY_COLLECT;

#endif
