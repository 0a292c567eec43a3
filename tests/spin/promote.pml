/* A model of a minor collection by a team, small enough to look at every state. The protocol is that of gc/young/team.h.
 * After each collection the leader checks that every object has exactly one copy, that every slot refers to this copy, and
 * that all copies are counted. Nobody may wait for ever.
 *
 *   here         in gc/
 *   leader       the program's thread: crd_minor_run, crd_team_begin, crd_team_end
 *   helper       help in young/team.c
 *   many         two helpers and one collection, instead of one helper and two collections. There are two, because a helper
 *                may still look for work in the first when the second begins
 *   forwarded    an object's header: 0, or the address of its copy, which is here the number of the worker that made it, from 1 on
 *   linked       objects that have a link, or a note, in word 1 [promote.1], [promote.3]
 *   copied       objects whose copies are complete
 *   word         a slot: 0 as long as it refers to the young object, else the address of the copy
 *   mine         a worker's pending list, whose order does not matter here
 *   taken        bodies on that list that came from the mail [team.1]
 *   claimed      claimed_recorded and claimed_remembered of crd_local; a piece has one entry
 *   large        the young large object: not reached, reached, waiting for the leader, or traced
 *   called       helper.word
 *   give         crd_team_give: of a list with several bodies, one or all but one
 *   drain        trace_pending in young/minor.c; trace_pieces is crd_minor_pieces
 *   wait         wait_for_work in young/team.c. A helper may leave after any question
 *
 *             TREE                    The root refers to TREE, or to nothing. Of the old entries, two recorded slots refer to
 *            /    \                   OTHER; a remembered object refers to TREE from a fixed slot, and its trace callback
 *        LEFT      RIGHT              reports one that refers to ARRAY. HOOK has a trace callback, too. The length of ARRAY is
 *       /    \    /     \             in word 1. LARGE is a young large object, which has no copy. LEAF and OTHER have no
 *   LARGE    ARRAY      HOOK          slots.
 *     |     (to LEFT)     |
 *      ------- LEAF ------
 *
 * A step reads or writes one word that two workers share; what happens while the lock is held is one step. In its first steps the
 * leader stores headers without an exchange. That this is safe needs no rule of its own: nobody else has a young object yet.
 *
 * Weak memory. What is given away goes through the lock, and pieces are opened by a release. So writes may be seen out of
 * order only where two workers look at one young object. A worker that sees an old header loses the exchange, as if it had read
 * the header earlier, which the model tries. But a length must not be taken from a link [team.2]. Two orders prevent this: the
 * winner's exchange comes before its link, which is a release; the loser reads the length, which is an acquire, before it asks
 * the header again. Variants 4 and 5 drop one of the two. This is not a model of all that C11 and processors allow.
 *
 * Not modelled: runs and bitmaps [team.5], [team.6], marking, arrays above 8,200 bytes, callbacks of large objects, gathering.
 *
 * The environment variable BROKEN=n leaves one rule out; each of these variants must fail:
 *
 *   1  a header is stored instead of exchanged
 *   2  the link is written before the header is exchanged
 *   3  the header is not asked again after the length
 *   4  the link is not a release, so it may be seen before the header
 *   5  the length is not an acquire, so the header may be read before it
 *   6  a place is used although the exchange was lost
 *   7  another worker's copy is read
 *   8  the leader still stores headers after it has given bodies away
 *   9  the leader still stores headers after it has opened the pieces
 *  10  a hungry worker ends the team although there is mail
 *  11  the end is found without the lock: first no mail, then all hungry
 *  12  a worker is hungry before what it promoted is counted
 *  13  a worker is hungry while its list is not empty
 *  14  mail is posted over other mail
 *  15  a helper of the last team stays in the next one without having joined
 *  16  a helper that leaves is still counted as a worker
 *  17  a helper that joins late is not counted as a worker
 *  18  a helper calls a trace callback
 *  19  a body that was left is forgotten
 *  20  a young large object that a helper has left is forgotten
 *  21  a remembered object that was left is forgotten
 *  22  a helper traces the young large object
 *  23  the leader calls a trace callback while it shares
 *  24  a remembered object's fixed slots are followed before its callback is called
 *
 * Run by tests/spin/spin_model.py.
 */
