/* A heap with objects of each shape, of which some live: for the tests of marking. */
#ifndef TESTS_MARK_FIXTURE_H
#define TESTS_MARK_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "tests/inside.h"

enum {
  T_ARRAY,      /* of references */
  T_VALUES,     /* of values */
  T_PAIRS,      /* of structures that are all references */
  T_ENTRIES,    /* of structures: a reference, raw data, a value */
  T_BOXES,      /* of structures that are all values */
  T_HEADED,     /* of references, with a slot of each sort before them */
  T_BYTES,      /* of bytes, with a reference before them */
  T_ONE,        /* the others have five words; here word 2 is a reference */
  T_TWO,        /* 1 and 3 */
  T_THREE,      /* 1, 2 and 4 */
  T_LAST,       /* 4 and 5 */
  T_TWO_VALUES, /* 2 and 5 are values */
  T_MIXED,      /* 1, and 3 is a value */
  T_LEAF,       /* none */
  T_TRACED,     /* 1, reported by a callback */
  T_WEAK,       /* 1, and 2 is a weak slot */
  T_EPHEMERON,  /* 2 and 3 are a key and its value */
  T_BUSH,       /* forty references */
  T_TABLE,      /* an array of ephemerons */
  T_HUGE,       /* an array of structures of 1200 words, of which the 64th is a reference */
  T_PLAIN,      /* an array of bytes */
  T_COUNT
};
typedef struct object {
  uint64_t header, word[5];
} object;
typedef struct array {
  uint64_t header, length, item[];
} array;
#define BRANCHES 40
typedef struct bush {
  uint64_t header, branch[BRANCHES];
} bush;
typedef struct pairs {
  uint64_t header, length;
  struct {
    uint64_t key, value;
  } item[];
} pairs;
typedef struct headed {
  uint64_t header, reference, raw, value, length, item[];
} headed;

static inline void trace_first(void *user, void *traced, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, &((object *)traced)->word[0], CRADLE_KIND_REFERENCE);
}

#define HUGE_WORDS 1200
#define BIT(i) (UINT64_C(1) << (i))
#define ARRAY(items_, item_bytes) \
  .size = sizeof(array), .items = (items_), .item_size = (item_bytes), .length_offset = offsetof(array, length)
#define HEADED(items_, item_bytes) \
  .size = sizeof(headed), .items = (items_), .item_size = (item_bytes), .length_offset = offsetof(headed, length)
static const cradle_type types[T_COUNT] = {
    [T_ARRAY] = {ARRAY(CRADLE_ITEMS_REFERENCES, 8)},
    [T_VALUES] = {ARRAY(CRADLE_ITEMS_VALUES, 8)},
    [T_PAIRS] = {ARRAY(CRADLE_ITEMS_STRUCTURES, 16), .item_references = BIT(0) | BIT(1)},
    [T_ENTRIES] = {ARRAY(CRADLE_ITEMS_STRUCTURES, 24), .item_references = BIT(0), .item_values = BIT(2)},
    [T_BOXES] = {ARRAY(CRADLE_ITEMS_STRUCTURES, 16), .item_values = BIT(0) | BIT(1)},
    [T_HEADED] = {HEADED(CRADLE_ITEMS_REFERENCES, 8), .references = BIT(1), .values = BIT(3)},
    [T_BYTES] = {HEADED(CRADLE_ITEMS_BYTES, 1), .references = BIT(1)},
    [T_ONE] = {.size = sizeof(object), .references = BIT(2)},
    [T_TWO] = {.size = sizeof(object), .references = BIT(1) | BIT(3)},
    [T_THREE] = {.size = sizeof(object), .references = BIT(1) | BIT(2) | BIT(4)},
    [T_LAST] = {.size = sizeof(object), .references = BIT(4) | BIT(5)},
    [T_TWO_VALUES] = {.size = sizeof(object), .values = BIT(2) | BIT(5)},
    [T_MIXED] = {.size = sizeof(object), .references = BIT(1), .values = BIT(3)},
    [T_LEAF] = {.size = sizeof(object)},
    [T_TRACED] = {.size = sizeof(object), .trace = trace_first},
    [T_WEAK] = {.size = sizeof(object), .references = BIT(1), .weak = BIT(2)},
    [T_EPHEMERON] = {.size = sizeof(object), .ephemerons = BIT(2)},
    [T_BUSH] = {.size = sizeof(bush), .references = (BIT(BRANCHES) - 1) << 1},
    [T_TABLE] = {ARRAY(CRADLE_ITEMS_EPHEMERONS, 16)},
    [T_PLAIN] = {ARRAY(CRADLE_ITEMS_BYTES, 1)},
    [T_HUGE] = {ARRAY(CRADLE_ITEMS_STRUCTURES, HUGE_WORDS * 8), .item_references = BIT(63)},
};

