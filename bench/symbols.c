/* symbols: a compiler's symbol table. SIZE sources pass through, each a stream of tokens: identifiers are interned in a
 * hash table that grows, where most are found; some tokens open or close a scope, some declare an identifier in the
 * scope that is open. When a scope closes, what it declared is undone and dropped. --live is how many identifiers a
 * source draws from, low ones more often; it has ten times as many tokens. Its table is dropped at its end.
 */
#include "bench/everyday.h"

enum { TABLE_LEAST = 64, TOKENS_AN_IDENTIFIER = 10, NAME_LEAST = 6, NAME_MOST = 24, DEPTH_MOST = 50 };
/* A token is a number from 0 to 99: below the first limit it opens a scope, below the second it closes one, below the
 * third it declares. */
enum { OPENING = 5, CLOSING = 10, DECLARING = 25, TOKENS = 100 };

typedef struct compiler {
  array *table; /* a power of two of chains of symbols */
  scope *scope; /* the innermost one */
  uint64_t symbols, depth, declarations;
  uint64_t random, sum;
} compiler;

typedef struct name {
  unsigned char text[EVERYDAY_TEXT_MOST];
  uint64_t length, hash;
} name;

/* --- both owners; m is NULL by hand --- */

static void next_name(compiler *c, uint64_t identifiers, name *n) {
  n->length = everyday_text(n->text, everyday_skewed(&c->random, identifiers), NAME_LEAST, NAME_MOST);
  n->hash = everyday_hash(n->text, n->length);
}

EVERYDAY_INLINE void **chain_of(array *table, uint64_t hash) {
  return &table->slots[hash & (table->length - 1)];
}

static symbol *find(const compiler *c, const name *n) {
  symbol *s = *chain_of(c->table, n->hash);
  while (s != NULL && (s->hash != n->hash || s->length != n->length || memcmp(s->name, n->text, n->length) != 0))
    s = s->chain;
  return s;
}

EVERYDAY_INLINE void move_all(cradle_mutator *m, array *to, array *from) {
  for (uint64_t i = 0; i < from->length; i++)
    for (symbol *s = from->slots[i], *next; s != NULL; s = next) {
      void **chain = chain_of(to, s->hash);
      next = s->chain;
      everyday_store(m, s, &s->chain, *chain);
      everyday_store(m, to, chain, s);
    }
}

/* A symbol that was just allocated: stores into it need no barrier. */
EVERYDAY_INLINE symbol *link_fresh(cradle_mutator *m, compiler *c, symbol *s, const name *n) {
  void **chain = chain_of(c->table, n->hash);
  s->chain = *chain;
  s->declared = NULL;
  s->hash = n->hash;
  memcpy(s->name, n->text, n->length);
  everyday_store(m, c->table, chain, s);
  c->symbols++;
  return s;
}

/* A declaration that was just allocated. */
EVERYDAY_INLINE void link_declared(cradle_mutator *m, compiler *c, declared *d, symbol *s) {
  d->symbol = s;
  d->hidden = s->declared;
  d->next = c->scope->first;
  d->number = ++c->declarations;
  everyday_store(m, s, &s->declared, d);
  everyday_store(m, c->scope, &c->scope->first, d);
}

/* Undoes a declaration; returns the next one of its scope. */
EVERYDAY_INLINE declared *undo(cradle_mutator *m, compiler *c, declared *d) {
  if (d->symbol->declared != d) workload_wrong("a declaration is not the innermost one of its name");
  c->sum = everyday_fold(c->sum, d->number);
  everyday_store(m, d->symbol, &d->symbol->declared, d->hidden);
  return d->next;
}

static void use(compiler *c, const symbol *s) {
  c->sum = everyday_fold(c->sum, s->declared != NULL ? s->declared->number : 0);
}

typedef enum token { OPEN, CLOSE, DECLARE, USE } token;

/* If no scope can be opened or closed here, the token counts as a use of an identifier. */
static token next_token(compiler *c) {
  uint64_t drawn = everyday_below(&c->random, TOKENS);
  if (drawn < OPENING) return c->depth < DEPTH_MOST ? OPEN : USE;
  if (drawn < CLOSING) return c->depth > 1 ? CLOSE : USE;
  return drawn < DECLARING ? DECLARE : USE;
}

/* A lost or doubled symbol shows in the count. */
static void finish(workload_run *run, compiler *c) {
  uint64_t count = 0, size = sizeof(array) + c->table->length * sizeof(void *);
  for (uint64_t i = 0; i < c->table->length; i++)
    for (const symbol *s = c->table->slots[i]; s != NULL; s = s->chain, count++) {
      if (s->hash != everyday_hash(s->name, s->length)) workload_wrong("a symbol's name");
      size += sizeof(symbol) + s->length;
    }
  if (count != c->symbols) workload_wrong("a symbol is lost");
  c->sum = everyday_fold(c->sum, count);
  if (size > run->live_bytes) run->live_bytes = size;
}

/* --- Cradle --- */

static symbol *intern(cradle_mutator *m, compiler *c, const name *n) CRADLE_MAY_COLLECT {
  symbol *found = find(c, n);
  if (found != NULL) return found;
  if (c->symbols == c->table->length) {
    array *table = array_new(m, 2 * c->table->length);
    move_all(m, table, c->table);
    c->table = table;
  }
  symbol *fresh = CRADLE_NEW_ARRAY_UNINITIALIZED(m, symbol, TYPE_SYMBOL, name, length, n->length);
  return link_fresh(m, c, fresh, n);
}

