/* A bytecode machine with NaN-boxed values, half ported: its objects come from Cradle and its value stack is a root
 * range, but its locals have no roots and its tables stay in malloc. Each mistake that the port still has is marked;
 * everything else is right. No value is rooted, so the descriptors alone show that Value is a type of values. */
#include <cradle/cradle.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t Value;
typedef struct Obj {
  uint64_t header;
} Obj;
typedef struct ObjString {
  Obj obj;
  uint64_t length;
  uint32_t hash;
  char chars[];
} ObjString;
typedef struct Entry {
  ObjString *key;
  Value value;
} Entry;
typedef struct Table {
  int count, capacity;
  Entry *entries;
} Table;
typedef struct Chunk {
  int count, capacity;
  uint8_t *code;
  int constant_count;
  Value *constants;
} Chunk;
typedef struct ObjFunction {
  Obj obj;
  int arity;
  Chunk chunk;
  ObjString *name;
} ObjFunction;
typedef struct ObjUpvalue {
  Obj obj;
  uint64_t slot;
  Value closed;
  struct ObjUpvalue *next;
} ObjUpvalue;
typedef struct ObjClosure {
  Obj obj;
  uint64_t count;
  ObjFunction *function;
  ObjUpvalue *upvalues[];
} ObjClosure;
typedef struct ObjClass {
  Obj obj;
  ObjString *name;
  Value initializer;
  Table methods;
} ObjClass;
typedef struct ObjInstance {
  Obj obj;
  ObjClass *klass;
  Table fields;
} ObjInstance;
typedef struct ObjBound {
  Obj obj;
  Value receiver;
  ObjClosure *method;
} ObjBound;
typedef struct ObjList {
  Obj obj;
  int count, capacity;
  Value *items;
} ObjList;
typedef struct ObjArray {
  Obj obj;
  uint64_t length;
  Value items[];
} ObjArray;
typedef bool (*NativeFn)(int count, Value *arguments, Value *result);
typedef struct ObjNative {
  Obj obj;
  NativeFn function;
} ObjNative;
enum { T_STRING, T_FUNCTION, T_UPVALUE, T_CLOSURE, T_CLASS, T_INSTANCE, T_BOUND, T_LIST, T_ARRAY, T_NATIVE, TYPES };

/* --- values --- */

#define QNAN UINT64_C(0x7ffc000000000000)
#define SIGN_BIT UINT64_C(0x8000000000000000)
#define NIL_VAL ((Value)(QNAN | 1))
#define BOOL_VAL(b) ((b) ? (Value)(QNAN | 3) : (Value)(QNAN | 2))
#define IS_NUMBER(v) (((v) & QNAN) != QNAN)
#define IS_OBJ(v) (((v) & (QNAN | SIGN_BIT)) == (QNAN | SIGN_BIT))
#define AS_OBJ(v) ((Obj *)(uintptr_t)((v) & ~(SIGN_BIT | QNAN)))
#define OBJ_VAL(object) ((Value)(SIGN_BIT | QNAN | (uint64_t)(uintptr_t)(object)))
#define AS_NUMBER(v) value_to_number(v)
#define NUMBER_VAL(n) number_to_value(n)
#define AS_STRING(v) ((ObjString *)AS_OBJ(v))
#define AS_CLOSURE(v) ((ObjClosure *)AS_OBJ(v))
#define AS_CLASS(v) ((ObjClass *)AS_OBJ(v))
#define AS_INSTANCE(v) ((ObjInstance *)AS_OBJ(v))
#define AS_LIST(v) ((ObjList *)AS_OBJ(v))
#define AS_ARRAY(v) ((ObjArray *)AS_OBJ(v))
#define OBJ_TYPE(v) (cradle_type_of(AS_OBJ(v)))
#define IS_STRING(v) (IS_OBJ(v) && OBJ_TYPE(v) == T_STRING)
#define IS_INSTANCE(v) (IS_OBJ(v) && OBJ_TYPE(v) == T_INSTANCE)
#define RETURN_VAL(x) \
  do { \
    Value v_ = (x); \
    *result = v_; \
    return true; \
  } while (0)