#define DECOYS 500
static cradle_heap *heap;
static cradle_mutator *m;
static array *root;               /* of what lives */
static array *dead;               /* what is dead when marking begins: words that are no slots hold its addresses */
static array *spare;              /* for more */
static uint64_t live, live_bytes; /* objects and bytes that marking must count */
static uint64_t words_filled;

static inline int open_heap(void **state) {
  cradle_options options;
  (void)state;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)4 << 20; /* nothing is collected unless the test asks */
  options.gc_threads = 0;
  options.encoding = cradle_encoding_of(0, 0, 0x02);
  heap = cradle_heap_new(&options, NULL);
  m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 1;
  cradle_global_root_add(heap, &root, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &dead, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &spare, CRADLE_KIND_REFERENCE);
  live = live_bytes = words_filled = 0;
  return 0;
}

static inline int close_heap(void **state) {
  (void)state;
  root = dead = spare = NULL;
  crd_word_stack_fini(&inside_marker(heap)->first.aside); /* what a heap with a thread does */
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}

static inline void *at(uint64_t address) {
  return memory_at(address);
}

static inline void *count(void *made, size_t bytes) {
  live++;
  live_bytes += bytes;
  return made;
}
static inline object *new_object(uint32_t type) {
  object *made = types[type].weak != 0 || types[type].ephemerons != 0 ? cradle_new_registered(m, type, sizeof(object))
                                                                      : cradle_new(m, type, sizeof(object));
  return count(made, sizeof(object));
}
static array *new_array(uint32_t type, uint64_t length) {
  return count(cradle_new_array(m, type, length), types[type].size + length * types[type].item_size);
}

static inline uint64_t new_leaf(void) {
  return address_of(new_object(T_LEAF));
}

/* What a word of an object is. */
typedef enum sort { RAW, REFERENCE, VALUE, WEAK } sort;
static inline sort sort_of(uint64_t references, uint64_t values, uint64_t word) {
  if (word > 63) return RAW;
  return references >> word & 1 ? REFERENCE : values >> word & 1 ? VALUE : RAW;
}
/* Calls visit for each word of an object but its header and its length. */
static inline void each_word(uint64_t *at, void (*visit)(uint64_t *word, sort sort)) {
  const cradle_type *type = &types[cradle_type_of(at)];
  uint64_t fixed = type->size / 8, item_words = type->item_size / 8, length = at[type->length_offset / 8];
  for (uint64_t i = 1; i < fixed; i++) {
    if (type->items != CRADLE_ITEMS_NONE && i == type->length_offset / 8) continue;
    visit(&at[i], type->weak >> i & 1             ? WEAK
                  : type->trace != NULL && i == 1 ? REFERENCE
                                                  : sort_of(type->references, type->values, i));
  }
  if (type->items == CRADLE_ITEMS_NONE) return;
  if (type->items == CRADLE_ITEMS_BYTES) length /= 8, item_words = 1;
  for (uint64_t i = 0; i < length * item_words; i++) {
    sort structure = sort_of(type->item_references, type->item_values, i % item_words);
    visit(&at[fixed + i], type->items == CRADLE_ITEMS_REFERENCES ? REFERENCE
                          : type->items == CRADLE_ITEMS_VALUES   ? VALUE
                                                                 : structure);
  }
}

/* Each slot gets an object of its own, but every fifth stays zero. */
static inline void fill_slot(uint64_t *word, sort sort) {
  if (sort == RAW || sort == WEAK || words_filled++ % 5 == 4) return;
  *word = new_leaf() + (sort == VALUE);
}
/* Each other word gets a dead object's address, and values that stayed zero get one as an immediate. */
static inline void fill_raw(uint64_t *word, sort sort) {
  uint64_t decoy = dead->item[words_filled++ % DECOYS];
  if (sort == RAW) *word = decoy;
  if (sort == VALUE && *word == 0) *word = decoy + 2;
}

static inline void fill_raw_of_child(uint64_t *word, sort sort) {
  if ((sort == REFERENCE || sort == VALUE) && *word % 8 < 2 && *word != 0)
    each_word(object_at(*word & ~UINT64_C(7)), fill_raw);
}

