/* Marking by itself: what increments, and rounds of the second core, mark, count and leave for later. The rounds run on
 * the test's own thread. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <cradle/cradle.h>

#include "gc/heap.h"
#include "gc/old/mark.h"
#include "gc/old/mark_beside.h"
#include "gc/platform/pages.h"

/* --- a heap with objects of each shape --- */

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

static void trace_first(void *traced, cradle_visitor *visitor) {
  cradle_visit_reference(visitor, &((object *)traced)->word[0]);
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

static int open_heap(void **state) {
  cradle_options options;
  (void)state;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = T_COUNT;
  options.nursery_bytes = (size_t)4 << 20; /* nothing is collected unless the test asks */
  options.gc_threads = CRADLE_GC_THREADS_NONE;
  options.encoding = cradle_encoding_low_tags(0x02);
  heap = cradle_heap_new(&options, NULL);
  m = heap == NULL ? NULL : cradle_mutator_new(heap);
  if (m == NULL) return 1;
  cradle_global_root_add(heap, &root, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &dead, CRADLE_KIND_REFERENCE);
  cradle_global_root_add(heap, &spare, CRADLE_KIND_REFERENCE);
  live = live_bytes = words_filled = 0;
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  root = dead = spare = NULL;
  crd_word_stack_fini(&heap->marker.aside); /* what a heap with a thread does */
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  return 0;
}

static void *at(uint64_t address) {
  return memory_at(address);
}

static void *count(void *made, size_t bytes) {
  live++;
  live_bytes += bytes;
  return made;
}
static object *new_object(uint32_t type) {
  object *made = types[type].weak != 0 || types[type].ephemerons != 0 ? cradle_new_registered(m, type, sizeof(object))
                                                                      : cradle_new(m, type, sizeof(object));
  return count(made, sizeof(object));
}
static array *new_array(uint32_t type, uint64_t length) {
  return count(cradle_new_array(m, type, length), types[type].size + length * types[type].item_size);
}

static uint64_t new_leaf(void) {
  return address_of(new_object(T_LEAF));
}

/* What a word of an object is. */
typedef enum sort { RAW, REFERENCE, VALUE, WEAK } sort;
static sort sort_of(uint64_t references, uint64_t values, uint64_t word) {
  if (word > 63) return RAW;
  return references >> word & 1 ? REFERENCE : values >> word & 1 ? VALUE : RAW;
}
/* Calls visit for each word of an object but its header and its length. */
static void each_word(uint64_t *at, void (*visit)(uint64_t *word, sort sort)) {
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
static void fill_slot(uint64_t *word, sort sort) {
  if (sort == RAW || sort == WEAK || words_filled++ % 5 == 4) return;
  *word = new_leaf() + (sort == VALUE);
}
/* Each other word gets a dead object's address, and values that stayed zero get one as an immediate. */
static void fill_raw(uint64_t *word, sort sort) {
  uint64_t decoy = dead->item[words_filled++ % DECOYS];
  if (sort == RAW) *word = decoy;
  if (sort == VALUE && *word == 0) *word = decoy + 2;
}

static void fill_raw_of_child(uint64_t *word, sort sort) {
  if ((sort == REFERENCE || sort == VALUE) && *word % 8 < 2 && *word != 0)
    each_word(object_at(*word & ~UINT64_C(7)), fill_raw);
}

/* Makes all of it old; then only root refers to objects. */
static void grow_old(void) {
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
static void make_objects(uint32_t last) {
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
  crd_major_start(heap, CRADLE_CAUSE_REQUEST);
  assert_true(old_is_marked(&heap->old, address_of(root)));
  return were;
}

static void assert_marked_child(uint64_t *word, sort sort) {
  if ((sort == REFERENCE || sort == VALUE) && *word % 8 < 2 && *word != 0)
    assert_true(old_is_marked(&heap->old, *word & ~UINT64_C(7)));
}
/* All that lives is marked, and nothing else. */
static void assert_marked(const array *were) {
  for (uint64_t i = 0; i < root->length; i++) {
    if (root->item[i] == 0) continue;
    assert_true(old_is_marked(&heap->old, root->item[i]));
    each_word(object_at(root->item[i]), assert_marked_child);
  }
  for (uint64_t i = 0; i < DECOYS; i++) assert_false(old_is_marked(&heap->old, were->item[i]));
  assert_false(old_is_marked(&heap->old, address_of(were)));
}

static const crd_budget everything = {UINT64_MAX, UINT64_MAX, false};

/* The collection ends: what was not marked is freed, and no more. */
static void end_collection(uint64_t freed) {
  cradle_error error;
  while (!cradle_collect_step(m, UINT64_MAX)) continue;
  assert_int_equal(heap->major.swept.freed_objects, freed);
  if (!cradle_heap_verify(heap, &error)) fail_msg("%s", error.message);
}

/* From now on the mark stack has room for 512 words. */
static void shorten_stack(void) {
  assert_true(word_stack_is_empty(&heap->mark_stack));
  crd_word_stack_fini(&heap->mark_stack);
  assert_true(crd_word_stack_init(&heap->mark_stack, 4096, 4096, "test"));
}

static void make_aside(void) {
  assert_true(crd_word_stack_init(&heap->marker.aside, 65536, 4096, "test"));
}

/* One round, as gc/old/marker.c does it. */
static crd_marker_work run_round(uint32_t word) {
  crd_marker *marker = &heap->marker;
  marker->stack = heap->mark_stack;
  marker->arenas_bytes = heap->old.arenas.committed_end * ARENA_BYTES;
  marker->word = word;
  marker->work = (crd_marker_work){0};
  crd_mark_beside(heap);
  assert_int_equal(marker->word, word); /* it is the caller who gives the round back */
  marker->word = ROUND_IDLE;
  heap->mark_stack = marker->stack;
  if (marker->overflowed) heap->major.overflowed = true;
  return marker->work;
}

/* --- increments --- */

static void all_that_lives_is_marked_and_counted(void **state) {
  (void)state;
  make_objects(T_TRACED);
  const array *were = begin_marking();
  assert_true(crd_mark_some(heap, everything));
  assert_marked(were);
  assert_int_equal(heap->major.objects, live);
  assert_int_equal(heap->major.bytes, live_bytes);
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, live);
  end_collection(DECOYS + 1);
}

static void all_that_lives_is_marked_with_a_short_stack(void **state) {
  (void)state;
  make_objects(T_TRACED);
  shorten_stack();
  const array *were = begin_marking();
  assert_true(crd_mark_some(heap, everything));
  assert_true(heap->major.objects > live); /* some were traced again */
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* An increment may exceed its bytes by what 128 objects have, or by one piece of an array. */
static void an_increment_ends_when_its_bytes_are_marked(void **state) {
  (void)state;
  uint64_t first = 0;
  make_objects(T_TRACED);
  for (int times = 0; times < 2; times++) {
    (void)begin_marking();
    assert_false(crd_mark_some(heap, (crd_budget){times == 0 ? 1 : first, UINT64_MAX, false}));
    if (times == 0) first = heap->major.bytes;
    assert_int_equal(heap->major.bytes, first); /* as many bytes are enough to be exactly as many */
    uint64_t increments = 1;
    for (uint64_t before = first; !crd_mark_some(heap, (crd_budget){10000, UINT64_MAX, false}); increments++) {
      assert_in_range(heap->major.bytes - before, 10000, 10000 + 2 * 1024 * 24);
      before = heap->major.bytes;
    }
    assert_in_range(increments, live_bytes / (10000 + 2 * 1024 * 24), live_bytes / 10000 + 2);
    assert_int_equal(heap->major.objects, live);
    assert_int_equal(heap->major.bytes, live_bytes);
    end_collection(times == 0 ? DECOYS + 1 : 0);
  }
}

static void an_increment_ends_at_its_deadline(void **state) {
  (void)state;
  make_objects(T_TRACED);
  (void)begin_marking();
  uint64_t now = crd_platform_now_ns();
  assert_false(crd_mark_some(heap, (crd_budget){UINT64_MAX, now, false}));
  assert_in_range(heap->major.objects, 1, 160);
  assert_true(crd_mark_some(heap, (crd_budget){UINT64_MAX, now + (UINT64_C(3600) << 30), false}));
  assert_int_equal(heap->major.objects, live);
  end_collection(DECOYS + 1);
}

/* Objects one behind the other, which the first word of each refers to. */
static object *new_chain(uint32_t type, int count, object *behind) {
  for (int i = 0; i < count; i++) {
    object *next = behind;
    behind = new_object(type);
    behind->word[0] = address_of(next);
  }
  return behind;
}

/* What takes long to mark, whatever it is made of. */
enum { LONG_ARRAY, LONG_STRUCTURES, LONG_ENTRIES, LONG_CHAIN, LONG_MIXED_CHAIN, LONG_AFTER_OTHERS, LONG_SORTS };
static void make_long(int sort) {
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

static void no_increment_is_long(void **state) {
  (void)state;
  for (int sort = 0; sort < LONG_SORTS; sort++) {
    live = live_bytes = 0;
    make_long(sort);
    (void)begin_marking();
    assert_false(crd_mark_some(heap, (crd_budget){1, UINT64_MAX, false}));
    assert_in_range(heap->major.objects, 1, 128 + 8); /* and those that were popped already */
    assert_in_range(heap->major.bytes, 1, (128 * 32 + 2 * 1024) * 8);
    assert_true(crd_mark_some(heap, everything));
    assert_int_equal(heap->major.objects, live);
    assert_int_equal(heap->major.bytes, live_bytes);
    end_collection(0);
  }
}

static void the_smallest_increments_are_a_few_objects(void **state) {
  (void)state;
  make_long(LONG_CHAIN);
  (void)begin_marking();
  for (uint64_t before = 0; !crd_mark_some(heap, (crd_budget){0, UINT64_MAX, false}); before = heap->major.objects)
    assert_in_range(heap->major.objects - before, 1, 4 + 8);
  end_collection(0);
}

/* The program makes arrays shorter while their rests wait. What they referred to there is not marked. */
static void what_an_array_loses_is_not_marked(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++) {
    live = live_bytes = 0;
    root = new_array(type, 2600);
    uint64_t words = types[type].item_size / 8, last = 2 * (type == T_VALUES || type == T_BOXES);
    for (int i = 1100; i < 2600; i++) root->item[i * words] = new_leaf() + last / 2;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    (void)begin_marking();
    assert_false(crd_mark_some(heap, (crd_budget){0, UINT64_MAX, false}));
    uint64_t bytes = heap->major.bytes;
    root->length = 10;
    assert_true(crd_mark_some(heap, everything));
    assert_int_equal(heap->major.bytes, bytes);
    assert_int_equal(heap->major.objects, 1);
    end_collection(1500);
    root = NULL;
    cradle_collect(m, CRADLE_COLLECT_FULL);
  }
}

/* Another's words lie before and behind an array. */
static void make_neighbours(uint32_t type, uint64_t length) {
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

static void what_lies_around_an_array_is_none_of_it(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++)
    for (int length = 0; length < 2; length++) {
      live = live_bytes = 0;
      make_neighbours(type, neighbour_lengths[type][length]);
      const array *were = begin_marking();
      assert_true(crd_mark_some(heap, everything));
      assert_marked(were);
      assert_int_equal(heap->major.bytes, live_bytes);
      cradle_collect(m, CRADLE_COLLECT_FULL);
    }
}

/* The first address behind the arenas is no object's, whatever lies there. */
static void what_lies_behind_the_arenas_is_not_marked(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 2);
  grow_old();
  (void)begin_marking();
  root->item[0] = heap->old.arenas.base + heap->old.arenas.bytes;
  root->item[1] = heap->old.arenas.base - 8;
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, 1);
  root->item[0] = root->item[1] = 0;
  end_collection(DECOYS + 1);
}

static void an_address_is_marked_once(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 1);
  object *one = new_object(T_ONE);
  root->item[0] = address_of(one);
  one->word[1] = new_leaf();
  grow_old();
  uintptr_t marked = root->item[0];
  (void)begin_marking();
  size_t grey = word_stack_count(&heap->mark_stack);
  for (int i = 0; i < 2; i++) {
    crd_mark_address(heap, marked);
    assert_true(old_is_marked(&heap->old, marked));
    assert_int_equal(word_stack_count(&heap->mark_stack), grey + 1);
  }
  crd_mark_address(heap, 0);
  assert_int_equal(word_stack_count(&heap->mark_stack), grey + 1);
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, live);
  end_collection(DECOYS + 1);
}