#define RETURN_OBJ(x) RETURN_VAL(OBJ_VAL(x))

static double value_to_number(Value v) {
  union {
    Value bits;
    double number;
  } both = {v};
  return both.number;
}
static Value number_to_value(double n) {
  union {
    double number;
    Value bits;
  } both = {n};
  return both.bits;
}

/* --- the machine --- */

static struct {
  cradle_mutator *mutator;
  cradle_root_range range;
  Value *stack, *top;
  Table globals, strings;
  ObjUpvalue *open_upvalues;
  ObjString *init_string;
  ObjClass *last_class;
} vm;
static ObjString *empty_name;

static void push(Value v) {
  *vm.top++ = v;
}
static Value pop(void) {
  return *--vm.top;
}
static Value peek(int distance) {
  return vm.top[-1 - distance];
}

/* --- tables, in malloc --- */

static void visit_table(cradle_visitor *visitor, Table *table) {
  for (int i = 0; i < table->capacity; i++) {
    Entry *entry = &table->entries[i];
    if (entry->key == NULL) continue;
    cradle_visit(visitor, &entry->key, CRADLE_KIND_REFERENCE);
    cradle_visit(visitor, &entry->value, CRADLE_KIND_VALUE);
  }
}
static void trace_function(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  ObjFunction *function = object;
  for (int i = 0; i < function->chunk.constant_count; i++)
    cradle_visit(visitor, &function->chunk.constants[i], CRADLE_KIND_VALUE);
}
static void trace_class(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  visit_table(visitor, &((ObjClass *)object)->methods);
}
static void trace_instance(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  visit_table(visitor, &((ObjInstance *)object)->fields);
}
static void trace_list(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  ObjList *list = (ObjList *)object;
  for (int i = 0; i < list->count; i++) cradle_visit(visitor, &list->items[i], CRADLE_KIND_VALUE);
}
void visit_roots(void *data, cradle_visitor *visitor) {
  (void)data;
  visit_table(visitor, &vm.globals);
  visit_table(visitor, &vm.strings);
  cradle_visit(visitor, &vm.open_upvalues, CRADLE_KIND_REFERENCE);
  cradle_visit(visitor, &vm.init_string, CRADLE_KIND_REFERENCE);
}

const cradle_type types[TYPES] = {
    [T_STRING] = {.name = "string",
                  .size = sizeof(ObjString),
                  .items = CRADLE_ITEMS_BYTES,
                  .item_size = 1,
                  .length_offset = offsetof(ObjString, length)},
    [T_FUNCTION] = {.name = "function",
                    .size = sizeof(ObjFunction),
                    .references = CRADLE_SLOT(ObjFunction, name),
                    .trace = trace_function},
    [T_UPVALUE] = {.name = "upvalue",
                   .size = sizeof(ObjUpvalue),
                   .references = CRADLE_SLOT(ObjUpvalue, next),
                   .values = CRADLE_SLOT(ObjUpvalue, closed)},
    [T_CLOSURE] = {.name = "closure",
                   .size = sizeof(ObjClosure),
                   .references = CRADLE_SLOT(ObjClosure, function),
                   .items = CRADLE_ITEMS_REFERENCES,
                   .item_size = 8,
                   .length_offset = offsetof(ObjClosure, count)},
    [T_CLASS] = {.name = "class",
                 .size = sizeof(ObjClass),
                 .references = CRADLE_SLOT(ObjClass, name),
                 .values = CRADLE_SLOT(ObjClass, initializer),
                 .trace = trace_class},
    [T_INSTANCE] = {.name = "instance",
                    .size = sizeof(ObjInstance),
                    .references = CRADLE_SLOT(ObjInstance, klass),
                    .trace = trace_instance},
    [T_BOUND] = {.name = "bound",
                 .size = sizeof(ObjBound),
                 .references = CRADLE_SLOT(ObjBound, method),
                 .values = CRADLE_SLOT(ObjBound, receiver)},
    [T_LIST] = {.name = "list", .size = sizeof(ObjList), .trace = trace_list},
    [T_ARRAY] = {.name = "array",
                 .size = sizeof(ObjArray),
                 .items = CRADLE_ITEMS_VALUES,
                 .item_size = 8,
                 .length_offset = offsetof(ObjArray, length)},
    [T_NATIVE] = {.name = "native", .size = sizeof(ObjNative)},
};