/* Makes all of it old; then only root refers to objects. */
static inline void grow_old(void) {
  dead = cradle_new_array(m, T_ARRAY, DECOYS);
  for (int i = 0; i < DECOYS; i++) dead->item[i] = address_of(cradle_new(m, T_LEAF, sizeof(object)));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (uint64_t i = 0; i < root->length; i++) {
    if (root->item[i] == 0) continue;
    each_word(object_at(root->item[i]), fill_raw_of_child);
    each_word(object_at(root->item[i]), fill_raw);
  }
}

/* Objects of each shape: first each between others, then some in a row with leaves in between, then long arrays. */
#define IN_TURN 100
#define IN_A_ROW 8
static const uint64_t long_lengths[] = {
    [T_ARRAY] = 2600, [T_VALUES] = 1500, [T_PAIRS] = 1400, [T_ENTRIES] = 900, [T_BOXES] = 1200};
static inline void make_objects(uint32_t last) {
  enum { LONG = sizeof long_lengths / sizeof *long_lengths };
  uint64_t made = 0;
  root = new_array(T_ARRAY, IN_TURN + (uint64_t)(last + 1) * IN_A_ROW + LONG + 1);
  for (uint32_t i = 0; i < IN_TURN; i++) {
    uint32_t type = i * 5 % (last + 1);
    root->item[made++] =
        address_of(types[type].items == CRADLE_ITEMS_NONE ? (void *)new_object(type) : new_array(type, i / 10 * 8));
  }
  for (uint32_t type = 0; type <= last; type++)
    for (uint32_t i = 0; i < IN_A_ROW; i++) {
      bool fixed = types[type].items == CRADLE_ITEMS_NONE;
      root->item[made++] = address_of(i % 3 == 2 ? (void *)new_object(T_LEAF)
                                      : fixed    ? (void *)new_object(type)
                                                 : new_array(type, 8));
    }
  for (uint32_t type = 0; type < LONG; type++) root->item[made++] = address_of(new_array(type, long_lengths[type]));
  root->item[made++] = address_of(new_array(T_HUGE, 3));
  assert_int_equal(made, root->length);
  for (uint64_t i = 0; i < made; i++) each_word(object_at(root->item[i]), fill_slot);
  grow_old();
}

/* Begins to mark: what root refers to is grey, and the dead are white. */
static const array *begin_marking(void) {
  const array *were = dead;
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  dead = NULL;
  crd_major_start(&heap->marking, CRADLE_CAUSE_REQUEST);
  assert_true(old_is_marked(inside_old(heap), address_of(root)));
  return were;
}

static inline void assert_marked_child(uint64_t *word, sort sort) {
  if ((sort == REFERENCE || sort == VALUE) && *word % 8 < 2 && *word != 0)
    assert_true(old_is_marked(inside_old(heap), *word & ~UINT64_C(7)));
}
/* All that lives is marked, and nothing else. */
static inline void assert_marked(const array *were) {
  for (uint64_t i = 0; i < root->length; i++) {
    if (root->item[i] == 0) continue;
    assert_true(old_is_marked(inside_old(heap), root->item[i]));
    each_word(object_at(root->item[i]), assert_marked_child);
  }
  for (uint64_t i = 0; i < DECOYS; i++) assert_false(old_is_marked(inside_old(heap), were->item[i]));
  assert_false(old_is_marked(inside_old(heap), address_of(were)));
}

static const crd_budget everything = {UINT64_MAX, UINT64_MAX, false};

/* The collection ends: what was not marked is freed, and no more. */
static inline void end_collection(uint64_t freed) {
  cradle_error error;
  while (!cradle_collect_step(m, UINT64_MAX)) continue;
  assert_int_equal(inside_major(heap)->swept.freed_objects, freed);
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
}

/* From now on the mark stack has room for 512 words. */
static inline void shorten_stack(void) {
  assert_true(word_stack_is_empty(inside_mark_stack(heap)));
  crd_word_stack_fini(inside_mark_stack(heap));
  assert_true(crd_word_stack_init(inside_mark_stack(heap), 4096, 4096, "test"));
}

static inline void make_aside(void) {
  assert_true(crd_word_stack_init(&inside_marker(heap)->first.aside, 65536, 4096, "test"));
}

