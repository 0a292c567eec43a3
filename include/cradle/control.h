/* Control of a running heap: major collections held off, the maximum heap changed, hooks before and after collections.
 *
 * Collections on request are in cradle/heap.h: cradle_collect_minor, _step (one increment), _major, _full and _compacting, and
 * cradle_release_memory.
 */
#ifndef CRADLE_CONTROL_H
#define CRADLE_CONTROL_H

#include <cradle/event.h>
#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* --- major collections held off --- */

/* From here to the matching cradle_major_enable no major collection begins and none that runs gets its next increment, because
 * of the threshold: for a phase whose garbage is little or whose pauses must be the shortest. The calls nest. Minor
 * collections go on, and these still do their work:
 *   - collections on request, and cradle_collect_step;
 *   - when the maximum heap, or memory, would refuse an allocation or what the nursery needs to be promoted, the heap
 *     collects as if majors were enabled: an allocation fails only if a full collection does not help.
 * Costs nothing while the program runs. Does not collect. */
CRADLE_API void cradle_major_disable(cradle_mutator *mutator);
/* Ends the innermost cradle_major_disable; without one it is misuse. What came due meanwhile begins with the next minor
 * collection that is not cradle_collect_minor. Does not collect. */
CRADLE_API void cradle_major_enable(cradle_mutator *mutator);

/* --- the maximum heap --- */

/* Makes options.heap_max_bytes another value from now on; 0: no maximum. When the heap holds more than that, it collects, if
 * it must fully and then compacting, and what that frees is given back. Where what lives, the nursery and two arenas do not fit
 * even so, or the system does not take back what is free, it returns false with the smallest maximum that would do, and the old
 * one stays. Where they do, but the nursery's promotion does not, the nursery is lowered. May collect. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_heap_set_max(cradle_mutator *mutator, size_t bytes,
                                                          cradle_error *error) CRADLE_MAY_COLLECT;

/* --- hooks --- */

/* A hook is a listener that comes and goes while the heap runs: it gets the events of cradle/event.h whose bits it asks for.
 *
 *   before and after        events
 *   a minor collection      CRADLE_EVENT_MINOR_BEGIN, CRADLE_EVENT_MINOR_END
 *   a major collection      CRADLE_EVENT_MAJOR_BEGIN, CRADLE_EVENT_MAJOR_END (between them the program runs)
 *   an increment of one     CRADLE_EVENT_STEP_BEGIN, CRADLE_EVENT_STEP_END
 *   a compaction            CRADLE_EVENT_COMPACT_BEGIN, CRADLE_EVENT_COMPACT_END
 *   all of a pause          CRADLE_EVENT_PAUSE, after it
 *
 * The heap is in the middle of its work: a hook must not allocate, store references or call the library about this heap, and
 * objects may move between one event and the next. clang's -Wthread-safety refuses a call that may collect in a hook's function
 * (it has no permission to, and must not be declared CRADLE_MAY_COLLECT), and such a call at run time is misuse with a message.
 * The same holds for listeners. A hook may set variables of the program's, such as cradle_safepoint_request's. */
typedef struct cradle_hook {
  struct cradle_hook *next; /* the heap's */
  void (*function)(void *data, const cradle_event *event);
  void *data;
  uint32_t events; /* CRADLE_HOOK_EVENT bits; 0 is misuse */
} cradle_hook;
#define CRADLE_HOOK_EVENT(kind) (UINT32_C(1) << (kind))
#define CRADLE_HOOK_MINOR (CRADLE_HOOK_EVENT(CRADLE_EVENT_MINOR_BEGIN) | CRADLE_HOOK_EVENT(CRADLE_EVENT_MINOR_END))
#define CRADLE_HOOK_MAJOR (CRADLE_HOOK_EVENT(CRADLE_EVENT_MAJOR_BEGIN) | CRADLE_HOOK_EVENT(CRADLE_EVENT_MAJOR_END))
#define CRADLE_HOOK_STEP (CRADLE_HOOK_EVENT(CRADLE_EVENT_STEP_BEGIN) | CRADLE_HOOK_EVENT(CRADLE_EVENT_STEP_END))
#define CRADLE_HOOK_COMPACT (CRADLE_HOOK_EVENT(CRADLE_EVENT_COMPACT_BEGIN) | CRADLE_HOOK_EVENT(CRADLE_EVENT_COMPACT_END))

/* Adds a hook; those of a heap are called in the order in which they were added, after the options' listener. The structure is
 * the embedder's and stays in place until it is removed or the heap is freed (its last event is HEAP_DESTROYED). Adding one
 * twice, removing one that is not there, and either from within a hook are misuse. While a heap has hooks each collection costs
 * what sending its events costs, about that of a listener; without one, nothing. Neither collects. */
CRADLE_API void cradle_hook_add(cradle_heap *heap, cradle_hook *hook);
CRADLE_API void cradle_hook_remove(cradle_heap *heap, cradle_hook *hook);

CRADLE_END_DECLS

#endif
