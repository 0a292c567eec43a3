#include "second_model.h"
#include "tests/inside.h"

/* --- statistics --- */

static uint64_t sum(const uint64_t *causes) {
  uint64_t all = 0;
  for (int i = 0; i < CRADLE_CAUSE_LIMIT; i++) all += causes[i];
  return all;
}

static void check_sums(const world *w, const cradle_statistics *now) {
  EXPECT(w, sum(now->minor_causes) == now->minor_collections, "minor collections and their causes differ");
  EXPECT(w, sum(now->major_causes) == now->major_collections, "major collections and their causes differ");
  EXPECT(w, now->used_bytes <= now->used_peak_bytes || now->used_bytes <= now->old_bytes + now->nursery_bytes + 65536,
         "%llu bytes are used", (unsigned long long)now->used_bytes);
  EXPECT(w, now->large_bytes <= now->old_bytes, "more is large than old");
  EXPECT(w, now->arenas_in_use <= now->arenas_committed, "more arenas are in use than committed");
  EXPECT(w, now->gc_share >= 0 && now->gc_share <= 1 && now->survival >= 0 && now->survival <= 1, "a share is none");
  EXPECT(w, now->pause_max_ns <= now->pause_ns && now->minor_max_ns <= now->minor_ns, "a maximum exceeds its sum");
  EXPECT(w, now->promoted_bytes <= now->collected_bytes, "more was promoted than collected");
  EXPECT(w, now->huge_bytes <= now->resident_bytes, "more pages are huge than resident");
}

static void check_growth(world *w, const cradle_statistics *now) {
  const cradle_statistics *before = &w->before;
  EXPECT(w,
         now->wall_ns >= before->wall_ns && now->pauses >= before->pauses && now->pause_ns >= before->pause_ns &&
             now->allocated_bytes >= before->allocated_bytes && now->promoted_bytes >= before->promoted_bytes &&
             now->minor_collections >= before->minor_collections && now->major_steps >= before->major_steps &&
             now->moved_objects >= before->moved_objects && now->collected_bytes >= before->collected_bytes,
         "a statistic that counts became less");
  w->before = *now;
}

static void check_events(const world *w, const cradle_statistics *now) {
  const event_counts *events = &w->events;
  EXPECT(w,
         events->minors == now->minor_collections && events->majors == now->major_collections &&
             events->compactions == now->compactions,
         "events and statistics count other collections");
  EXPECT(w,
         events->pauses == now->pauses && events->pause_ns == now->pause_ns &&
             events->pause_max_ns == now->pause_max_ns,
         "events and statistics have other pauses");
  EXPECT(w, events->open == 0, "a collection began and did not end");
  EXPECT(w, events->settled <= events->sampled, "more samples were settled than taken");
}

static void check_services(world *w, const cradle_statistics *now) {
  uint64_t pinned = 0, handles = w->ballast_count, ids_least = 0, ids_most = 0;
  reckon(w);
  for (size_t i = 0; i < w->node_count; i++) {
    const node *n = w->nodes[i];
    pinned += n->pins != 0;
    ids_least += n->id != 0 && is_reached(w, n);
    ids_most += n->id != 0;
  }
  for (size_t i = 0; i < HANDLES; i++) handles += w->handles[i].handle.number != 0;
  EXPECT(w, now->pinned_objects == pinned, "%llu objects are pinned, of %llu", (unsigned long long)now->pinned_objects,
         (unsigned long long)pinned);
  EXPECT(w, now->handles == handles, "%llu handles are open", (unsigned long long)now->handles);
  EXPECT(w, now->ids >= ids_least && now->ids <= ids_most, "%llu objects have ids", (unsigned long long)now->ids);
  EXPECT(w, now->external_bytes >= w->told, "less is outside than the program told");
}