/* What is promoted while marking goes on is born marked, also in the places that were found before it began. */
static void what_becomes_old_meanwhile_is_marked(void **state) {
  (void)state;
  make_objects(T_TRACED);
  spare = new_array(T_ARRAY, 50);
  for (int i = 0; i < 25; i++) spare->item[i] = new_leaf();
  const array *were = begin_marking();
  for (int i = 25; i < 50; i++) cradle_store(m, spare, &spare->item[i], at(new_leaf()));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  for (int i = 25; i < 50; i++) assert_true(old_is_marked(&heap->old, spare->item[i]));
  assert_true(crd_mark_some(heap, everything));
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* Where the next old objects will be, others were that are dead. Nobody takes these for marked objects, though their
 * places are marked already. */
static void places_without_objects_are_not_looked_at(void **state) {
  (void)state;
  enum { OBJECTS = 300 };
  root = new_array(T_ARRAY, OBJECTS);
  for (int i = 0; i < OBJECTS; i++) {
    object *one = new_object(T_ONE);
    one->word[1] = new_leaf();
    root->item[i] = address_of(one);
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (int i = 1; i < OBJECTS; i++) root->item[i] = 0;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  (void)begin_marking();
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, 3);
  spare = new_array(T_ARRAY, 4);
  spare->item[0] = new_leaf();
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  heap->major.overflowed = true; /* so all marked objects are traced once more */
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, 3 + 5);
  end_collection(0);
}

