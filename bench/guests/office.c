/* A server of spreadsheets. A session opens documents, changes their cells at random, recalculates what depends on
 * them, shows and saves parts of them, takes changes back and closes them after a short or a long while. Prints a
 * checksum of all that was shown, saved and closed.
 *
 * guest-office [STEPS] [--seed=N] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cradle/cradle.h>

enum { OPEN_MAX = 48, COLUMNS = 16, UNDO_MAX = 60, RECALCULATED_MAX = 400, JOINED_MAX = 80, MODULUS = 1000003 };

typedef struct text {
  uint64_t header, length;
  char bytes[];
} text;
typedef struct number {
  uint64_t header;
  int64_t value;
} number;
enum { CONSTANT, CELLS_VALUE, PLUS, TIMES, SUM, JOIN, OPERATIONS };
typedef struct formula {
  uint64_t header;
  uint32_t operation, row, column, count; /* mentions count cells of a column, from row on */
  int64_t constant;
  struct formula *left, *right;
} formula;
/* A cell's address in a list. */
typedef struct place {
  uint64_t header;
  uint32_t row, column;
  struct place *next;
} place;
typedef struct cell {
  uint64_t header;
  void *value; /* a number, a text or NULL */
  formula *formula;
  place *dependents; /* the cells whose formulas mention this one */
} cell;
typedef struct row {
  uint64_t header;
  cell *cells[COLUMNS];
} row;
typedef struct rows {
  uint64_t header, length;
  row *items[];
} rows;
typedef struct change {
  uint64_t header;
  uint32_t row, column;
  cell *old;
  struct change *next;
} change;
typedef struct document {
  uint64_t header, steps_left, undo_count;
  text *title;
  rows *rows;
  change *undo;
} document;
/* A list of temporary values. */
typedef struct pair {
  uint64_t header;
  void *first;
  struct pair *rest;
} pair;