static Entry *find_entry(Entry *entries, int capacity, const ObjString *key) {
  for (uint32_t index = key->hash;; index++) {
    Entry *entry = &entries[index & (uint32_t)(capacity - 1)];
    if (entry->key == key || entry->key == NULL) return entry;
  }
}
static void grow_table(Table *table) {
  int capacity = table->capacity < 8 ? 8 : 2 * table->capacity;
  Entry *entries = calloc((size_t)capacity, sizeof(Entry));
  for (int i = 0; i < table->capacity; i++) {
    const Entry *from = &table->entries[i];
    if (from->key == NULL) continue;
    Entry *to = find_entry(entries, capacity, from->key);
    to->key = from->key;
    to->value = from->value;
  }
  free(table->entries);
  table->entries = entries;
  table->capacity = capacity;
}
static bool table_get(Table *table, const ObjString *key, Value *value) {
  if (table->count == 0) return false;
  Entry *entry = find_entry(table->entries, table->capacity, key);
  if (entry->key == NULL) return false;
  *value = entry->value;
  return true;
}
static bool table_set(Table *table, ObjString *key, Value value) {
  if (table->count + 1 > table->capacity * 3 / 4) grow_table(table);
  Entry *entry = find_entry(table->entries, table->capacity, key);
  bool is_new = entry->key == NULL;
  if (is_new) table->count++;
  entry->key = key;
  entry->value = value;
  return is_new;
}
static void table_add_all(Table *from, Table *to) {
  for (int i = 0; i < from->capacity; i++)
    if (from->entries[i].key != NULL) table_set(to, from->entries[i].key, from->entries[i].value);
}

/* --- objects --- */

static ObjString *new_string(size_t length) {
  ObjString *string = CRADLE_NEW_ARRAY(vm.mutator, ObjString, T_STRING, chars, length, length);
  string->hash = (uint32_t)length;
  return string;
}
static ObjString *copy_string(const char *chars, size_t length) {
  ObjString *string = new_string(length);
  memcpy(string->chars, chars, length);
  push(OBJ_VAL(string));
  table_set(&vm.strings, string, NIL_VAL);
  pop();
  return string;
}
static ObjUpvalue *new_upvalue(uint64_t slot) {
  ObjUpvalue *upvalue = CRADLE_NEW(vm.mutator, ObjUpvalue, T_UPVALUE);
  upvalue->slot = slot;
  upvalue->closed = NIL_VAL;
  return upvalue;
}
static ObjList *new_list(void) {
  return CRADLE_NEW(vm.mutator, ObjList, T_LIST);
}
static ObjClass *new_class(ObjString *name) {
  ObjClass *klass = CRADLE_NEW(vm.mutator, ObjClass, T_CLASS); /* name lives on */
  klass->name = name;                                          // expect: stale 'name'
  klass->initializer = NIL_VAL;
  return klass;
}
static ObjInstance *new_instance(ObjClass *klass) {
  ObjInstance *instance = CRADLE_NEW(vm.mutator, ObjInstance, T_INSTANCE);
  instance->klass = klass; // expect: stale 'klass'
  return instance;
}
static ObjBound *new_bound(Value receiver, ObjClosure *method) {
  push(receiver);
  push(OBJ_VAL(method));
  ObjBound *bound = CRADLE_NEW(vm.mutator, ObjBound, T_BOUND);
  bound->method = AS_CLOSURE(pop());
  bound->receiver = pop();
  return bound;
}
static ObjClosure *new_closure(ObjFunction *function, uint64_t count) {
  push(OBJ_VAL(function));
  ObjClosure *closure = CRADLE_NEW_ARRAY(vm.mutator, ObjClosure, T_CLOSURE, upvalues, count, count);
  closure->function = (ObjFunction *)AS_OBJ(pop());
  for (uint64_t i = 0; i < count; i++)
    closure->upvalues[i] = new_upvalue(i); // expect: order address // expect: stale 'closure'
  return closure;
}