/* --- the stack --- */

/* The deeper marking comes into this structure, the more objects wait. The stack grows three times: where objects are
 * traced inline, where they are not, and the other way round. */
static void *new_bushes(int bushes, void *behind) {
  for (int i = 0; i < bushes; i++) {
    bush *made = count(cradle_new(m, T_BUSH, sizeof(bush)), sizeof(bush));
    made->branch[0] = address_of(behind);
    for (int k = 1; k < BRANCHES; k++) made->branch[k] = new_leaf();
    behind = made;
  }
  return behind;
}
static void *new_combs(int count, void *behind) {
  for (int i = 0; i < count; i++) {
    array *comb = new_array(T_ARRAY, BRANCHES);
    comb->item[0] = address_of(behind);
    for (int k = 1; k < BRANCHES; k++) comb->item[k] = new_leaf();
    behind = comb;
  }
  return behind;
}
static void make_deep(bool begins_inline) {
  live = live_bytes = 0;
  root = new_array(T_ARRAY, 1);
  root->item[0] = address_of(begins_inline ? new_bushes(270, new_combs(260, new_bushes(530, NULL)))
                                           : new_combs(270, new_bushes(260, new_combs(530, NULL))));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  crd_word_stack_fini(&heap->mark_stack);
  assert_true(crd_word_stack_init(&heap->mark_stack, (size_t)1 << 20, 4096, "test"));
}

static void the_stack_grows_with_the_depth(void **state) {
  (void)state;
  for (int begins_inline = 0; begins_inline < 2; begins_inline++) {
    make_deep(begins_inline);
    cradle_handle handle = cradle_handle_new(m, at(new_leaf()));
    (void)begin_marking();
    assert_true(crd_mark_some(heap, everything));
    assert_true(word_stack_committed(&heap->mark_stack) > 32768 * 8);
    assert_false(heap->major.overflowed);
    assert_int_equal(heap->major.objects, live);
    assert_int_equal(heap->major.bytes, live_bytes);
    cradle_handle_free(m, handle);
    end_collection(0);
  }
}

/* With the countdown over, what waits in the queue is traced, and the stack is full: not even a part of a long array's
 * rest has room. All of it is traced. full: how many of the 12 free words are taken before. */
