/* A model of several mutators on one heap, small enough to look at every state. The protocol is that of gc/world.h. No
 * mutator takes a step with the heap during another's stop. A stop, and a request, reaches every mutator that allocates
 * inline. No request is forgotten. Nobody waits for ever.
 *
 *   here        in gc/
 *   mutator     a thread of the program with a mutator of its own. 0 and 1 collect; 0 is sent requests; 2 comes and goes, and
 *               takes the lock of the tables
 *   requester   a thread that calls cradle_safepoint_request
 *   many        three mutators without requests, instead of two with them. Of the two, 1 may also collect while it is parked,
 *               as a thread that has no mutator may
 *   gate        who has the gate's lock (platform/gate.h), from 1 on; at_stands, at_opens: who sleeps at its conditions
 *   spurious    one thread may be woken once for no reason. To the holder that is also the end of its patience (stop_report_ns)
 *   holder, leads        world.holder and space.holder: the thread that holds the world, and its mutator; from 1 on
 *   stopping, is_awaited, sleepers, state, top     as in gc/; top is NULL or not
 *   listed      the mutators in space.mutators
 *   stand, take, let_go, go_on, park, unpark, stop, look, wait_for_all     as in world.c; look is first_running
 *   set_top     crd_nursery_set_top
 *   collect     crd_collect, from crd_world_stop in begin_collecting on
 *   pending     pending_request of mutator 0
 *   tables      who has the lock of the tables (space_lock)
 *   NEW, FREE   cradle_mutator_new and cradle_mutator_free
 *
 * A step reads or writes one of the words that are used without the gate's lock: state, top, stopping, is_awaited, pending.
 * A stretch with the lock held is one step if others can see no more of it than one such word; only wait_for_all is longer.
 * gc/ reads and writes these words in one order (seq_cst), as the model does. Two places there are weaker. park stores top
 * relaxed: the exchange of state follows, and nobody raises the top of a mutator that is not RUNNING. space.holder is relaxed: a
 * mutator only asks whether it is its own, and its thread alone stores that.
 *
 * Not modelled: looks before a thread sleeps, other than the holder's first; depth; the states of a heap, in which all tops
 * are NULL in a stop; handlers that longjmp; forks; the collection as the last mutator goes.
 *
 * The environment variable BROKEN=n leaves one rule out; each of these variants must fail:
 *
 *   1  unpark does not look at stopping after it has said RUNNING
 *   2  set_top does not look at stopping after it has raised top
 *   3  park does not wake the holder
 *   4  a mutator that goes takes no world, and wakes nobody
 *   5  a mutator that goes stays in the list as RUNNING
 *   6  the holder looks at the states before it stores stopping
 *   7  a mutator waits for the world while it is RUNNING
 *   8  who waits for the world does not wake the holder
 *   9  the world is let go without a wake
 *  10  is_awaited is stored after the look at the states
 *  11  the holder stops the world while it has the lock of the tables
 *  12  stand does not look at stopping again after it has said RUNNING
 *  13  stand does not wake the holder
 *  14  who was woken takes the world without another look at its holder
 *  15  the holder that was woken does not look at the states again
 *  16  top is lowered before stopping is stored
 *  17  a request lowers top before it stores its flag
 *  18  set_top does not look at the request after it has raised top
 *  19  requests are cleared when the collection is over
 *  20  the world is let go with a wake only if a stop is on
 *
 * Run by tests/spin/spin_model.py.
 */
#define UNPARKS_BLINDLY 1
#define RAISES_BLINDLY 2
#define PARKS_SILENTLY 3
#define GOES_SILENTLY 4
#define STAYS_LISTED 5
#define LOOKS_FIRST 6
#define WAITS_RUNNING 7
#define WAITS_SILENTLY 8
#define LETS_GO_SILENTLY 9
#define AWAITS_LATE 10
#define LOCKS_TABLES 11
#define STANDS_ONCE 12
#define STANDS_SILENTLY 13
#define TAKES_BLINDLY 14
#define STOPS_BLINDLY 15
#define LOWERS_FIRST 16
#define REQUESTS_LATE 17
#define RAISES_OVER_REQUEST 18
#define CLEARS_LATE 19
#define WAKES_STOPPED 20
byte broken;
bool many;

#define MUTATORS 3
#define BIT(m) (1 << (m))
#define COLLECTS(m) ((m) < 2)
#define REQUESTED 0
#define MAY_BE_PARKED 1
#define COMES_AND_GOES 2

#define PARKED 0
#define RUNNING 1
#define STOPPED 2

/* What a thread wants the world for. */
#define NOTHING 0
#define COLLECTION 1
#define NEW 2
#define FREE 3

byte state[MUTATORS];
bool top[MUTATORS];
byte listed = BIT(0) | BIT(1);
byte holder, leads, gate, at_opens, sleepers, tables;
bool stopping, is_awaited, at_stands, spurious, pending;