#define PLAIN 1
#define LINKED_EARLY 2
#define NOT_ASKED_AGAIN 3
#define NO_RELEASE 4
#define NO_ACQUIRE 5
#define KEPT 6
#define READS_ANOTHERS 7
#define LEADS_AFTER_GIVING 8
#define LEADS_AFTER_OPENING 9
#define ENDS_WITH_MAIL 10
#define WITHOUT_LOCK 11
#define NOT_COUNTED 12
#define HUNGRY_EARLY 13
#define POSTED_OVER 14
#define STAYS 15
#define LEAVES_UNTOLD 16
#define JOINS_UNTOLD 17
#define CALLS 18
#define LEFT_FORGOTTEN 19
#define LARGE_FORGOTTEN 20
#define REMEMBERED_FORGOTTEN 21
#define TRACES_LARGE 22
#define LEADER_CALLS 23
#define FIXED_FIRST 24
byte broken;

/* How many collections there are. With spin -a -DTEAMS_OF_MANY=2 the model holds, too: 22 million states, 3 GB. */
#ifndef TEAMS_OF_MANY
#define TEAMS_OF_MANY 1
#endif
#define TEAMS (many -> TEAMS_OF_MANY : 2)
bool many, rooted;

#define TREE 0
#define LEFT 1
#define RIGHT 2
#define ARRAY 3
#define HOOK 4
#define LEAF 5
#define OTHER 6
#define OBJECTS 7
#define LARGE 7 /* has slots, but no copy */
#define BIT(o) (1 << (o))
#define HAS_SLOTS(o) ((o) < LEAF)
#define SEVERAL(set) (((set) & ((set) - 1)) != 0)
#define LOWEST(set) ((set) & -(set))

/* Slots 2 * o and 2 * o + 1 are those of object o. */
#define ROOT 16
#define RECORDED 17
#define REMEMBERED 19
#define FIXED 20
#define SLOTS 21
#define NONE 8
#define TARGET(s) \
  ((s) == 0 -> LEFT : ((s) == 1 -> RIGHT : ((s) == 2 -> LARGE : ((s) == 3 -> ARRAY : ((s) == 4 -> ARRAY : ((s) == 5 -> HOOK : \
  ((s) == 6 -> LEFT : ((s) == 2 * HOOK -> LEAF : ((s) == 2 * LARGE -> LEAF : ((s) == ROOT -> TREE : ((s) == RECORDED -> OTHER : \
  ((s) == RECORDED + 1 -> OTHER : ((s) == REMEMBERED -> ARRAY : ((s) == FIXED -> TREE : NONE))))))))))))))

#define PIECES 3
#define YOUNG 0
#define REACHED 1
#define WAITING 2
#define TRACED 3

byte forwarded[OBJECTS], word[SLOTS];
byte linked, copied;
byte claimed, large;

/* The team. */
byte mail, left, hungry, workers, number, total;
bool open, done, pieces, left_large, left_remembered;
bool called[3];

/* Scratch of the d_steps below, zero outside of them. */
byte i, objects;

/* Each worker has these, and its index. */
#define WORKER \
  byte me = 0, mine = 0, taken = 0, count = 0, body = 0, slot = 0, to = NONE, team = 0, after = 0; \
  bool fed = false, shares = false, length_is_link = false, stale = false, known = false, won = false

/* --- promotion --- */

/* [team.4] */
#define IS_LEFT(index) (shares && !(index != 0 && broken == CALLS) && !(index == 0 && broken == LEADER_CALLS))
#define NOBODY_ELSE_PROMOTES (team == 0 || hungry + 1 == workers && mail == 0 && !pieces)