static void check_long_array(uint64_t full) {
  enum { LONG = 1100, LEAVES = 506 };
  live = live_bytes = 0;
  root = new_array(T_ARRAY, 3);
  root->item[0] = address_of(new_array(T_ARRAY, full));
  root->item[1] = address_of(new_array(T_ARRAY, LONG));
  root->item[2] = address_of(new_array(T_ARRAY, LEAVES + 4));
  for (uint64_t i = 0; i < full; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  ((array *)at(root->item[1]))->item[LONG - 1] = new_leaf();
  for (int i = 0; i < LEAVES + 4; i++) ((array *)at(root->item[2]))->item[i] = new_leaf();
  grow_old();
  shorten_stack();
  (void)begin_marking();
  const array *leaves = at(root->item[2]);
  crd_word_stack *stack = &heap->mark_stack;
  stack->top = stack->base;
  for (int i = 0; i < 3; i++) old_mark(&heap->old, root->item[i]);
  for (int i = 0; i < LEAVES + 4; i++) {
    old_mark(&heap->old, leaves->item[i]);
    if (i == LEAVES) {
      assert_true(word_stack_push(stack, root->item[1]));
      assert_true(word_stack_push(stack, root->item[0]));
    }
    assert_true(word_stack_push(stack, leaves->item[i]));
  }
  assert_false(word_stack_push(stack, 0));
  (void)crd_mark_some(heap, (crd_budget){0, 0, false});
  assert_int_equal(old_is_marked(&heap->old, ((array *)at(root->item[1]))->item[LONG - 1]), full > 10);
  assert_true(crd_mark_some(heap, everything));
  assert_true(old_is_marked(&heap->old, ((array *)at(root->item[1]))->item[LONG - 1]));
  end_collection(DECOYS + 1);
}

static void a_long_array_is_traced_without_room_for_its_rest(void **state) {
  (void)state;
  for (uint64_t full = 9; full <= 12; full++) check_long_array(full);
}

/* --- roots that change unnoticed --- */

static void a_word_of_the_shadow_stack_that_changed_unnoticed_is_marked(void **state) {
  (void)state;
  make_objects(T_LEAF);
  object *one = new_object(T_ONE);
  one->word[1] = new_leaf();
  spare = new_array(T_ARRAY, 1);
  spare->item[0] = address_of(one);
  cradle_push(m, root);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  const array *only = spare;
  const object *hidden = at(only->item[0]);
  spare = NULL;
  const array *were = begin_marking();
  assert_true(m->shadow_watermark > m->shadow_base);
  m->shadow_base[0] = address_of(hidden);
  assert_true(crd_mark_some(heap, everything));
  assert_marked(were);
  assert_true(old_is_marked(&heap->old, address_of(hidden)));
  assert_true(old_is_marked(&heap->old, hidden->word[1]));
  assert_false(old_is_marked(&heap->old, address_of(only)));
  (void)cradle_pop(m);
  end_collection(DECOYS + 2);
}

/* --- the order of death --- */

enum { PAIRS = 300 };
/* Ephemerons of which each key is the value of the one before, and the first ones are looked at last. Each key also
 * leads to an ephemeron of its own, with the first key and a value that nothing else refers to. An object that nothing
 * refers to waits for its finalizer. */
static void make_pairs(void) {
  object *keys[PAIRS + 1];
  root = new_array(T_ARRAY, PAIRS + 1);
  for (int i = 0; i <= PAIRS; i++) {
    object *other = new_object(i % 2 ? T_WEAK : T_MIXED);
    other->word[0] = new_leaf();
    keys[i] = new_object(T_LAST);
    keys[i]->word[3] = address_of(other);
  }
  for (int i = PAIRS; i-- > 0;) {
    object *pair = new_object(T_EPHEMERON), *own = new_object(T_EPHEMERON);
    pair->word[1] = address_of(keys[i]);
    pair->word[2] = address_of(keys[i + 1]);
    own->word[1] = address_of(keys[0]);
    own->word[2] = address_of(new_chain(T_ONE, 1, NULL));
    ((object *)at(own->word[2]))->word[1] = new_leaf();
    keys[i]->word[4] = address_of(own);
    root->item[i] = address_of(pair);
  }
  root->item[PAIRS] = address_of(keys[0]);
  cradle_finalizer_register(m, new_chain(T_ONE, 1, NULL), 1);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  assert_int_equal(cradle_finalizer_waiting(m, 1), 1);
}

static void assert_pairs(void) {
  const object *key = at(root->item[PAIRS]);
  for (int i = 0; i < PAIRS; i++) {
    const object *pair = at(root->item[i]), *own = at(key->word[4]);
    assert_ptr_equal(at(pair->word[1]), key);
    assert_int_equal(own->word[1], root->item[PAIRS]);
    assert_int_equal(cradle_type_of(at(((object *)at(own->word[2]))->word[1])), T_LEAF);
    assert_int_equal(cradle_type_of(at(key->word[3])), i % 2 ? T_WEAK : T_MIXED);
    key = at(pair->word[2]);
  }
}

/* All at once, in the smallest increments, and with a short stack. */
static void values_of_ephemerons_are_marked_and_traced(void **state) {
  (void)state;
  for (int way = 0; way < 3; way++) {
    live = live_bytes = 0;
    make_pairs();
    if (way == 2) shorten_stack();
    crd_major_start(heap, CRADLE_CAUSE_REQUEST);
    do crd_major_step(heap, way == 1 ? (crd_budget){0, 0, false} : everything);
    while (heap->major.phase != MAJOR_IDLE);
    assert_int_equal(heap->major.swept.freed_objects, 0);
    if (way != 2) assert_int_equal(heap->major.objects, live);
    assert_pairs();
    assert_non_null(cradle_finalizer_next(m, 1));
    root = NULL;
    cradle_collect(m, CRADLE_COLLECT_FULL);
    assert_int_equal(heap->major.swept.freed_objects, live);
  }
}

/* What rounds put aside is shown to the order of death, too. */
static void ephemerons_that_were_put_aside_are_looked_at(void **state) {
  (void)state;
  make_pairs();
  make_aside();
  crd_major_start(heap, CRADLE_CAUSE_REQUEST);
  while (heap->major.phase == MAJOR_MARKING) {
    (void)run_round(ROUND_TAKEN);
    crd_major_step(heap, (crd_budget){0, 0, false});
  }
  while (heap->major.phase != MAJOR_IDLE) crd_major_step(heap, everything);
  assert_int_equal(heap->major.swept.freed_objects, 0);
  assert_pairs();
}

/* The order of death marks so many values at once that the stack grows. */
static void many_values_at_once_make_the_stack_grow(void **state) {
  (void)state;
  enum { VALUES = 12000 };
  root = new_array(T_ARRAY, 2);
  pairs *table = count(cradle_new_registered_array(m, T_TABLE, VALUES), sizeof(array) + 16 * VALUES);
  root->item[0] = address_of(table);
  root->item[1] = address_of(new_chain(T_ONE, 1, NULL));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  table = at(root->item[0]);
  for (int i = 0; i < VALUES; i++) {
    object *value = new_object(T_ONE);
    value->word[1] = new_leaf();
    cradle_store(m, table, &table->item[i].value, value);
    cradle_store(m, table, &table->item[i].key, at(root->item[1]));
  }
  cradle_collect(m, CRADLE_COLLECT_FULL);
  crd_word_stack_fini(&heap->mark_stack);
  assert_true(crd_word_stack_init(&heap->mark_stack, (size_t)1 << 20, 4096, "test"));
  crd_major_start(heap, CRADLE_CAUSE_REQUEST);
  while (heap->major.phase != MAJOR_IDLE) crd_major_step(heap, everything);
  assert_true(word_stack_committed(&heap->mark_stack) > 8192 * 8);
  assert_int_equal(heap->major.objects, live);
  assert_int_equal(heap->major.swept.freed_objects, 0);
}

/* --- tables --- */

/* Handles, pinned and prebuilt objects, of which the last one alone refers to what else would die. The others refer to
 * what is marked already. */
static void tables_are_marked_to_the_end(void **state) {
  (void)state;
  enum { ENTRIES = 600 };
  static cradle_handle handles[ENTRIES];
  static object prebuilt[ENTRIES];
  make_objects(T_TRACED);
  uintptr_t only[3];
  spare = new_array(T_ARRAY, ENTRIES + 3);
  for (int i = 0; i < ENTRIES + 3; i++) {
    object *one = new_object(T_ONE);
    one->word[1] = new_leaf();
    spare->item[i] = address_of(one);
  }
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *many = spare;
  for (int i = 0; i < 3; i++) only[i] = many->item[ENTRIES + i];
  for (int i = 0; i < ENTRIES; i++) {
    bool last = i == ENTRIES - 1;
    uint64_t usual = many->item[0], pinned = last ? only[1] : many->item[i];
    handles[i] = cradle_handle_new(m, at(last ? only[0] : usual));
    assert_ptr_equal(cradle_pin(m, at(pinned)), at(pinned));
    prebuilt[i] = (object){.header = T_ONE};
    cradle_prebuilt_add(heap, &prebuilt[i]);
    cradle_store(m, &prebuilt[i], &prebuilt[i].word[1], at(last ? only[2] : usual));
  }
  for (int i = 0; i < 3; i++) cradle_store(m, many, &many->item[ENTRIES + i], NULL);
  uintptr_t unpinned = dead->item[7]; /* its place in the table is not used */
  assert_ptr_equal(cradle_pin(m, at(unpinned)), at(unpinned));
  cradle_unpin(m, at(unpinned));
  const array *were = begin_marking();
  int seen = 0;
  while (!crd_mark_some(heap, (crd_budget){0, UINT64_MAX, false})) {
    /* a piece of a table at a time */
    seen |=
        (heap->handles.marked_at == 256) | (heap->pins.marked_at == 256) << 1 | (heap->prebuilts.marked_at == 512) << 2;
    assert_true(heap->handles.marked_at % 256 == 0 || heap->handles.marked_at == heap->handles.used);
    assert_true(heap->pins.marked_at == 0 || heap->handles.marked_at == heap->handles.used);
    assert_true(heap->prebuilts.marked_at == 0 || heap->pins.marked_at == heap->pins.count);
  }
  assert_int_equal(seen, 7);
  assert_marked(were);
  for (int i = 0; i < 3; i++) {
    assert_true(old_is_marked(&heap->old, only[i]));
    assert_true(old_is_marked(&heap->old, object_at(only[i])[2]));
  }
  assert_false(old_is_marked(&heap->old, unpinned));
  end_collection(DECOYS + 1);
  for (int i = 0; i < 3; i++) assert_int_equal(cradle_type_of(object_at(only[i])), T_ONE);
  for (int i = 0; i < ENTRIES; i++) {
    cradle_handle_free(m, handles[i]);
    cradle_unpin(m, at(i == ENTRIES - 1 ? only[1] : many->item[i]));
    cradle_prebuilt_remove(heap, &prebuilt[i]);
  }
}

static void short_tables_are_marked(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 1);
  spare = new_array(T_ARRAY, 2);
  for (int i = 0; i < 2; i++) spare->item[i] = new_leaf();
  grow_old();
  uintptr_t handled = spare->item[0], pinned = spare->item[1];
  cradle_handle handle = cradle_handle_new(m, at(handled));
  assert_ptr_equal(cradle_pin(m, at(pinned)), at(pinned));
  spare = NULL;
  live--;
  (void)begin_marking();
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(heap->major.objects, live);
  assert_true(old_is_marked(&heap->old, handled) && old_is_marked(&heap->old, pinned));
  end_collection(DECOYS + 2);
  cradle_handle_free(m, handle);
  cradle_unpin(m, at(pinned));
}