enum { TEXT, NUMBER, FORMULA, PLACE, CELL, ROW, ROWS, CHANGE, DOCUMENT, PAIR, TYPES };
#define ITEMS(type, kind, bytes) .items = (kind), .item_size = (bytes), .length_offset = offsetof(type, length)
static const cradle_type types[TYPES] = {
    [TEXT] = {.name = "text", .size = sizeof(text), ITEMS(text, CRADLE_ITEMS_BYTES, 1)},
    [NUMBER] = {.name = "number", .size = sizeof(number)},
    [FORMULA] = {.name = "formula",
                 .size = sizeof(formula),
                 .references = CRADLE_SLOT(formula, left) | CRADLE_SLOT(formula, right)},
    [PLACE] = {.name = "place", .size = sizeof(place), .references = CRADLE_SLOT(place, next)},
    [CELL] = {.name = "cell",
              .size = sizeof(cell),
              .references = CRADLE_SLOT(cell, value) | CRADLE_SLOT(cell, formula) | CRADLE_SLOT(cell, dependents)},
    [ROW] = {.name = "row", .size = sizeof(row), .references = ((UINT64_C(1) << COLUMNS) - 1) << 1},
    [ROWS] = {.name = "rows", .size = sizeof(rows), ITEMS(rows, CRADLE_ITEMS_REFERENCES, 8)},
    [CHANGE] = {.name = "change",
                .size = sizeof(change),
                .references = CRADLE_SLOT(change, old) | CRADLE_SLOT(change, next)},
    [DOCUMENT] = {.name = "document",
                  .size = sizeof(document),
                  .references =
                      CRADLE_SLOT(document, title) | CRADLE_SLOT(document, rows) | CRADLE_SLOT(document, undo)},
    [PAIR] = {.name = "pair", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
};

typedef struct server {
  cradle_mutator *m;
  document *open[OPEN_MAX]; /* roots */
  void *first, *end;
  uint64_t random, checksum, opened, recalculated;
} server;

static uint32_t draw(server *s, uint64_t below) {
  s->random ^= s->random << 13, s->random ^= s->random >> 7, s->random ^= s->random << 17;
  return (uint32_t)((s->random >> 11) % below);
}
static void add_to_checksum(server *s, const char *bytes, size_t length) {
  for (size_t i = 0; i < length; i++) s->checksum = (s->checksum ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
}

/* --- values --- */

static text *new_text(server *s, const char *bytes, size_t length) CRADLE_MAY_COLLECT {
  text *t = CRADLE_NEW_ARRAY(s->m, text, TEXT, bytes, length, length);
  memcpy(t->bytes, bytes, length);
  return t;
}
static number *new_number(server *s, int64_t value) CRADLE_MAY_COLLECT {
  number *n = CRADLE_NEW(s->m, number, NUMBER);
  n->value = value % MODULUS;
  return n;
}
static pair *new_pair(server *s, void *first, pair *rest) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, first);
  CRADLE_ROOT(s->m, rest);
  pair *p = CRADLE_NEW(s->m, pair, PAIR);
  p->first = first, p->rest = rest;
  return p;
}
static text *random_text(server *s) CRADLE_MAY_COLLECT {
  static const char *const words[] = {"total", "of", "the", "quarter", "rent", "paid", "by", "travel", "open", "north"};
  char buffer[64] = "";
  for (uint32_t i = 0, count = 1 + draw(s, 6); i < count; i++)
    strcat(strcat(buffer, words[draw(s, sizeof words / sizeof words[0])]), " ");
  return new_text(s, buffer, strlen(buffer));
}
static int64_t to_number(const void *value) {
  if (value == NULL) return 0;
  return cradle_type_of(value) == NUMBER ? ((const number *)value)->value : (int64_t)((const text *)value)->length;
}
static text *to_text(server *s, void *value) CRADLE_MAY_COLLECT {
  if (value != NULL && cradle_type_of(value) == TEXT) return value;
  char buffer[32] = "";
  if (value != NULL) snprintf(buffer, sizeof buffer, "%" PRId64, to_number(value));
  return new_text(s, buffer, strlen(buffer));
}
/* All texts of a list, the last first, with a tab after each. */
static text *join(server *s, pair *list, size_t most) CRADLE_MAY_COLLECT {
  size_t length = 0;
  for (const pair *p = list; p != NULL; p = p->rest) length += ((const text *)p->first)->length + 1;
  CRADLE_ROOT(s->m, list);
  text *t = CRADLE_NEW_ARRAY(s->m, text, TEXT, bytes, length, length < most ? length : most);
  for (; list != NULL; list = list->rest) {
    const text *part = list->first;
    length -= part->length + 1;
    for (size_t i = 0; i <= part->length && length + i < t->length; i++)
      t->bytes[length + i] = i < part->length ? part->bytes[i] : '\t';
  }
  return t;
}

/* --- cells --- */

