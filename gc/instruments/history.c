#include "gc/instruments/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gc/heap.h"
#include "gc/platform/backtrace.h"
#include "gc/report/misuse.h"

/* Entries of the table of stores, a power of two. Objects whose entries are the same overwrite each other. */
#define STORES 1024

/* So many bytes are kept of the place of a store ("FILE:LINE"), the end of it. It is copied because it is a constant of
 * the program's code, which may be unloaded. */
#define PLACE_BYTES 64

typedef struct last_store {
  uintptr_t object; /* 0: none */
  char place[PLACE_BYTES];
  uint64_t era;
  uint64_t collections; /* minor ones before it */
} last_store;

/* When the heap was verified. */
typedef struct moment {
  uint64_t collection; /* its number; 0: never */
  const char *side;    /* "before" or "after" */
} moment;

typedef struct crd_history {
  moment right;
  crd_backtrace right_from;
  const void *suspect; /* or NULL */
  uint64_t stored;     /* all stores so far, also those whose entry was overwritten */
  last_store stores[STORES];
} crd_history;

void crd_history_open(cradle_heap *heap) {
  if (heap->options.verify) heap->history = calloc(1, sizeof *heap->history);
}

void crd_history_close(cradle_heap *heap) {
  free(heap->history);
  heap->history = NULL;
}

/* The number of the present era [history.1]. */
static uint64_t era_of(const cradle_heap *heap) {
  return heap->report.stats.major_collections * 8 + (uint64_t)heap->marking.major.phase;
}

static last_store *entry_for(crd_history *history, const void *object) {
  return &history->stores[address_of(object) / CRADLE_OBJECT_MIN_BYTES % STORES];
}

/* Young objects are left out: their stores need no barrier, and they will not be at this address for long. */
void crd_history_store(cradle_heap *heap, const void *object) {
  crd_history *history = heap->history;
  const char *place = crd_running_call.place;
  if (history == NULL || place == NULL || space_holds_young(&heap->space, address_of(object))) return;
  history->stored++;
  last_store *last = entry_for(history, object);
  size_t length = strlen(place), kept = length < PLACE_BYTES ? length : PLACE_BYTES - 1;
  *last = (last_store){
      .object = address_of(object), .era = era_of(heap), .collections = heap->report.stats.minor_collections};
  memcpy(last->place, place + length - kept, kept);
}

static void add_last_store(const cradle_heap *heap, crd_text *text) {
  crd_history *history = heap->history;
  const last_store *last = entry_for(history, history->suspect);
  if (history->stored == 0)
    crd_text_format(
        text, "; no store through the barrier is known: compile the program with CRADLE_CHECKED=1 to record stores");
  else if (last->object != address_of(history->suspect) || last->era != era_of(heap))
    crd_text_format(text, "; no store through the barrier into it is known since the last major collection");
  else
    crd_text_format(text, "; the last store through the barrier into it, after collection %" PRIu64 ": %s",
                    last->collections, last->place);
}

static moment now(const cradle_heap *heap, bool before) {
  return (moment){heap->report.stats.minor_collections + before, before ? "before" : "after"};
}

void crd_history_right(cradle_heap *heap, bool before) {
  if (heap->history == NULL) return;
  heap->history->right = now(heap, before);
  crd_backtrace_take(&heap->history->right_from);
}

void crd_history_suspect(cradle_heap *heap, const void *object) {
  if (heap->history != NULL) heap->history->suspect = object; /* NULL: none yet */
}

/* Adds to the message what is known. */
static void add_history(const cradle_heap *heap, bool before, crd_text *text) {
  crd_history *history = heap->history;
  moment wrong = now(heap, before);
  if (history == NULL) return;
  if (history->right.collection == 0)
    crd_text_format(text, "; wrong %s collection %" PRIu64 ", when it was verified first", wrong.side,
                    wrong.collection);
  else
    crd_text_format(text, "; right %s collection %" PRIu64 ", wrong %s collection %" PRIu64, history->right.side,
                    history->right.collection, wrong.side, wrong.collection);
  if (history->suspect != NULL) add_last_store(heap, text);
}

/* After the message: from where the heap was last found right. */
static void write_history(const cradle_heap *heap) {
  const crd_history *history = heap->history;
  if (history == NULL || history->right.collection == 0) return;
  crd_text text = {.length = 0};
  crd_text_format(&text, "cradle: the heap was right %s collection %" PRIu64 ", ", history->right.side,
                  history->right.collection);
  crd_say(text.buffer, "which was called from, the innermost first:");
  crd_write_calls(&history->right_from, false);
}

void crd_misuse_found(cradle_heap *heap, const crd_text *fault, bool before) {
  crd_text wrong = {.length = 0};
  add_history(heap, before, &wrong);
  crd_misuse_with(heap, fault, &wrong, write_history);
}