/* --- rounds --- */

static void a_round_marks_all_that_lives_and_counts_it(void **state) {
  (void)state;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_marked(were);
  assert_true(word_stack_is_empty(&heap->mark_stack));
  assert_false(heap->marker.overflowed);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_int_equal(work.put_aside, 0);
  assert_int_equal(work.stop_ns, 0);
  end_collection(DECOYS + 1);
}

static void a_round_takes_no_longer_than_it_does(void **state) {
  (void)state;
  make_objects(T_LEAF);
  (void)begin_marking();
  uint64_t before = crd_platform_now_ns();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_in_range(work.run_ns, 1, crd_platform_now_ns() - before);
}

/* Somebody waits for its end from the beginning. */
static void a_round_that_is_to_end_marks_nothing(void **state) {
  (void)state;
  make_objects(T_LEAF);
  (void)begin_marking();
  size_t grey = word_stack_count(&heap->mark_stack);
  crd_marker_work work = run_round(ROUND_ASKED);
  assert_int_equal(work.objects, 0);
  assert_int_equal(work.bytes, 0);
  assert_int_equal(word_stack_count(&heap->mark_stack), grey);
}

/* Under stress rounds end at any object. What they leave is traced by the next ones, and nothing twice. */
static void what_rounds_leave_is_traced_by_others(void **state) {
  (void)state;
  uint64_t objects = 0, bytes = 0, rounds = 0, empty_rounds = 0;
  make_objects(T_LEAF);
  const array *were = begin_marking();
  heap->options.stress_period = 1000000;
  for (; !word_stack_is_empty(&heap->mark_stack); rounds++) {
    crd_marker_work work = run_round(ROUND_TAKEN);
    objects += work.objects;
    bytes += work.bytes;
    empty_rounds += work.objects == 0;
    assert_true(rounds < live);
  }
  heap->options.stress_period = 0;
  assert_true(rounds > live / 500);
  assert_true(empty_rounds > 0 && empty_rounds < rounds / 2);
  assert_marked(were);
  assert_int_equal(objects, live);
  assert_int_equal(bytes, live_bytes);
  end_collection(DECOYS + 1);
}

