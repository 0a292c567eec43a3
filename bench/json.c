/* json: documents as a parser builds them, and a service that keeps the last --live of SIZE. A document is a tree of at
 * most a thousand objects, arrays, strings and numbers, drawn from a generator in place of a text. As in a parser, what
 * is complete waits on a stack of values until the array or object that holds it ends and its length is known. A
 * document's contents are summed up when it leaves the window.
 *
 * On the arena every document of the window has a region of its own, freed at once by the next document there.
 */
#include "bench/everyday.h"

#include <stdlib.h>

enum {
  NODES_MOST = 1000, /* of a document */
  CHILDREN_LEAST = 2,
  CHILDREN_RANGE = 8,
  KEYS = 1000,
  TEXT_LEAST = 6,
  KEY_MOST = 12,
  STRING_MOST = 40,
  STACK_WORDS = 2 * NODES_MOST,
};
#define REGION_BYTES ((size_t)128 << 10)

/* Integers and constants are immediates; everything else is an object. */
enum { TAG_BITS = 2, TAG_INTEGER = 1, TAG_CONSTANT = 3, CONSTANTS = 3 };
#define NUMBERS (UINT64_C(1) << 20)

typedef struct builder {
  cradle_mutator *m; /* or */
  manual *memory;
  uint64_t random, sum, bytes;
  cradle_value stack[STACK_WORDS], *base, *top;
} builder;

/* --- shared by Cradle and by hand --- */

typedef enum kind { CONSTANT, INTEGER, NUMBER, STRING, ARRAY, OBJECT } kind;

/* Makes inner nodes until the document has used up its nodes. */
static kind next_kind(builder *b, uint64_t nodes) {
  static const kind leaves[] = {CONSTANT, INTEGER, INTEGER, NUMBER, STRING, STRING, STRING, STRING};
  if (nodes > CHILDREN_LEAST && everyday_below(&b->random, 4) != 0)
    return everyday_below(&b->random, 3) == 0 ? ARRAY : OBJECT;
  return leaves[everyday_below(&b->random, 8)];
}
static uint64_t next_children(builder *b, uint64_t nodes) {
  uint64_t children = CHILDREN_LEAST + everyday_below(&b->random, CHILDREN_RANGE);
  return children < nodes ? children : nodes - 1;
}

static void push(builder *b, cradle_value value) {
  if (b->top == b->stack + STACK_WORDS) workload_wrong("a document has more nodes than it should");
  *b->top++ = value;
}
static void push_object(builder *b, const void *object) {
  push(b, (uintptr_t)object);
}
static void push_immediate(builder *b, kind leaf) {
  if (leaf == CONSTANT)
    push(b, everyday_below(&b->random, CONSTANTS) << TAG_BITS | TAG_CONSTANT);
  else
    push(b, everyday_below(&b->random, NUMBERS) << TAG_BITS | TAG_INTEGER);
}
static double next_number(builder *b) {
  return (double)everyday_below(&b->random, NUMBERS) / 4;
}
static uint64_t next_key(builder *b, unsigned char text[EVERYDAY_TEXT_MOST]) {
  return everyday_text(text, everyday_below(&b->random, KEYS), TEXT_LEAST, KEY_MOST);
}
static uint64_t next_string(builder *b, unsigned char text[EVERYDAY_TEXT_MOST]) {
  return everyday_text(text, everyday_below(&b->random, 1 << 29), TEXT_LEAST, STRING_MOST);
}

static bool is_object(cradle_value v) {
  return (v & 1) == 0;
}
static void *object_of(cradle_value v) {
  return (void *)(uintptr_t)v;
}

static void fold_string(builder *b, const bytes *string) {
  b->sum = everyday_fold(b->sum, string->length << 8 | string->data[string->length - 1]);
  b->bytes += sizeof *string + string->length;
}

