/* The parts of a heap by name, for rooms that hold only pointers to some of them. docs/design/collector.md says which
 * room gets which. */
#ifndef CRADLE_GC_PARTS_H
#define CRADLE_GC_PARTS_H

#include <cradle/base.h>

typedef struct crd_heap_report crd_heap_report; /* gc/report/report.h */
typedef struct crd_space crd_space;             /* gc/space.h */
typedef struct crd_mutator crd_mutator;         /* gc/mutator.h */
typedef struct crd_local crd_local;             /* gc/young/local.h */
typedef struct crd_world crd_world;             /* gc/world.h */
typedef struct crd_turns crd_turns;             /* gc/turns.h */
typedef struct crd_chunks crd_chunks;           /* gc/young/chunks.h */
typedef struct crd_roots crd_roots;             /* gc/roots.h */
typedef struct crd_tables crd_tables;           /* gc/tables/tables.h */
typedef struct crd_marking crd_marking;         /* gc/old/marking.h */
typedef struct crd_team crd_team;               /* gc/young/team.h */
typedef struct crd_young crd_young;             /* gc/young/young.h */
typedef struct crd_services crd_services;       /* gc/death/services.h */

#endif
