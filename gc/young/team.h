/* The team of a minor collection: the leader, which is the program's thread, and the collector's thread, which helps.
 *
 * The leader calls the helper and promotes as if it were alone. A helper that has nothing to do is *hungry*. The leader
 * sees that between two objects. If enough waits to be traced, it gives away a part, and from then on it *shares*: both
 * exchange the header of each object for its new address, instead of storing it. So what cannot be divided, such as a
 * list, costs no more than alone, and nobody waits for a helper that has not come.
 *
 *   leader  calls ....... sees hunger: gives, shares ....... hungry --- all are hungry: done
 *   helper  ..... joins, hungry ---- takes, promotes, gives ---- hungry ----- done
 *
 * What is given away is a list of bodies (gc/young/promote.h): the oldest body of a tree, which leads to the most, or
 * the end of a long list. Recorded slots and remembered objects are claimed in pieces.
 *
 *   [team.1] Of those that share, exactly one promotes an object: the one whose exchange of the header succeeded. It
 *            alone writes to the body and to the copy. The others use the copy's address, and read neither, until the
 *            team is done, or the body was given to them.
 *   [team.2] Word 1 of a body is a link, written after the header. Who takes it for a length asks the header again.
 *   [team.3] What is given away, hunger and the end change under the lock. A hungry worker has nothing left, and what
 *            it promoted is counted. If all are hungry, and nothing is given away, nothing is left.
 *   [team.4] Only the leader calls trace callbacks and looks at large objects. While a major collection marks, there is
 *            no team.
 *   [team.5] Pages, runs and bitmaps change under the lock.
 */
#ifndef CRADLE_GC_YOUNG_TEAM_H
#define CRADLE_GC_YOUNG_TEAM_H

#include "gc/base/lock.h"
#include "gc/death_calls.h"
#include "gc/old/span.h"
#include "gc/parts.h"

typedef struct crd_team {
  crd_lock lock;
  uint32_t number;         /* of the team; a helper may still look for the last one */
  bool open, done;         /* open: helpers may join */
  bool pieces;             /* others than the leader may claim pieces, and perhaps some are left; atomic */
  uint32_t workers;        /* the leader, and helpers that have joined and not left */
  uint32_t hungry;         /* of these; read without the lock, too */
  cradle_word *mail;       /* a list of bodies; read without the lock, too */
  /* What helpers leave to the leader for the time when the team is done: bodies, pages of young large objects, and
   * whether among the remembered objects there are some without the barrier flag. */
  cradle_word *left;
  uint32_t left_large;
  bool left_remembered;
  uint64_t objects, bytes;               /* promoted by helpers */
  /* Nanoseconds an object, alone [0] and in a team [1]: averages of the last collections that were worth a team. */
  double object_ns[2];
  uint32_t worth; /* how many were */
  char apart[128]; /* a cache line that is written all the time, from one that is read */
  crd_worker helper;
} crd_team;

/* --- the leader --- */

/* There is a helper. Calls it, if that is probably worth it. Returns the time if it might have been, 0 if not. */
uint64_t crd_team_begin(crd_minor *leader);
/* Promotes until nothing is left, and nobody works any more. */
void crd_team_end(crd_minor *leader);
/* Notes how long a collection took that began at the time, if that is not 0. */
void crd_team_judge(crd_minor *leader, uint64_t begun_ns);

/* --- the helper --- */

/* On the collector's thread: joins the team, if there is one, and returns when it is done. */
void crd_team_help(crd_young *young);

/* --- both --- */

static inline bool team_is_hungry(const crd_team *team) {
  return __atomic_load_n(&team->hungry, __ATOMIC_RELAXED) != 0 && __atomic_load_n(&team->mail, __ATOMIC_RELAXED) == NULL;
}
/* Gives away a part of what waits, if there is enough. The worker shares from then on. */
void crd_team_give(crd_minor *worker);
/* The same for items of an array, one of which was just put on the list: whether more are to be gathered there, so that
 * enough can be given away at once. */
bool crd_team_gather(crd_minor *worker);
/* The same for recorded slots and remembered objects. */
void crd_team_give_pieces(crd_minor *worker);
/* Leaves a body, or a young large object's page, to the leader. */
void crd_team_leave(crd_minor *helper, cradle_word *body);
void crd_team_leave_large(crd_minor *helper, uint32_t page);

#endif