static void fold(builder *b, cradle_value v) {
  if (!is_object(v)) {
    b->sum = everyday_fold(b->sum, v >> TAG_BITS);
    return;
  }
  const json_array *array = object_of(v);
  const json_object *object = object_of(v);
  switch (cradle_type_of(array)) {
  case TYPE_BYTES: fold_string(b, object_of(v)); break;
  case TYPE_JSON_NUMBER:
    b->sum = everyday_fold(b->sum, (uint64_t)(4 * ((json_number *)object_of(v))->number));
    b->bytes += sizeof(json_number);
    break;
  case TYPE_JSON_ARRAY:
    b->sum = everyday_fold(b->sum, array->length);
    b->bytes += sizeof *array + array->length * sizeof *array->items;
    for (uint64_t i = 0; i < array->length; i++) fold(b, array->items[i]);
    break;
  case TYPE_JSON_OBJECT:
    b->sum = everyday_fold(b->sum, object->length);
    b->bytes += sizeof *object + object->length * sizeof *object->members;
    for (uint64_t i = 0; i < object->length; i++) {
      fold_string(b, object->members[i].key);
      fold(b, object->members[i].value);
    }
    break;
  default: workload_wrong("a type in a document");
  }
}

static builder *builder_new(cradle_mutator *m, manual *memory) {
  builder *b = calloc(1, sizeof *b);
  if (b == NULL) workload_wrong("no memory for a builder");
  b->m = m;
  b->memory = memory;
  b->random = EVERYDAY_SEED;
  b->base = b->top = b->stack;
  return b;
}

static uint64_t finish(workload_run *run, builder *b, const array *window) {
  b->bytes = sizeof *window + window->length * sizeof *window->slots;
  for (uint64_t i = 0; i < window->length; i++)
    if (window->slots[i] != NULL) fold(b, (uintptr_t)window->slots[i]);
  run->live_bytes = b->bytes;
  return b->sum;
}

/* --- Cradle: the stack is a root range, so nothing else needs a root --- */

static void build(builder *b, uint64_t nodes) CRADLE_MAY_COLLECT;

static void build_number(builder *b) CRADLE_MAY_COLLECT {
  json_number *fresh = CRADLE_NEW(b->m, json_number, TYPE_JSON_NUMBER);
  fresh->number = next_number(b);
  push_object(b, fresh);
}

static void build_array(builder *b, uint64_t nodes) CRADLE_MAY_COLLECT {
  uint64_t count = next_children(b, nodes);
  for (uint64_t i = 0; i < count; i++) build(b, (nodes - 1) / count);
  json_array *fresh = CRADLE_NEW_ARRAY_UNINITIALIZED(b->m, json_array, TYPE_JSON_ARRAY, items, length, count);
  b->top -= count;
  memcpy(fresh->items, b->top, count * sizeof *fresh->items);
  push_object(b, fresh);
}

static void build_object(builder *b, uint64_t nodes) CRADLE_MAY_COLLECT {
  uint64_t count = next_children(b, nodes);
  unsigned char key[EVERYDAY_TEXT_MOST];
  for (uint64_t i = 0; i < count; i++) {
    uint64_t length = next_key(b, key);
    push_object(b, everyday_string(b->m, key, length));
    build(b, (nodes - 1) / count);
  }
  json_object *fresh = CRADLE_NEW_ARRAY_UNINITIALIZED(b->m, json_object, TYPE_JSON_OBJECT, members, length, count);
  b->top -= 2 * count;
  memcpy(fresh->members, b->top, count * sizeof *fresh->members);
  push_object(b, fresh);
}

static void build(builder *b, uint64_t nodes) {
  unsigned char text[EVERYDAY_TEXT_MOST];
  kind what = next_kind(b, nodes);
  switch (what) {
  case STRING: {
    uint64_t length = next_string(b, text);
    push_object(b, everyday_string(b->m, text, length));
    break;
  }
  case NUMBER: build_number(b); break;
  case ARRAY: build_array(b, nodes); break;
  case OBJECT: build_object(b, nodes); break;
  default: push_immediate(b, what);
  }
}

static uint64_t run_cradle(workload_run *run) {
  cradle_heap *heap = workload_start(run);
  cradle_mutator *m = cradle_mutator_new(heap);
  builder *b = builder_new(m, NULL);
  cradle_root_range range = CRADLE_ROOT_RANGE(b->base, b->top, CRADLE_KIND_VALUE, "parser");
  cradle_root_range_add(m, &range);
  uint64_t sum = 0;
  {
    array *window = array_new(m, run->with.live);
    CRADLE_ROOT(m, window);
    for (uint64_t i = 0; i < run->with.size; i++) {
      void **slot = &window->slots[i % run->with.live];
      if (*slot != NULL) fold(b, (uintptr_t)*slot);
      build_object(b, NODES_MOST);
      cradle_store(m, window, &window->slots[i % run->with.live], object_of(*--b->top));
    }
    sum = finish(run, b, window);
  }
  cradle_root_range_remove(m, &range);
  free(b);
  workload_end(run, heap, m);
  return sum;
}