static void declare(cradle_mutator *m, compiler *c, const name *n) CRADLE_MAY_COLLECT {
  cradle_push(m, intern(m, c, n));
  declared *fresh = CRADLE_NEW_UNINITIALIZED(m, declared, TYPE_DECLARED);
  link_declared(m, c, fresh, cradle_pop(m));
}

static void open_scope(cradle_mutator *m, compiler *c) CRADLE_MAY_COLLECT {
  scope *fresh = CRADLE_NEW(m, scope, TYPE_SCOPE);
  fresh->outer = c->scope;
  c->scope = fresh;
  c->depth++;
}

static void close_scope(cradle_mutator *m, compiler *c) {
  for (declared *d = c->scope->first; d != NULL;) d = undo(m, c, d);
  c->scope = c->scope->outer;
  c->depth--;
}

/* The variables of *c are rooted. */
static void compile(cradle_mutator *m, compiler *c, uint64_t identifiers) CRADLE_MAY_COLLECT {
  c->table = array_new(m, TABLE_LEAST);
  c->symbols = 0;
  open_scope(m, c);
  for (uint64_t i = 0; i < TOKENS_AN_IDENTIFIER * identifiers; i++) {
    token t = next_token(c);
    name n;
    if (t == USE || t == DECLARE) next_name(c, identifiers, &n);
    switch (t) {
    case OPEN: open_scope(m, c); break;
    case CLOSE: close_scope(m, c); break;
    case DECLARE: declare(m, c, &n); break;
    case USE: use(c, intern(m, c, &n)); break;
    }
  }
  while (c->depth > 0) close_scope(m, c);
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  compiler c = {.random = EVERYDAY_SEED};
  {
    CRADLE_ROOT(m, c.table);
    CRADLE_ROOT(m, c.scope);
    for (uint64_t i = 0; i < run->with.size; i++) {
      compile(m, &c, run->with.live);
      finish(run, &c);
    }
  }
  workload_end(run, heap, m);
  return c.sum;
}

/* --- by hand --- */

static symbol *intern_by_hand(manual *memory, compiler *c, const name *n) {
  symbol *found = find(c, n);
  if (found != NULL) return found;
  if (c->symbols == c->table->length) {
    array *table = array_by_hand(memory, 2 * c->table->length);
    move_all(NULL, table, c->table);
    manual_give(memory, c->table);
    c->table = table;
  }
  symbol *fresh = manual_take(memory, (offsetof(symbol, name) + n->length + 7) & ~UINT64_C(7));
  fresh->header = TYPE_SYMBOL;
  fresh->length = n->length;
  return link_fresh(NULL, c, fresh, n);
}

static void declare_by_hand(manual *memory, compiler *c, const name *n) {
  symbol *s = intern_by_hand(memory, c, n);
  declared *fresh = manual_take(memory, sizeof *fresh);
  fresh->header = TYPE_DECLARED;
  link_declared(NULL, c, fresh, s);
}

static void open_scope_by_hand(manual *memory, compiler *c) {
  scope *fresh = manual_take(memory, sizeof *fresh);
  *fresh = (scope){TYPE_SCOPE, c->scope, NULL};
  c->scope = fresh;
  c->depth++;
}

static void close_scope_by_hand(manual *memory, compiler *c) {
  scope *closed = c->scope;
  for (declared *d = closed->first, *next; d != NULL; d = next) {
    next = undo(NULL, c, d);
    manual_give(memory, d);
  }
  c->scope = closed->outer;
  c->depth--;
  manual_give(memory, closed);
}

static void compile_by_hand(manual *memory, compiler *c, uint64_t identifiers) {
  c->table = array_by_hand(memory, TABLE_LEAST);
  c->symbols = 0;
  open_scope_by_hand(memory, c);
  for (uint64_t i = 0; i < TOKENS_AN_IDENTIFIER * identifiers; i++) {
    token t = next_token(c);
    name n;
    if (t == USE || t == DECLARE) next_name(c, identifiers, &n);
    switch (t) {
    case OPEN: open_scope_by_hand(memory, c); break;
    case CLOSE: close_scope_by_hand(memory, c); break;
    case DECLARE: declare_by_hand(memory, c, &n); break;
    case USE: use(c, intern_by_hand(memory, c, &n)); break;
    }
  }
  while (c->depth > 0) close_scope_by_hand(memory, c);
}

static void give_table(manual *memory, array *table) {
  for (uint64_t i = 0; i < table->length; i++)
    for (symbol *s = table->slots[i], *next; s != NULL; s = next) {
      next = s->chain;
      manual_give(memory, s);
    }
  manual_give(memory, table);
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  compiler c = {.random = EVERYDAY_SEED};
  for (uint64_t i = 0; i < run->with.size; i++) {
    char *mark = manual_mark(memory);
    compile_by_hand(memory, &c, run->with.live);
    finish(run, &c);
    if (manual_frees(memory)) give_table(memory, c.table);
    manual_drop(memory, mark);
  }
  return c.sum;
}

const workload workload_symbols = {
    .name = "symbols",
    .help = "a compiler's symbol table: SIZE sources of --live identifiers each, with scopes",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .on_fresh_arena = true,
    .usual = {.size = 10, .live = 50000, .runs = 5},
    .small = {.size = 2, .live = 100, .runs = 1},
};
