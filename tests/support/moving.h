/* Helpers for tests of what must stay unchanged while objects move. */
#ifndef TESTS_MOVING_H
#define TESTS_MOVING_H

#include "tests/support/heap_fixture.h"

#include "tests/inside.h"

static inline pair *new_pair(fixture *f) CRADLE_MAY_COLLECT {
  return CRADLE_NEW(f->m, pair, T_PAIR);
}

/* Every young object is promoted, a major collection goes through all its increments, and every old object that may
 * move does. */
static inline void everything_moves(fixture *f) CRADLE_MAY_COLLECT {
  cradle_collect(f->m, CRADLE_COLLECT_MINOR);
  while (!cradle_collect_step(f->m, 0)) continue;
  cradle_collect(f->m, CRADLE_COLLECT_COMPACTING);
  crd_collect_major(f->heap, CRADLE_CAUSE_STRESS, CRADLE_COLLECT_COMPACTING);
}

static inline bool is_pinned(const void *object) {
  return *(const cradle_word *)object >> CRADLE_PINNED_BIT & 1;
}

/* The heap's last note that contains the word. */
typedef struct heard_note {
  const char *about;
  char text[200];
  uint64_t got;
} heard_note;

static inline void hear_note(void *data, const cradle_event *event) {
  heard_note *note = data;
  if (event->kind != CRADLE_EVENT_NOTE || strstr(event->u.note.text, note->about) == NULL) return;
  strncpy(note->text, event->u.note.text, sizeof note->text - 1);
  note->got = event->u.note.got;
}

#endif
