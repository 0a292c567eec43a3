/* A small Lisp as a user of the library would write it: pairs, strings, symbols, closures and tagged integers; it has a
 * value stack, which the collector reads as a root range, scoped roots in the C functions, and one global root.
 *
 * Its programs build, change and drop lists, trees and texts, and print checksums. These do not depend on when the
 * collector runs, so CRADLE_GC_NURSERY, CRADLE_STRESS and CRADLE_VERIFY may have any value.
 */
#include <cradle/cradle.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A value: zero is nil, tag 0 a reference, tag 1 an integer (61 bits), tag 2 the number of a built-in name. */
typedef uint64_t value;
#define NIL ((value)0)
#define TAG(v) ((v) & 7)
static value integer(int64_t n) {
  return ((value)n << 3) | 1;
}
static int64_t number(value v) {
  return (int64_t)v >> 3;
}

typedef enum name {
  DEFINE,
  LAMBDA,
  IF,
  CONS,
  FIRST,
  REST,
  SETFIRST,
  ADD,
  SUBTRACT,
  LESS,
  IS_PAIR,
  TEXT,
  JOIN,
  COLLECT,
  NAMES
} name;
static const char *const names[NAMES] = {"define", "lambda", "if", "cons",  "first", "rest", "set-first!",
                                         "+",      "-",      "<",  "pair?", "text",  "join", "collect"};

