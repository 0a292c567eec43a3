/* Events: what the collector reports while it works, to a listener that the program gives in the options, such as the
 * log. (Figures that need no listener are in cradle/statistics.h.)
 *
 * Events are sent on the thread that collects, in the order in which things happen. Some come in pairs (BEGIN and END).
 * Ignore unknown kinds: later versions may add some. A listener is a callback (cradle/base.h).
 */
#ifndef CRADLE_EVENT_H
#define CRADLE_EVENT_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

struct cradle_hardware;
struct cradle_statistics;

typedef enum cradle_event_kind {
  CRADLE_EVENT_HEAP_CREATED = 1, /* .heap */
  CRADLE_EVENT_HEAP_DESTROYED,   /* .destroyed: the last event of a heap */
  CRADLE_EVENT_NURSERY_SIZED,    /* .nursery */
  CRADLE_EVENT_MINOR_BEGIN,      /* .begin */
  CRADLE_EVENT_ROOTS_BEGIN,      /* within a minor collection: scanning the roots */
  CRADLE_EVENT_ROOTS_END,        /* .roots */
  CRADLE_EVENT_MINOR_END,        /* .minor */
  /* .begin: a major collection begins; events of minor collections and others come before MAJOR_END */
  CRADLE_EVENT_MAJOR_BEGIN,
  CRADLE_EVENT_STEP_BEGIN, /* an increment of it */
  CRADLE_EVENT_STEP_END,   /* .step */
  CRADLE_EVENT_MAJOR_END,  /* .major: it is complete */
  CRADLE_EVENT_COMPACT_BEGIN,
  CRADLE_EVENT_COMPACT_END, /* .compact */
  CRADLE_EVENT_PAUSE,       /* .pause: the mutator goes on; everything since it stopped is in its duration */
  CRADLE_EVENT_ARENAS,      /* .arenas: arenas were taken from or given back to the system */
  /* .spans: after a major collection, for each size class in use, the smallest first */
  CRADLE_EVENT_SPANS,
  CRADLE_EVENT_NOTE,   /* .note: something was lowered, refused or fell back, in words */
  CRADLE_EVENT_BESIDE, /* .beside: sent when a pause begins: what the collector's threads did since the last pause */
  /* .types: after a major collection, if options.report_types asks for it: the types with most live bytes, the largest
   * first, then the sum of the others */
  CRADLE_EVENT_TYPES,
} cradle_event_kind;

typedef enum cradle_cause {
  CRADLE_CAUSE_NURSERY_FULL = 0, /* the nursery was used up */
  CRADLE_CAUSE_REQUEST,          /* the embedder asked */
  CRADLE_CAUSE_THRESHOLD,        /* the old generation reached its threshold */
  CRADLE_CAUSE_LARGE,            /* a large allocation reached the threshold */
  CRADLE_CAUSE_MEMORY,           /* memory or the maximum heap ran out */
  CRADLE_CAUSE_STRESS,           /* a stress mode */
  CRADLE_CAUSE_SAFEPOINT,        /* cradle_safepoint_request or cradle_external_pressure asked for it */
  CRADLE_CAUSE_MAJOR,            /* the minor collection that precedes a major one */
  CRADLE_CAUSE_DETACH,           /* a mutator left its heap */
  CRADLE_CAUSE_FORK,             /* cradle_fork_prepare */
  CRADLE_CAUSE_PIN,              /* a young object is to be pinned */
  CRADLE_CAUSE_AGE,              /* the last major collection is options.major_age_ns old */
} cradle_cause;

/* What a major collection does. */
typedef enum cradle_phase {
  CRADLE_PHASE_IDLE = 0, /* no major collection runs */
  CRADLE_PHASE_MARKING,
  CRADLE_PHASE_SWEEPING,
  /* between marking and sweeping, on heaps with weak slots, finalizers and the like: docs/order-of-death.md */
  CRADLE_PHASE_CLEARING,
} cradle_phase;

/* What a note is about, where a program may want to act on it; its text is for people. */
typedef enum cradle_note {
  CRADLE_NOTE_OTHER = 0,
  CRADLE_NOTE_LESS_CHECKED,       /* quarantine or verifier did less than the options ask for */
  CRADLE_NOTE_STRESS,             /* a stress run proves little or nothing */
  CRADLE_NOTE_STRESS_COLLECTIONS, /* at the heap's end: how many stress collections took place, of about how many */
  CRADLE_NOTE_STRESS_VERIFIED,    /* before that: at how many the heap was verified, if not at all of them */
  CRADLE_NOTE_LATE,               /* a thread is waited for that does not come (cradle_options.stop_report_ns) */
} cradle_note;