/* If no stack has room for an object, the mutator finds it by a look at all marked objects. */
static void what_rounds_have_no_room_for_is_found(void **state) {
  (void)state;
  for (int stress = 0; stress < 2; stress++) {
    make_objects(T_LEAF);
    if (stress == 0) shorten_stack();
    const array *were = begin_marking();
    heap->options.stress_period = stress * 1000000u;
    do {
      (void)run_round(ROUND_TAKEN);
      assert_true(word_stack_is_sound(&heap->mark_stack));
    } while (!word_stack_is_empty(&heap->mark_stack));
    heap->options.stress_period = 0;
    assert_true(heap->major.overflowed);
    assert_true(crd_mark_some(heap, everything));
    assert_marked(were);
    end_collection(DECOYS + 1);
  }
}

/* A list whose cells also refer to many others, so that the stack is full whenever a round ends. */
static void what_waits_when_a_round_ends_is_found(void **state) {
  (void)state;
  enum { CELLS = 300, WIDTH = 40 };
  root = new_array(T_ARRAY, WIDTH);
  for (int i = 0; i < CELLS; i++) {
    array *cell = new_array(T_ARRAY, WIDTH);
    cell->item[0] = root->item[0];
    root->item[0] = address_of(cell);
    for (int k = 1; k < WIDTH; k++) {
      object *one = new_object(T_ONE);
      one->word[1] = new_leaf();
      cell->item[k] = address_of(one);
    }
  }
  grow_old();
  shorten_stack();
  (void)begin_marking();
  heap->options.stress_period = 1000000;
  while (!word_stack_is_empty(&heap->mark_stack)) (void)run_round(ROUND_TAKEN);
  heap->options.stress_period = 0;
  assert_true(heap->major.overflowed);
  assert_true(crd_mark_some(heap, everything));
  end_collection(DECOYS + 1);
}

/* An array whose rest finds room for one of its two words only. What is in the rest is not lost. */
static void half_an_entry_is_none(void **state) {
  (void)state;
  enum { LONG = 700, FILL = 504 };
  root = new_array(T_ARRAY, 3);
  root->item[0] = address_of(new_array(T_ARRAY, 8));
  root->item[1] = address_of(new_array(T_ARRAY, LONG));
  root->item[2] = address_of(new_array(T_ARRAY, FILL + 6));
  for (int i = 0; i < 8; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  ((array *)at(root->item[1]))->item[LONG - 1] = new_leaf();
  for (int i = 0; i < FILL + 6; i++) ((array *)at(root->item[2]))->item[i] = new_leaf();
  grow_old();
  shorten_stack();
  (void)begin_marking();
  /* By hand: leaves, then the long array, then the one with eight items, which are traced first. */
  const array *leaves = at(root->item[2]);
  crd_word_stack *stack = &heap->mark_stack;
  stack->top = stack->base;
  for (int i = 2; i >= 0; i--) old_mark(&heap->old, root->item[i]);
  for (int i = 0; i < FILL + 6; i++) {
    old_mark(&heap->old, leaves->item[i]);
    assert_true(word_stack_push(stack, leaves->item[i]));
  }
  assert_true(word_stack_push(stack, root->item[1]));
  assert_true(word_stack_push(stack, root->item[0]));
  assert_false(word_stack_push(stack, 0));
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_true(word_stack_is_empty(&heap->mark_stack));
  assert_true(heap->marker.overflowed);
  assert_int_equal(work.objects, FILL + 6 + 2 + 8);
  assert_false(old_is_marked(&heap->old, ((array *)at(root->item[1]))->item[LONG - 1]));
  assert_true(crd_mark_some(heap, everything));
  assert_true(old_is_marked(&heap->old, ((array *)at(root->item[1]))->item[LONG - 1]));
  end_collection(DECOYS + 1);
}

/* When a round ends, what waits in the queue goes back on the stack: seven objects. If an array has just filled the
 * stack, there is no room for them, but for what was taken from it since. */
static void what_cannot_go_back_is_found(void **state) {
  (void)state;
  enum { LEAVES = 511 };
  int with_room = 0, without = 0;
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, 8));
  root->item[1] = address_of(new_array(T_ARRAY, LEAVES));
  for (int i = 0; i < 8; i++) ((array *)at(root->item[0]))->item[i] = new_leaf();
  for (int i = 0; i < LEAVES; i++) ((array *)at(root->item[1]))->item[i] = new_leaf();
  cradle_collect(m, CRADLE_COLLECT_FULL);
  shorten_stack();
  heap->marker.random = 1;
  for (int tries = 0; tries < 300; tries++) {
    (void)begin_marking();
    crd_word_stack *stack = &heap->mark_stack;
    stack->top = stack->base;
    const array *leaves = at(root->item[1]);
    for (int i = 0; i < 2; i++) old_mark(&heap->old, root->item[i]);
    for (int i = 0; i < LEAVES; i++) {
      old_mark(&heap->old, leaves->item[i]);
      assert_true(word_stack_push(stack, leaves->item[i]));
    }
    assert_true(word_stack_push(stack, root->item[0]));
    heap->options.stress_period = 1000000;
    crd_marker_work work = run_round(ROUND_TAKEN);
    heap->options.stress_period = 0;
    bool has_room = work.objects == 0 || work.objects > 7;
    assert_int_equal(heap->marker.overflowed, !has_room);
    with_room += has_room;
    without += work.objects == 1;
    assert_true(crd_mark_some(heap, everything));
    end_collection(0);
  }
  assert_true(with_room > 0 && without > 0);
}

