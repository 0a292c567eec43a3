/* A gate: where the program's threads wait for each other (gc/world.h). A lock that is held for a moment, with two
 * conditions.
 * The lock is a leaf: whoever holds it takes no other lock, and waits for nothing but the two conditions. After fork()
 * the child asks crd_gate_is_here first, and makes a new gate: another thread may have held the lock for ever.
 */
#ifndef CRADLE_GC_PLATFORM_GATE_H
#define CRADLE_GC_PLATFORM_GATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_gate crd_gate;

/* What a thread waits for: that all others stand, or that it may go on. */
typedef enum crd_gate_side { GATE_STANDS = 0, GATE_OPENS, GATE_SIDES } crd_gate_side;

/* NULL: no memory. */
crd_gate *crd_gate_new(void);
/* Whether this process made the gate. false: it came out of a fork. */
bool crd_gate_is_here(const crd_gate *gate);
/* Nobody waits. NULL is ignored. */
void crd_gate_free(crd_gate *gate);
void crd_gate_lock(crd_gate *gate);
void crd_gate_unlock(crd_gate *gate);
/* With the lock held: lets it go, sleeps until it is woken or for no reason, and takes it again. */
void crd_gate_wait(crd_gate *gate, crd_gate_side side);
/* The same for at most so long. */
void crd_gate_wait_for(crd_gate *gate, crd_gate_side side, uint64_t ns);
/* With the lock held: wakes all that wait on one side. */
void crd_gate_wake(crd_gate *gate, crd_gate_side side);
/* The same for one of them. */
void crd_gate_wake_one(crd_gate *gate, crd_gate_side side);

#endif
