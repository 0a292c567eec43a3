/* The order of death, as collections call it: a table of functions, so that young/ and old/ need not include death/.
 * Making the services puts it into the space (gc/death/registry.c). Until then no object with services existed. */
#ifndef CRADLE_GC_DEATH_CALLS_H
#define CRADLE_GC_DEATH_CALLS_H

#include "gc/object/value.h"
#include "gc/parts.h"

typedef struct crd_minor crd_minor;
struct crd_budget;

/* The old objects that a minor collection found remembered: of each local the first `stored` entries of its set; none
 * if any is not set, or all old objects if all is set. */
typedef struct crd_stored {
  bool any, all;
} crd_stored;

typedef struct crd_death_calls {
  /* In a minor collection, when everything that roots lead to is promoted. */
  void (*minor_deaths)(crd_services *services, crd_minor *minor, crd_stored stored);
  /* When that minor collection is over. */
  void (*minor_ended)(crd_services *services);

  /* A store into a holder with the weak flag, a large array: crd_stored_record (gc/death/registry.h). */
  bool (*record)(crd_services *services, const cradle_word *holder, const cradle_word *words, size_t count,
                 uint32_t *left);

  void (*mark_starts)(crd_services *services);
  /* When the mark stack is empty: marks objects that wait in queues, then what ephemerons keep, and adds the bytes
   * that it looked at to *bytes. false: there was nothing. */
  bool (*mark_more)(crd_services *services, uint64_t *bytes);
  /* While major.watching: an object with the weak or the watched flag is traced. */
  void (*traced)(crd_services *services, cradle_word *object);
  /* When marking is over. */
  void (*begin)(crd_services *services);
  /* Does the next increment of clearing. true: it was the last. */
  bool (*clear)(crd_services *services, const struct crd_budget *budget);

  /* For compaction: visits every word that leads to an object without keeping it alive. each_slot: the words of an
   * object with the weak flag; each_word: all others. */
  void (*each_slot)(const crd_space *space, cradle_word *object, crd_slot_function visit, void *context);
  void (*each_word)(crd_services *services, crd_slot_function visit, void *context);
} crd_death_calls;

#endif
