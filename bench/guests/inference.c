/* A type checker for modules of a small functional language: Hindley and Milner's types with let-polymorphism. Modules
 * are made at random, from a seed, and checked one after the other. The terms of a module live until its end; the
 * symbols, their types and what is shown about them stay. Prints a checksum of all that is shown.
 *
 * guest-inference [MODULES] [--seed=N] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { LOCALS_MAX = 64, FUNCTIONS_MAX = 200, SHOWN_MAX = 200, INLINE_MAX = 12 };

typedef struct text {
  uint64_t header, length;
  char bytes[];
} text;
typedef enum tag { VARIABLE, INTEGER, BOOLEAN, LIST, PAIR, ARROW } tag;
typedef struct type {
  uint64_t header;
  uint32_t tag, level;
  uint64_t number;
  struct type *left, *right; /* of a variable, left is what it was bound to, or NULL */
} type;
/* A substitution; a list of quantified variables has no `to`. */
typedef struct binding {
  uint64_t header;
  type *from, *to;
  struct binding *next;
} binding;
/* What a name means: a type for all values of the variables. */
typedef struct scope {
  uint64_t header;
  struct symbol *name;
  binding *variables;
  type *type;
  struct scope *next;
} scope;
enum { LITERAL, NAME, LAMBDA, APPLY, LET, DEFINE }; /* DEFINE: a is the body, b the next definition */
typedef struct node {
  uint64_t header, kind;
  struct symbol *name;
  struct node *a, *b;
  type *type;
} node;
typedef struct symbol {
  uint64_t header, hash;
  struct symbol *next;
  text *name, *shown;
  scope *global;
  node *body; /* of a short definition, for the inliner */
} symbol;
typedef struct symbols {
  uint64_t header, length;
  symbol *items[];
} symbols;

enum { TEXT, TYPE, BINDING, NODE, SYMBOL, SYMBOLS, SCOPE, TYPES };
#define ITEMS(type, kind, bytes) .items = (kind), .item_size = (bytes), .length_offset = offsetof(type, length)
static const cradle_type types[TYPES] = {
    [TEXT] = {.name = "text", .size = sizeof(text), ITEMS(text, CRADLE_ITEMS_BYTES, 1)},
    [TYPE] = {.name = "type", .size = sizeof(type), .references = CRADLE_SLOT(type, left) | CRADLE_SLOT(type, right)},
    [BINDING] = {.name = "binding",
                 .size = sizeof(binding),
                 .references = CRADLE_SLOT(binding, from) | CRADLE_SLOT(binding, to) | CRADLE_SLOT(binding, next)},
    [NODE] = {.name = "node",
              .size = sizeof(node),
              .references =
                  CRADLE_SLOT(node, name) | CRADLE_SLOT(node, a) | CRADLE_SLOT(node, b) | CRADLE_SLOT(node, type)},
    [SYMBOL] = {.name = "symbol",
                .size = sizeof(symbol),
                .references = CRADLE_SLOT(symbol, next) | CRADLE_SLOT(symbol, name) | CRADLE_SLOT(symbol, shown) |
                              CRADLE_SLOT(symbol, global) | CRADLE_SLOT(symbol, body)},
    [SYMBOLS] = {.name = "symbols", .size = sizeof(symbols), ITEMS(symbols, CRADLE_ITEMS_REFERENCES, 8)},
    [SCOPE] = {.name = "scope",
               .size = sizeof(scope),
               .references = CRADLE_SLOT(scope, name) | CRADLE_SLOT(scope, variables) | CRADLE_SLOT(scope, type) |
                             CRADLE_SLOT(scope, next)},
};

/* What the generator knows of a global function: kinds of its two parameters and of its result. */
typedef struct global {
  char parameters[3], result;
} global;
typedef struct checker {
  cradle_mutator *m;
  symbols *symbols; /* from here to base: roots */
  type *integer, *boolean, *letters[3];
  node *module, *last;
  text *message; /* the last one of the module */
  void *base, *top;
  uint64_t symbol_count, variables, random, checksum, errors;
  global *globals;
  size_t global_count;
  char locals[LOCALS_MAX]; /* their kinds */
  size_t local_count;
} checker;

