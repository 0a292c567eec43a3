/* The team of a minor collection: the leader, which is the program's thread, and helpers, which are the collector's.
 *
 * In a heap with several mutators, the threads of those that stand are helpers, too: guests, who come and go.
 *
 * The leader calls the helpers and promotes as if it were alone. A helper that has nothing to do is *hungry*. The
 * leader sees that between two objects. If enough waits to be traced, it gives away a part, and from then on it
 * *shares*: all exchange the header of each object for its new address, instead of storing it. So what cannot be
 * divided, such as a list, costs no more than alone, and nobody waits for a helper that has not come.
 *
 *   leader  calls ....... sees hunger: gives, shares ....... hungry --- all are hungry: done
 *   helper  ..... joins, hungry ---- takes, promotes, gives ---- hungry ----- done
 *
 * What is given away is a list of bodies (gc/young/promote.h): the oldest body of a tree, which leads to the most, or
 * the end of a long list. Recorded slots, remembered objects and items of a long array are claimed in pieces.
 *
 *   [team.1] Of those that share, exactly one promotes an object: the one whose exchange of the header succeeded. It
 *            alone writes to the body and to the copy. The others use the copy's address, and read neither, until the
 *            team is done, or the body was given to them.
 *   [team.2] A body's words are a link and notes, written after the header. Who takes one for a length asks the header
 *            again.
 *   [team.3] What is given away, hunger and the end change under the lock. A hungry worker has nothing left, and what
 *            it promoted is counted. If all are hungry, and nothing is given away, nothing is left.
 *   [team.4] No trace callback is called while others promote: a worker leaves objects that have one for the time when
 *            the team is done. Only the leader looks at large objects. A thread that marks beside is no helper.
 *   [team.5] Pages, runs, bitmaps and what is to be marked change under the lock.
 *   [team.6] Each worker's runs are part of what the promotion reserve holds (old.rest_bytes).
 */
#ifndef CRADLE_GC_YOUNG_TEAM_H
#define CRADLE_GC_YOUNG_TEAM_H

#include "gc/base/spinlock.h"
#include "gc/death_calls.h"
#include "gc/old/span.h"
#include "gc/parts.h"

typedef struct crd_helper {
  crd_worker worker;
  crd_young *young;
  crd_thread *thread; /* NULL: the first helper is the marker's thread, or it is a guest */
  uint32_t word;      /* whether the thread is called, as in gc/old/marker.h */
  uint32_t index;     /* from 1 on; the leader's is 0 */
  uint32_t team;      /* the number of the last team that it joined */
  bool taken;         /* by a guest, who works; under the lock */
} crd_helper;

/* What is written often lies apart from what a worker reads between two objects. */
#define TEAM_APART 64

typedef struct crd_team {
  crd_helper *helpers; /* first those with a thread of the collector's, then those for guests */
  uint32_t wanted;     /* helpers with a thread, for which there is room */
  uint32_t guests;     /* the same for guests */
  uint32_t count;      /* of those that have a thread */
  uint32_t hired_for;  /* marker.made + 1 when the helpers were hired; 0: never */
  bool always;         /* for tests: there is a team whatever it brings */
  /* Nanoseconds an object, alone [0] and in a team [1]: averages of the last collections that were worth a team. */
  double object_ns[2];
  uint32_t worth; /* how many were */
  /* What is left to the leader for the time when the team is done: bodies, pages of young large objects, and
   * whether some remembered objects still have no barrier flag. */
  cradle_word *left;
  uint32_t left_large;
  bool left_remembered;
  uint32_t number;         /* of the team; a helper may still look for the last one */
  uint32_t workers;        /* the leader, and helpers that have joined and not left */
  uint64_t joined;         /* helpers, in this team or the last one */
  uint64_t objects, bytes; /* that they promoted */
  uint64_t ns;             /* for which they worked, in all */
  const char *alone;       /* why the last minor collection called no team, or NULL */
  cradle_word *array;      /* whose items are claimed in pieces */
  uint64_t items_end;      /* of it */
  crd_spinlock lock;
  char apart[TEAM_APART];
  /* Read without the lock, too. */
  cradle_word *mail; /* a list of bodies that was given away, or NULL */
  uint32_t hungry;   /* workers */
  uint64_t items_at; /* the first item of the array that nobody has claimed, or its end */
  uint32_t places;   /* free ones for guests */
  bool open;         /* helpers may join */
  bool pieces;       /* others than the leader may claim pieces, and perhaps some are left */
  bool done;
  char apart_too[TEAM_APART];
} crd_team;