static void rounds_look_often_whether_they_are_to_end(void **state) {
  (void)state;
  for (int sort = 0; sort < LONG_SORTS; sort++) {
    uint64_t rounds = 0, objects = 0, bytes = 0;
    live = live_bytes = 0;
    make_long(sort);
    (void)begin_marking();
    heap->marker.random = 0;
    heap->options.stress_period = 1000000;
    for (; !word_stack_is_empty(&heap->mark_stack); rounds++) {
      crd_marker_work work = run_round(ROUND_TAKEN);
      objects += work.objects;
      bytes += work.bytes;
    }
    heap->options.stress_period = 0;
    assert_in_range(rounds, 10, 1000); /* a look at every 16th object, on average, and every eighth look ends one */
    assert_int_equal(objects, live);
    assert_int_equal(bytes, live_bytes);
    end_collection(0);
  }
}

static void the_stack_of_a_round_grows_with_the_depth(void **state) {
  (void)state;
  for (int begins_inline = 0; begins_inline < 2; begins_inline++) {
    make_deep(begins_inline);
    (void)begin_marking();
    crd_marker_work work = run_round(ROUND_TAKEN);
    assert_true(word_stack_is_empty(&heap->mark_stack));
    assert_true(word_stack_committed(&heap->mark_stack) > 32768 * 8);
    assert_false(heap->marker.overflowed);
    assert_int_equal(work.objects, live);
    assert_int_equal(work.bytes, live_bytes);
    end_collection(0);
  }
}

static void what_lies_around_an_array_is_none_of_a_rounds(void **state) {
  (void)state;
  for (uint32_t type = T_ARRAY; type <= T_BOXES; type++)
    for (int length = 0; length < 2; length++) {
      live = live_bytes = 0;
      make_neighbours(type, neighbour_lengths[type][length]);
      const array *were = begin_marking();
      crd_marker_work work = run_round(ROUND_TAKEN);
      assert_marked(were);
      assert_int_equal(work.bytes, live_bytes);
      cradle_collect(m, CRADLE_COLLECT_FULL);
    }
}

/* Words that for a moment are no references mark nothing [marker.4]. */
static void words_that_are_no_references_mark_nothing(void **state) {
  (void)state;
  enum { WORDS = 900 };
  make_objects(T_LEAF);
  spare = new_array(T_ARRAY, WORDS);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  array *odd = spare;
  const array *were = begin_marking();
  uintptr_t base = heap->old.arenas.base, end = base + heap->old.arenas.committed_end * ARENA_BYTES;
  for (uint64_t i = 0; i < WORDS; i++)
    odd->item[i] = i % 3 == 0   ? root->item[i % root->length] + 8 * (1 + i % 4)
                   : i % 3 == 1 ? were->item[i % DECOYS] + 1 + i % 39
                                : (i % 2 ? end + i / 2 * 4096 : base - 8 * i);
  crd_marker_work work = run_round(ROUND_TAKEN);
  memset(odd->item, 0, WORDS * 8);
  assert_int_equal(work.objects, live);
  assert_int_equal(work.bytes, live_bytes);
  assert_marked(were);
  end_collection(DECOYS + 1);
}

/* Nor do words behind an array whose length is for a moment too large: they are another's. */
static void lengths_that_are_too_large_lead_out_of_no_place(void **state) {
  (void)state;
  enum { SMALL = 14, LARGE = 5000 };
  root = new_array(T_ARRAY, 2);
  root->item[0] = address_of(new_array(T_ARRAY, SMALL)); /* 128 bytes */
  spare = cradle_new_array(m, T_ARRAY, SMALL);
  root->item[1] = address_of(new_array(T_ARRAY, LARGE));
  grow_old();
  const array *were = dead;
  array *small = at(root->item[0]), *large = at(root->item[1]);
  for (int i = 0; i < SMALL; i++) spare->item[i] = were->item[i];
  assert_ptr_equal(&small->item[SMALL], spare);
  spare = NULL;
  (void)begin_marking();
  const crd_page *span = old_span_of(&heap->old, address_of(large));
  uint64_t fit = (((uint64_t)span->pages << PAGE_SHIFT) - sizeof(array)) / 8;
  assert_true(fit > LARGE && fit < LARGE + 1024);
  for (uint64_t i = LARGE; i < fit; i++) large->item[i] = were->item[DECOYS - 1 - (fit - 1 - i)];
  small->length = UINT64_MAX / 16;
  large->length = UINT64_MAX / 16;
  crd_marker_work work = run_round(ROUND_TAKEN);
  small->length = SMALL;
  large->length = LARGE;
  uint64_t leaves = fit - LARGE;
  assert_int_equal(work.objects, live + leaves);
  assert_int_equal(work.bytes, live_bytes + leaves * (8 + sizeof(object)));
  for (int i = 0; i < SMALL; i++) assert_false(old_is_marked(&heap->old, were->item[i]));
  end_collection(DECOYS + 2 - leaves);
}

/* A round marks only in arenas that were committed when it was offered. */
static void a_round_keeps_to_the_arenas_that_were_there(void **state) {
  (void)state;
  root = new_array(T_ARRAY, 2);
  for (int i = 0; i < 2; i++) root->item[i] = new_leaf();
  grow_old();
  uintptr_t low = root->item[0], high = root->item[1];
  assert_true(low < high);
  (void)begin_marking();
  crd_marker *marker = &heap->marker;
  marker->stack = heap->mark_stack;
  marker->arenas_bytes = high - heap->old.arenas.base;
  marker->word = ROUND_TAKEN;
  crd_mark_beside(heap);
  marker->word = ROUND_IDLE;
  heap->mark_stack = marker->stack;
  assert_true(old_is_marked(&heap->old, low));
  assert_false(old_is_marked(&heap->old, high));
  old_mark(&heap->old, high);
  end_collection(DECOYS + 1);
}

