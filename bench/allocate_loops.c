#include "bench/allocate_loops.h"

#include <cradle/roots.h>
#include <cradle/typed.h>

#define INLINE static inline __attribute__((always_inline))

/* --- Cradle's loops --- */

/* Does not collect. True: an allocation of this size takes the fast path, and the compiler can drop
 * its check. */
INLINE bool has_room(const cradle_mutator *mutator, size_t bytes) {
  return mutator->free + bytes <= mutator->top;
}

INLINE node *node_new(cradle_mutator *mutator, uint64_t number, bool init) CRADLE_MAY_COLLECT {
  if (!init) return CRADLE_NEW_UNINITIALIZED(mutator, node, TYPE_NODE);
  node *fresh = CRADLE_NEW(mutator, node, TYPE_NODE);
  fresh->value = number;
  return fresh;
}

INLINE void save(cradle_mutator *mutator, const two_alive *alive) {
  cradle_push(mutator, alive->previous);
  cradle_push(mutator, alive->current);
}

INLINE void reload(cradle_mutator *mutator, two_alive *alive) {
  alive->current = cradle_pop(mutator);
  alive->previous = cradle_pop(mutator);
}

INLINE void remember(two_alive *alive, node *fresh) {
  alive->previous = alive->current;
  alive->current = fresh;
}

INLINE void loop_new(cradle_mutator *mutator, uint64_t first, uint64_t end, two_alive *result, bool init)
    CRADLE_MAY_COLLECT {
  two_alive alive = *result;
  for (uint64_t i = first; i < end; i++) {
    node *fresh;
    if (CRADLE_UNLIKELY(!has_room(mutator, sizeof(node)))) {
      save(mutator, &alive);
      fresh = node_new(mutator, i, init);
      reload(mutator, &alive);
    } else {
      fresh = node_new(mutator, i, init);
    }
    remember(&alive, fresh);
  }
  *result = alive;
}

INLINE cradle_reservation reserve(cradle_mutator *mutator, two_alive *alive, size_t bytes) CRADLE_MAY_COLLECT {
  if (CRADLE_LIKELY(has_room(mutator, bytes))) return cradle_reserve(mutator, bytes);
  save(mutator, alive);
  cradle_reservation reservation = cradle_reserve(mutator, bytes);
  reload(mutator, alive);
  return reservation;
}

INLINE void reserved_node(cradle_reservation *reservation, uint64_t number, two_alive *alive, bool init) {
  node *fresh = CRADLE_NEW_RESERVED(reservation, node, TYPE_NODE);
  if (init) fresh->value = number;
  remember(alive, fresh);
}

INLINE void loop_reserve(cradle_mutator *mutator, uint64_t first, uint64_t end, two_alive *result, bool init)
    CRADLE_MAY_COLLECT {
  two_alive alive = *result;
  uint64_t i = first;
  for (; i + LOOP_RESERVED <= end; i += LOOP_RESERVED) {
    cradle_reservation reservation = reserve(mutator, &alive, LOOP_RESERVED * sizeof(node));
    reserved_node(&reservation, i, &alive, init);
    reserved_node(&reservation, i + 1, &alive, init);
    reserved_node(&reservation, i + 2, &alive, init);
    reserved_node(&reservation, i + 3, &alive, init);
  }
  *result = alive;
  loop_new(mutator, i, end, result, init);
}

INLINE void loop_shadow_stack(cradle_mutator *mutator, uint64_t first, uint64_t end, two_alive *result, bool init)
    CRADLE_MAY_COLLECT {
  two_alive alive = *result;
  for (uint64_t i = first; i < end; i++) {
    save(mutator, &alive);
    node *fresh = node_new(mutator, i, init);
    reload(mutator, &alive);
    remember(&alive, fresh);
  }
  *result = alive;
}

/* --- the bare loops: written out, so that nothing of Cradle is in them --- */

/* The stores come in the order of cradle_new: header, free, field. */
INLINE node *bare_node(bare *bump, uint64_t number, bool init) {
  node *fresh = (node *)bump->free;
  char *next = (char *)fresh + sizeof(node);
  if (__builtin_expect(next > bump->top, 0)) {
    fresh = (node *)bare_refill(bump, sizeof(node));
    fresh->header = TYPE_NODE;
  } else {
    fresh->header = TYPE_NODE;
    bump->free = next;
  }
  if (init) fresh->value = number;
  return fresh;
}

INLINE void bare_loop_new(bare *bump, uint64_t first, uint64_t end, two_alive *result, bool init) {
  two_alive alive = *result;
  for (uint64_t i = first; i < end; i++) remember(&alive, bare_node(bump, i, init));
  *result = alive;
}

INLINE void bare_carved(char *object, uint64_t number, bool init) {
  node *fresh = (node *)object;
  fresh->header = TYPE_NODE;
  if (init) fresh->value = number;
}