static cell **cell_at(const document *d, uint32_t r, uint32_t c) {
  return &d->rows->items[r]->cells[c];
}
static formula *new_formula(server *s, uint32_t operation, formula *left, formula *right) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, left);
  CRADLE_ROOT(s->m, right);
  formula *f = CRADLE_NEW(s->m, formula, FORMULA);
  f->operation = operation, f->left = left, f->right = right;
  return f;
}
/* A formula for a cell in a row; it mentions cells of rows above only, so there are no cycles. */
static formula *random_formula(server *s, uint32_t r, uint32_t depth) CRADLE_MAY_COLLECT {
  uint32_t operation = draw(s, OPERATIONS);
  if (depth == 0 && operation != SUM) operation = draw(s, 2);
  if (r == 0 && (operation == CELLS_VALUE || operation == SUM)) operation = CONSTANT;
  formula *left = NULL, *right = NULL;
  CRADLE_ROOT(s->m, left);
  if (operation == PLUS || operation == TIMES || operation == JOIN) {
    left = random_formula(s, r, depth - 1);
    right = random_formula(s, r, depth - 1);
  }
  formula *f = new_formula(s, operation, left, right);
  f->constant = draw(s, 1000);
  if (operation == CELLS_VALUE || operation == SUM) {
    f->row = draw(s, r), f->column = draw(s, COLUMNS);
    f->count = operation == SUM ? 1 + draw(s, r - f->row < 12 ? r - f->row : 12) : 1;
  }
  return f;
}
static formula *copy_formula(server *s, formula *f) CRADLE_MAY_COLLECT {
  if (f == NULL) return NULL;
  CRADLE_ROOT(s->m, f);
  formula *left = copy_formula(s, f->left);
  CRADLE_ROOT(s->m, left);
  formula *right = copy_formula(s, f->right);
  formula *copy = new_formula(s, f->operation, left, right);
  copy->row = f->row, copy->column = f->column, copy->count = f->count, copy->constant = f->constant;
  return copy;
}
static cell *new_cell(server *s, void *value, formula *f) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, value);
  CRADLE_ROOT(s->m, f);
  cell *c = CRADLE_NEW(s->m, cell, CELL);
  c->value = value, c->formula = f;
  return c;
}
static cell *random_cell(server *s, uint32_t r) CRADLE_MAY_COLLECT {
  uint32_t kind = draw(s, 10);
  if (kind == 0) return new_cell(s, NULL, NULL);
  if (kind < 4) return new_cell(s, random_text(s), NULL);
  if (kind < 7) return new_cell(s, new_number(s, draw(s, MODULUS)), NULL);
  return new_cell(s, NULL, random_formula(s, r, 1 + draw(s, 4)));
}
static void *evaluate(server *s, document *d, formula *f) CRADLE_MAY_COLLECT {
  if (f->operation == CONSTANT) return new_number(s, f->constant);
  if (f->operation == CELLS_VALUE) return (*cell_at(d, f->row, f->column))->value;
  CRADLE_ROOT(s->m, d);
  CRADLE_ROOT(s->m, f);
  if (f->operation == SUM) { /* as an interpreter does it: a list of the arguments, then the function */
    pair *list = NULL;
    for (uint32_t i = 0; i < f->count; i++) list = new_pair(s, (*cell_at(d, f->row + i, f->column))->value, list);
    int64_t sum = 0;
    for (; list != NULL; list = list->rest) sum += to_number(list->first);
    return new_number(s, sum);
  }
  void *left = evaluate(s, d, f->left);
  CRADLE_ROOT(s->m, left);
  void *right = evaluate(s, d, f->right);
  if (f->operation == PLUS) return new_number(s, to_number(left) + to_number(right));
  if (f->operation == TIMES) return new_number(s, to_number(left) * to_number(right));
  CRADLE_ROOT(s->m, right);
  pair *list = new_pair(s, to_text(s, left), NULL);
  CRADLE_ROOT(s->m, list);
  text *end = to_text(s, right);
  list = new_pair(s, end, list);
  return join(s, list, JOINED_MAX);
}
/* Computes a cell, then those that mention it, and so on while values change. */
static void recalculate(server *s, document *d, uint32_t r, uint32_t c) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  place *queue = CRADLE_NEW(s->m, place, PLACE), *last = queue, *p = NULL;
  queue->row = r, queue->column = c;
  CRADLE_ROOT(s->m, queue);
  CRADLE_ROOT(s->m, last);
  CRADLE_ROOT(s->m, p);
  for (int count = 0; queue != NULL && count < RECALCULATED_MAX; queue = queue->next, count++) {
    cell *at = *cell_at(d, queue->row, queue->column);
    CRADLE_ROOT(s->m, at);
    if (at->formula != NULL) {
      void *value = evaluate(s, d, at->formula);
      bool same = at->value != NULL && value != NULL && cradle_type_of(at->value) == cradle_type_of(value) &&
                  to_number(at->value) == to_number(value);
      cradle_store(s->m, at, &at->value, value);
      s->recalculated++;
      if (same && count > 0) continue;
    }
    for (p = at->dependents; p != NULL; p = p->next) {
      place *next = CRADLE_NEW(s->m, place, PLACE);
      next->row = p->row, next->column = p->column;
      cradle_store(s->m, last, &last->next, next);
      last = next;
    }
  }
}
/* Enters the cell at r, c into the dependents of each cell that the formula mentions, or takes it out. */
static void depend(server *s, document *d, formula *f, uint32_t r, uint32_t c, bool enter) CRADLE_MAY_COLLECT {
  if (f == NULL) return;
  CRADLE_ROOT(s->m, d);
  CRADLE_ROOT(s->m, f);
  depend(s, d, f->left, r, c, enter);
  depend(s, d, f->right, r, c, enter);
  for (uint32_t i = 0; i < f->count; i++) {
    cell *at = *cell_at(d, f->row + i, f->column);
    if (enter) {
      CRADLE_ROOT(s->m, at);
      place *p = CRADLE_NEW(s->m, place, PLACE);
      p->row = r, p->column = c, p->next = at->dependents;
      cradle_store(s->m, at, &at->dependents, p);
      continue;
    }
    place *before = NULL, *p = at->dependents;
    for (; p != NULL && (p->row != r || p->column != c); p = p->next) before = p;
    if (p != NULL && before == NULL)
      cradle_store(s->m, at, &at->dependents, p->next);
    else if (p != NULL)
      cradle_store(s->m, before, &before->next, p->next);
  }
}
static void remember(server *s, document *d, uint32_t r, uint32_t c, cell *old) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  CRADLE_ROOT(s->m, old);
  change *h = CRADLE_NEW(s->m, change, CHANGE);
  h->row = r, h->column = c, h->old = old, h->next = d->undo;
  cradle_store(s->m, d, &d->undo, h);
  if (++d->undo_count < UNDO_MAX) return;
  for (d->undo_count = 1; d->undo_count < UNDO_MAX / 2; d->undo_count++) h = h->next;
  cradle_store(s->m, h, &h->next, NULL);
}
static void set_cell(server *s, document *d, uint32_t r, uint32_t c, cell *new, bool undoable) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  CRADLE_ROOT(s->m, new);
  cell *old = *cell_at(d, r, c);
  CRADLE_ROOT(s->m, old);
  if (old != NULL) {
    depend(s, d, old->formula, r, c, false);
    cradle_store(s->m, new, &new->dependents, old->dependents);
    cradle_store(s->m, old, &old->dependents, NULL);
    if (undoable) remember(s, d, r, c, old);
  }
  cradle_store(s->m, d->rows->items[r], cell_at(d, r, c), new);
  depend(s, d, new->formula, r, c, true);
  recalculate(s, d, r, c);
}
static void set_random_cell(server *s, document *d, uint32_t r, uint32_t c, bool undoable) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  cell *new = random_cell(s, r);
  set_cell(s, d, r, c, new, undoable);
}