/* What the assertions need. */
bool lowered; /* the stop has lowered every top */
bool alone;   /* the stop has waited for all */
bool owed;    /* no collection has begun since the last request did */
bool told;    /* the last request has returned */

#define STOPS(m) (stopping && leads != (m) + 1)

inline uses() { d_step { assert(!alone || holder == me + 1) } }

/* --- the mutator's own steps --- */

inline set_top() {
  top[me] = true;
  if
  :: me == REQUESTED && pending && broken != RAISES_OVER_REQUEST -> top[me] = false
  :: else ->
    if
    :: STOPS(me) && broken != RAISES_BLINDLY -> top[me] = false
    :: else
    fi
  fi
}

inline leave_running(to, is_silent) {
  state[me] = to;
  if
  :: is_awaited && !(is_silent) -> d_step { gate == 0 -> at_stands = false }
  :: else
  fi
}

#define SLEEPS(m) (at_opens & BIT(m))

/* With the gate's lock held, which sleeping lets go. */
inline sleep_at_opens() {
  sleepers++;
  at_opens = at_opens | BIT(me)
}
/* stopping becomes 0 only under the gate's lock, so looking at it and going to sleep is one step. */
inline sleep_while_stopping() {
  do
  :: d_step { gate == 0 && !stopping && !sleeps } -> break
  :: d_step { gate == 0 && stopping && !sleeps -> sleep_at_opens(); sleeps = true }
  :: d_step { gate == 0 && sleeps && !SLEEPS(me) -> sleepers--; sleeps = false }
  :: d_step { gate == 0 && sleeps && SLEEPS(me) && spurious -> spurious = false; at_opens = at_opens & ~BIT(me) }
  od
}

inline stand() {
  do
  :: stopping ->
    leave_running(STOPPED, broken == STANDS_SILENTLY);
    if
    :: stopping -> sleep_while_stopping()
    :: else
    fi;
    state[me] = RUNNING;
    if
    :: broken == STANDS_ONCE -> break
    :: broken != STANDS_ONCE
    fi
  :: else -> break
  od
}

inline park() {
  top[me] = false;
  leave_running(PARKED, broken == PARKS_SILENTLY)
}

inline unpark() {
  state[me] = RUNNING;
  if
  :: STOPS(me) && broken != UNPARKS_BLINDLY -> stand()
  :: else
  fi;
  set_top()
}

/* --- the world --- */

inline hold() {
  assert(holder == 0 && !stopping); /* [world.5] */
  holder = me + 1;
  leads = (runs -> me + 1 : 0);
  if
  :: waited -> state[me] = RUNNING
  :: else
  fi
}

/* The calling thread's mutator runs, or is parked, or there is none. */
inline take() {
  if
  :: d_step { gate == 0 && holder == 0 -> hold() }
  :: d_step { gate == 0 && holder != 0 ->
       if
       :: runs && broken != WAITS_RUNNING ->
         waited = true;
         state[me] = STOPPED;
         at_stands = at_stands && broken == WAITS_SILENTLY
       :: else
       fi;
       sleep_at_opens() };
     do
     :: d_step { gate == 0 && !SLEEPS(me) && (holder == 0 || broken == TAKES_BLINDLY) -> sleepers--; hold() } -> break
     :: d_step { gate == 0 && !SLEEPS(me) && holder != 0 && broken != TAKES_BLINDLY -> at_opens = at_opens | BIT(me) }
     :: d_step { gate == 0 && SLEEPS(me) && spurious -> spurious = false; at_opens = at_opens & ~BIT(me) }
     od
  fi;
  if
  :: waited -> set_top(); waited = false
  :: else
  fi
}

inline end_stop(is_silent) {
  if
  :: sleepers != 0 && !(is_silent) -> at_opens = 0
  :: else
  fi;
  alone = false;
  lowered = false;
  stopping = false
}

inline let_go() {
  d_step {
    gate == 0 ->
    leads = 0;
    holder = 0;
    end_stop(broken == LETS_GO_SILENTLY || broken == WAKES_STOPPED && !stopping)
  }
}

inline go_on() { d_step { gate == 0 -> end_stop(false) } }

/* A mutator that the stop waits for. */
#define IS_AWAITED(m) ((listed & BIT(m)) && leads != (m) + 1 && state[m] == RUNNING)

/* Moves at past those that stand. */
inline look() {
  do
  :: at < MUTATORS && !IS_AWAITED(at) -> at++
  :: else -> break
  od
}

