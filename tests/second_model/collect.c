#include "second_model.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static cradle_statistics statistics_of(const world *w) {
  cradle_statistics now;
  cradle_heap_statistics(w->heap, &now, sizeof now);
  return now;
}

void collect(world *w) {
  cradle_collection_kind kind = (cradle_collection_kind)(chance(w, 2) ? 0 : below(w, 4));
  bool is_settled = kind != CRADLE_COLLECT_MINOR && !anything_waits(w);
  cradle_statistics before = statistics_of(w);
  cradle_collect(w->m, kind);
  cradle_statistics after = statistics_of(w);
  EXPECT(w, after.minor_collections > before.minor_collections, "a collection was asked for and did not come");
  if (kind == CRADLE_COLLECT_MINOR) return;
  EXPECT(w, after.major_collections > before.major_collections, "a major collection was asked for and did not come");
  EXPECT(w, after.phase == CRADLE_PHASE_IDLE, "a major collection was asked for and is not over");
  EXPECT(w, kind != CRADLE_COLLECT_COMPACTING || after.compactions > before.compactions, "nothing was compacted");
  compare(w, is_settled);
  if (is_settled) walk_settled(w, kind >= CRADLE_COLLECT_FULL);
}

void collect_step(world *w) {
  for (uint64_t count = 1 + below(w, 6); count > 0; count--) {
    cradle_statistics before = statistics_of(w);
    bool is_over = cradle_collect_step(w->m, chance(w, 4) ? 1000000 : 0);
    cradle_statistics after = statistics_of(w);
    EXPECT(w, after.minor_collections > before.minor_collections, "an increment left the nursery");
    EXPECT(w, !is_over || after.major_collections > before.major_collections, "an increment said that it was the last");
    EXPECT(w, is_over || after.phase != CRADLE_PHASE_IDLE, "an increment did not say that it was the last");
    if (is_over) return;
  }
}

void safepoint(world *w) {
  uint64_t before = statistics_of(w).minor_collections;
  if (chance(w, 2)) {
    cradle_safepoint(w->m);
    return;
  }
  cradle_safepoint_request(w->m);
  if (chance(w, 2)) cradle_safepoint_request(w->m);
  cradle_safepoint(w->m);
  EXPECT(w, statistics_of(w).minor_collections > before, "a safepoint was asked for and nothing was collected");
}

/* Calls that are allowed where nothing may collect: no object may move. A longjmp may end the region. */
void no_collect(world *w) {
  static void (*const harmless[])(world *w) = {store,     store_outside, copy_slots, copy_words,  load,
                                               root_move, root_push,     root_pop,   root_global, set_find};
  place at;
  if (!place_with_object(w, &at)) return;
  void *object = place_object(w, at);
  const node *n = place_cell(w, at)->node;
  uint64_t depth = 1 + below(w, 2), before = statistics_of(w).minor_collections;
  for (uint64_t i = 0; i < depth; i++) cradle_no_collect_begin(w->m);
  for (uint64_t count = below(w, 8); count > 0; count--) harmless[below(w, sizeof harmless / sizeof *harmless)](w);
  EXPECT(w, cradle_new_fast(w->m, LEAF, 16) == NULL, "an allocation found room where nothing may collect");
  EXPECT(w, node_of(w, object) == n, "an object moved where nothing may collect");
  if (chance(w, 4) && w->on->count >= w->frame->stack_count) longjmp(w->frame->buffer, 1);
  for (uint64_t i = 0; i < depth; i++) cradle_no_collect_end(w->m);
  EXPECT(w, statistics_of(w).minor_collections == before, "a collection came where none may");
}

/* --- control --- */

void control(world *w) {
  cradle_memory memory;
  switch (below(w, 4)) {
  case 0:
    if (w->majors_disabled == 3) return;
    cradle_major_hold(w->m, true);
    w->majors_disabled++;
    return;
  case 1:
    if (w->majors_disabled == 0) return;
    cradle_major_hold(w->m, false);
    w->majors_disabled--;
    return;
  case 2: (void)cradle_release_memory(w->heap); return;
  default:
    cradle_memory_report(w->heap, &memory, sizeof memory);
    EXPECT(w, memory.nursery.committed_bytes <= memory.nursery.reserved_bytes, "more is committed than reserved");
    EXPECT(w, memory.arenas.huge_bytes <= memory.arenas.resident_bytes, "more pages are huge than resident");
  }
}

/* The smallest maximum, which an error message named, must be accepted. */
void limit(world *w) {
  cradle_error error;
  cradle_statistics now = statistics_of(w);
  ballast_let_go(w);
  size_t room = chance(w, 2) ? 0 : (size_t)(now.nursery_bytes + now.arena_bytes * below(w, 12));
  size_t bytes = chance(w, 3) ? 0 : room + 1;
  bool is_done = cradle_heap_set_max(w->m, bytes, &error);
  if (!is_done && error.accepted != 0 && chance(w, 2)) {
    bytes = error.accepted;
    is_done = cradle_heap_set_max(w->m, bytes, &error);
    EXPECT(w, is_done, "the maximum that was named is refused: %s", error.message);
  }
  if (!is_done) return;
  w->is_limited = bytes != 0;
  EXPECT(w, bytes == 0 || statistics_of(w).heap_max_bytes == bytes, "the maximum is another one");
}

void ballast_let_go(world *w) {
  while (w->ballast_count > 0) cradle_handle_free(w->m, w->ballast[--w->ballast_count]);
}

/* Fills the heap up to its maximum, so that the operations until the next call meet refusals; that call lets go. */
void exhaust(world *w) {
  if (!w->is_limited || w->ballast_count > 0) {
    ballast_let_go(w);
    return;
  }
  for (size_t bytes = (size_t)1 << 20; bytes >= 256 && w->ballast_count < BALLAST_MAX;) {
    void *object = cradle_new_array(w->m, BALLAST, bytes);
    cradle_handle handle = {0};
    if (object != NULL) handle = cradle_handle_new(w->m, object);
    if (handle.number == 0)
      bytes /= 4;
    else
      w->ballast[w->ballast_count++] = handle;
  }
}

void external(world *w) {
  if (w->told != 0 && chance(w, 2)) {
    uint64_t less = below(w, w->told + 1);
    cradle_external_memory(w->m, -(int64_t)less);
    w->told -= less;
    return;
  }
  uint64_t more = below(w, chance(w, 8) ? 1 << 22 : 1 << 12);
  cradle_external_memory(w->m, (int64_t)more);
  w->told += more;
}

void hand_over(world *w) {
  cradle_mutator_detach(w->m);
  cradle_mutator_attach(w->m);
}

/* The child compares its copy and ends. */
void fork_heap(world *w) {
  cradle_error error;
  int status;
  if (!chance(w, 20) || !cradle_fork_prepare(w->heap, &error)) return;
  pid_t child = fork();
  if (child == 0) {
    cradle_fork_done(w->heap);
    compare(w, false);
    cradle_collect(w->m, CRADLE_COLLECT_MAJOR);
    compare(w, false);
    _exit(0);
  }
  cradle_fork_done(w->heap);
  if (child > 0 && waitpid(child, &status, 0) == child) EXPECT(w, status == 0, "the child of a fork failed");
}

void verify(world *w) {
  cradle_error error;
  EXPECT(w, cradle_heap_verify(w->heap, &error), "the verifier: %s", error.message);
}