inline push() {
  d_step {
    if
    :: HAS_SLOTS(to) -> linked = linked | BIT(to); assert(!(mine & BIT(to))); mine = mine | BIT(to)
    :: else
    fi
  }
}

inline make_copy() {
  assert(!(copied & BIT(to)) && (!(linked & BIT(to)) || broken == LINKED_EARLY));
  copied = copied | BIT(to);
  count++
}

/* The first reference links the page. */
inline reach_large(index) {
  d_step {
    if
    :: large == YOUNG && (index == 0 || broken == TRACES_LARGE) -> large = WAITING
    :: large == YOUNG && index != 0 && broken != TRACES_LARGE -> large = REACHED; left_large = true
    :: else
    fi
  }
}

/* In the header there is the address of a copy. */
inline follow_forwarded() {
  d_step { assert(forwarded[to] != 0); word[slot] = forwarded[to] };
  if
  :: broken == READS_ANOTHERS && shares && HAS_SLOTS(to) -> assert((copied & BIT(to)) && (forwarded[to] == me || (taken & BIT(to))))
  :: else
  fi
}

/* What slot refers to, on behalf of the worker me = index + 1. */
inline promote(index) {
  to = TARGET(slot);
  if
  :: to == NONE || (to != LARGE && word[slot] != 0)
  :: to == LARGE -> reach_large(index)
  :: to < OBJECTS && word[slot] == 0 && forwarded[to] != 0 -> follow_forwarded()
  :: to < OBJECTS && word[slot] == 0 && forwarded[to] == 0 ->
    /* claim_slowly: word 1, then the header again. */
    if
    :: to == ARRAY && (broken != NO_ACQUIRE || !shares) -> length_is_link = (linked & BIT(to)) != 0
    :: to == ARRAY && broken == NO_ACQUIRE && shares -> stale = true; length_is_link = (linked & BIT(to)) != 0
    :: else
    fi;
    if
    :: to == ARRAY && shares && broken != NOT_ASKED_AGAIN -> known = forwarded[to] != 0 && !stale
    :: to == ARRAY && shares && broken == NO_RELEASE -> known = false
    :: !(to == ARRAY && shares && broken != NOT_ASKED_AGAIN)
    fi;
    if
    :: known -> known = false; follow_forwarded()
    :: else ->
      assert(!length_is_link);
      /* The exchange, or the leader's store, for which it has read the header above. */
      if
      :: broken == LINKED_EARLY && shares -> linked = linked | BIT(to)
      :: else
      fi;
      if
      :: d_step { shares && broken != PLAIN && forwarded[to] == 0 -> forwarded[to] = me; won = true };
         d_step { make_copy() }
      :: d_step { shares && broken != PLAIN && forwarded[to] != 0 -> won = false }
      :: d_step { !shares || broken == PLAIN -> make_copy(); forwarded[to] = me; won = true }
      fi;
      if
      :: won -> d_step { word[slot] = me; won = false }; push()
      :: !won && broken == KEPT -> word[slot] = me
      :: !won && broken != KEPT -> follow_forwarded()
      fi
    fi;
    length_is_link = false;
    stale = false
  fi;
  to = NONE
}

/* --- giving --- */

inline give(index) {
  shares = shares || broken != LEADS_AFTER_GIVING;
  if
  :: body = LOWEST(mine)
  :: body = mine & ~LOWEST(mine)
  fi;
  d_step {
    if
    :: (mail == 0 || broken == POSTED_OVER) && hungry > 0 -> mail = body; mine = mine & ~body; taken = taken & ~body
    :: else
    fi;
    body = 0
  }
}

