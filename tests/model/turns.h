/* Orders in which the workers of a team (gc/young/team.h) come, from a seed. Only the library with small limits asks at
 * the places where another worker's next step may come in between; with the other, nothing is done.
 *
 * With turns, one worker runs at a time: at such a place the seed decides who goes on. The leader waits until all
 * called helpers have joined, so a collection runs the same way again with the same seed, unless a thread marks beside
 * it. With delays all run at once, and now and then one waits, so that rare orders come up on few processors, too.
 */
#ifndef TESTS_TURNS_H
#define TESTS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

#include <cradle/heap.h>

/* All minor collections of the heap have a team, whatever it brings, once there is a thread. */
void turns_always(cradle_heap *heap);

/* These must not be called in a collection. false: the library does not ask. */
bool turns_take(uint64_t seed);
bool turns_delay(uint64_t seed);
/* Everybody goes on as the machine lets them. */
void turns_end(void);
/* So many places were passed since, and with turns, so often another worker went on. */
uint64_t turns_passed(void);
uint64_t turns_switched(void);

#endif
