/* A model of marking on a second core, small enough to look at every state. The protocol is that of gc/old/marker.h. The
 * model checks after every pause that no traced object refers to an unmarked old one. When marking ends, it checks that all
 * unmarked objects are unreachable, also in the child of a plain fork. Neither side may wait for ever.
 *
 *   here            in gc/
 *   mutator         the program, and the pauses of its thread
 *   marker          the collector's thread, between two reads of the word
 *   memory          the parts of a large object made between two pauses that another core sees, in any possible order
 *   round           the word of rounds_stop and rounds_take, which crd_thread_set makes OFFERED and IDLE (old/marker.h)
 *   marks           mark bits. Objects 0 and 1 share a bitmap word; the large object's word is its own
 *   waiting         heap.mark_stack; any object of it may be next
 *   hand            an object that was popped but not yet traced: the prefetch queue of mark_drain (mark_loop.h), or the rest of an array
 *   aside           objects for the mutator [marker.6]; object 1 has a trace callback
 *   noted           objects given to crd_marker_shade [marker.3]: the HANDLE was pointed at an old object, or a minor collection
 *                   reached one
 *   late            promoted objects whose bits are written when the round is over [span.8]: crd_old_write_late_runs
 *   remembered      heap.remembered and heap.recorded, and the barrier's flags
 *   age, minor, reach, start_marking, end_marking: as in barrier.pml; while marking, the thread goes on beside a minor collection,
 *                   from crd_marker_go_on_in_minor to the stop in crd_minor_run
 *
 * The thread's steps are reads and writes of the words that both threads see: a slot, an allocation bit, a mark bit's word. Its
 * store of a mark bit's word is a separate step. The mutator's store and barrier are one step, because the thread reads neither flags
 * nor remembered set. Objects have one slot; the large object has none. The thread cannot mistake a young object's address for that
 * of an old one, so it sees nothing of the copying.
 *
 * Weak memory. A thread that finds the word changed sees all writes before the change (release and acquire), so only the actions of
 * both threads between two pauses matter. In a slot the thread may see any value since the last pause. That is as if it had read
 * earlier or later, and the model tries both. It may see two slots out of order, but it handles each slot alone. Its reads of the
 * object that a slot refers to depend on the slot's address, and processors order such reads. Publishing the large object with
 * release order makes its mark, header and contents visible first; process memory tries every order that this allows. A word that
 * is not a reference is not modelled: it can only mark an object needlessly.
 *
 * The environment variable BROKEN=n leaves one rule out; each of these variants must fail:
 *
 *   1  a store of an old reference is not remembered
 *   2  a minor collection does not mark what remembered objects refer to
 *   3  a pause does not wait until the thread has ended its round
 *   4r a large object is published before it is complete
 *   5r a young large object is not marked when it is made
 *   6  an object that was put aside is forgotten
 *   7  the thread calls trace callbacks itself
 *   8  marking ends before the minor collection has emptied the remembered set
 *   9  the thread forgets what it has in hand when it ends its round
 *  10  a handle that is pointed at an old object tells nobody
 *  11  the mutator marks that object itself while a round runs
 *  12  a round is taken back by a plain store
 *  13  the child of a plain fork goes on with the marking that it finds
 *  14  the child of a plain fork waits for the thread
 *  15  a promoted object's mark bit is written in the round
 *  16  what a minor collection comes to is noted nowhere
 *  17  a minor collection marks that itself in a round
 *  18  the round that goes on beside a minor collection is not stopped
 *
 * Run by tests/spin/spin_model.py.
 */
#define NOT_REMEMBERED 1
#define NOT_MARKED 2
#define NOT_AWAITED 3
#define PUBLISHED_EARLY 4
#define BORN_UNMARKED 5
#define FORGOTTEN 6
#define CALLED 7
#define ENDED_EARLY 8
#define DROPPED 9
#define NOT_TOLD 10
#define MARKED_BESIDE 11
#define PLAINLY_TAKEN_BACK 12
#define GOES_ON 13
#define WAITS 14
#define WRITTEN_BESIDE 15
#define NOT_NOTED 16
#define MINOR_MARKS 17
#define NOT_STOPPED 18
byte broken;
bool alone; /* the third object is a large one, whose mark bit is alone in its word */

#define OBJECTS 3
#define CALLBACK 1
#define LARGE 2
#define SLOTS 2
#define NONE OBJECTS
#define BIT(o) (1 << (o))
#define SHARES_WORD(o) ((o) < LARGE || !alone)
#define SHARED_MARKS (alone -> BIT(LARGE) - 1 : BIT(OBJECTS) - 1)