inline wait_for_all() {
  look();
  if
  :: at < MUTATORS ->
    d_step { gate == 0 -> gate = me + 1 };
    is_awaited = broken != AWAITS_LATE;
    look();
    do
    :: at < MUTATORS ->
      is_awaited = true;
      d_step { at_stands = true; gate = 0 };
      if
      :: d_step { !at_stands && gate == 0 -> gate = me + 1 }
      :: d_step { at_stands && gate == 0 && spurious -> spurious = false; at_stands = false; gate = me + 1 }
      fi;
      if
      :: broken == STOPS_BLINDLY -> at = MUTATORS
      :: broken != STOPS_BLINDLY -> look()
      fi
    :: else -> break
    od;
    atomic { is_awaited = false; gate = 0 }
  :: else
  fi;
  at = 0
}

inline lower_tops() {
  do
  :: at < MUTATORS && IS_AWAITED(at) -> top[at] = false; at++
  :: at < MUTATORS && !IS_AWAITED(at) -> at++
  :: else -> break
  od;
  at = 0
}

inline stop() {
  if
  :: broken == LOOKS_FIRST -> wait_for_all()
  :: broken == LOWERS_FIRST -> lower_tops()
  :: else
  fi;
  stopping = true;
  if
  :: broken != LOWERS_FIRST -> lower_tops()
  :: else
  fi;
  lowered = true;
  if
  :: broken != LOOKS_FIRST -> wait_for_all()
  :: else
  fi;
  alone = true
}

inline collect() {
  if
  :: broken == LOCKS_TABLES -> d_step { tables == 0 -> tables = me + 1 }
  :: else
  fi;
  stop();
  if
  :: broken != CLEARS_LATE -> pending = false
  :: else
  fi;
  d_step { assert(tables == 0 || tables == me + 1); owed = false };
  if
  :: broken == CLEARS_LATE -> pending = false
  :: else
  fi;
  if
  :: broken == LOCKS_TABLES -> tables = 0
  :: else
  fi;
  /* The mutators go on within the world, or when it is let go. */
  if
  :: go_on(); uses()
  :: true
  fi
}

/* --- the threads --- */

/* At the end a thread is parked, or has no mutator. */
proctype mutator(byte me) {
  byte purpose = NOTHING, at = 0;
  bool runs = false, waited = false, enters = false, sleeps = false;
  do
  :: if
     /* A step that asks nobody, inline allocation, and one with the lock of the tables. */
     :: runs -> uses()
     :: d_step { runs && top[me] -> assert(!(lowered && STOPS(me)) && !(me == REQUESTED && owed && told)) }
     :: runs && me == COMES_AND_GOES -> d_step { tables == 0 -> tables = me + 1 }; d_step { assert(!alone); tables = 0 }
     /* The slow path. */
     :: runs ->
       if
       :: STOPS(me) -> stand()
       :: else
       fi;
       if
       :: me == REQUESTED && pending -> purpose = COLLECTION
       :: COLLECTS(me) -> purpose = COLLECTION
       :: !(me == REQUESTED && pending) -> uses(); set_top()
       fi
     :: runs -> park(); runs = false
     :: runs && me == COMES_AND_GOES && broken != GOES_SILENTLY -> purpose = FREE
     :: runs && me == COMES_AND_GOES && broken == GOES_SILENTLY ->
       atomic { listed = listed & ~BIT(me); top[me] = false; state[me] = PARKED; runs = false }
     :: !runs && (listed & BIT(me)) -> enters = true
     :: !runs && (listed & BIT(me)) && me == MAY_BE_PARKED && !many -> purpose = COLLECTION
     :: !runs && !(listed & BIT(me)) -> purpose = NEW
     :: !runs -> break
     fi;
     if
     :: purpose != NOTHING ->
       take();
       uses();
       if
       :: purpose == COLLECTION -> collect()
       :: purpose == NEW -> listed = listed | BIT(me)
       :: purpose == FREE && broken != STAYS_LISTED -> atomic { listed = listed & ~BIT(me); leads = 0 }; park(); runs = false
       :: purpose == FREE && broken == STAYS_LISTED -> atomic { leads = 0; runs = false }
       fi;
       let_go();
       if
       :: runs -> set_top()
       :: else -> enters = purpose == NEW
       fi;
       purpose = NOTHING
     :: else
     fi;
     if
     :: enters -> unpark(); enters = false; runs = true
     :: else
     fi
  od
}

proctype requester() {
  do
  :: broken != REQUESTS_LATE ->
    d_step { pending = true; owed = true; told = false };
    d_step { top[REQUESTED] = false; told = true }
  :: broken == REQUESTS_LATE ->
    top[REQUESTED] = false;
    d_step { pending = true; owed = true; told = true }
  :: break
  od
}

init {
  atomic {
    broken = c_expr { (getenv("BROKEN") ? atoi(getenv("BROKEN")) : 0) };
    if
    :: many = false
    :: many = true
    fi;
    if
    :: spurious = true
    :: spurious = false
    fi;
    run mutator(0);
    run mutator(1);
    if
    :: many -> run mutator(2)
    :: else -> run requester()
    fi
  }
}
