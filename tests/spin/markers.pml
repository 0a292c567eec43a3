/* A model of rounds of several markers, small enough to look at every state. The protocol is that of gc/old/mark_pool.h and, for
 * [marker.7] to [marker.9], of gc/old/marker.h; tests/spin/second_core.pml has what one marker and the program do beside each other.
 * The model checks that each object is traced once, that a round which ends by itself leaves nothing, that marking ends when all
 * that is reachable is marked, and that nobody waits for ever.
 *
 *   here            in gc/old/
 *   mutator         the pauses of the program's thread, which offer and end rounds (marker.c)
 *   marker          three threads (mark_beside.c). The first one's stack is the mark stack between rounds
 *   round           their words: rounds_stop and rounds_take, which crd_thread_set makes OFFERED and IDLE (marker.h)
 *   marks           mark bits, all in one word
 *   stack           what each has to trace; any object of it may be next
 *   hand            the object whose slots a marker reads
 *   pool, hungry, over: as in crd_mark_pool. What is done under the lock is one step
 *   asleep          the marker waits at the gate; only a wake ends that
 *   shares          the first marker has given something away, or begins when another has something: it sets bits by an atomic or
 *
 * The objects are 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6; 3 -> 4; 5 -> 4. Nobody stores. There is a pause at any time. After it, rounds
 * end by themselves, or the mutator leads them: it is the first marker, and the others join as they begin.
 *
 * The environment variable BROKEN=n leaves one rule out; each of these variants must fail:
 *
 *   1  marks are set by plain stores, although several markers set some
 *   2  a pause forgets what is in the pool
 *   3  a pause does not wait for one of the markers that it has asked
 *   4  the round is over when all are hungry, whatever is in the pool
 *   5  a marker that has not begun counts as hungry
 *   6  a pause closes the pool and wakes nobody
 *   7  the last hungry marker wakes nobody
 *   8  the first marker begins with plain stores, although another has something on its stack
 *   9  marking is over when the first marker's stack is empty
 *  10  what is in the pool is not looked at again under the lock before something is put there
 *  11  a hungry marker that takes something stays hungry
 *  12  a round is taken back by a plain store
 *  13  in a round that the mutator leads, a marker begins and does not join
 *  14  in such a round, what a marker that has not begun has on its stack is forgotten
 *
 * Run by tests/spin/spin_model.py.
 */
#define PLAIN 1
#define POOL_FORGOTTEN 2
#define NOT_AWAITED 3
#define ENDS_FULL 4
#define NOT_BEGUN_IS_HUNGRY 5
#define CLOSED_SILENTLY 6
#define OVER_SILENTLY 7
#define BEGINS_PLAINLY 8
#define ENDED_EARLY 9
#define NOT_LOOKED_AGAIN 10
#define STAYS_HUNGRY 11
#define PLAINLY_TAKEN_BACK 12
#define NOT_JOINED 13
#define UNBEGUN_FORGOTTEN 14
byte broken;

#define OBJECTS 7
#define MARKERS 3
#define PAUSES 1
#define NONE OBJECTS
#define BIT(o) (1 << (o))
#define ALL (BIT(OBJECTS) - 1)

#define IDLE 0
#define OFFERED 1
#define TAKEN 2
#define ASKED 3

byte marks, traced, pool, hungry, members;
byte stack[MARKERS], round[MARKERS], hand[MARKERS];
bool asleep[MARKERS], joined[MARKERS], shares, over, ended, finished, led;

inline wake() {
  asleep[0] = false;
  asleep[1] = false;
  asleep[2] = false
}

/* --- the mutator --- */

inline offer() {
  assert(pool == 0);
  hungry = 0;
  over = false;
  ended = false;
  members = (led -> 1 : MARKERS);
  joined[0] = true;
  joined[1] = !led;
  joined[2] = !led;
  shares = (stack[1] != 0 || stack[2] != 0) && broken != BEGINS_PLAINLY;
  if
  :: broken == NOT_BEGUN_IS_HUNGRY -> hungry = (stack[0] == 0 -> 1 : 0) + (stack[1] == 0 -> 1 : 0) + (stack[2] == 0 -> 1 : 0)
  :: else
  fi;
  round[0] = OFFERED;
  round[1] = OFFERED;
  round[2] = OFFERED
}

inline close() {
  over = true;
  if
  :: broken != CLOSED_SILENTLY -> wake()
  :: else
  fi
}

/* rounds_stop */
inline ask(m) {
  if
  :: d_step { round[m] == OFFERED && broken != PLAINLY_TAKEN_BACK -> round[m] = IDLE }
  :: round[m] == OFFERED && broken == PLAINLY_TAKEN_BACK -> round[m] = IDLE
  :: d_step { round[m] == TAKEN -> round[m] = ASKED }
  :: round[m] == IDLE
  fi
}

/* take_work: what another marker has left becomes the mark stack if that is empty [marker.9]. */
inline take_back() {
  assert(hand[0] == NONE && hand[1] == NONE && hand[2] == NONE);
  if
  :: led && broken == UNBEGUN_FORGOTTEN -> stack[1] = 0; stack[2] = 0
  :: else
  fi;
  if
  :: broken != POOL_FORGOTTEN -> stack[0] = stack[0] | pool
  :: else
  fi;
  pool = 0;
  if
  :: stack[0] == 0 && stack[1] != 0 && broken != ENDED_EARLY -> stack[0] = stack[1]; stack[1] = 0
  :: stack[0] == 0 && stack[1] == 0 && broken != ENDED_EARLY -> stack[0] = stack[2]; stack[2] = 0
  :: else
  fi;
  finished = stack[0] == 0;
  assert(!finished || (marks == ALL && traced == ALL))
}