/* --- instructions --- */

static void concatenate(void) {
  ObjString *b = AS_STRING(peek(0));
  ObjString *a = AS_STRING(peek(1));
  ObjString *both = new_string(a->length + b->length);
  memcpy(both->chars, a->chars, a->length);                            // expect: stale 'a'
  memcpy(both->chars + both->length - b->length, b->chars, b->length); // expect: stale 'b'
  pop();
  pop();
  push(OBJ_VAL(both));
}
static void concatenate_again(void) {
  uint64_t length = AS_STRING(peek(1))->length + AS_STRING(peek(0))->length;
  ObjString *both = new_string(length);
  const ObjString *a = AS_STRING(peek(1)), *b = AS_STRING(peek(0));
  memcpy(both->chars, a->chars, a->length);
  memcpy(both->chars + a->length, b->chars, b->length);
  vm.top -= 2;
  push(OBJ_VAL(both));
}
static void define_method(ObjString *name) {
  Value method = peek(0);
  ObjClass *klass = AS_CLASS(peek(1));
  table_set(&klass->methods, name, method);                // expect: barrier 'table_set'
  if (name == vm.init_string) klass->initializer = method; // expect: barrier 'initializer'
  pop();
}
static void define_method_again(ObjString *name) {
  ObjClass *klass = AS_CLASS(peek(1));
  table_set(&klass->methods, name, peek(0));
  if (name == vm.init_string) klass->initializer = peek(0);
  cradle_write_barrier(vm.mutator, klass);
  pop();
}
static void name_class(void) {
  AS_CLASS(peek(1))->name = AS_STRING(peek(0)); // expect: barrier 'name'
  pop();
}
static void inherit(void) {
  ObjClass *super = AS_CLASS(peek(1)), *sub = AS_CLASS(peek(0));
  table_add_all(&super->methods, &sub->methods); // expect: barrier 'table_add_all'
  pop();
}
static void inherit_again(void) {
  ObjClass *super = AS_CLASS(peek(1)), *sub = AS_CLASS(peek(0));
  table_add_all(&super->methods, &sub->methods);
  cradle_write_barrier(vm.mutator, sub);
  pop();
}
static void set_property(ObjString *name) {
  ObjInstance *instance = AS_INSTANCE(peek(1));
  table_set(&instance->fields, name, peek(0)); // expect: barrier 'table_set'
  Value value = pop();
  pop();
  push(value);
}
static bool get_property(ObjString *name) {
  if (!IS_INSTANCE(peek(0))) return false;
  ObjInstance *instance = AS_INSTANCE(peek(0));
  Value value;
  if (table_get(&instance->fields, name, &value)) {
    pop();
    push(value);
    return true;
  }
  if (!table_get(&instance->klass->methods, name, &value)) return false;
  ObjBound *bound = new_bound(peek(0), AS_CLOSURE(value));
  pop();
  push(OBJ_VAL(bound));
  return true;
}
static void append(ObjList *list, Value value) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity < 8 ? 8 : 2 * list->capacity;
    list->items = realloc(list->items, sizeof(Value) * (size_t)list->capacity);
  }
  list->items[list->count++] = value;
}
static void add_constant(ObjFunction *function, Value value) {
  function->chunk.constants[function->chunk.constant_count++] = value; // the callers owe the barrier
}
static void append_top(void) {
  append(AS_LIST(peek(1)), peek(0)); // expect: barrier 'append'
  pop();
}
static void append_top_again(void) {
  ObjList *list = AS_LIST(peek(1));
  append(list, pop());
  cradle_write_barrier(vm.mutator, list);
}
static void reset(void) {
  *AS_INSTANCE(peek(0)) = (ObjInstance){{T_INSTANCE}, NULL, {0, 0, NULL}}; // expect: header as a whole
}
static void rooted_too_early(void) {
  ObjClass *klass;
  CRADLE_ROOT(vm.mutator, klass); // expect: unset 'klass'
  klass = AS_CLASS(peek(0));
  klass = new_class(klass->name);
  push(OBJ_VAL(klass));
}
static void remembered(void) {
  ObjBound *bound = new_bound(OBJ_VAL(vm.last_class), new_closure(NULL, 0)); // expect: order 'new_closure'
  push(OBJ_VAL(bound));
}
static void store_item(int i) {
  AS_ARRAY(peek(1))->items[i] = peek(0); // expect: barrier an object
  cradle_store_value(vm.mutator, AS_ARRAY(peek(1)), &AS_ARRAY(peek(1))->items[i], peek(0));
  pop();
}
static void store_number(int i) {
  AS_ARRAY(peek(0))->items[i] = NUMBER_VAL((double)i);
}
static void close_upvalues(uint64_t slot) {
  while (vm.open_upvalues != NULL && vm.open_upvalues->slot >= slot) {
    ObjUpvalue *upvalue = vm.open_upvalues;
    upvalue->closed = vm.stack[upvalue->slot]; // expect: barrier 'closed'
    vm.open_upvalues = upvalue->next;
  }
}
static void close_upvalues_again(uint64_t slot) {
  while (vm.open_upvalues != NULL && vm.open_upvalues->slot >= slot) {
    ObjUpvalue *upvalue = vm.open_upvalues;
    cradle_store_value(vm.mutator, upvalue, &upvalue->closed, vm.stack[upvalue->slot]);
    vm.open_upvalues = upvalue->next;
  }
}
static ObjUpvalue *capture(uint64_t slot) {
  ObjUpvalue *before = NULL, *upvalue = vm.open_upvalues;
  while (upvalue != NULL && upvalue->slot > slot) {
    before = upvalue;
    upvalue = upvalue->next;
  }
  if (upvalue != NULL && upvalue->slot == slot) return upvalue;
  ObjUpvalue *created = new_upvalue(slot);
  created->next = upvalue; // expect: stale 'upvalue'
  if (before == NULL)      // compared with NULL: right
    vm.open_upvalues = created;
  else
    cradle_store(vm.mutator, before, &before->next, created); // expect: stale 'before'
  return created;
}
static bool call_value(Value callee, int count) {
  if (OBJ_TYPE(callee) == T_CLASS) {
    vm.top[-count - 1] = OBJ_VAL(new_instance(AS_CLASS(callee)));
    Value initializer = AS_CLASS(callee)->initializer; // expect: stale 'callee'
    return initializer == NIL_VAL;
  }
  if (OBJ_TYPE(callee) != T_NATIVE) return false;
  Value result;
  NativeFn native = ((ObjNative *)AS_OBJ(callee))->function;
  if (!native(count, vm.top - count, &result)) return false;
  vm.top -= count + 1;
  push(result);
  return true;
}
static void define_native(const char *name, NativeFn function) {
  ObjNative *native = CRADLE_NEW(vm.mutator, ObjNative, T_NATIVE);
  native->function = function;
  ObjString *key = copy_string(name, strlen(name));
  table_set(&vm.globals, key, OBJ_VAL(native)); // expect: stale 'native'
}
static void remember_class(void) {
  vm.last_class = AS_CLASS(peek(0)); // a field of plain memory, which only the program's root callback could report
  empty_name = copy_string("", 0);   // expect: global 'empty_name'
}