static uint64_t draw(checker *c, uint64_t below) {
  c->random ^= c->random << 13, c->random ^= c->random >> 7, c->random ^= c->random << 17;
  return (c->random >> 11) % below;
}
static uint64_t hash_bytes(uint64_t hash, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
  return hash;
}

/* --- symbols --- */

static text *new_text(checker *c, const char *bytes, size_t length) CRADLE_MAY_COLLECT {
  text *t = CRADLE_NEW_ARRAY(c->m, text, TEXT, bytes, length, length);
  memcpy(t->bytes, bytes, length);
  return t;
}
static void grow_symbols(checker *c) CRADLE_MAY_COLLECT {
  uint64_t length = c->symbols == NULL ? 64 : 2 * c->symbols->length;
  symbols *wider = CRADLE_NEW_ARRAY(c->m, symbols, SYMBOLS, items, length, length);
  for (uint64_t i = 0; c->symbols != NULL && i < c->symbols->length; i++) {
    for (symbol *s = c->symbols->items[i], *next; s != NULL; s = next) {
      symbol **place = &wider->items[s->hash & (length - 1)];
      next = s->next;
      cradle_store(c->m, s, &s->next, *place);
      cradle_store(c->m, wider, place, s);
    }
  }
  c->symbols = wider;
}
static symbol *intern(checker *c, const char *name) CRADLE_MAY_COLLECT {
  size_t length = strlen(name);
  uint64_t hash = hash_bytes(UINT64_C(0xcbf29ce484222325), name, length);
  if (c->symbols == NULL || c->symbol_count >= c->symbols->length) grow_symbols(c);
  for (symbol *s = c->symbols->items[hash & (c->symbols->length - 1)]; s != NULL; s = s->next)
    if (s->hash == hash && s->name->length == length && memcmp(s->name->bytes, name, length) == 0) return s;
  text *t = new_text(c, name, length);
  CRADLE_ROOT(c->m, t);
  symbol *s = CRADLE_NEW(c->m, symbol, SYMBOL);
  symbol **place = &c->symbols->items[hash & (c->symbols->length - 1)];
  s->hash = hash, s->name = t, s->next = *place;
  cradle_store(c->m, c->symbols, place, s);
  c->symbol_count++;
  return s;
}

/* --- types --- */

static type *new_type(checker *c, tag tag, type *left, type *right) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, left);
  CRADLE_ROOT(c->m, right);
  type *t = CRADLE_NEW(c->m, type, TYPE);
  t->tag = tag, t->left = left, t->right = right;
  return t;
}
static type *new_variable(checker *c, uint32_t level) CRADLE_MAY_COLLECT {
  type *t = CRADLE_NEW(c->m, type, TYPE);
  t->tag = VARIABLE, t->level = level, t->number = c->variables++;
  return t;
}
/* What a type stands for: follows bound variables, and shortens the way for the next time. */
static type *prune(checker *c, type *t) {
  if (t->tag != VARIABLE || t->left == NULL) return t;
  type *end = prune(c, t->left);
  if (end != t->left) cradle_store(c->m, t, &t->left, end);
  return end;
}
/* Replaces variables; with no substitution it only resolves the bound ones. Parts that stay are shared. */
static type *substitute(checker *c, type *t, binding *s) CRADLE_MAY_COLLECT {
  t = prune(c, t);
  if (t->tag == VARIABLE) {
    for (; s != NULL; s = s->next)
      if (s->from == t) return s->to;
    return t;
  }
  if (t->left == NULL) return t;
  CRADLE_ROOT(c->m, t);
  CRADLE_ROOT(c->m, s);
  type *left = substitute(c, t->left, s);
  CRADLE_ROOT(c->m, left);
  type *right = t->right == NULL ? NULL : substitute(c, t->right, s);
  return left == t->left && right == t->right ? t : new_type(c, t->tag, left, right);
}
static type *instantiate(checker *c, scope *of, uint32_t level) CRADLE_MAY_COLLECT {
  if (of->variables == NULL) return of->type;
  CRADLE_ROOT(c->m, of);
  binding *s = NULL, *v = of->variables;
  CRADLE_ROOT(c->m, s);
  CRADLE_ROOT(c->m, v);
  for (; v != NULL; v = v->next) {
    type *fresh = new_variable(c, level);
    CRADLE_ROOT(c->m, fresh);
    binding *b = CRADLE_NEW(c->m, binding, BINDING);
    b->from = v->from, b->to = fresh, b->next = s;
    s = b;
  }
  return substitute(c, of->type, s);
}
/* Adds the variables of a type that are deeper than the level to a list. */
static binding *free_variables(checker *c, type *t, uint32_t level, binding *list) CRADLE_MAY_COLLECT {
  t = prune(c, t);
  CRADLE_ROOT(c->m, t);
  if (t->tag != VARIABLE) {
    if (t->left != NULL) list = free_variables(c, t->left, level, list);
    return t->right == NULL ? list : free_variables(c, t->right, level, list);
  }
  if (t->level <= level) return list;
  for (const binding *b = list; b != NULL; b = b->next)
    if (b->from == t) return list;
  CRADLE_ROOT(c->m, list);
  binding *b = CRADLE_NEW(c->m, binding, BINDING);
  b->from = t, b->next = list;
  return b;
}
static scope *bind(checker *c, symbol *name, binding *variables, type *t, scope *outer) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, name);
  CRADLE_ROOT(c->m, variables);
  CRADLE_ROOT(c->m, t);
  CRADLE_ROOT(c->m, outer);
  scope *s = CRADLE_NEW(c->m, scope, SCOPE);
  s->name = name, s->variables = variables, s->type = t, s->next = outer;
  return s;
}
/* Binds a name to a type for all values of the variables that are deeper than the level. */
static scope *generalize(checker *c, symbol *name, type *t, uint32_t level, scope *outer) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, name);
  CRADLE_ROOT(c->m, t);
  CRADLE_ROOT(c->m, outer);
  t = substitute(c, t, NULL);
  binding *variables = free_variables(c, t, level, NULL);
  return bind(c, name, variables, t, outer);
}

