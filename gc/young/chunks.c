#include "gc/young/chunks.h"

#include <string.h>

/* So many chunks for each mutator: at the end, each leaves half a chunk on average. */
#define CHUNKS_EACH 8
/* A chunk holds the largest object of the nursery, with as much beside it. */
#define CHUNK_MIN_BYTES (2 * CRADLE_NURSERY_OBJECT_MAX_BYTES)

static bool is_taken(const crd_chunks *chunks, uint32_t chunk) {
  return chunks->taken[chunk / 64] >> chunk % 64 & 1;
}

static uint64_t in_pieces(const crd_chunks *chunks) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < chunks->piece_count; i++)
    bytes += (uint64_t)(chunks->pieces[i].end - chunks->pieces[i].start);
  return bytes;
}

void crd_chunks_cut(crd_space *space) {
  crd_chunks *chunks = space->chunks;
  const crd_nursery *nursery = &space->nursery;
  size_t bytes = (size_t)(nursery->end - nursery->start), each = 0;
  uint32_t locals = 0;
  uint64_t earlier = 0, users;
  for (EACH_LOCAL(local, space)) {
    earlier += local->earlier;
    local->start = local->end = local->look = nursery->start;
    local_move(local, nursery->start);
    local->earlier = 0;
    local->number = locals++;
  }
  ASSERT(earlier == in_pieces(chunks), "[chunk.2] the filled nursery is counted wrong");
  users = collection_is_off(space->options) ? space->options->mutators : locals;
  each = bytes / CHUNKS_EACH / users & ~(CHUNK_MIN_BYTES - 1);
  if (each < CHUNK_MIN_BYTES) each = CHUNK_MIN_BYTES;
  if (each < bytes / CHUNKS_MOST) each = align_up(bytes / CHUNKS_MOST + 1, CHUNK_MIN_BYTES);
  chunks->bytes = each;
  chunks->count = bytes < each ? 1 : (uint32_t)(bytes / each);
  chunks->piece_count = 0;
  chunks->parts = space->options->quarantine != 0 ? 0 : (uint32_t)users;
  memset(chunks->taken, 0, sizeof chunks->taken);
  ASSERT(chunks->count <= CHUNKS_MOST, "[chunk.1] the nursery is cut into too many chunks");
}

/* The next free chunk from one on, around the end; CHUNKS_MOST: none. */
static uint32_t find_free(const crd_chunks *chunks, uint32_t from) {
  for (uint32_t i = 0; i < chunks->count; i++) {
    uint32_t chunk = from + i < chunks->count ? from + i : from + i - chunks->count;
    if (!is_taken(chunks, chunk)) return chunk;
  }
  return CHUNKS_MOST;
}

/* What the local has filled becomes a piece. */
static void leave_piece(crd_chunks *chunks, crd_local *local) {
  char *free = *local->free;
  if (free == local->start) return;
  ASSERT(chunks->piece_count < chunks->count, "[chunk.1] there are more pieces than chunks");
  chunks->pieces[chunks->piece_count++] = (crd_piece){local->start, free};
  local->earlier += (size_t)(free - local->start);
}

/* The last chunk has the slack, too, if it is the only one: then it may be too small for an object. */
static bool take_one(const crd_nursery *nursery, crd_chunks *chunks, crd_local *local) {
  bool has_one = local->end != local->start;
  uint32_t from = has_one              ? (uint32_t)((size_t)(local->end - nursery->start) / chunks->bytes)
                  : chunks->parts == 0 ? 0
                                       : (uint32_t)((uint64_t)local->number * chunks->count / chunks->parts);
  uint32_t chunk = find_free(chunks, from < chunks->count ? from : 0);
  if (chunk == CHUNKS_MOST) return false;
  chunks->taken[chunk / 64] |= UINT64_C(1) << chunk % 64;
  char *start = nursery->start + chunk * chunks->bytes;
  if (!has_one || start != local->end) {
    leave_piece(chunks, local);
    local_move(local, start);
    local->start = start;
  }
  local->end = chunk + 1 == chunks->count ? nursery->end : start + chunks->bytes;
  return true;
}

bool crd_chunks_take(crd_mutator *mutator, size_t bytes) {
  crd_local *local = mutator->local;
  const crd_nursery *nursery = &mutator->space->nursery;
  crd_chunks *chunks = mutator->space->chunks;
  bool fits = false, more = true;
  spinlock_take(&chunks->lock);
  while (!fits && more) {
    more = take_one(nursery, chunks, local);
    const char *limit = chunks->count == 1 ? nursery->slack_end : local->end;
    fits = more && *local->free <= limit && bytes <= (size_t)(limit - *local->free);
  }
  spinlock_release(&chunks->lock);
  return fits;
}
