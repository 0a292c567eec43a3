/* A second model of the public contract, written from the headers in include/cradle/ alone.
 *
 * A mutator makes random calls of every service on one to three heaps, and keeps a shadow of each heap: a node for each
 * object, with a cell for each of its words, in plain malloc'ed memory. Each object carries a serial number in a raw
 * word, so an object that the heap returns is compared with its node, wherever it has moved.
 *
 * The shadow knows what the headers promise, and no more:
 *   reached     nodes that strong roots lead to, ephemerons included: their objects must be there, word for word
 *   returnable  these, and what unreached nodes with a finalizer lead to: all other objects must be gone after a
 *               complete major collection
 *   era         of a node, counts how often it may have come back from the dead: the weak slots to it of one era are
 *               cleared together
 */
#ifndef TESTS_SECOND_MODEL_H
#define TESTS_SECOND_MODEL_H

#include <cradle/cradle.h>

#include <setjmp.h>

#include "runtime/pauses.h"
#include "tests/support/look_alikes.h"
#include "tests/support/waiting.h"

/* --- shapes: types with the place of the serial number --- */

typedef enum role {
  ROLE_OWN, /* the serial number, the length, a buffer's address: only the model writes it */
  ROLE_RAW,
  ROLE_REFERENCE,
  ROLE_VALUE,
  ROLE_WEAK,
  ROLE_KEY,
  ROLE_HELD, /* an ephemeron's value, behind its key */
} role;

enum {
  LEAF,
  PAIR,
  CLOSURE,
  WIDE,
  BYTES,
  ODD_BYTES,
  REFERENCES,
  VALUES,
  RECORDS,
  WIDE_RECORDS,
  TRACED,
  WEAK_PAIR,
  WEAK_ARRAY,
  EPHEMERONS,
  EPHEMERON_ARRAY,
  WEAK_VALUES,
  VALUE_EPHEMERONS,
  FINALIZED,
  OWNER,
  BALLAST, /* not in the shadow; the shapes before it are drawn */
  LATE,    /* added while the heap runs */
  SHAPES
};

typedef struct shape {
  cradle_type type;
  uint32_t serial_word;
} shape;
extern const shape shapes[SHAPES];

role shape_role(const shape *of, size_t word);
bool shape_is_value(const shape *of, size_t word);
bool shape_is_registered(const shape *of);
size_t shape_words(const shape *of, size_t length);

/* --- the shadow --- */

typedef struct node node;

/* What a word holds. */
typedef struct cell {
  node *node;    /* the object, or NULL */
  uint64_t rest; /* the bits of a value beside its address; without an object the whole word */
  uint32_t era;  /* the node's when a weak slot was written */
} cell;

struct node {
  const shape *shape;
  uint64_t serial, length;
  size_t words;
  cell *cells;      /* one for each word; that of the header is not used */
  uint64_t *buffer; /* slots outside of the object, of TRACED */
  cell *outside;
  size_t outside_count;

  uint64_t reached, returnable; /* the reckoning in which it was found so */
  uint32_t era;
  uint32_t gone; /* weak slots of eras below this one are cleared */
  uint64_t present_at, present_era;
  bool is_dead, is_destroyed, was_reached;
  bool may_wait; /* came back by another way while it may have been in a finalizer queue */

  uint64_t visited; /* the comparison that has seen its object, */
  void *at;         /*   here */
  uint64_t id;
  uint32_t hash;
  uint32_t pins;
  void *pinned_at;
  uint32_t registrations[CRADLE_FINALIZER_QUEUES + 1];
  uint64_t registered_at[CRADLE_FINALIZER_QUEUES + 1]; /* the last time, in the order of all */
};

typedef enum origin {
  ON_STACK,  /* the shadow stack of the root stack that runs */
  SUSPENDED, /* those of the others */
  IN_FRAMES, /* a range of each root stack, and a scoped root, which stays */
  IN_SCOPE,
  IN_RANGE,
  IN_GLOBAL,
  IN_CALLBACK,
  IN_HANDLE,
  ORIGINS
} origin;