static bool occurs(checker *c, const type *variable, type *in) {
  in = prune(c, in);
  if (in == variable) return true;
  if (in->tag == VARIABLE && in->level > variable->level) in->level = variable->level;
  if (in->tag == VARIABLE) return false;
  return (in->left != NULL && occurs(c, variable, in->left)) || (in->right != NULL && occurs(c, variable, in->right));
}
static bool unify(checker *c, type *a, type *b) {
  a = prune(c, a), b = prune(c, b);
  if (a == b) return true;
  if (a->tag != VARIABLE && b->tag == VARIABLE) return unify(c, b, a);
  if (a->tag == VARIABLE) {
    if (occurs(c, a, b)) return false;
    cradle_store(c->m, a, &a->left, b);
    return true;
  }
  if (a->tag != b->tag) return false;
  return (a->left == NULL || unify(c, a->left, b->left)) && (a->right == NULL || unify(c, a->right, b->right));
}

/* Writes a type into a buffer of SHOWN_MAX bytes, as far as it fits. */
static void show(checker *c, type *t, char *to) {
  size_t used = strlen(to);
  t = prune(c, t);
  if (t->tag == VARIABLE)
    snprintf(to + used, SHOWN_MAX - used, "t%" PRIu64, t->number);
  else
    snprintf(to + used, SHOWN_MAX - used, "%s",
             (const char *[]){"", "int", "bool", "(list ", "(pair ", "(to "}[t->tag]);
  if (t->tag == VARIABLE || t->left == NULL) return;
  show(c, t->left, to);
  if (t->right != NULL) strncat(to, " ", SHOWN_MAX - 1 - strlen(to)), show(c, t->right, to);
  strncat(to, ")", SHOWN_MAX - 1 - strlen(to));
}
static text *shown(checker *c, const char *name, type *t) CRADLE_MAY_COLLECT {
  char buffer[SHOWN_MAX];
  snprintf(buffer, sizeof buffer, "%s: ", name);
  show(c, t, buffer);
  c->checksum = hash_bytes(c->checksum, buffer, strlen(buffer));
  return new_text(c, buffer, strlen(buffer));
}

/* --- inference --- */