/* --- documents --- */

static document *open_document(server *s) CRADLE_MAY_COLLECT {
  document *d = CRADLE_NEW(s->m, document, DOCUMENT);
  CRADLE_ROOT(s->m, d);
  d->steps_left = UINT64_C(20) << draw(s, 9);
  text *title = random_text(s);
  cradle_store(s->m, d, &d->title, title);
  uint32_t length = 10 + draw(s, draw(s, 10) == 0 ? 600 : 150);
  rows *all = CRADLE_NEW_ARRAY(s->m, rows, ROWS, items, length, length);
  cradle_store(s->m, d, &d->rows, all);
  for (uint32_t r = 0; r < length; r++) {
    row *new = CRADLE_NEW(s->m, row, ROW);
    cradle_store(s->m, d->rows, &d->rows->items[r], new);
    for (uint32_t c = 0; c < COLUMNS; c++) set_random_cell(s, d, r, c, false);
  }
  s->opened++;
  return d;
}
/* Shows the rows from one to another as one text. */
static void show(server *s, document *d, uint32_t from, uint32_t to) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  pair *list = new_pair(s, d->title, NULL);
  CRADLE_ROOT(s->m, list);
  for (uint32_t r = from; r < to && r < d->rows->length; r++) {
    for (uint32_t c = 0; c < COLUMNS; c++) {
      text *t = to_text(s, (*cell_at(d, r, c))->value);
      list = new_pair(s, t, list);
    }
  }
  const text *all = join(s, list, SIZE_MAX);
  add_to_checksum(s, all->bytes, all->length);
}
static void undo(server *s, document *d) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  for (uint32_t count = 1 + draw(s, 10); count > 0 && d->undo != NULL; count--) {
    change *h = d->undo;
    cradle_store(s->m, d, &d->undo, h->next);
    d->undo_count--;
    set_cell(s, d, h->row, h->column, h->old, false);
  }
}
/* Fills a row anew, or with copies of a row above it. */
static void replace_row(server *s, document *d, uint32_t r, uint32_t from) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  for (uint32_t c = 0; c < COLUMNS; c++) {
    cell *new = NULL;
    CRADLE_ROOT(s->m, new);
    if (from >= r) {
      new = random_cell(s, r);
    } else {
      new = new_cell(s, (*cell_at(d, from, c))->value, NULL);
      formula *f = copy_formula(s, (*cell_at(d, from, c))->formula);
      cradle_store(s->m, new, &new->formula, f);
    }
    set_cell(s, d, r, c, new, true);
  }
}
static void step(server *s, document *d) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(s->m, d);
  uint32_t length = (uint32_t)d->rows->length, r = draw(s, length), c = draw(s, COLUMNS), what = draw(s, 100);
  if (what < 80)
    set_random_cell(s, d, r, c, true);
  else if (what < 84)
    replace_row(s, d, r, r);
  else if (what < 88)
    replace_row(s, d, r, draw(s, length));
  else if (what < 94)
    undo(s, d);
  else if (what < 99)
    show(s, d, r, r + 8);
  else
    show(s, d, 0, length);
}
static void run_session(server *s, uint64_t steps) CRADLE_MAY_COLLECT {
  for (; steps > 0; steps--) {
    document **slot = &s->open[draw(s, OPEN_MAX)];
    if (*slot == NULL) {
      *slot = open_document(s);
    } else if ((*slot)->steps_left-- == 0) {
      show(s, *slot, 0, UINT32_MAX);
      *slot = NULL;
    } else {
      step(s, *slot);
    }
  }
  for (int i = 0; i < OPEN_MAX; i++)
    if (s->open[i] != NULL) show(s, s->open[i], 0, UINT32_MAX);
}