enum {
  STACK_MAX = 120,
  ROOT_STACKS = 5, /* the first is the mutator's own */
  FRAME_WORDS = 6,
  SCOPED_MAX = 40,
  RANGES = 2,
  RANGE_MAX = 24,
  GLOBALS = 6,
  CALLBACK_WORDS = 4,
  HANDLES = 12,
  SETS = 2,
  BALLAST_MAX = 200,
  SET_MAX = 240,
};

/* A root: where, which one, and what it should hold. */
typedef struct place {
  origin origin;
  size_t index;
} place;

typedef struct root_stack {
  cradle_root_stack *real; /* NULL: the mutator's own root stack, or a place that is not in use */
  cradle_word *base;       /* of its shadow stack, since it was suspended */
  cell cells[STACK_MAX];
  size_t count;
  cradle_root_range range;
  cradle_word frames[FRAME_WORDS], *frames_base, *frames_top;
  cell frame_cells[FRAME_WORDS];
  bool was_entered; /* and not left yet: it runs, or waits for others that it has switched to */
} root_stack;

typedef struct frame {
  jmp_buf buffer;
  struct frame *outer;
  cradle_checkpoint checkpoint;
  root_stack *on;
  size_t stack_count, scoped_count, floor;
} frame;

typedef struct set_entry {
  node *node;
  uint64_t hash;
  uint32_t era;
} set_entry;

typedef struct model_set {
  cradle_weak_set *set;
  set_entry entries[SET_MAX];
  size_t count, vanished; /* vanished: entries that were found dead, */
  size_t swept;           /*   and those that the set told of */
} model_set;

typedef struct event_counts {
  uint64_t minors, majors, pauses, pause_ns, pause_max_ns, compactions, sampled, settled;
  int open; /* collections */
} event_counts;

typedef struct world {
  uint64_t seed, step, random;
  uint32_t number;
  const char *operation;
  cradle_heap *heap;
  cradle_mutator *m;
  cradle_encoding encoding;
  look_regions regions;
  cradle_kind stack_kind;
  crd_pauses pauses;
  event_counts events;
  cradle_statistics before; /* when they were last looked at */
  bool is_limited, has_late;
  uint64_t shortages; /* calls of the out-of-memory handler in a limited world; every second one returns */
  uint32_t majors_disabled;
  uint64_t told;       /* external bytes */
  uint64_t registered; /* finalizers, so far */
  size_t large_count;

  node **nodes;
  size_t node_count, node_room;
  uint64_t reckoning, comparison;
  node **work; /* of a walk */
  size_t work_count, work_room;

  frame *frame;
  root_stack root_stacks[ROOT_STACKS], *on; /* on: the one that runs */
  size_t floor;                             /* words below it stay until the scope ends */
  struct {
    const root_stack *on;
    void *variable;
    cradle_kind kind;
    cell cell;
  } scoped[SCOPED_MAX];
  size_t scoped_count;
  struct {
    cradle_root_range range;
    cradle_word *base, *top;
    cell cells[RANGE_MAX];
  } ranges[RANGES];
  struct {
    cradle_word word;
    cradle_kind kind;
    bool is_registered;
    cell cell;
  } globals[GLOBALS];
  cradle_word callback[CALLBACK_WORDS];
  cell callback_cells[CALLBACK_WORDS];
  struct {
    cradle_handle handle;
    cell cell;
  } handles[HANDLES];
  model_set sets[SETS];
  cradle_handle ballast[BALLAST_MAX]; /* what exhaust() holds */
  size_t ballast_count;
} world;

/* random.c: equal seeds and steps give equal numbers, whatever the steps before did */
uint64_t draw(world *w);
uint64_t below(world *w, uint64_t bound);
bool chance(world *w, uint64_t of);
void draw_from(world *w, uint64_t seed, uint64_t step);