static void must_agree(checker *c, type *wanted, type *got) CRADLE_MAY_COLLECT {
  if (unify(c, wanted, got)) return;
  CRADLE_ROOT(c->m, got);
  c->message = shown(c, "wanted", wanted);
  c->message = shown(c, "got", got);
  c->errors++;
}
static type *infer(checker *c, node *n, scope *s, uint32_t level) CRADLE_MAY_COLLECT;
static type *infer_name(checker *c, symbol *name, scope *s, uint32_t level) CRADLE_MAY_COLLECT {
  for (; s != NULL; s = s->next)
    if (s->name == name) return instantiate(c, s, level);
  return name->global == NULL ? new_variable(c, level) : instantiate(c, name->global, level);
}
static type *infer_lambda(checker *c, node *n, scope *s, uint32_t level) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, n);
  CRADLE_ROOT(c->m, s);
  type *parameter = new_variable(c, level);
  CRADLE_ROOT(c->m, parameter);
  scope *inner = bind(c, n->name, NULL, parameter, s);
  type *result = infer(c, n->a, inner, level);
  return new_type(c, ARROW, parameter, result);
}
static type *infer_apply(checker *c, node *n, scope *s, uint32_t level) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, n);
  CRADLE_ROOT(c->m, s);
  type *function = infer(c, n->a, s, level), *result = NULL;
  CRADLE_ROOT(c->m, function);
  CRADLE_ROOT(c->m, result);
  type *argument = infer(c, n->b, s, level);
  CRADLE_ROOT(c->m, argument);
  result = new_variable(c, level);
  type *wanted = new_type(c, ARROW, argument, result);
  must_agree(c, function, wanted);
  return result;
}
static type *infer_let(checker *c, node *n, scope *s, uint32_t level) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, n);
  CRADLE_ROOT(c->m, s);
  type *t = infer(c, n->a, s, level + 1);
  scope *inner = generalize(c, n->name, t, level, s);
  return infer(c, n->b, inner, level);
}
static type *infer(checker *c, node *n, scope *s, uint32_t level) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, n);
  type *t = NULL;
  switch (n->kind) {
  case LITERAL: t = c->integer; break;
  case NAME: t = infer_name(c, n->name, s, level); break;
  case LAMBDA: t = infer_lambda(c, n, s, level); break;
  case APPLY: t = infer_apply(c, n, s, level); break;
  case LET: t = infer_let(c, n, s, level); break;
  }
  cradle_store(c->m, n, &n->type, t);
  return t;
}
/* Replaces the type of each node by what it stands for, and counts the nodes. */
static unsigned annotate(checker *c, node *n) CRADLE_MAY_COLLECT {
  if (n == NULL) return 0;
  CRADLE_ROOT(c->m, n);
  type *t = substitute(c, n->type, NULL);
  cradle_store(c->m, n, &n->type, t);
  unsigned count = 1 + annotate(c, n->a);
  return count + annotate(c, n->b);
}

/* --- the generator --- */

/* The generator's kinds of terms: i integer, o boolean, l list of integers, p pair of i and l, f function from i to i,
 * t function from i to o. */
static const char kinds[] = "iolpft";
/* How to make a term of a kind: a call of a function with arguments. The last rule of each kind is small. */
static const struct rule {
  const char *function, *arguments;
  char kind;
} rules[] = {{"plus", "ii", 'i'},    {"fst", "p", 'i'},  {"head", "il", 'i'},   {"fold", "fil", 'i'},
             {"less", "ii", 'o'},    {"null", "l", 'o'}, {"if", "ooo", 'o'},    {"true", "", 'o'},
             {"cons", "il", 'l'},    {"map", "fl", 'l'}, {"filter", "tl", 'l'}, {"snd", "p", 'l'},
             {"nil", "", 'l'},       {"if", "opp", 'p'}, {"couple", "il", 'p'}, {"plus", "i", 'f'},
             {"compose", "ff", 'f'}, {"id", "", 'f'},    {"less", "i", 't'},    {"compose", "tf", 't'},
             {"even", "", 't'}};
enum { KINDS = sizeof kinds - 1, RULES = sizeof rules / sizeof rules[0] };
/* Name and type in prefix form: > function, , pair, [ list, i integer, o boolean, a to c variables. */
static const char *const primitives[][2] = {
    {"plus", ">i>ii"},       {"less", ">i>io"},          {"even", ">io"},       {"true", "o"},    {"id", ">aa"},
    {"if", ">o>a>aa"},       {"compose", ">>bc>>ab>ac"}, {"couple", ">a>b,ab"}, {"fst", ">,aba"}, {"snd", ">,abb"},
    {"nil", "[a"},           {"cons", ">a>[a[a"},        {"head", ">a>[aa"},    {"null", ">[ao"}, {"map", ">>ab>[a[b"},
    {"filter", ">>ao>[a[a"}, {"fold", ">>ab>b>[ab"}};

