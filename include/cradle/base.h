/* The base of the public headers: the version, the types that all share, and the annotations that say which functions
 * may collect.
 *
 * No macro changes the layout of a structure: an embedder's debug build and a release build of the library fit
 * together.
 *
 * Structures grow at their end, from one version to the next:
 *   - One that the library fills is handed over with its sizeof. The program gets the prefix that both know, and zeros
 *     behind it.
 *   - One that the library shows to a callback (cradle_event, cradle_hardware, cradle_referrer, cradle_sample,
 *     cradle_option_row) may be longer than the program knows, and is not shorter: heap creation refuses the options of
 *     other headers. Where a listener is older or newer than the program that makes the heap, it has the event's size.
 *   - These do not grow, because they lie in others or in inline code: cradle_error, cradle_region, cradle_object_info,
 *     cradle_checkpoint, cradle_reservation, cradle_scope, cradle_weak_cursor and cradle_frame.
 */
#ifndef CRADLE_BASE_H
#define CRADLE_BASE_H

/* First: a machine that is not supported is refused in words, before its headers fail to compile. */
#include <cradle/detail/compiler.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of these headers; before 1.0 the minor number changes with the interface. */
#define CRADLE_VERSION_MAJOR 0
#define CRADLE_VERSION_MINOR 1
#define CRADLE_VERSION_PATCH 0
/* One number, major * 10000 + minor * 100 + patch; heap creation compares it with the library's. */
#define CRADLE_VERSION (CRADLE_VERSION_MAJOR * 10000 + CRADLE_VERSION_MINOR * 100 + CRADLE_VERSION_PATCH)

/* 1 in an embedder's translation unit: the inline functions that allocate, store, and read the shadow stack check each
 * use, and tell misuse with a message. */
#ifndef CRADLE_CHECKED
#define CRADLE_CHECKED 0
#endif

/* A heap word that may be read and written whatever the embedder's own types are. */
typedef uint64_t __attribute__((__may_alias__)) cradle_word;
typedef uint32_t __attribute__((__may_alias__)) cradle_half_word;

/* Annotations for clang's -Wthread-safety, in plain C; they are nothing for other compilers. The permission to collect
 * is modelled as a capability: cradle_mutator_new grants it, a function marked CRADLE_MAY_COLLECT can only be called
 * with it, and a no-collection region (cradle_no_collect_begin) takes it away. Mark your own functions that
 * allocate. */

/* The function may collect: objects may move, and every reference that is not rooted is stale after it. */
#ifdef CRADLE_ROOTCHECK /* tools/cradle-rootcheck reads the sources: it must see the mark itself */
#define CRADLE_MAY_COLLECT CRADLE_ATTRIBUTE(annotate("cradle_may_collect"))
#else
#define CRADLE_MAY_COLLECT CRADLE_ATTRIBUTE(requires_capability(cradle_collection))
#endif
#define CRADLE_GRANTS_COLLECTION CRADLE_ATTRIBUTE(acquire_capability(cradle_collection))
#define CRADLE_REVOKES_COLLECTION CRADLE_ATTRIBUTE(release_capability(cradle_collection))
/* For the few functions whose use of the permission the analysis cannot follow, such as a setjmp wrapper. */
#define CRADLE_UNCHECKED_COLLECTION CRADLE_ATTRIBUTE(no_thread_safety_analysis)

CRADLE_BEGIN_DECLS

/* A heap (cradle/heap.h), a thread's view of it (cradle/mutator.h), and what slots are reported to
 * (cradle/object.h). */
typedef struct cradle_heap cradle_heap;
typedef struct cradle_mutator cradle_mutator;
typedef struct cradle_visitor cradle_visitor;

/* What went wrong. */
typedef struct cradle_error {
  char message[256];  /* names the thing that is wrong and what is accepted; empty after success */
  const char *option; /* the field of cradle_options that is at fault, such as "nursery_bytes"; NULL: none is */
  uint64_t accepted;  /* of a field with a number: the nearest value that would do; 0: there is none */
} cradle_error;

/* The library's version in the form of CRADLE_VERSION. Does not collect. */
CRADLE_API uint32_t cradle_version(void);

CRADLE_END_DECLS

#endif