static _Noreturn void fail(const char *message) {
  fprintf(stderr, "guest-office: %s\n", message);
  exit(1);
}
int main(int argc, char **argv) {
  static server s;
  uint64_t steps = 60000, seed = 1;
  for (int i = 1; i < argc; i++)
    if (sscanf(argv[i], "--seed=%" SCNu64, &seed) != 1 && sscanf(argv[i], "%" SCNu64, &steps) != 1) return 2;
  cradle_options options;
  cradle_options_init(&options);
  options.types = types, options.type_count = TYPES, options.gc_threads = CRADLE_GC_THREADS_AUTO;
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == NULL) fail(error.message);
  s.m = cradle_mutator_new(heap);
  if (s.m == NULL) fail("out of memory");
  s.random = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
  s.first = s.open, s.end = s.open + OPEN_MAX;
  cradle_root_range roots = CRADLE_ROOT_RANGE(s.first, s.end, CRADLE_KIND_REFERENCE, "documents");
  cradle_root_range_add(s.m, &roots);
  run_session(&s, steps);
  printf("guest-office: %016" PRIx64 ", %" PRIu64 " documents, %" PRIu64 " recalculations\n", s.checksum, s.opened,
         s.recalculated);
  cradle_mutator_free(s.m);
  cradle_heap_free(heap);
  return 0;
}