/* --- by hand --- */

static void build_by_hand(builder *b, uint64_t nodes);

static void build_number_by_hand(builder *b) {
  json_number *fresh = manual_take(b->memory, sizeof *fresh);
  *fresh = (json_number){TYPE_JSON_NUMBER, next_number(b)};
  push_object(b, fresh);
}

static void build_array_by_hand(builder *b, uint64_t nodes) {
  uint64_t count = next_children(b, nodes);
  for (uint64_t i = 0; i < count; i++) build_by_hand(b, (nodes - 1) / count);
  json_array *fresh = manual_take(b->memory, sizeof *fresh + count * sizeof *fresh->items);
  fresh->header = TYPE_JSON_ARRAY;
  fresh->length = count;
  b->top -= count;
  memcpy(fresh->items, b->top, count * sizeof *fresh->items);
  push_object(b, fresh);
}

static void build_object_by_hand(builder *b, uint64_t nodes) {
  uint64_t count = next_children(b, nodes);
  unsigned char key[EVERYDAY_TEXT_MOST];
  for (uint64_t i = 0; i < count; i++) {
    uint64_t length = next_key(b, key);
    push_object(b, everyday_string_by_hand(b->memory, key, length));
    build_by_hand(b, (nodes - 1) / count);
  }
  json_object *fresh = manual_take(b->memory, sizeof *fresh + count * sizeof *fresh->members);
  fresh->header = TYPE_JSON_OBJECT;
  fresh->length = count;
  b->top -= 2 * count;
  memcpy(fresh->members, b->top, count * sizeof *fresh->members);
  push_object(b, fresh);
}

static void build_by_hand(builder *b, uint64_t nodes) {
  unsigned char text[EVERYDAY_TEXT_MOST];
  kind what = next_kind(b, nodes);
  switch (what) {
  case STRING: {
    uint64_t length = next_string(b, text);
    push_object(b, everyday_string_by_hand(b->memory, text, length));
    break;
  }
  case NUMBER: build_number_by_hand(b); break;
  case ARRAY: build_array_by_hand(b, nodes); break;
  case OBJECT: build_object_by_hand(b, nodes); break;
  default: push_immediate(b, what);
  }
}

static void give(manual *memory, cradle_value v) {
  if (!is_object(v)) return;
  json_array *array = object_of(v);
  json_object *object = object_of(v);
  if (array->header == TYPE_JSON_ARRAY)
    for (uint64_t i = 0; i < array->length; i++) give(memory, array->items[i]);
  else if (object->header == TYPE_JSON_OBJECT)
    for (uint64_t i = 0; i < object->length; i++) {
      manual_give(memory, object->members[i].key);
      give(memory, object->members[i].value);
    }
  manual_give(memory, object_of(v));
}

static uint64_t run_by_hand(workload_run *run, manual *memory) {
  array *window = array_by_hand(memory, run->with.live);
  builder *b = builder_new(NULL, memory);
  char *regions = manual_mark(memory);
  for (uint64_t i = 0; i < run->with.size; i++) {
    uint64_t at = i % run->with.live;
    void **slot = &window->slots[at];
    if (*slot != NULL) fold(b, (uintptr_t)*slot);
    if (*slot != NULL && manual_frees(memory)) give(memory, (uintptr_t)*slot);
    if (!manual_frees(memory)) manual_drop(memory, regions + at * REGION_BYTES);
    build_object_by_hand(b, NODES_MOST);
    *slot = object_of(*--b->top);
    if (!manual_frees(memory) && manual_mark(memory) > regions + (at + 1) * REGION_BYTES)
      workload_wrong("a document is larger than its region");
  }
  uint64_t sum = finish(run, b, window);
  for (uint64_t i = 0; i < window->length && manual_frees(memory); i++)
    if (window->slots[i] != NULL) give(memory, (uintptr_t)window->slots[i]);
  manual_give(memory, window);
  free(b);
  return sum;
}

const workload workload_json = {
    .name = "json",
    .help = "SIZE documents of objects, arrays, strings and numbers, of which the last --live are kept",
    .cradle = run_cradle,
    .by_hand = run_by_hand,
    .on_arena = true,
    .usual = {.size = 20000, .live = 200, .runs = 5},
    .small = {.size = 20, .live = 3, .runs = 1},
};