/* Roots: a word of the shadow stack, which minor collections scan, and a handle, which they skip once its object is old. */
#define ROOTS 2
#define STACK 0
#define HANDLE 1

#define FREE 0
#define YOUNG 1
#define LARGE_YOUNG 2
#define OLD 3

#define IDLE 0
#define OFFERED 1
#define TAKEN 2
#define ASKED 3

byte age[OBJECTS], slot[SLOTS], root[ROOTS];
byte marks, waiting, aside, noted, late, remembered; /* one bit for each object */
byte round;
bool marking, forked;
bool torn;  /* the buffer of the object with the callback is being changed */
bool fresh; /* the large object was made in this round, and the other core sees that */
bool made;  /*   its mark, header and contents are there */
bool shown; /*   its allocation bit is set */

/* Scratch of the d_steps below, zero outside of them so that it makes no states. */
byte i, target, pending, live;

inline mark(o) {
  if
  :: !(marks & BIT(o)) -> marks = marks | BIT(o); waiting = waiting | BIT(o)
  :: else
  fi
}

/* --- pauses --- */

inline reach(o, marks_old) {
  target = o;
  if
  :: target != NONE && (age[target] == YOUNG || age[target] == LARGE_YOUNG) ->
    age[target] = OLD;
    pending = pending | BIT(target);
    if
    :: marking && (target == LARGE && alone || broken == WRITTEN_BESIDE) -> marks = marks | BIT(target)
    :: marking && !(target == LARGE && alone || broken == WRITTEN_BESIDE) -> late = late | BIT(target)
    :: else
    fi
  :: target != NONE && age[target] == OLD && marking && marks_old && broken == MINOR_MARKS && !(late & BIT(target)) -> mark(target)
  :: target != NONE && age[target] == OLD && marking && marks_old && broken != MINOR_MARKS && broken != NOT_NOTED ->
    noted = noted | BIT(target)
  :: else
  fi
}

inline trace_pending() {
  do
  :: pending & BIT(0) -> pending = pending & ~BIT(0); reach(slot[0], true)
  :: !(pending & BIT(0)) && (pending & BIT(1)) -> pending = pending & ~BIT(1); reach(slot[1], true)
  :: else -> break
  od;
  pending = 0
}

inline release(o) {
  assert(!(waiting & BIT(o)) && !(aside & BIT(o)));
  marks = marks & ~BIT(o);
  age[o] = FREE;
  if
  :: o < SLOTS -> slot[o] = NONE
  :: else
  fi
}

inline minor_begin() {
  fresh = false;
  made = false;
  shown = false
}

inline minor_roots() {
  reach(root[STACK], true);
  reach(root[HANDLE], false);
  trace_pending();
  target = 0
}

inline minor_remembered(o) {
  if
  :: remembered & BIT(o) ->
    /* The old referents of an unmarked object are not marked: marking may still reach the object. */
    reach(slot[o], (marks & BIT(o)) && broken != NOT_MARKED);
    trace_pending()
  :: else
  fi;
  remembered = remembered & ~BIT(o);
  target = 0
}

inline minor_end() {
  marks = marks | late;
  late = 0;
  i = 0;
  do
  :: i < OBJECTS && (age[i] == YOUNG || age[i] == LARGE_YOUNG) -> release(i); i++
  :: i < OBJECTS && !(age[i] == YOUNG || age[i] == LARGE_YOUNG) -> i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < OBJECTS && marking && (noted & BIT(i)) -> mark(i); i++
  :: i < OBJECTS && !(marking && (noted & BIT(i))) -> i++
  :: else -> break
  od;
  noted = 0;
  i = 0
}

inline minor() {
  minor_begin();
  minor_roots();
  minor_remembered(0);
  minor_remembered(1);
  minor_end()
}

inline start_marking() {
  assert(marks == 0 && waiting == 0 && aside == 0);
  marking = true;
  if
  :: root[STACK] != NONE -> mark(root[STACK])
  :: else
  fi;
  if
  :: root[HANDLE] != NONE -> mark(root[HANDLE])
  :: else
  fi
}

inline trace_one(o) {
  waiting = waiting & ~BIT(o);
  aside = aside & ~BIT(o);
  if
  :: o < SLOTS && slot[o] != NONE -> mark(slot[o])
  :: else
  fi
}

inline follow(o) {
  if
  :: (live & BIT(o)) && slot[o] != NONE -> live = live | BIT(slot[o])
  :: else
  fi
}