typedef struct cradle_event {
  cradle_event_kind kind;
  uint32_t size;    /* of this structure in the library; a listener with newer headers must not read beyond it */
  uint64_t time_ns; /* CLOCK_MONOTONIC; 0 when nobody listens */
  union {
    struct {
      const struct cradle_hardware *hardware;
      uintptr_t arenas_base, nursery_base;
      uint64_t arenas_bytes;    /* address space reserved for the old generation */
      uint64_t pause_target_ns; /* the heap's cradle_options.pause_ns; 0: none */
    } heap;
    struct {
      const struct cradle_statistics *statistics; /* at the heap's end (cradle/statistics.h) */
    } destroyed;
    struct {
      uint64_t bytes;    /* nursery size now */
      uint64_t previous; /* nursery size before; 0: this is the first size */
      const char *reason;
      /* The survival curve, such as "1 MiB 97, 2 MiB 95, 4 MiB 12": ages in allocated bytes, each with the percentage
       * that lives of the objects up to that age and above the age before. NULL: nothing is known. */
      const char *lives;
    } nursery;
    struct {
      cradle_cause cause;
      uint64_t used_bytes;      /* old generation and the nursery's filled part */
      uint64_t threshold_bytes; /* old and external bytes at which a major collection ought to be over */
      const char *mutator;      /* the name of the one that collects; NULL: there are no others, or none collects */
    } begin;
    struct {
      uint64_t words; /* root words looked at */
    } roots;
    struct {
      cradle_cause cause;
      uint64_t number;        /* from 1 */
      uint64_t nursery_bytes; /* filled when it began */
      uint64_t promoted_objects, promoted_bytes;
      uint64_t remembered; /* objects of the remembered set that were traced */
      uint64_t recorded;   /* slots of large arrays that were looked at */
      uint64_t large_freed_bytes;
      uint64_t pinned_objects;          /* pinned now */
      uint64_t used_before, used_after; /* bytes, nursery included */
      uint64_t duration_ns;
      /* Once the collector has threads of its own: how many helped to promote, what of promoted_objects and
       * promoted_bytes they promoted, and the time for which they worked, in all */
      uint64_t helpers, helped_objects, helped_bytes, helped_ns;
      const char *alone; /* why no thread helped, in words; NULL if one did, or if the collector has no threads */
    } minor;
    struct {
      cradle_phase from, to;
      uint64_t marked_objects, marked_bytes; /* by this increment */
      uint64_t freed_objects, freed_bytes, freed_spans;
      uint64_t duration_ns;
    } step;
    struct {
      cradle_cause cause;
      uint64_t number;
      uint64_t used_before, used_after; /* before the sweep, and at the end */
      uint64_t threshold_bytes;         /* of the next one */
      uint64_t duration_ns;             /* of its increments together */
    } major;
    struct {
      uint64_t objects, bytes; /* moved */
      uint64_t arenas_emptied;
      uint64_t arenas_in_use; /* before */
      uint64_t duration_ns;
    } compact;
    struct {
      cradle_cause cause;
      uint64_t duration_ns;
      /* for which the mutator's thread ran on a processor; 0: the system does not say. For the rest of duration_ns the
       * thread waited, or the system ran something else. A pause below 50 us is not measured: it counts as run */
      uint64_t processor_ns;
      /* 1: the system was asked how often it took the processor from the thread and ran something else (involuntary
       * context switches). It is asked when 50 us or more are missing. 0: it was not, or does not say */
      uint64_t preemptions_known;
      uint64_t preemptions;
      /* with several mutators: how long it took, before the pause, until all stood; not part of duration_ns */
      uint64_t stop_ns;
      const char *mutator; /* the name of the one that collected; NULL: the heap has no others, or none collected */
      const char *last;    /* of the one that was waited for last; NULL: nobody was */
    } pause;
    struct {
      uint64_t taken, given_back; /* arenas, by this event */
      uint64_t committed, in_use; /* arenas, now */
      uint32_t asked;             /* policy, a cradle_hugepages */
      /* 1: the kernel was asked for resident_bytes and huge_bytes (after major collections); 0: they are 0 */
      uint32_t measured;
      uint64_t resident_bytes, huge_bytes;
      uint64_t pool_bytes; /* committed from a reserved pool of huge pages */
    } arenas;
    struct {
      uint64_t object_bytes;        /* largest object of the class */
      uint64_t span_bytes, objects; /* a span's size, and how many objects it holds */
      uint64_t spans, used_bytes, memory_bytes;
      uint64_t waste_percent; /* share of memory_bytes that is not in objects, rounded */
    } spans;
    struct {
      const char *text;
      uint64_t wanted, got; /* the numbers that the text is about; 0 and 0: there are none */
      cradle_note about;
    } note;
    struct {
      uint64_t objects, bytes; /* traced */
      uint64_t put_aside;      /* objects left to the mutator's next increment */
      uint64_t run_ns;         /* for which the threads worked, in all */
      uint64_t stop_ns;        /* for which the pause waited for the threads to stop; 0: they had stopped */
      uint64_t markers;        /* the most that marked at once; in a long pause, the program's thread is one of them */
    } beside;
    struct {
      uint64_t number; /* of the major collection */
      uint64_t types;  /* 1, or how many types with live objects the last row sums up */
      uint64_t type;   /* the type's number; 0 in a sum */
      /* reached by marking, in the old generation, without sealed objects of an image; the bytes are those of the
       * places that objects take, without external memory */
      uint64_t live_objects, live_bytes;
      const char *name; /* of the type, or NULL; in a sum "(rest)" */
    } types;
  } u;
} cradle_event;

/* Receives the events of a heap. function NULL: nobody receives them. */
typedef struct cradle_listener {
  void (*function)(void *data, const cradle_event *event);
  void *data;
} cradle_listener;

CRADLE_END_DECLS

#endif