/* One round, as gc/old/marker.c does it. */
static inline crd_marker_work run_round(uint32_t word) {
  crd_marker *marker = inside_marker(heap);
  marker->first.stack = *inside_mark_stack(heap);
  marker->arenas_bytes = inside_old(heap)->arenas.committed_end * ARENA_BYTES;
  marker->word = word;
  marker->first.work = (crd_marker_work){0};
  crd_mark_beside(&heap->marking, &inside_marker(heap)->first);
  assert_int_equal(marker->word, word); /* it is the caller who gives the round back */
  marker->word = ROUND_IDLE;
  *inside_mark_stack(heap) = marker->first.stack;
  if (marker->first.overflowed) inside_major(heap)->overflowed = true;
  return marker->first.work;
}

/* --- what is hard to mark --- */

/* Objects one behind the other, which the first word of each refers to. */
static inline object *new_chain(uint32_t type, int count, object *behind) {
  for (int i = 0; i < count; i++) {
    object *next = behind;
    behind = new_object(type);
    behind->word[0] = address_of(next);
  }
  return behind;
}

/* What takes long to mark, whatever it is made of. */
enum { LONG_ARRAY, LONG_STRUCTURES, LONG_ENTRIES, LONG_CHAIN, LONG_MIXED_CHAIN, LONG_AFTER_OTHERS, LONG_SORTS };
static inline void make_long(int sort) {
  root = new_array(T_ARRAY, 1);
  root->item[0] = address_of(sort == LONG_ARRAY        ? (void *)new_array(T_ARRAY, 60000)
                             : sort == LONG_STRUCTURES ? (void *)new_array(T_PAIRS, 30000)
                             : sort == LONG_ENTRIES    ? (void *)new_array(T_ENTRIES, 20000)
                             : sort == LONG_CHAIN      ? new_chain(T_TWO, 3000, NULL)
                             : sort == LONG_MIXED_CHAIN
                                 ? new_chain(T_MIXED, 3000, NULL)
                                 : new_chain(T_MIXED, 127, new_chain(T_TWO, 3000, NULL))); /* with root 128 */
  cradle_collect(m, CRADLE_COLLECT_FULL);
}

/* Another's words lie before and behind an array. */
static inline void make_neighbours(uint32_t type, uint64_t length) {
  uint64_t bytes = types[type].size + length * types[type].item_size - sizeof(array);
  root = new_array(T_ARRAY, 3);
  for (int i = 0; i < 3; i++)
    root->item[i] = address_of(i == 1 ? (void *)new_array(type, length) : new_array(T_PLAIN, bytes));
  grow_old();
  for (int i = 0; i < 3; i += 2) {
    array *plain = at(root->item[i]);
    for (uint64_t k = 0; k < bytes / 8; k++)
      plain->item[k] = dead->item[k % DECOYS] + (type == T_VALUES || type == T_BOXES);
  }
  assert_int_equal(root->item[1] - root->item[0], root->item[2] - root->item[1]);
}
static const uint64_t neighbour_lengths[][2] = {[T_ARRAY] = {14, 2600},
                                                [T_VALUES] = {14, 2600},
                                                [T_PAIRS] = {7, 1300},
                                                [T_ENTRIES] = {2, 1000},
                                                [T_BOXES] = {7, 1300}};

/* The deeper marking comes into this structure, the more objects wait. The stack grows three times: where objects are
 * traced inline, where they are not, and the other way round. */
static inline void *new_bushes(int bushes, void *behind) {
  for (int i = 0; i < bushes; i++) {
    bush *made = count(cradle_new(m, T_BUSH, sizeof(bush)), sizeof(bush));
    made->branch[0] = address_of(behind);
    for (int k = 1; k < BRANCHES; k++) made->branch[k] = new_leaf();
    behind = made;
  }
  return behind;
}
static inline void *new_combs(int count, void *behind) {
  for (int i = 0; i < count; i++) {
    array *comb = new_array(T_ARRAY, BRANCHES);
    comb->item[0] = address_of(behind);
    for (int k = 1; k < BRANCHES; k++) comb->item[k] = new_leaf();
    behind = comb;
  }
  return behind;
}
static inline void make_deep(bool begins_inline) {
  live = live_bytes = 0;
  root = new_array(T_ARRAY, 1);
  root->item[0] = address_of(begins_inline ? new_bushes(270, new_combs(260, new_bushes(530, NULL)))
                                           : new_combs(270, new_bushes(260, new_combs(530, NULL))));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  crd_word_stack_fini(inside_mark_stack(heap));
  assert_true(crd_word_stack_init(inside_mark_stack(heap), (size_t)1 << 20, 4096, "test"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

#endif
