/* Threads of the library's own, of which the second core (gc/old/marker.h) is one; and the ends of the program's.
 *
 * A thread and the one that made it talk through words that both read and write atomically. If nobody can be asleep
 * because of the word, a plain atomic store is enough in place of crd_thread_set.
 *
 *   [thread.1] That a thread cannot be made is an ordinary answer, NULL: the caller works without one.
 *   [thread.2] The thread runs with all signals blocked, so that a program's handlers never run on it, and has a small
 *              stack. It calls nothing of the program's.
 *   [thread.3] After fork() the child has the structure and not the thread. It asks crd_thread_is_here first, then
 *              forgets the thread. It never waits for it, and never takes the lock, which may be held for ever there.
 */
#ifndef CRADLE_GC_PLATFORM_THREAD_H
#define CRADLE_GC_PLATFORM_THREAD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct crd_thread crd_thread;

/* Starts a thread that calls run(self, data). name: for debuggers, at most 15 characters. NULL: the system refuses. */
crd_thread *crd_thread_new(const char *name, void (*run)(crd_thread *self, void *data), void *data);
/* Waits until run has returned, and frees the structure. */
void crd_thread_join(crd_thread *thread);
/* Whether the thread runs in this process. false: this process came out of a fork. */
bool crd_thread_is_here(const crd_thread *thread);
/* Frees the structure of a thread that does not run here. */
void crd_thread_forget(crd_thread *thread);

/* What the calling thread leaves behind; NULL: nothing. As a thread ends that leaves something, ended is called with
 * it, on that thread and, where the system can say so, after the program's own functions of this kind. ended is the
 * same function in all calls. */
void *crd_thread_left(void);
void crd_thread_leave(void *left, void (*ended)(void *left));

/* Makes a byte that is 1 here and becomes 0 in a child of fork. (In a namespace of its own, or when the numbers have
 * come round, a child may have its parent's process number.) NULL: the system cannot do that; compare process numbers
 * instead. */
char *crd_fork_mark_new(void);
void crd_fork_mark_free(char *mark);

/* The calling thread's number, as debuggers show it. */
uint64_t crd_thread_id(void);
/* What a thread of this process does now: "running", or the number of the system call that it is in. false: the system
 * does not say. */
#define THREAD_ACTIVITY_BYTES 32
bool crd_thread_activity(uint64_t id, char activity[THREAD_ACTIVITY_BYTES]);

/* How many threads of this kind the process has, so that heaps together have no more than it has processors. */
uint32_t crd_thread_count(void);

/* Tells the processor that this loop only waits for another thread. */
static inline void crd_thread_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* Lets another thread have the processor. */
void crd_thread_yield(void);

/* Stores the value with release order, and wakes the other side if it waits. */
void crd_thread_set(crd_thread *thread, uint32_t *word, uint32_t value);
/* Sleeps while the word has this value. What the other side wrote before it changed the word is seen afterwards. */
void crd_thread_wait(crd_thread *thread, const uint32_t *word, uint32_t value);

#endif
