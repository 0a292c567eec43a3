/* The base of the public headers: the version, the types that all of them share, and the annotations that say which
 * functions may collect.
 *
 * No macro changes the layout of a structure: an embedder's debug build and a release build of the library fit
 * together. Structures grow at their end, from one version to the next:
 *   - A structure that the library fills is passed with its sizeof. The library writes the fields that both sides know,
 *     and zeros after them.
 *   - A structure that the library shows to a callback (cradle_event, cradle_hardware, cradle_referrer, cradle_sample)
 *     may be longer than the program knows, but never shorter: heap creation refuses options that were compiled with
 *     the headers of another version. A listener that was compiled apart from the program that makes the heap reads
 *     cradle_event.size to know which fields there are.
 *   - These structures do not grow, because other structures or inline code contain them: cradle_error, cradle_region,
 *     cradle_object_info, cradle_checkpoint, cradle_reservation, cradle_scope, cradle_weak_cursor and cradle_frame.
 *
 * Memory that runs out: the function calls the out-of-memory handler (cradle/options.h). If that returns, the function
 * has done nothing and returns NULL, false or 0, or what its comment says. Without a handler the program ends.
 *
 * Callbacks of the collector are trace and root callbacks, destructors, external sizes, listeners, samplers, what a
 * weak set calls, and the functions of a walk. The first argument of a type's callbacks is options.user; the others get
 * the data that was given with them. They run on the mutator's thread, in the middle of the library's work: they must
 * not longjmp, and must not call the library about this heap, except to read (statistics, memory reports,
 * cradle_describe_address, cradle_type_of), for cradle_safepoint_request, and where a comment allows it. What would
 * change the heap is misuse with a message, but inline stores and pushes may get past their test (cradle/barrier.h),
 * and CRADLE_NEW_FAST returns NULL. clang's -Wthread-safety refuses a call that may collect in a callback; do not
 * declare one CRADLE_MAY_COLLECT, because clang does not see the mark where the library calls through the pointer. A VM
 * whose users add callbacks calls these from a callback of its own.
 */
#ifndef CRADLE_BASE_H
#define CRADLE_BASE_H

/* First, so that a machine that is not supported is refused with a message before its own headers fail to compile. */
#include <cradle/detail/compiler.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers; before 1.0 the minor number changes with the interface. */
#define CRADLE_VERSION_MAJOR 1
#define CRADLE_VERSION_MINOR 0
#define CRADLE_VERSION_PATCH 0
/* One number, major * 10000 + minor * 100 + patch; heap creation compares its series with the library's. */
#define CRADLE_VERSION (CRADLE_VERSION_MAJOR * 10000 + CRADLE_VERSION_MINOR * 100 + CRADLE_VERSION_PATCH)

/* Set to 1 in an embedder's translation unit, it makes the inline functions that allocate, store and read the shadow
 * stack check each use, and report misuse with a message. */
#ifndef CRADLE_CHECKED
#define CRADLE_CHECKED 0
#endif

/* Words of the heap, and halves of them. May alias: they read and write memory of whatever type. */
typedef uint64_t __attribute__((__may_alias__)) cradle_word;
typedef uint32_t __attribute__((__may_alias__)) cradle_half_word;

/* Annotations for clang's -Wthread-safety; for other compilers they are empty. The permission to collect is a
 * capability: cradle_mutator_new grants it, a function marked CRADLE_MAY_COLLECT can only be called with it, and a
 * no-collection region (cradle_no_collect_begin) takes it away. Mark your own functions that allocate. */

/* The function may collect: objects may move, and every reference that is not rooted is stale after it. */
#ifdef CRADLE_ROOTCHECK /* tools/cradle-rootcheck reads the sources and must see the mark itself */
#define CRADLE_MAY_COLLECT CRADLE_ATTRIBUTE(annotate("cradle_may_collect"))
#else
#define CRADLE_MAY_COLLECT CRADLE_ATTRIBUTE(requires_capability(cradle_collection))
#endif
#define CRADLE_GRANTS_COLLECTION CRADLE_ATTRIBUTE(acquire_capability(cradle_collection))
#define CRADLE_REVOKES_COLLECTION CRADLE_ATTRIBUTE(release_capability(cradle_collection))
/* For the few functions that the analysis cannot follow, such as a wrapper around setjmp. */
#define CRADLE_UNCHECKED_COLLECTION CRADLE_ATTRIBUTE(no_thread_safety_analysis)

CRADLE_BEGIN_DECLS

/* A heap (cradle/heap.h), a thread's view of it (cradle/mutator.h), and what slots are reported to
 * (cradle/object.h). */
typedef struct cradle_heap cradle_heap;
typedef struct cradle_mutator cradle_mutator;
typedef struct cradle_visitor cradle_visitor;

/* What went wrong. If an option is at fault, its message is "OPTION: REASON OTHER; LIMIT ACCEPTED", and these parts are
 * here, so that nobody need parse it. */
typedef struct cradle_error {
  char message[256];  /* names what is wrong and what is accepted; empty after success */
  const char *option; /* the field of cradle_options at fault, such as "nursery_bytes"; NULL: no field is at fault */
  const char *reason; /* what is wrong with that field; NULL: only the message says it */
  const char *other;  /* the field that it contradicts, with which the reason ends; NULL: none */
  const char *limit;  /* "at least" or "at most", where the message ends with the accepted value; NULL: it does not */
  uint64_t accepted;  /* if the field is a number: the nearest accepted value; 0: there is none */
} cradle_error;

CRADLE_END_DECLS

#endif
