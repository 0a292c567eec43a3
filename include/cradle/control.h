/* Control of a running heap: major collections held off, the maximum heap changed, memory given back.
 *
 * Collections on request are in cradle/heap.h: cradle_collect and cradle_collect_step.
 */
#ifndef CRADLE_CONTROL_H
#define CRADLE_CONTROL_H

#include <cradle/heap.h>

CRADLE_BEGIN_DECLS

/* --- major collections held off --- */

/* From here to the matching cradle_major_enable no major collection begins and none that runs gets its next increment,
 * because of the threshold: for a phase whose garbage is little or whose pauses must be the shortest. The calls nest.
 * Minor collections go on, and these still do their work:
 *   - collections on request, and cradle_collect_step;
 *   - when the maximum heap, or memory, would refuse an allocation or what the nursery needs to be promoted, the heap
 *     collects as if majors were enabled: an allocation fails only if a full collection does not help.
 * Costs nothing while the program runs. Does not collect. */
CRADLE_API void cradle_major_disable(cradle_mutator *mutator);
/* Ends the innermost cradle_major_disable; without one it is misuse. What came due meanwhile begins with the next minor
 * collection that the program did not ask for. Does not collect. */
CRADLE_API void cradle_major_enable(cradle_mutator *mutator);

/* --- the maximum heap --- */

/* Makes options.heap_max_bytes another value from now on; 0: no maximum. When the heap holds more than that, it
 * collects, if it must fully and then compacting, and what that frees is given back. Where what lives, the nursery and
 * two arenas do not fit even so, or the system does not take back what is free, it returns false with the smallest
 * maximum that would do, and the old one stays. Where they do, but the nursery's promotion does not, the nursery is
 * lowered. May collect. */
CRADLE_API CRADLE_RESULT_MATTERS bool cradle_heap_set_max(cradle_mutator *mutator, size_t bytes, cradle_error *error)
    CRADLE_MAY_COLLECT;

/* --- empty memory --- */

/* Gives all empty arenas beyond the promotion reserve back to the system now, instead of when they were not wanted for
 * some seconds. Returns bytes. Does not collect: what died since the last major collection is not empty yet. */
CRADLE_API uint64_t cradle_release_memory(cradle_heap *heap);

CRADLE_END_DECLS

#endif