/* Includes the whole sweep. */
inline end_marking() {
  live = BIT(root[STACK]) | BIT(root[HANDLE]);
  follow(0);
  follow(1);
  follow(0);
  i = 0;
  do
  :: i < OBJECTS && age[i] == OLD && !(marks & BIT(i)) -> assert(!(live & BIT(i))); release(i); i++
  :: i < OBJECTS && !(age[i] == OLD && !(marks & BIT(i))) -> i++
  :: else -> break
  od;
  i = 0;
  live = 0;
  marks = 0;
  marking = false
}

inline check(o) {
  assert(!(marking && (marks & BIT(o)) && !(waiting & BIT(o)) && !(aside & BIT(o)) && slot[o] != NONE &&
           age[slot[o]] == OLD && !(marks & BIT(slot[o]))))
}

/* The next round does the work that the thread did not finish. The help of the mutator's increments adds no states. */
inline increment() {
  minor_end();
  if
  :: aside & BIT(CALLBACK) -> trace_one(CALLBACK)
  :: else
  fi;
  check(0);
  check(CALLBACK);
  if
  :: marking && waiting == 0 -> end_marking()
  :: marking && waiting != 0 -> round = OFFERED
  :: else
  fi;
  target = 0
}

/* --- the child of a plain fork ---
 *
 * The stacks are emptied, and each object that is marked is traced again (forget in old/marker.c). A fork is not a snapshot of the
 * writes of a thread on another core: the child may see some marks of this round and miss earlier ones. This is not modelled, because
 * an object whose mark is missing is like one that the thread has not reached. */

inline child() {
  if
  :: broken != GOES_ON -> waiting = 0; aside = 0
  :: else
  fi;
  minor();
  if
  :: broken != GOES_ON -> waiting = marks
  :: else
  fi;
  do
  :: (waiting | aside) & BIT(0) -> trace_one(0)
  :: !((waiting | aside) & BIT(0)) && ((waiting | aside) & BIT(1)) -> trace_one(1)
  :: !((waiting | aside) & BIT(0)) && !((waiting | aside) & BIT(1)) && (waiting & BIT(2)) -> trace_one(2)
  :: else -> break
  od;
  end_marking();
  target = 0
}

/* --- the mutator --- */

inline store(o, value) {
  slot[o] = value;
  if
  :: age[o] == OLD && value != NONE && (broken != NOT_REMEMBERED || age[value] != OLD) -> remembered = remembered | BIT(o)
  :: else
  fi
}

inline set_root(r, o) {
  target = o;
  root[r] = target;
  if
  :: r == HANDLE && marking && target != NONE && age[target] == OLD && broken == MARKED_BESIDE -> mark(target)
  :: r == HANDLE && marking && target != NONE && age[target] == OLD && broken != MARKED_BESIDE && broken != NOT_TOLD ->
    noted = noted | BIT(target)
  :: else
  fi;
  target = 0
}

#define ALLOCATE(o) :: d_step { age[o] == FREE -> age[o] = YOUNG; root[STACK] = o }
#define ALLOCATE_LEAF() :: d_step { age[LARGE] == FREE && !alone -> age[LARGE] = YOUNG; root[STACK] = LARGE }
#define ALLOCATE_LARGE(born) \
  :: d_step { \
    age[LARGE] == FREE && alone -> age[LARGE] = born; \
    root[STACK] = LARGE; \
    fresh = marking; \
    if \
    :: marking && (broken != BORN_UNMARKED || born == OLD) -> marks = marks | BIT(LARGE) \
    :: else \
    fi \
  }
#define SET_NONE(r) :: root[r] != NONE -> root[r] = NONE
#define COPY(r, from) :: d_step { root[r] != root[from] -> set_root(r, root[from]) }
#define LOAD(r, from) \
  :: d_step { \
    root[from] < SLOTS -> assert(slot[root[from]] == NONE || age[slot[root[from]]] != FREE); \
    set_root(r, slot[root[from]]) \
  }
#define STORE(into, value) \
  :: d_step { root[into] == 0 && slot[0] != value -> store(0, value) } \
  :: d_step { root[into] == CALLBACK && slot[CALLBACK] != value -> torn = true }; \
     d_step { store(CALLBACK, value); torn = false }
#define EACH_PAIR(action) action(0, 0) action(0, 1) action(1, 0) action(1, 1)