static node *new_node(checker *c, uint64_t kind, symbol *name, node *a, node *b) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, name);
  CRADLE_ROOT(c->m, a);
  CRADLE_ROOT(c->m, b);
  node *n = CRADLE_NEW(c->m, node, NODE);
  n->kind = kind, n->name = name, n->a = a, n->b = b;
  return n;
}
static symbol *numbered(checker *c, char letter, uint64_t number) CRADLE_MAY_COLLECT {
  char name[32];
  snprintf(name, sizeof name, "%c%" PRIu64, letter, number);
  return intern(c, name);
}
static node *generate(checker *c, char kind, int depth) CRADLE_MAY_COLLECT;
static node *call(checker *c, symbol *function, const char *arguments, int depth) CRADLE_MAY_COLLECT {
  node *n = new_node(c, NAME, function, NULL, NULL);
  CRADLE_ROOT(c->m, n);
  for (; *arguments != '\0'; arguments++) {
    node *argument = generate(c, *arguments, depth);
    n = new_node(c, APPLY, NULL, n, argument);
  }
  return n;
}
/* A function of one parameter, or with a value a let. */
static node *local(checker *c, char of, char kind, node *value, int depth) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, value);
  size_t number = c->local_count;
  c->locals[c->local_count++] = of;
  node *body = generate(c, kind, depth);
  c->local_count--;
  CRADLE_ROOT(c->m, body);
  symbol *name = numbered(c, 'x', number);
  return value == NULL ? new_node(c, LAMBDA, name, body, NULL) : new_node(c, LET, name, value, body);
}
static node *generate(checker *c, char kind, int depth) CRADLE_MAY_COLLECT {
  if (draw(c, 3000) == 0) kind = kinds[draw(c, KINDS)]; /* perhaps a mistake */
  for (uint64_t tries = 0, i; tries < 4 && c->local_count > 0; tries++)
    if (c->locals[i = draw(c, c->local_count)] == kind && (depth <= 0 || draw(c, 1 + (uint64_t)depth) < 2))
      return new_node(c, NAME, numbered(c, 'x', i), NULL, NULL);
  if (depth <= 0 && kind == 'i') return new_node(c, LITERAL, NULL, NULL, NULL);
  if (depth > 0 && draw(c, 6) == 0) {
    char of = kinds[draw(c, KINDS)];
    return local(c, of, kind, generate(c, of, depth - 1), depth - 1);
  }
  if (depth > 0 && (kind == 'f' || kind == 't') && draw(c, 2) == 0)
    return local(c, 'i', kind == 'f' ? 'i' : 'o', NULL, depth - 1);
  for (uint64_t tries = 0; tries < 4 && depth > 1; tries++) {
    uint64_t number = c->global_count - 1 - draw(c, draw(c, c->global_count) + 1);
    const global *g = &c->globals[number];
    if (g->result == kind) return call(c, numbered(c, 'f', number), g->parameters, depth - 2);
  }
  size_t i = draw(c, RULES);
  while (rules[i].kind != kind || (depth <= 0 && i + 1 < RULES && rules[i + 1].kind == kind)) i = (i + 1) % RULES;
  return call(c, intern(c, rules[i].function), rules[i].arguments, depth - 1);
}

/* --- modules --- */

