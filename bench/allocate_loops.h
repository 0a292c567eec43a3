/* The loops of allocate-a-lot: Cradle's, and the bare ones they are compared with.
 *
 * Each loop allocates the objects first .. end - 1, 16 bytes each (a header and one field), and keeps two alive, the
 * last and the one before. With the field written, it holds the object's number.
 *
 * The two live in registers. The slow path alone saves them on the shadow stack and reloads them, as a compiler or a
 * careful VM does; the fast path has no store for them. The api shadow-stack saves and reloads them around every
 * allocation, as code without such a split does.
 *
 * Invariants
 *   [loops.1] A bare loop makes the same stores, and the same checks, as its partner, with its free
 *             pointer in memory; its slow path only goes back to the start of its buffer.
 *   [loops.2] Every loop is compiled LOOP_OFFSETS times, each 4 bytes further from a 64-byte
 *             boundary, for code placement alone changes the speed of such a loop. The file is
 *             compiled with -falign-loops=1, so that the compiler's own padding does not undo it.
 *   [loops.3] No loop is chunked: one check an allocation, or one a reservation of LOOP_RESERVED
 *             objects.
 */
#ifndef BENCH_ALLOCATE_LOOPS_H
#define BENCH_ALLOCATE_LOOPS_H

#include <stdbool.h>
#include <stdint.h>

#include <cradle/mutator.h>

#define LOOP_OFFSETS 16
#define LOOP_RESERVED 4

typedef struct node {
  uint64_t header;
  uint64_t value;
} node;

typedef struct two_alive {
  node *previous, *current;
} two_alive;

/* The type of node; a heap for these loops has it as type 1, so that a header is never the zero
 * word. */
enum { TYPE_UNUSED, TYPE_NODE };

/* A bump allocator and nothing else: [start, top) is its buffer, start <= free <= top. The shadow
 * stack is for the api of that name. */
typedef struct bare {
  char *free;
  char *top;
  /* Words that may alias, like Cradle's; otherwise the compiler would merge the stores of two pushes. */
  cradle_word *shadow_top;
  cradle_word *shadow_limit;
  cradle_word *shadow_base;
  char *start;
} bare;

/* The function may collect. Clang's annotation cannot stand on a pointer, so the caller has it. */
typedef void (*cradle_loop)(cradle_mutator *mutator, uint64_t first, uint64_t end, two_alive *alive);
typedef void (*bare_loop)(bare *bump, uint64_t first, uint64_t end, two_alive *alive);

typedef enum loop_api { LOOP_NEW, LOOP_RESERVE, LOOP_SHADOW_STACK } loop_api;
#define LOOP_APIS 3

/* Indexed by api, whether the field is written, and code offset. */
extern const cradle_loop cradle_loops[LOOP_APIS][2][LOOP_OFFSETS];
extern const bare_loop bare_loops[LOOP_APIS][2][LOOP_OFFSETS];

/* Maps a buffer on the kind of pages that policy says, with the same fallbacks as the nursery;
 * false when memory runs out. It stays for the life of the program. */
bool bare_open(bare *bump, size_t bytes, cradle_hugepages policy);
/* The bare loops' slow path, in another file so that the compiler cannot look into it: goes back to
 * the start of the buffer and returns room for bytes there, free moved behind it. */
char *bare_refill(bare *bump, uint64_t bytes);
/* Never runs: the shadow stack holds at most two words. */
void bare_stack_misuse(bare *bump);

#endif