/* --- what rounds put aside --- */

/* Objects that need the program or the order of death. The last one alone refers to another that no one else does. */
enum { ASIDE = 600 };
static uintptr_t make_aside_objects(void) {
  root = new_array(T_ARRAY, ASIDE);
  for (int i = 0; i < ASIDE; i++) root->item[i] = address_of(new_object(i % 2 ? T_WEAK : T_TRACED));
  uintptr_t last = root->item[0];
  object_at(last)[1] = new_leaf();
  grow_old();
  return object_at(root->item[0])[1];
}

static void what_needs_the_program_is_put_aside(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, ASIDE);
  assert_int_equal(work.objects, 1);
  assert_int_equal(work.bytes, sizeof(array) + ASIDE * 8);
  assert_int_equal(word_stack_count(&heap->marker.aside), ASIDE);
  assert_false(heap->marker.overflowed);
  assert_true(word_stack_is_empty(&heap->mark_stack));
  for (int i = 0; i < ASIDE; i++) assert_true(old_is_marked(&heap->old, root->item[i]));
  assert_false(old_is_marked(&heap->old, only));
  /* An increment of its own for what was put aside. It leaves the stack alone. */
  assert_true(word_stack_push(&heap->mark_stack, root->item[0]));
  assert_false(crd_mark_some(heap, (crd_budget){UINT64_MAX, UINT64_MAX, true}));
  assert_true(word_stack_is_empty(&heap->marker.aside));
  assert_int_equal(heap->major.objects, ASIDE);
  assert_int_equal(word_stack_count(&heap->mark_stack), 2);
  assert_true(old_is_marked(&heap->old, only));
  assert_true(crd_mark_some(heap, everything));
  end_collection(DECOYS + 1);
}

/* Marking is not over as long as something is there. */
static void what_was_put_aside_is_traced_to_the_last(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  make_aside();
  (void)begin_marking();
  (void)run_round(ROUND_TAKEN);
  assert_true(crd_mark_some(heap, everything));
  assert_true(word_stack_is_empty(&heap->marker.aside));
  assert_int_equal(heap->major.objects, ASIDE + 1);
  assert_true(old_is_marked(&heap->old, only));
  end_collection(DECOYS + 1);
}

static void what_finds_no_room_aside_is_found(void **state) {
  (void)state;
  uintptr_t only = make_aside_objects();
  (void)begin_marking();
  crd_marker_work work = run_round(ROUND_TAKEN); /* there is no stack at all */
  assert_int_equal(work.put_aside, ASIDE);
  assert_true(heap->marker.overflowed);
  assert_true(crd_mark_some(heap, everything));
  assert_true(old_is_marked(&heap->old, only));
  end_collection(DECOYS + 1);
}

/* A watched object, whatever its type, is shown to the order of death. */
static void watched_objects_are_put_aside(void **state) {
  (void)state;
  make_objects(T_LEAF);
  make_aside();
  const array *were = begin_marking();
  uint64_t watched = 0;
  for (uint64_t i = 0; i < root->length; i += 3, watched++)
    object_set_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  crd_marker_work work = run_round(ROUND_TAKEN);
  assert_int_equal(work.put_aside, watched);
  assert_int_equal(word_stack_count(&heap->marker.aside), watched);
  for (uint64_t i = 0; i < root->length; i += 3) object_clear_flags(object_at(root->item[i]), HEADER_WATCHED_FLAG);
  assert_true(crd_mark_some(heap, everything));
  assert_int_equal(work.objects + heap->major.objects, live);
  assert_marked(were);
  end_collection(DECOYS + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(all_that_lives_is_marked_and_counted),
      TEST(all_that_lives_is_marked_with_a_short_stack),
      TEST(an_increment_ends_when_its_bytes_are_marked),
      TEST(an_increment_ends_at_its_deadline),
      TEST(no_increment_is_long),
      TEST(the_smallest_increments_are_a_few_objects),
      TEST(what_an_array_loses_is_not_marked),
      TEST(what_lies_around_an_array_is_none_of_it),
      TEST(what_lies_behind_the_arenas_is_not_marked),
      TEST(an_address_is_marked_once),
      TEST(what_becomes_old_meanwhile_is_marked),
      TEST(places_without_objects_are_not_looked_at),
      TEST(the_stack_grows_with_the_depth),
      TEST(a_long_array_is_traced_without_room_for_its_rest),
      TEST(a_word_of_the_shadow_stack_that_changed_unnoticed_is_marked),
      TEST(values_of_ephemerons_are_marked_and_traced),
      TEST(ephemerons_that_were_put_aside_are_looked_at),
      TEST(many_values_at_once_make_the_stack_grow),
      TEST(tables_are_marked_to_the_end),
      TEST(short_tables_are_marked),
      TEST(a_round_marks_all_that_lives_and_counts_it),
      TEST(a_round_takes_no_longer_than_it_does),
      TEST(a_round_that_is_to_end_marks_nothing),
      TEST(what_rounds_leave_is_traced_by_others),
      TEST(what_rounds_have_no_room_for_is_found),
      TEST(what_waits_when_a_round_ends_is_found),
      TEST(half_an_entry_is_none),
      TEST(what_cannot_go_back_is_found),
      TEST(rounds_look_often_whether_they_are_to_end),
      TEST(the_stack_of_a_round_grows_with_the_depth),
      TEST(what_lies_around_an_array_is_none_of_a_rounds),
      TEST(words_that_are_no_references_mark_nothing),
      TEST(lengths_that_are_too_large_lead_out_of_no_place),
      TEST(a_round_keeps_to_the_arenas_that_were_there),
      TEST(what_needs_the_program_is_put_aside),
      TEST(what_was_put_aside_is_traced_to_the_last),
      TEST(what_finds_no_room_aside_is_found),
      TEST(watched_objects_are_put_aside),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