inline drain(index) {
  do
  :: hungry > 0 && (mail == 0 || broken == POSTED_OVER) && SEVERAL(mine) -> give(index)
  :: mine != 0 || large == WAITING && (index == 0 || broken == TRACES_LARGE) ->
    d_step {
      if
      :: mine != 0 ->
        do
        :: mine >= BIT(body + 1) -> body++
        :: else -> break
        od;
        mine = mine & ~BIT(body)
      :: else ->
        assert(index == 0);
        body = LARGE;
        large = TRACED
      fi
    };
    if
    :: d_step { body == HOOK && IS_LEFT(index) -> left = left | BIT(body); taken = taken & ~BIT(body) }
    :: d_step {
        !(body == HOOK && IS_LEFT(index)) ->
        assert(body != HOOK || index == 0 && NOBODY_ELSE_PROMOTES);
        assert(body == LARGE || (copied & BIT(body)) && (forwarded[body] == me || (taken & BIT(body)) || team == 0));
        slot = 2 * body
      };
      do
      :: slot < 2 * body + 2 -> promote(index); slot++
      :: else -> break
      od;
      atomic { taken = taken & ~BIT(body); slot = 0 }
    fi;
    body = 0
  :: mine == 0 && !(large == WAITING && (index == 0 || broken == TRACES_LARGE)) -> break
  od
}

/* --- pieces: two recorded slots, then the remembered object --- */

/* What the slot refers to, and what the remembered object's other slot refers to. */
inline trace_entry(index) {
  do
  :: slot != 0 ->
    d_step {
      assert(slot != REMEMBERED || index == 0 && NOBODY_ELSE_PROMOTES);
      if
      :: slot == REMEMBERED && broken != FIXED_FIRST -> after = FIXED
      :: slot == FIXED && broken == FIXED_FIRST -> after = REMEMBERED
      :: else -> after = 0
      fi
    };
    promote(index);
    slot = 0;
    drain(index);
    atomic { slot = after; after = 0 }
  :: else -> break
  od
}

inline trace_pieces(index) {
  do
  :: claimed >= PIECES -> break
  :: claimed < PIECES ->
    if
    :: index == 0 && claimed == 0 && hungry > 0 && mail == 0 && team != 0 ->
      d_step { shares = shares || broken != LEADS_AFTER_OPENING; pieces = true }
    :: else
    fi;
    d_step {
      if
      :: claimed < PIECES -> slot = RECORDED + claimed; claimed++
      :: else
      fi
    };
    if
    :: d_step { slot == REMEMBERED && IS_LEFT(index) -> left_remembered = true; slot = 0 }
    :: d_step { slot == REMEMBERED && !IS_LEFT(index) && broken == FIXED_FIRST -> slot = FIXED }
    :: slot != REMEMBERED || !IS_LEFT(index) && broken != FIXED_FIRST
    fi;
    trace_entry(index)
  od;
  pieces = false
}

/* --- hunger --- */

inline become_hungry(index) {
  d_step {
    hungry++;
    if
    :: index != 0 && broken != NOT_COUNTED -> total = total + count; count = 0
    :: else
    fi;
    assert(hungry <= workers && (mine == 0 || broken == HUNGRY_EARLY))
  };
  if
  :: index != 0 && broken == NOT_COUNTED -> d_step { total = total + count; count = 0 }
  :: else
  fi
}

#define IS_OVER (done || number != team && broken != STAYS)
#define HAS_WORK(index) (mail != 0 && broken != ENDS_WITH_MAIL || index != 0 && pieces)

/* Ends with team == 0 if the team is done, or the helper leaves. */
inline wait(index) {
  if
  :: d_step { !IS_OVER && (mail != 0 || index != 0 && pieces) ->
       assert(hungry > 0 && (mine & mail) == 0);
       mine = mine | mail; taken = taken | mail; mail = 0; hungry--; fed = true }
  :: d_step { !IS_OVER && !HAS_WORK(index) && hungry == workers && broken != WITHOUT_LOCK -> done = true; team = 0 }
  :: !IS_OVER && !HAS_WORK(index) && broken == WITHOUT_LOCK ->
     if
     :: d_step { hungry == workers -> done = true; team = 0 }
     :: hungry != workers
     fi
  :: d_step { index != 0 && !IS_OVER && !HAS_WORK(index) && hungry != workers ->
       assert(hungry > 0);
       hungry--;
       if
       :: broken != LEAVES_UNTOLD -> workers--
       :: else
       fi;
       team = 0 }
  :: d_step { IS_OVER -> team = 0 }
  fi
}