active proctype mutator() {
  byte pauses = 0;
  d_step {
    broken = c_expr { (getenv("BROKEN") ? atoi(getenv("BROKEN")) : 0) };
    hand[0] = NONE; hand[1] = NONE; hand[2] = NONE;
    marks = BIT(0);
    stack[0] = BIT(0)
  }
  do
  :: finished -> break
  :: !finished ->
     if
     :: pauses == PAUSES -> led = true
     :: led = false
     fi;
     d_step { offer() };
     if
     :: pauses < PAUSES && !led -> pauses++; d_step { close() }; ask(0); ask(1); ask(2)
     :: !led -> round[0] == IDLE && round[1] == IDLE && round[2] == IDLE
     :: led -> round[0] == IDLE; d_step { close() }; ask(1); ask(2)
     fi;
     round[0] == IDLE;
     round[1] == IDLE;
     round[2] == IDLE || broken == NOT_AWAITED;
     d_step { take_back() }
  od
}

/* --- the markers --- */

#define FIRST(o) (o == 0 -> 1 : (o == 1 -> 3 : (o == 2 -> 5 : (o == 3 || o == 5 -> 4 : NONE))))
#define SECOND(o) (o == 0 -> 2 : (o == 1 -> 4 : (o == 2 -> 6 : NONE)))
#define MAY_POP(m, o) (round[m] != IDLE && hand[m] == NONE && (stack[m] & BIT(o)))
#define POP(o) \
  :: d_step { \
    MAY_POP(me, o) -> stack[me] = stack[me] & ~BIT(o); \
    hand[me] = o; \
    assert(!(traced & BIT(o))); \
    traced = traced | BIT(o) \
  }
#define HAS_TWO(set) ((set) & ((set) - 1))

inline mark(o) {
  if
  :: o == NONE
  :: o != NONE && (marks & BIT(o))
  /* An atomic or, after a plain test. */
  :: o != NONE && !(marks & BIT(o)) && (me != 0 || shares) && broken != PLAIN ->
    d_step {
      if
      :: !(marks & BIT(o)) -> marks = marks | BIT(o); stack[me] = stack[me] | BIT(o)
      :: else
      fi
    }
  :: d_step { o != NONE && !(marks & BIT(o)) && ((me == 0 && !shares) || broken == PLAIN) -> word = marks };
     d_step { marks = word | BIT(o); stack[me] = stack[me] | BIT(o); word = 0 }
  fi
}

/* The object of the lowest number goes, whatever is given in fact. */
inline give() {
  given = stack[me] & (~stack[me] + 1);
  if
  :: (pool == 0 || broken == NOT_LOOKED_AGAIN) && hungry != 0 && !over -> pool = given; stack[me] = stack[me] & ~given; wake()
  :: else
  fi;
  given = 0;
  if
  :: me == 0 -> shares = true
  :: else
  fi
}

inline take() {
  stack[me] = pool;
  pool = 0;
  if
  :: broken != STAYS_HUNGRY -> hungry--
  :: else
  fi
}

#define LEFT(m) (joined[m] -> (hand[m] != NONE || stack[m] != 0) : 0)

/* The round ends by itself [pool.1]. */
inline end_all() {
  assert(pool == 0 && LEFT(0) == 0 && LEFT(1) == 0 && LEFT(2) == 0);
  over = true;
  ended = true;
  if
  :: broken != OVER_SILENTLY -> wake()
  :: else
  fi
}

active [MARKERS] proctype marker() {
  byte me = _pid - 1, word = 0, given = 0;
idle:
  if
  :: d_step { round[me] == OFFERED -> round[me] = TAKEN }
  :: finished -> goto done
  fi;
  if
  :: joined[me] || broken == NOT_JOINED
  :: d_step { !joined[me] && broken != NOT_JOINED -> joined[me] = true; members++ }
  fi;
  if
  :: stack[me] == 0 -> goto hunger
  :: else
  fi;
work:
  if
  :: over -> goto leave
  :: !over && pool == 0 && hungry != 0 && HAS_TWO(stack[me]) -> d_step { give() }
  :: else
  fi;
  if
  POP(0) POP(1) POP(2) POP(3) POP(4) POP(5) POP(6)
  fi;
  /* The last slot first. */
  mark(SECOND(hand[me]));
  mark(FIRST(hand[me]));
  hand[me] = NONE;
  if
  :: stack[me] != 0 -> goto work
  :: else
  fi;
hunger:
  hungry++;
wait:
  if
  :: over -> goto leave
  :: atomic { !over && hungry == members && (pool == 0 || broken == ENDS_FULL) -> end_all(); goto leave }
  :: atomic { !over && pool != 0 && !(hungry == members && broken == ENDS_FULL) -> take(); goto work }
  :: atomic { !over && pool == 0 && hungry != members -> asleep[me] = true }
  fi;
  !asleep[me];
  goto wait;
leave:
  round[me] = IDLE;
  goto idle;
done:
  skip
}