static void check_pauses(const world *w, const cradle_statistics *now) {
  crd_pause_summary summary = crd_pauses_read(&w->pauses);
  EXPECT(w,
         summary.p50_ns <= summary.p90_ns && summary.p90_ns <= summary.p99_ns && summary.p99_ns <= summary.p999_ns &&
             summary.p999_ns <= summary.p9999_ns,
         "quantiles of pauses are out of order");
  EXPECT(w, (double)summary.p9999_ns <= (double)now->pause_max_ns * 1.04 + 1, "a quantile exceeds the longest pause");
}

static void check_spans(const world *w, const cradle_statistics *now) {
  crd_span_info rows[256];
  uint64_t used = 0;
  size_t count = crd_heap_spans(w->heap, rows, 256);
  for (size_t i = 0; i < count && i < 256; i++) {
    used += rows[i].used_bytes;
    EXPECT(w,
           rows[i].used_bytes <= rows[i].memory_bytes && rows[i].memory_bytes == rows[i].spans * rows[i].span_bytes &&
               (i == 0 || rows[i - 1].object_bytes < rows[i].object_bytes),
           "the row of size class %zu", i);
  }
  EXPECT(w, count > 256 || used + now->large_bytes == now->old_bytes, "spans have %llu bytes, the heap %llu",
         (unsigned long long)(used + now->large_bytes), (unsigned long long)now->old_bytes);
}

void look_at_statistics(world *w) {
  cradle_statistics now;
  cradle_heap_statistics(w->heap, &now, sizeof now);
  check_sums(w, &now);
  check_growth(w, &now);
  check_events(w, &now);
  check_services(w, &now);
  check_pauses(w, &now);
  check_spans(w, &now);
}

/* --- every object --- */

typedef struct walked {
  world *world;
  bool is_exact;
  size_t count;
} walked;

static bool walk_object(void *data, const cradle_object_info *info) {
  walked *walk = data;
  world *w = walk->world;
  /* What is dead may have serial numbers that are used no more. */
  if (!walk->is_exact || cradle_type_of(info->object) == BALLAST) return true;
  node *n = node_of(w, info->object);
  EXPECT(w, !n->was_reached, "a walk gives %llx twice", (unsigned long long)n->serial);
  EXPECT(w, is_returnable(w, n), "a walk gives %llx, which is dead", (unsigned long long)n->serial);
  EXPECT(w,
         cradle_object_bytes(info->bytes) == n->words * 8 && info->place_bytes >= info->bytes &&
             info->type_name == n->shape->type.name && !info->is_young,
         "a walk gives %llx with %llu bytes", (unsigned long long)n->serial, (unsigned long long)info->bytes);
  n->was_reached = true;
  walk->count++;
  return true;
}

typedef struct referred {
  world *world;
  uint64_t holders[CRADLE_HOLDER_FINALIZER_QUEUE + 1];
} referred;

static bool count_referrer(void *data, const cradle_referrer *referrer) {
  referred *counts = data;
  counts->holders[referrer->holder]++;
  return true;
}

static const node *wanted;
static uint64_t root_holders;
static void count_root(world *w, cell *cell, cradle_word word, cradle_kind kind) {
  (void)w, (void)word, (void)kind;
  root_holders += cell->node == wanted;
}

/* Slots of live objects. */
static uint64_t count_slots(const world *w) {
  uint64_t count = 0;
  for (size_t i = 0; i < w->node_count; i++) {
    const node *n = w->nodes[i];
    if (!is_reached(w, n)) continue;
    for (size_t word = 1; word < n->words; word++) {
      role is = shape_role(n->shape, word);
      count += n->cells[word].node == wanted && (is == ROLE_REFERENCE || is == ROLE_VALUE || is == ROLE_HELD);
    }
    for (size_t slot = 0; slot < n->outside_count; slot++) count += n->outside[slot].node == wanted;
  }
  return count;
}