INLINE void bare_loop_reserve(bare *bump, uint64_t first, uint64_t end, two_alive *result, bool init) {
  two_alive alive = *result;
  uint64_t i = first;
  for (; i + LOOP_RESERVED <= end; i += LOOP_RESERVED) {
    char *object = bump->free;
    char *next = object + LOOP_RESERVED * sizeof(node);
    if (__builtin_expect(next > bump->top, 0))
      object = bare_refill(bump, LOOP_RESERVED * sizeof(node));
    else
      bump->free = next;
    bare_carved(object, i, init);
    bare_carved(object + sizeof(node), i + 1, init);
    bare_carved(object + 2 * sizeof(node), i + 2, init);
    bare_carved(object + 3 * sizeof(node), i + 3, init);
    alive.previous = (node *)(object + 2 * sizeof(node));
    alive.current = (node *)(object + 3 * sizeof(node));
  }
  *result = alive;
  bare_loop_new(bump, i, end, result, init);
}

INLINE void bare_push(bare *bump, node *reference) {
  if (__builtin_expect(bump->shadow_top == bump->shadow_limit, 0)) bare_stack_misuse(bump);
  *bump->shadow_top++ = (cradle_word)(uintptr_t)reference;
}

INLINE node *bare_pop(bare *bump) {
  if (__builtin_expect(bump->shadow_top == bump->shadow_base, 0)) bare_stack_misuse(bump);
  return (node *)(uintptr_t)*--bump->shadow_top;
}

INLINE void bare_loop_shadow_stack(bare *bump, uint64_t first, uint64_t end, two_alive *result, bool init) {
  two_alive alive = *result;
  for (uint64_t i = first; i < end; i++) {
    bare_push(bump, alive.previous);
    bare_push(bump, alive.current);
    node *fresh = bare_node(bump, i, init);
    alive.current = bare_pop(bump);
    alive.previous = bare_pop(bump);
    remember(&alive, fresh);
  }
  *result = alive;
}

/* --- each loop at each offset --- */

#if defined(__x86_64__)
#define NOPS_A_STEP 4 /* a nop is one byte */
#else
#define NOPS_A_STEP 1 /* a nop is four bytes */
#endif
#define STRINGIFY_(x) #x
#define STRINGIFY(x) STRINGIFY_(x)
#define SHIFT(step) __asm__ volatile(".rept " STRINGIFY(NOPS_A_STEP) "*" #step "\n\tnop\n\t.endr")

#define FUNCTION(name, type, step) \
  static __attribute__((noinline, aligned(64))) void name##_at_##step(type *state, uint64_t first, uint64_t end, \
                                                                      two_alive *alive)
#define CRADLE_AT(loop, init, step) \
  FUNCTION(loop##_##init, cradle_mutator, step) CRADLE_MAY_COLLECT { \
    SHIFT(step); \
    loop(state, first, end, alive, init); \
  }
#define BARE_AT(loop, init, step) \
  FUNCTION(bare_##loop##_##init, bare, step) { \
    SHIFT(step); \
    bare_##loop(state, first, end, alive, init); \
  }
#define CRADLE_NAME(loop, init, step) loop##_##init##_at_##step,
#define BARE_NAME(loop, init, step) bare_##loop##_##init##_at_##step,

#define EACH_STEP(of, loop, init) \
  of(loop, init, 0) of(loop, init, 1) of(loop, init, 2) of(loop, init, 3) of(loop, init, 4) of(loop, init, 5) \
      of(loop, init, 6) of(loop, init, 7) of(loop, init, 8) of(loop, init, 9) of(loop, init, 10) of(loop, init, 11) \
          of(loop, init, 12) of(loop, init, 13) of(loop, init, 14) of(loop, init, 15)
#define EACH_FUNCTION(of) \
  EACH_STEP(of, loop_new, 0) \
  EACH_STEP(of, loop_new, 1) \
  EACH_STEP(of, loop_reserve, 0) \
  EACH_STEP(of, loop_reserve, 1) EACH_STEP(of, loop_shadow_stack, 0) EACH_STEP(of, loop_shadow_stack, 1)
#define NAMES(of, loop) \
  { \
    {EACH_STEP(of, loop, 0)}, { \
      EACH_STEP(of, loop, 1) \
    } \
  }

/* clang-format off */
EACH_FUNCTION(CRADLE_AT)
EACH_FUNCTION(BARE_AT)
/* clang-format on */

const cradle_loop cradle_loops[LOOP_APIS][2][LOOP_OFFSETS] = {
    NAMES(CRADLE_NAME, loop_new), NAMES(CRADLE_NAME, loop_reserve), NAMES(CRADLE_NAME, loop_shadow_stack)};
const bare_loop bare_loops[LOOP_APIS][2][LOOP_OFFSETS] = {NAMES(BARE_NAME, loop_new), NAMES(BARE_NAME, loop_reserve),
                                                          NAMES(BARE_NAME, loop_shadow_stack)};