/* --- natives --- */

static bool native_list(int count, Value *arguments, Value *result) {
  (void)count, (void)arguments;
  RETURN_OBJ(new_list());
}
static bool native_name(int count, Value *arguments, Value *result) {
  if (count != 1 || !IS_STRING(arguments[0])) RETURN_VAL(NIL_VAL);
  RETURN_OBJ(copy_string("name", 4));
}
static bool native_twice(int count, Value *arguments, Value *result) {
  (void)count;
  RETURN_VAL(NUMBER_VAL(AS_NUMBER(arguments[0]) * 2));
}
static bool native_bind(int count, Value *arguments, Value *result) {
  (void)count;
  ObjList *list = AS_LIST(arguments[0]);
  ObjString *name = copy_string("bound", 5);
  append(list, OBJ_VAL(name)); // expect: stale 'list' // expect: barrier 'append'
  RETURN_OBJ(list);
}
static bool native_class(int count, Value *arguments, Value *result) {
  (void)count;
  push(OBJ_VAL(new_class(AS_STRING(arguments[0]))));
  ObjInstance *instance = new_instance(AS_CLASS(peek(0)));
  pop();
  RETURN_OBJ(instance);
}
static bool native_pair(int count, Value *arguments, Value *result) {
  (void)count;
  (void)arguments;
  ObjBound *bound = new_bound(OBJ_VAL(new_list()), new_closure(NULL, 0)); // expect: order new // expect: order new
  RETURN_OBJ(bound);
}
static bool native_length(int count, Value *arguments, Value *result) {
  (void)count;
  const char *chars = AS_STRING(arguments[0])->chars;
  ObjString *copy = copy_string(chars, 3);                             // expect: interior 'copy_string'
  RETURN_VAL(NUMBER_VAL((double)(copy->length + (uint64_t)chars[0]))); // expect: stale 'chars'
}