static void check_referrers(world *w) {
  place at;
  if (!place_with_object(w, &at)) return;
  referred found = {.world = w};
  wanted = place_cell(w, at)->node, root_holders = 0;
  places_each(w, count_root);
  cradle_walk_result result = cradle_referrers(w->heap, place_object(w, at), count_referrer, &found);
  if (result != CRADLE_WALK_COMPLETE) return;
  uint64_t roots = 0;
  for (int holder = CRADLE_HOLDER_SHADOW_STACK; holder <= CRADLE_HOLDER_HANDLE; holder++)
    roots += found.holders[holder];
  EXPECT(w, roots == root_holders, "%llu roots refer to %llx, of %llu", (unsigned long long)roots,
         (unsigned long long)wanted->serial, (unsigned long long)root_holders);
  EXPECT(w, found.holders[CRADLE_HOLDER_PIN] == (wanted->pins != 0), "pins refer to %llx otherwise",
         (unsigned long long)wanted->serial);
  EXPECT(w, found.holders[CRADLE_HOLDER_OBJECT] == count_slots(w), "%llu slots refer to %llx, of %llu",
         (unsigned long long)found.holders[CRADLE_HOLDER_OBJECT], (unsigned long long)wanted->serial,
         (unsigned long long)count_slots(w));
}

/* Nothing has happened since: what is walked is what the shadow has. */
void walk_settled(world *w, bool is_full) {
  walked walk = {w, is_full, 0};
  for (size_t i = 0; i < w->node_count; i++) w->nodes[i]->was_reached = false;
  if (cradle_heap_walk(w->heap, walk_object, &walk) != CRADLE_WALK_COMPLETE) return;
  for (size_t i = 0; i < w->node_count && is_full; i++)
    EXPECT(w, w->nodes[i]->was_reached || !is_reached(w, w->nodes[i]), "a walk leaves %llx out",
           (unsigned long long)w->nodes[i]->serial);
  if (!is_full || anything_waits(w)) return;
  cradle_statistics now;
  cradle_heap_statistics(w->heap, &now, sizeof now);
  uint64_t outside = w->told;
  for (size_t i = 0; i < w->node_count; i++)
    if (w->nodes[i]->shape == &shapes[OWNER] && is_reached(w, w->nodes[i])) outside += w->nodes[i]->cells[2].rest;
  EXPECT(w, now.external_bytes == outside, "%llu bytes are outside, of %llu", (unsigned long long)now.external_bytes,
         (unsigned long long)outside);
  check_referrers(w);
}

/* --- one object, and dumps --- */

static bool drop(void *data, const void *bytes, size_t count) {
  (void)bytes;
  *(size_t *)data += count;
  return true;
}

static void describe(world *w) {
  place at;
  cradle_address_info info;
  if (!place_with_object(w, &at)) return;
  const node *n = place_cell(w, at)->node;
  const char *object = place_object(w, at);
  cradle_describe_address(w->heap, object, &info, sizeof info);
  EXPECT(w, info.kind == CRADLE_ADDRESS_OBJECT || info.kind == CRADLE_ADDRESS_NURSERY, "%llx is not where it lies",
         (unsigned long long)n->serial);
  if (info.kind == CRADLE_ADDRESS_NURSERY) return;
  EXPECT(w, info.object.object == object && info.object.type == (uint32_t)(n->shape - shapes) && info.offset == 0,
         "%llx is described as another", (unsigned long long)n->serial);
  cradle_describe_address(w->heap, object + 8, &info, sizeof info);
  EXPECT(w, info.kind == CRADLE_ADDRESS_INTERIOR && info.offset == 8 && info.object.object == object,
         "the inside of %llx is described as another", (unsigned long long)n->serial);
}

static bool count_object(void *data, const cradle_object_info *info) {
  (void)info;
  ++*(size_t *)data;
  return true;
}

void inspect(world *w) {
  size_t count = 0;
  cradle_error error;
  switch (below(w, 12)) {
  case 0: (void)cradle_heap_walk(w->heap, count_object, &count); return;
  case 1:
    EXPECT(w, cradle_heap_dump_to(w->heap, drop, &count, &error) && count != 0, "no dump: %s", error.message);
    return;
  default: describe(w);
  }
}
