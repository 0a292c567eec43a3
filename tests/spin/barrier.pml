/* A model of incremental marking and its write barrier, small enough to look at every state. It checks [heap.6] of gc/heap.h
 *
 *     While marking: no object that is marked and not on the mark stack holds, in a slot that is not recorded, a reference to
 *     an unmarked old object, unless the object itself is remembered.
 *
 * after every step of the mutator and after every increment. It also checks the purpose of this rule: objects that marking leaves
 * unmarked are unreachable.
 *
 *   here            in gc/
 *   age             free memory, the nursery, or the old generation
 *   marked          the mark bits (old_mark in span.h)
 *   waiting         heap.mark_stack, whose order does not matter here: any object of it may be next
 *   remembered      the barrier flag, clear while the object is in heap.remembered (remember.c: remember)
 *   recorded        heap.recorded (remember.c: cradle_store_slow); of the objects, ARRAY alone has the slots flag
 *   store           cradle_store, that is cradle_store_slow for an old object that is not remembered
 *   minor           crd_minor_run (minor.c); reach is minor_reference, promote what promote and trace_pending do
 *   start_marking   crd_mark_start (mark.c), right after a minor collection (collect.c: step_if_due)
 *   trace_one       mark_trace (mark_loop.h), for one popped object
 *   end_marking     end_marking (major.c), with all of the sweep done at once: sweeping in increments is not modelled, nor are the
 *                   overflow of the mark stack, pieces of arrays, pins, and large objects, which do not move
 *
 * Objects have one slot each. A copy keeps the number of the object, so moving an object only changes its age. The environment variable
 * BROKEN=n breaks one rule; each of these variants must fail:
 *
 *   1  the barrier remembers for young values only, as a generational one without marking would
 *   2  the slot of an array is recorded for young values only
 *   3  a minor collection does not mark what the remembered objects refer to
 *   4  a minor collection does not mark what the objects it promotes refer to
 *   5  a minor collection does not mark what the roots refer to, and marking ends without scanning them again
 *   6  promoted objects are not born marked
 *
 * Run by tests/spin/spin_model.py.
 */
byte broken;

#define OBJECTS 3
#define ROOTS 2
#define ARRAY 0
#define NONE OBJECTS

#define FREE 0
#define YOUNG 1
#define OLD 2

byte age[OBJECTS], slot[OBJECTS], root[ROOTS];
bool marked[OBJECTS], waiting[OBJECTS], remembered[OBJECTS], recorded[OBJECTS];
bool marking;
bool pausing; /* a minor collection is over, and its increment may still go on */

/* Scratch of the d_steps below, zero outside of them so that it makes no states. */
byte i, target;
bool changed, looks, pending[OBJECTS], live[OBJECTS];

inline mark(o) {
  if
  :: !marked[o] -> marked[o] = true; waiting[o] = true
  :: else
  fi
}

/* --- the minor collection --- */

/* What a slot or root refers to: the young are promoted, the old are marked when marks says so. */
inline reach(o, marks) {
  target = o;
  if
  :: target != NONE && age[target] == YOUNG ->
    age[target] = OLD;
    marked[target] = marking && broken != 6;
    pending[target] = true
  :: target != NONE && age[target] == OLD && marks -> mark(target)
  :: else
  fi
}

inline trace_pending() {
  do
  :: pending[0] -> pending[0] = false; reach(slot[0], marking && broken != 4)
  :: !pending[0] && pending[1] -> pending[1] = false; reach(slot[1], marking && broken != 4)
  :: !pending[0] && !pending[1] && pending[2] -> pending[2] = false; reach(slot[2], marking && broken != 4)
  :: else -> break
  od
}

inline release(o) {
  age[o] = FREE;
  marked[o] = false;
  slot[o] = NONE
}

inline minor() {
  i = 0;
  do
  :: i < ROOTS -> reach(root[i], marking && broken != 5); i++
  :: else -> break
  od;
  trace_pending();
  i = 0;
  do
  :: i < OBJECTS && recorded[i] -> recorded[i] = false; reach(slot[i], marking); i++
  :: i < OBJECTS && !recorded[i] -> i++
  :: else -> break
  od;
  trace_pending();
  i = 0;
  do
  :: i < OBJECTS && remembered[i] ->
    remembered[i] = false;
    looks = marking && marked[i] && broken != 3;
    reach(slot[i], looks);
    i++
  :: i < OBJECTS && !remembered[i] -> i++
  :: else -> break
  od;
  trace_pending();
  i = 0;
  do
  :: i < OBJECTS && age[i] == YOUNG -> release(i); i++
  :: i < OBJECTS && age[i] != YOUNG -> i++
  :: else -> break
  od;
  pausing = true
}