active proctype mutator() {
  if
  :: alone = false
  :: alone = true
  fi;
  d_step {
    broken = c_expr { (getenv("BROKEN") ? atoi(getenv("BROKEN")) : 0) };
    slot[0] = NONE; slot[1] = NONE; root[STACK] = NONE; root[HANDLE] = NONE
  }
  do
  ALLOCATE(0) ALLOCATE(CALLBACK) ALLOCATE_LARGE(LARGE_YOUNG) ALLOCATE_LARGE(OLD) ALLOCATE_LEAF()
  SET_NONE(STACK) SET_NONE(HANDLE)
  COPY(STACK, HANDLE) COPY(HANDLE, STACK)
  EACH_PAIR(LOAD)
  STORE(STACK, root[STACK]) STORE(STACK, root[HANDLE]) STORE(HANDLE, root[STACK]) STORE(HANDLE, root[HANDLE])
  STORE(STACK, NONE) STORE(HANDLE, NONE)
  /* A pause: a minor collection, after which marking may begin. */
  :: d_step { !marking -> minor(); target = 0 }
  :: d_step { !marking -> minor(); start_marking(); target = 0; round = OFFERED }
  /* A pause while marking; rounds_stop, then the wait for its answer. */
  :: marking ->
    if
    :: d_step { round == OFFERED && broken != PLAINLY_TAKEN_BACK -> round = IDLE }
    :: round == OFFERED && broken == PLAINLY_TAKEN_BACK -> round = IDLE
    :: d_step { round == TAKEN -> round = ASKED }
    :: round == IDLE
    fi;
    /* The minor collection, beside which the thread goes on. */
    d_step {
      round == IDLE || broken == NOT_AWAITED ->
      if
      :: broken == ENDED_EARLY && waiting == 0 && aside == 0 -> end_marking()
      :: else
      fi;
      minor_begin();
      if
      :: marking && waiting != 0 && round == IDLE -> round = OFFERED
      :: else
      fi
    };
    d_step { minor_roots() };
    d_step { minor_remembered(0) };
    d_step { minor_remembered(1) };
    if
    :: d_step { round == OFFERED -> round = IDLE }
    :: d_step { round == TAKEN && broken != NOT_STOPPED -> round = ASKED }
    :: d_step { round == TAKEN && broken == NOT_STOPPED }
    :: round == IDLE || round == ASKED
    fi;
    d_step { round == IDLE || broken == NOT_AWAITED || broken == NOT_STOPPED -> increment() }
  :: d_step { marking && (broken != WAITS || round == IDLE) -> forked = true; child() } -> break
  :: d_step { marking && broken == WAITS && round != IDLE -> forked = true } -> round == IDLE; break
  od
}

active proctype memory() {
  do
  :: d_step { fresh && !made -> made = true }
  :: d_step { fresh && !shown && (made || broken == PUBLISHED_EARLY) -> shown = true }
  :: forked -> break
  od
}

/* --- the collector's thread --- */

#define MAY_TRACE(o) (round == TAKEN && hand == NONE && (waiting & BIT(o)))
#define IS_MARKED(o) ((marks & BIT(o)) && !((o) == LARGE && fresh && !made))

active proctype marker() {
  byte hand = NONE, found = NONE, word = 0;
  { do
  :: d_step { round == OFFERED -> round = TAKEN }
  :: d_step {
      round == ASKED ->
      if
      :: hand != NONE && broken != DROPPED -> waiting = waiting | BIT(hand)
      :: else
      fi;
      hand = NONE;
      round = IDLE
    }
  :: d_step { MAY_TRACE(0) -> hand = 0; waiting = waiting & ~BIT(0) }
  :: d_step {
      MAY_TRACE(CALLBACK) -> waiting = waiting & ~BIT(CALLBACK);
      if
      :: broken == CALLED -> hand = CALLBACK
      :: broken != CALLED && broken != FORGOTTEN -> aside = aside | BIT(CALLBACK)
      :: else
      fi
    }
  :: d_step { MAY_TRACE(LARGE) -> waiting = waiting & ~BIT(LARGE); assert((marks & BIT(LARGE)) && age[LARGE] == OLD && (!fresh || made)) }
  /* Young addresses lie elsewhere. Where the thread sees no allocation bit, no object begins. */
  :: d_step {
      hand != NONE -> assert(hand != CALLBACK || !torn);
      found = slot[hand];
      hand = NONE;
      if
      :: found != NONE && (age[found] == YOUNG || (late & BIT(found))) -> found = NONE
      :: found == LARGE && fresh && !shown -> found = NONE
      :: else
      fi
    };
    if
    :: d_step { found == NONE || IS_MARKED(found) -> found = NONE }
    :: d_step { found == LARGE && alone && !IS_MARKED(found) -> marks = marks | BIT(LARGE); waiting = waiting | BIT(LARGE); found = NONE }
    :: d_step { found != NONE && SHARES_WORD(found) && !IS_MARKED(found) -> word = marks & SHARED_MARKS };
       d_step {
         marks = (marks & ~SHARED_MARKS) | word | BIT(found);
         waiting = waiting | BIT(found);
         word = 0;
         found = NONE
       }
    fi
  od } unless { forked }
}