_Noreturn void fail(const world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define EXPECT(w, condition, ...) ((condition) ? (void)0 : fail((w), __VA_ARGS__))

/* shadow.c */
node *node_new(world *w, const shape *of, uint64_t length);
void node_free(node *n);
node *node_of_serial(const world *w, uint64_t serial);
/* Whose object it is; the object must be alive. */
node *node_of(const world *w, const void *object);
void reckon(world *w);
bool is_reached(const world *w, const node *n);
bool is_returnable(const world *w, const node *n);
/* To be called before a node gets a root in another way than from another root: from a queue, an id or a weak slot. */
void comes_back(world *w, node *n, bool is_new_era);
bool leads_to(world *w, node *from, const node *to);
bool leads_to_beside(world *w, node *const *back, size_t count, node *from, const node *to);
uint32_t registrations(const node *n);

/* places.c */
bool place_any(world *w, place *found);
bool place_with_object(world *w, place *found);
bool place_with_shape(world *w, place *found, bool (*accepts)(const node *n));
cell *place_cell(world *w, place at);
cradle_kind place_kind(const world *w, place at);
cradle_word place_word(world *w, place at);
void place_write(world *w, place at, node *n, void *object);
/* The object that the place holds, after a look at its serial number; NULL where there is none. */
void *place_object(world *w, place at);
void keep(world *w, node *n, void *object);
size_t places_each(world *w, void (*function)(world *w, cell *cell, cradle_word word, cradle_kind kind));
cradle_word encode(world *w, cradle_kind kind, node *n, void *object, cell *cell);
cradle_word encode_immediate(world *w, cell *cell);
void *decode(const world *w, cradle_kind kind, cradle_word word);

/* compare.c; is_settled: a complete major collection is over, and nothing waited in a queue before */
void compare(world *w, bool is_settled);
bool anything_waits(const world *w);
/* What a weak slot or a key gives, after a comparison with its cell, which follows it. */
void *weak_read(world *w, node *holder, cradle_word *object, size_t word, bool is_settled);
void weak_gone(world *w, node *n, uint32_t era);
void weak_present(world *w, node *n, uint32_t era);

/* the operations */
void operate(world *w);
void step(world *w);
void allocate_object(world *w);
void allocate_reserved(world *w);
node *allocate_finalized(world *w, void **object);
void slot_write(world *w, node *holder, cradle_word *object, size_t word, bool is_new);
void store(world *w);
void store_raw(world *w);
void transfer(world *w);
void store_outside(world *w);
void copy_slots(world *w);
void copy_words(world *w);
void shorten(world *w);
void load(world *w);
void load_weak(world *w);
void root_push(world *w);
void root_pop(world *w);
void root_peek(world *w);
void root_move(world *w);
void root_clear(world *w);
void root_scope(world *w);
void root_unwind(world *w);
void root_coroutine(world *w);
/* A longjmp has left root stacks that were entered since the frame began. */
void root_stacks_left(world *w, const frame *frame);
void root_stacks_free(world *w);
void root_range(world *w);
void root_global(world *w);
void root_handle(world *w);
void pin(world *w);
void unpin(world *w);
void identify(world *w);
void look_up_id(world *w);
void finalizer_register(world *w);
void finalizer_drain(world *w);
void finalizer_order(world *w);
void set_add(world *w);
void set_find(world *w);
void set_remove(world *w);
void set_iterate(world *w);
void collect(world *w);
void collect_step(world *w);
void safepoint(world *w);
void no_collect(world *w);
void control(world *w);
void limit(world *w);
void exhaust(world *w);
void ballast_let_go(world *w);
void external(world *w);
void add_type(world *w);
void hand_over(world *w);
void fork_heap(world *w);
void inspect(world *w);
void look_at_statistics(world *w);
void verify(world *w);

/* sets.c and inspect.c, after a complete major collection */
void set_swept(void *data, size_t removed);
void sets_settled(world *w);
void walk_settled(world *w, bool is_full);

/* world.c */
void world_open(world *w, uint64_t seed, uint32_t number);
void world_close(world *w);
world *world_of_serial(uint64_t serial);
void destroy_object(void *user, void *object);
size_t external_size(void *user, const void *object);
void trace_buffer(void *user, void *object, cradle_visitor *visitor);

#endif