/* Where another worker's next step may come in between. In the library with small limits, tests say there who goes
 * on. */
typedef enum crd_turn { TURN_BEGIN, TURN_WAIT, TURN_OBJECT, TURN_END } crd_turn;
#if CRADLE_SMALL_LIMITS
typedef void crd_turn_function(crd_team *team, uint32_t worker, crd_turn turn);
extern crd_turn_function *crd_team_turn;
#define TEAM_TURN(minor, turn) \
  do { \
    crd_turn_function *asked = __atomic_load_n(&crd_team_turn, __ATOMIC_ACQUIRE); \
    if (asked != NULL && (minor)->team != NULL) asked((minor)->team, (minor)->index, turn); \
  } while (0)
#else
#define TEAM_TURN(minor, turn) ((void)0)
#endif

/* --- the leader --- */

/* The heap has a thread, or may have guests. Calls the helpers, if that is probably worth it. Returns the time if it
 * might have been, 0 if not. */
uint64_t crd_team_begin(crd_minor *leader);
/* Promotes until nothing is left, and nobody works any more. */
void crd_team_end(crd_minor *leader);
/* Notes how long a collection took that began at the time, if that is not 0. */
void crd_team_judge(crd_minor *leader, uint64_t begun_ns);
/* Writes into the event of a minor collection what its helpers did, or why it had no team. */
void crd_team_tell(const crd_team *team, cradle_event *event);
/* Before the heap is freed. */
void crd_team_fini(crd_young *young);

/* --- the helper --- */

/* On the marker's thread, which is the first helper: joins the team, if there is one, and returns when it is done. */
void crd_team_help(crd_young *young);
/* The same for a guest. false: it may not join. */
bool crd_team_visit(crd_young *young);
/* After a fork, in the child: the threads of guests are not here, and one may have held the lock. */
void crd_team_forked(crd_young *young);

/* --- both --- */

/* Whether a guest may join. */
static inline bool team_has_place(const crd_team *team) {
  return __atomic_load_n(&team->open, __ATOMIC_ACQUIRE) && __atomic_load_n(&team->places, __ATOMIC_RELAXED) != 0;
}
static inline bool team_is_hungry(const crd_team *team) {
  return __atomic_load_n(&team->hungry, __ATOMIC_RELAXED) != 0 &&
         __atomic_load_n(&team->mail, __ATOMIC_RELAXED) == NULL;
}
/* With the lock; without it the answer may be old. */
static inline bool team_has_items(const crd_team *team) {
  return __atomic_load_n(&team->items_at, __ATOMIC_RELAXED) != __atomic_load_n(&team->items_end, __ATOMIC_RELAXED);
}
/* Gives away a part of what waits, if there is enough. The worker shares from then on. */
void crd_team_give(crd_minor *worker);
/* The same for items of an array, one of which was just put on the list: whether more are to be gathered there, so that
 * enough can be given away at once. */
bool crd_team_gather(crd_minor *worker);
/* The same for recorded slots and remembered objects. */
void crd_team_give_pieces(crd_minor *worker);
/* Leaves a body, or a young large object's page, to the leader for the time when the team is done. */
void crd_team_leave(crd_minor *worker, cradle_word *body);
void crd_team_leave_large(crd_minor *worker, uint32_t page);
/* As crd_marker_shade. */
void crd_team_shade(crd_minor *worker, uintptr_t address);

#endif