/* --- the leader --- */

inline open_team() {
  d_step {
    assert(mail == 0 && left == 0);
    number++;
    team = number;
    open = true; done = false; pieces = false;
    workers = 1; hungry = 0; total = 0;
    left_large = false; left_remembered = false;
    called[1] = true;
    called[2] = many
  }
}

inline check() {
  d_step {
    assert(mail == 0 && mine == 0 && left == 0 && large == TRACED && claimed >= PIECES);
    i = 0;
    do
    :: i < OBJECTS -> assert(forwarded[i] != 0 && (copied & BIT(i))); objects++; i++
    :: else -> break
    od;
    assert(total + count == objects);
    i = 0;
    do
    :: i < SLOTS && TARGET(i) < OBJECTS && (i != ROOT || rooted) -> assert(word[i] == forwarded[TARGET(i)]); i++
    :: i < SLOTS && !(TARGET(i) < OBJECTS && (i != ROOT || rooted)) -> i++
    :: else -> break
    od;
    /* The next collection has other objects, in the same place. */
    i = 0;
    do
    :: i < OBJECTS -> forwarded[i] = 0; i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < SLOTS -> word[i] = 0; i++
    :: else -> break
    od;
    i = 0; objects = 0; linked = 0; copied = 0; claimed = 0; large = YOUNG; total = 0; count = 0
  }
}

active proctype leader() {
  WORKER;
  me = 1;
  if
  :: many = false; rooted = true
  :: many = false; rooted = false
  :: many = true; rooted = true
  fi;
  run helper(1);
  if
  :: many -> run helper(2)
  :: else
  fi;
  broken = c_expr { (getenv("BROKEN") ? atoi(getenv("BROKEN")) : 0) };
  do
  :: number < TEAMS ->
    open_team();
    if
    :: rooted -> slot = ROOT; promote(0); slot = 0
    :: else
    fi;
    do
    :: team != 0 ->
      drain(0);
      trace_pieces(0);
      become_hungry(0);
      do
      :: team != 0 && !fed -> wait(0)
      :: else -> break
      od;
      fed = false
    :: else -> break
    od;
    atomic {
      open = false;
      shares = false;
      if
      :: broken != LEFT_FORGOTTEN -> mine = left
      :: else
      fi;
      left = 0;
      if
      :: left_large && broken != LARGE_FORGOTTEN -> large = WAITING
      :: else
      fi
    };
    drain(0);
    if
    :: left_remembered && broken != REMEMBERED_FORGOTTEN -> slot = REMEMBERED; trace_entry(0)
    :: else
    fi;
    check()
  :: else -> break
  od
}

/* --- a helper --- */

proctype helper(byte self) {
  WORKER;
  me = self + 1;
end:
  do
  :: d_step { called[self] -> called[self] = false };
    d_step {
      if
      :: open ->
        team = number;
        hungry++;
        shares = true;
        if
        :: broken != JOINS_UNTOLD -> workers++
        :: else
        fi
      :: else
      fi
    };
    do
    :: team != 0 ->
      wait(self);
      if
      :: fed ->
        fed = false;
        if
        :: broken == HUNGRY_EARLY -> become_hungry(self)
        :: else
        fi;
        drain(self);
        if
        :: pieces -> trace_pieces(self)
        :: else
        fi;
        if
        :: broken != HUNGRY_EARLY -> become_hungry(self)
        :: else
        fi
      :: else
      fi
    :: else -> break
    od;
    shares = false
  od
}