/* Gives a symbol its type and what is shown about it. */
static void define(checker *c, symbol *s, type *t) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, s);
  CRADLE_ROOT(c->m, t);
  scope *global_type = generalize(c, s, t, 0, NULL);
  cradle_store(c->m, s, &s->global, global_type);
  text *shown_type = shown(c, "it is", t);
  cradle_store(c->m, s, &s->shown, shown_type);
}
static type *parse_type(checker *c, const char **at) CRADLE_MAY_COLLECT {
  char letter = *(*at)++;
  if (letter >= 'a' && letter <= 'c') return c->letters[letter - 'a'];
  if (letter == 'i' || letter == 'o') return letter == 'i' ? c->integer : c->boolean;
  type *left = parse_type(c, at);
  CRADLE_ROOT(c->m, left);
  type *right = letter == '[' ? NULL : parse_type(c, at);
  return new_type(c, letter == '[' ? LIST : letter == ',' ? PAIR : ARROW, left, right);
}
static void define_primitives(checker *c) CRADLE_MAY_COLLECT {
  c->integer = new_type(c, INTEGER, NULL, NULL);
  c->boolean = new_type(c, BOOLEAN, NULL, NULL);
  for (int i = 0; i < 3; i++) c->letters[i] = new_variable(c, 1);
  for (size_t i = 0; i < sizeof primitives / sizeof primitives[0]; i++) {
    const char *at = primitives[i][1];
    type *t = parse_type(c, &at);
    CRADLE_ROOT(c->m, t);
    symbol *s = intern(c, primitives[i][0]);
    define(c, s, t);
  }
}
/* Reads a definition of the module: fN is a function of two parameters, and may call itself and older functions. */
static void read_definition(checker *c, int depth) CRADLE_MAY_COLLECT {
  global *g = &c->globals[c->global_count++];
  for (int i = 0; i < 2; i++) g->parameters[i] = c->locals[i] = kinds[draw(c, KINDS)];
  g->parameters[2] = '\0', g->result = kinds[draw(c, KINDS)], c->local_count = 2;
  node *body = generate(c, g->result, depth);
  CRADLE_ROOT(c->m, body);
  for (; c->local_count > 0; c->local_count--) {
    symbol *parameter = numbered(c, 'x', c->local_count - 1);
    body = new_node(c, LAMBDA, parameter, body, NULL);
  }
  symbol *name = numbered(c, 'f', c->global_count - 1);
  node *d = new_node(c, DEFINE, name, body, NULL);
  if (c->last == NULL)
    c->module = d;
  else
    cradle_store(c->m, c->last, &c->last->b, d);
  c->last = d;
}
static void check_definition(checker *c, node *d) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(c->m, d);
  type *itself = new_variable(c, 1);
  CRADLE_ROOT(c->m, itself);
  scope *s = bind(c, d->name, NULL, itself, NULL);
  type *t = infer(c, d->a, s, 1);
  must_agree(c, itself, t);
  unsigned nodes = annotate(c, d->a);
  if (nodes <= INLINE_MAX) cradle_store(c->m, d->name, &d->name->body, d->a);
  c->checksum = hash_bytes(c->checksum, (const char *)&nodes, sizeof nodes);
  define(c, d->name, itself);
}
/* Reads a module and checks it; its terms live until its end. */
static void check_module(checker *c) CRADLE_MAY_COLLECT {
  int depth = 5 + (int)draw(c, 4);
  for (uint64_t count = 20 + draw(c, FUNCTIONS_MAX - 20); count > 0; count--) read_definition(c, depth);
  node *d = c->module;
  CRADLE_ROOT(c->m, d);
  for (; d != NULL; d = d->b) check_definition(c, d);
  c->module = c->last = NULL, c->message = NULL;
}

static _Noreturn void fail(const char *message) {
  fprintf(stderr, "guest-inference: %s\n", message);
  exit(1);
}
int main(int argc, char **argv) {
  static checker c;
  uint64_t modules = 400, seed = 1;
  for (int i = 1; i < argc; i++)
    if (sscanf(argv[i], "--seed=%" SCNu64, &seed) != 1 && sscanf(argv[i], "%" SCNu64, &modules) != 1) return 2;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES, options.gc_threads = CRADLE_GC_THREADS_AUTO;
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  c.m = cradle_mutator_new(heap);
  c.globals = malloc((modules + 1) * FUNCTIONS_MAX * sizeof *c.globals);
  if (c.m == NULL || c.globals == NULL) fail("out of memory");
  c.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  c.base = &c.symbols, c.top = &c.base;
  cradle_root_range roots = CRADLE_ROOT_RANGE(c.base, c.top, CRADLE_KIND_REFERENCE, "checker");
  cradle_root_range_add(c.m, &roots);
  define_primitives(&c);
  for (; modules > 0; modules--) check_module(&c);
  printf("guest-inference: %016" PRIx64 ", %zu functions, %" PRIu64 " errors\n", c.checksum, c.global_count, c.errors);
  cradle_mutator_free(c.m);
  cradle_heap_free(heap);
  free(c.globals);
  return 0;
}