/* --- marking --- */

inline start_marking() {
  marking = true;
  i = 0;
  do
  :: i < ROOTS && root[i] != NONE -> mark(root[i]); i++
  :: i < ROOTS && root[i] == NONE -> i++
  :: else -> break
  od
}

inline trace_one(o) {
  waiting[o] = false;
  if
  :: slot[o] != NONE -> mark(slot[o])
  :: else
  fi
}

/* What is unmarked is freed; nothing that a root reaches may be. */
inline end_marking() {
  i = 0;
  do
  :: i < ROOTS && root[i] != NONE -> live[root[i]] = true; i++
  :: i < ROOTS && root[i] == NONE -> i++
  :: else -> break
  od;
  changed = true;
  do
  :: changed ->
    changed = false;
    i = 0;
    do
    :: i < OBJECTS ->
      target = slot[i];
      if
      :: live[i] && target != NONE && !live[target] -> live[target] = true; changed = true
      :: else
      fi;
      i++
    :: else -> break
    od
  :: else -> break
  od;
  i = 0;
  do
  :: i < OBJECTS ->
    assert(!live[i] || marked[i]);
    live[i] = false;
    if
    :: age[i] == OLD && !marked[i] -> release(i)
    :: else -> marked[i] = false
    fi;
    i++
  :: else -> break
  od;
  marking = false;
  pausing = false
}

inline check() {
  i = 0;
  do
  :: i < OBJECTS ->
    target = slot[i];
    /* [heap.6] */
    assert(!(marking && age[i] == OLD && marked[i] && !waiting[i] && !recorded[i] && !remembered[i] && target != NONE &&
             age[target] == OLD && !marked[target]));
    i++
  :: else -> break
  od;
  i = 0;
  target = 0;
  looks = false
}

/* --- the mutator --- */

inline store(o, value) {
  slot[o] = value;
  if
  :: age[o] == OLD && !remembered[o] && o == ARRAY ->
    if
    :: value != NONE && (age[value] == YOUNG || (marking && broken != 2)) -> recorded[o] = true
    :: else
    fi
  :: age[o] == OLD && !remembered[o] && o != ARRAY ->
    if
    :: broken != 1 || (value != NONE && age[value] == YOUNG) -> remembered[o] = true
    :: else
    fi
  :: else
  fi
}

/* Objects 1 and 2 are alike, so 1 is taken first. */
#define ALLOCATE(o, r) :: !pausing && age[o] == FREE && (o != 2 || age[1] != FREE) -> d_step { age[o] = YOUNG; root[r] = o; check() }
#define DROP(r) :: !pausing && root[r] != NONE -> root[r] = NONE
#define COPY(r, from) :: !pausing && root[r] != root[from] -> root[r] = root[from]
#define LOAD(r, from) \
  :: !pausing && root[from] != NONE -> d_step { \
    root[r] = slot[root[from]]; \
    assert(root[r] == NONE || age[root[r]] != FREE) \
  }
#define STORE(into, r) :: !pausing && root[into] != NONE -> d_step { store(root[into], root[r]); check() }
#define STORE_NONE(into) :: !pausing && root[into] != NONE -> d_step { store(root[into], NONE); check() }
#define EACH_PAIR(action) action(0, 0) action(0, 1) action(1, 0) action(1, 1)

init {
  d_step {
    broken = c_expr { (getenv("BROKEN") ? atoi(getenv("BROKEN")) : 0) };
    do
    :: i < OBJECTS -> slot[i] = NONE; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < ROOTS -> root[i] = NONE; i++
    :: else -> break
    od;
    i = 0
  }
  do
  EACH_PAIR(ALLOCATE) ALLOCATE(2, 0) ALLOCATE(2, 1)
  DROP(0) DROP(1)
  EACH_PAIR(COPY)
  EACH_PAIR(LOAD)
  EACH_PAIR(STORE)
  STORE_NONE(0) STORE_NONE(1)
  /* A pause: a minor collection; perhaps marking begins; an increment of some objects, which may end it. */
  :: !pausing -> d_step { minor(); check() }
  :: pausing && !marking -> d_step { start_marking(); check() }
  :: pausing && marking && waiting[0] -> d_step { trace_one(0); check() }
  :: pausing && marking && waiting[1] -> d_step { trace_one(1); check() }
  :: pausing && marking && waiting[2] -> d_step { trace_one(2); check() }
  :: pausing && marking && !waiting[0] && !waiting[1] && !waiting[2] -> d_step { end_marking(); check() }
  :: pausing -> pausing = false
  od
}