void start(cradle_mutator *mutator) {
  vm.mutator = mutator;
  vm.stack = vm.top = malloc(sizeof(Value) * 1024);
  vm.range = CRADLE_ROOT_RANGE(vm.stack, vm.top, CRADLE_KIND_VALUE, "stack");
  cradle_root_range_add(mutator, &vm.range);
  define_native("list", native_list);
  define_native("name", native_name);
  define_native("twice", native_twice);
  define_native("bind", native_bind);
  define_native("class", native_class);
  define_native("pair", native_pair);
  define_native("length", native_length);
}
void run(const uint8_t *code, ObjString *name, ObjFunction *function) {
  for (;;) {
    switch (*code++) {
    case 0: concatenate(); break;
    case 1: concatenate_again(); break;
    case 2: define_method(AS_STRING(peek(2))); break;
    case 3: define_method_again(AS_STRING(peek(2))); break;
    case 4: name_class(); break;
    case 5: inherit(); break;
    case 6: inherit_again(); break;
    case 7: set_property(AS_STRING(peek(2))); break;
    case 8: get_property(AS_STRING(peek(2))); break;
    case 9: append_top(); break;
    case 10: append_top_again(); break;
    case 11: store_item(code[0]); break;
    case 12: store_number(code[0]); break;
    case 13: close_upvalues(code[0]); break;
    case 14: close_upvalues_again(code[0]); break;
    case 15: push(OBJ_VAL(capture(code[0]))); break;
    case 16: call_value(peek(code[0]), code[0]); break;
    case 17: remember_class(); break;
    case 18: push(OBJ_VAL(new_class(name))); break; // expect: stale 'name'
    case 19: add_constant(function, pop()); break;  // expect: stale 'function' // expect: barrier 'add_constant'
    case 20: reset(); break;
    case 21: rooted_too_early(); break;
    case 22: remembered(); break;
    default: return;
    }
  }
}
