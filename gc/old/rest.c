#include "gc/old/rest.h"

#include "gc/old/marking.h"

#define REST_MIN_ARENAS 8
#define FREED_SHARE 8
#define WAIT_MOST_TIMES 16
#define COST_TIMES 32
/* While the heap is at rest, pauses are about so far apart. */
#define PIECE_NS 50000000.0
#define WINDOW_NS UINT64_C(1000000000)
#define PIECE_MIN_BYTES ((size_t)16 << 10)
/* With a pause target, a compaction, at about a nanosecond a byte that lives, may take so many times that. */
#define COMPACT_TARGETS 8

bool crd_rest_is_due(const crd_marking *marking, uint64_t now_ns) {
  const crd_rest *rest = &marking->rest;
  uint64_t age = marking->space->options->major_age_ns;
  if (age == 0 || marking->space->options->stress_period != 0) return false;
  if (arenas_in_use(&marking->old->arenas) < REST_MIN_ARENAS) return false;
  if (rest->again) return marking->major.phase == MAJOR_IDLE;
  if (rest->active) return false;
  if (marking->major.phase != MAJOR_IDLE && rest->piece_bytes > marking->space->nursery.bytes / 2) return false;
  uint64_t since = rest->since_ns != 0 ? rest->since_ns : marking->space->report->created_ns;
  uint64_t wait = rest->wait_ns > age ? rest->wait_ns : age, least = COST_TIMES * rest->cost_ns;
  return now_ns > since && now_ns - since >= (wait > least ? wait : least);
}

void crd_rest_begin(crd_marking *marking) {
  marking->rest.active = true;
  marking->rest.again = false;
  marking->rest.used_before = marking->major.phase == MAJOR_IDLE ? marking->old->used_bytes : UINT64_MAX;
}

static void look_back(crd_marking *marking, uint64_t now_ns) {
  crd_rest *rest = &marking->rest;
  const cradle_statistics *stats = &marking->space->report->stats;
  uint64_t used = marking->old->used_bytes, age = marking->space->options->major_age_ns;
  bool in_vain = rest->active && used > rest->used_before - rest->used_before / FREED_SHARE;
  uint64_t twice = 2 * (rest->wait_ns > age ? rest->wait_ns : age);
  rest->wait_ns = !in_vain ? age : twice > WAIT_MOST_TIMES * age ? WAIT_MOST_TIMES * age : twice;
  rest->again = rest->active && rest->used_before == UINT64_MAX; /* what has died since it began is still there */
  rest->cost_ns = stats->major_ns - rest->major_ns;
  rest->major_ns = stats->major_ns;
  rest->majors = stats->major_collections;
  rest->since_ns = now_ns;
}

static size_t piece(const crd_marking *marking, uint64_t passed_ns, uint64_t allocated) {
  double bytes = PIECE_NS * (double)allocated / (double)passed_ns;
  if (bytes < (double)PIECE_MIN_BYTES) return PIECE_MIN_BYTES;
  return bytes < (double)marking->space->nursery.bytes ? (size_t)bytes & ~(size_t)7 : marking->space->nursery.bytes;
}

/* Programs allocate in bursts, so the rate is that of a second or more. */
void crd_rest_pause(crd_marking *marking, uint64_t begin_ns, uint64_t allocated) {
  crd_rest *rest = &marking->rest;
  if (rest->window_ns == 0) {
    rest->window_ns = begin_ns;
    rest->piece_bytes = marking->space->nursery.bytes;
    return;
  }
  rest->window_bytes += allocated;
  if (begin_ns < rest->window_ns + WINDOW_NS) return;
  rest->piece_bytes = piece(marking, begin_ns - rest->window_ns, rest->window_bytes);
  rest->window_ns = begin_ns;
  rest->window_bytes = 0;
}

void crd_rest_pause_ended(crd_marking *marking, uint64_t begin_ns) {
  crd_rest *rest = &marking->rest;
  const crd_arenas *arenas = &marking->old->arenas;
  if (marking->space->report->stats.major_collections != rest->majors) look_back(marking, begin_ns);
  /* Nothing is left to do when no collection runs, and no empty arena waits to go back. */
  if (rest->active && !rest->again && marking->major.phase == MAJOR_IDLE &&
      arenas->free_count <= marking->old->reserve + arenas->supply.ahead)
    rest->active = false;
}

bool crd_rest_may_compact(const crd_marking *marking) {
  uint64_t target = marking->space->options->pause_ns;
  return marking->rest.active && crd_compact_is_sparse(marking) &&
         (target == 0 || marking->old->used_bytes <= COMPACT_TARGETS * target);
}