enum { PAIR, STRING, SYMBOL, CLOSURE, TYPES };
typedef struct pair {
  uint64_t header;
  value first, rest;
} pair;
typedef struct string {
  uint64_t header, length;
  char bytes[];
} string;
typedef struct symbol {
  uint64_t header;
  value global;
  uint64_t length;
  char bytes[];
} symbol;
typedef struct closure {
  uint64_t header;
  value parameters, body, scope;
} closure;
static const cradle_type types[TYPES] = {
    [PAIR] = {.name = "pair", .size = sizeof(pair), .values = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [STRING] = {.name = "string",
                .size = sizeof(string),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(string, length)},
    [SYMBOL] = {.name = "symbol",
                .size = sizeof(symbol),
                .values = CRADLE_SLOT(symbol, global),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(symbol, length)},
    [CLOSURE] = {.name = "closure",
                 .size = sizeof(closure),
                 .values = CRADLE_SLOT(closure, parameters) | CRADLE_SLOT(closure, body) | CRADLE_SLOT(closure, scope)},
};

typedef struct vm {
  cradle_heap *heap;
  cradle_mutator *mutator;
  void *stack, *top, *limit; /* values; the collector reads the first two through the root range */
  cradle_root_range range;
  value symbols; /* list of all symbols, a global root */
  const char *source;
} vm;

static void *object(value v) {
  return (void *)(uintptr_t)v;
}
static value reference(const void *object) {
  return (value)(uintptr_t)object;
}
static bool is_a(value v, uint32_t type) {
  return v != NIL && TAG(v) == 0 && cradle_type_of(object(v)) == type;
}
static value first(value v) {
  return ((pair *)object(v))->first;
}
static value rest(value v) {
  return ((pair *)object(v))->rest;
}

static void die(const char *message) {
  fprintf(stderr, "tiny_vm: %s\n", message);
  exit(1);
}

static void push(vm *vm, value v) {
  if (vm->top == vm->limit) {
    size_t used = (size_t)((char *)vm->top - (char *)vm->stack), room = used ? 2 * used : 64;
    char *stack = realloc(vm->stack, room);
    if (stack == NULL) die("no memory for the value stack");
    vm->stack = stack;
    vm->top = stack + used;
    vm->limit = stack + room;
  }
  value *slot = vm->top;
  *slot = v;
  vm->top = slot + 1;
}
static value pop(vm *vm) {
  value *slot = vm->top;
  vm->top = slot - 1;
  return slot[-1];
}

/* Takes two values from the value stack, where they survive the allocation. */
CRADLE_MAY_COLLECT static value cons(vm *vm) {
  pair *made = CRADLE_NEW(vm->mutator, pair, PAIR);
  made->rest = pop(vm);
  made->first = pop(vm);
  return reference(made);
}
CRADLE_MAY_COLLECT static value new_string(vm *vm, const char *bytes, size_t length) {
  string *made = CRADLE_NEW_ARRAY(vm->mutator, string, STRING, bytes, length, length);
  memcpy(made->bytes, bytes, length);
  return reference(made);
}
CRADLE_MAY_COLLECT static value join(vm *vm, string *a, string *b) {
  CRADLE_ROOT(vm->mutator, a);
  CRADLE_ROOT(vm->mutator, b);
  string *made = CRADLE_NEW_ARRAY(vm->mutator, string, STRING, bytes, length, a->length + b->length);
  memcpy(made->bytes, a->bytes, a->length);
  memcpy(made->bytes + a->length, b->bytes, b->length);
  return reference(made);
}

CRADLE_MAY_COLLECT static value intern(vm *vm, const char *bytes, size_t length) {
  for (name n = 0; n < NAMES; n++)
    if (strlen(names[n]) == length && memcmp(names[n], bytes, length) == 0) return ((value)n << 3) | 2;
  for (value list = vm->symbols; list != NIL; list = rest(list)) {
    const symbol *known = object(first(list));
    if (known->length == length && memcmp(known->bytes, bytes, length) == 0) return first(list);
  }
  symbol *made = CRADLE_NEW_ARRAY(vm->mutator, symbol, SYMBOL, bytes, length, length);
  memcpy(made->bytes, bytes, length);
  push(vm, reference(made));
  push(vm, vm->symbols);
  vm->symbols = cons(vm);
  return first(vm->symbols);
}

CRADLE_MAY_COLLECT static value read_form(vm *vm);
CRADLE_MAY_COLLECT static value read_list(vm *vm) {
  while (isspace((unsigned char)*vm->source)) vm->source++;
  if (*vm->source == ')') return vm->source++, NIL;
  push(vm, read_form(vm));
  push(vm, read_list(vm));
  return cons(vm);
}
CRADLE_MAY_COLLECT static value read_form(vm *vm) {
  while (isspace((unsigned char)*vm->source)) vm->source++;
  const char *start = vm->source;
  if (*start == '(') return vm->source++, read_list(vm);
  if (*start == '"') {
    vm->source = strchr(start + 1, '"') + 1;
    return new_string(vm, start + 1, (size_t)(vm->source - start) - 2);
  }
  if (isdigit((unsigned char)*start)) {
    char *end;
    value whole = integer(strtoll(start, &end, 10));
    vm->source = end;
    return whole;
  }
  while (*vm->source != '\0' && !isspace((unsigned char)*vm->source) && strchr("()", *vm->source) == NULL) vm->source++;
  return intern(vm, start, (size_t)(vm->source - start));
}

static value lookup(value scope, value sought) {
  for (; scope != NIL; scope = rest(scope))
    if (first(first(scope)) == sought) return rest(first(scope));
  return ((symbol *)object(sought))->global;
}

/* Applies a built-in name to the arguments on the value stack from index base up. */
CRADLE_MAY_COLLECT static value apply_name(vm *vm, name n, size_t base) {
  value *arguments = (value *)vm->stack + base;
  char digits[32];
  switch (n) {
  case CONS: return cons(vm);
  case FIRST: return first(arguments[0]);
  case REST: return rest(arguments[0]);
  case SETFIRST:
    cradle_store_value(vm->mutator, object(arguments[0]), &((pair *)object(arguments[0]))->first, arguments[1]);
    return arguments[0];
  case ADD: return integer(number(arguments[0]) + number(arguments[1]));
  case SUBTRACT: return integer(number(arguments[0]) - number(arguments[1]));
  case LESS: return number(arguments[0]) < number(arguments[1]) ? integer(1) : NIL;
  case IS_PAIR: return is_a(arguments[0], PAIR) ? integer(1) : NIL;
  case TEXT: return new_string(vm, digits, (size_t)sprintf(digits, "%" PRId64, number(arguments[0])));
  case JOIN: return join(vm, object(arguments[0]), object(arguments[1]));
  case COLLECT: cradle_collect(vm->mutator, CRADLE_COLLECT_MINOR); return NIL;
  default: die("not a function"); return NIL;
  }
}

/* The closure's scope extended by its parameters, bound to the arguments on the value stack from index base up. */
CRADLE_MAY_COLLECT static value bind(vm *vm, value function, size_t base) {
  value parameters = ((closure *)object(function))->parameters, scope = ((closure *)object(function))->scope;
  CRADLE_ROOT_VALUE(vm->mutator, parameters);
  CRADLE_ROOT_VALUE(vm->mutator, scope);
  for (; parameters != NIL; parameters = rest(parameters)) {
    push(vm, first(parameters));
    push(vm, ((value *)vm->stack)[base++]);
    push(vm, cons(vm));
    push(vm, scope);
    scope = cons(vm);
  }
  return scope;
}

CRADLE_MAY_COLLECT static value new_closure(vm *vm, value parameters, value body, value scope) {
  CRADLE_ROOT_VALUE(vm->mutator, parameters);
  CRADLE_ROOT_VALUE(vm->mutator, body);
  CRADLE_ROOT_VALUE(vm->mutator, scope);
  closure *made = CRADLE_NEW(vm->mutator, closure, CLOSURE);
  made->parameters = parameters;
  made->body = body;
  made->scope = scope;
  return reference(made);
}

CRADLE_MAY_COLLECT static value eval(vm *vm, value form, value scope) {
  CRADLE_ROOT_VALUE(vm->mutator, form);
  CRADLE_ROOT_VALUE(vm->mutator, scope);
  for (;;) {
    if (is_a(form, SYMBOL)) return lookup(scope, form);
    if (!is_a(form, PAIR)) return form;
    value head = first(form);
    if (TAG(head) == 2 && number(head) == LAMBDA)
      return new_closure(vm, first(rest(form)), first(rest(rest(form))), scope);
    if (TAG(head) == 2 && number(head) == DEFINE) {
      value result = eval(vm, first(rest(rest(form))), scope);
      cradle_store_value(vm->mutator, object(first(rest(form))), &((symbol *)object(first(rest(form))))->global,
                         result);
      return NIL;
    }
    if (TAG(head) == 2 && number(head) == IF) {
      bool holds = eval(vm, first(rest(form)), scope) != NIL;
      value branches = rest(rest(form)); /* read after the call, which may have moved it */
      form = holds ? first(branches) : first(rest(branches));
      continue;
    }
    size_t base = (size_t)((value *)vm->top - (value *)vm->stack);
    for (; form != NIL; form = rest(form)) push(vm, eval(vm, first(form), scope));
    value function = ((value *)vm->stack)[base], result = NIL;
    if (is_a(function, CLOSURE)) {
      scope = bind(vm, function, base + 1);
      form = ((closure *)object(((value *)vm->stack)[base]))->body;
    } else {
      result = apply_name(vm, (name)number(function), base + 1);
    }
    vm->top = (value *)vm->stack + base;
    if (TAG(function) == 2) return result;
  }
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
  return hash ^ (hash >> 29);
}
static uint64_t hash_value(uint64_t hash, value v) {
  for (; is_a(v, PAIR); v = rest(v)) hash = hash_value(mix(hash, 1), first(v));
  if (!is_a(v, STRING)) return mix(hash, v);
  const string *text = object(v);
  for (size_t i = 0; i < text->length; i++) hash = mix(hash, (unsigned char)text->bytes[i]);
  return hash;
}

static const char program[] =
    "(define range (lambda (n) (if (< n 1) () (cons n (range (- n 1))))))"
    "(define reverse (lambda (list tail) (if list (reverse (rest list) (cons (first list) tail)) tail)))"
    "(define sum (lambda (list total) (if list (sum (rest list) (+ total (first list))) total)))"
    "(define tree (lambda (depth) (if (< depth 1) () (cons (tree (- depth 1)) (tree (- depth 1))))))"
    "(define count (lambda (tree) (if (pair? tree) (+ 1 (+ (count (first tree)) (count (rest tree)))) 0)))"
    "(define churn (lambda (box n) (if (< n 1) box (churn (set-first! box (tree 4)) (- n 1)))))"
    "(define texts (lambda (n) (if (< n 1) () (cons (join (join \"<\" (text n)) \">\") (texts (- n 1))))))"
    "(define adders (lambda (n) (if (< n 1) () (cons (lambda (m) (+ n m)) (adders (- n 1))))))"
    "(define run (lambda (list n) (if list (run (rest list) ((first list) n)) n)))"
    "(define numbers (range 150))"
    "(sum (reverse numbers ()) 0) (reverse numbers ()) (collect)"
    "(count (tree 7)) (count (churn (cons () ()) 20)) (churn (cons () 7) 5)"
    "(texts 60) (run (adders 50) 1) (sum numbers 0)";

/* Runs all forms of the program, printing a checksum of each result that is not nil. */
CRADLE_MAY_COLLECT static void run(vm *vm) {
  for (vm->source = program; *vm->source != '\0';) {
    value result = eval(vm, read_form(vm), NIL);
    if (result != NIL) printf("%016" PRIx64 "\n", hash_value(0, result));
  }
}

static void start(vm *vm) CRADLE_GRANTS_COLLECTION;
static void start(vm *vm) {
  cradle_options options;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = TYPES;
  options.encoding = cradle_encoding_of(0, 0, 1 << 0);
  cradle_error error;
  vm->heap = cradle_heap_new_from_environment(&options, &error);
  if (vm->heap == NULL) die(error.message);
  vm->mutator = cradle_mutator_new(vm->heap);
  if (vm->mutator == NULL) die("no memory for the mutator");
  vm->range = CRADLE_ROOT_RANGE(vm->stack, vm->top, CRADLE_KIND_VALUE, "value stack");
  cradle_root_range_add(vm->mutator, &vm->range);
  cradle_global_root_add(vm->heap, &vm->symbols, CRADLE_KIND_VALUE);
}

int main(void) {
  static vm vm;
  start(&vm);
  run(&vm);
  cradle_statistics stats;
  cradle_heap_statistics(vm.heap, &stats, sizeof stats);
  if (stats.moved_objects == 0) die("nothing moved");
  cradle_root_range_remove(vm.mutator, &vm.range);
  cradle_mutator_free(vm.mutator);
  cradle_heap_free(vm.heap);
  free(vm.stack);
  return 0;
}
