/* Reports of faults: a program that uses a stale reference is told which before it dies.
 *
 * [faults.1] The handler reports and passes on: to the handler that was installed before it, or to the signal's
 *            default, so that the program dies as it would have. A fault that no heap knows anything about is passed on
 *            without a word. While one thread reports, another one that faults waits for it, for a second at most.
 * [faults.2] It is the process's, and with it the list of heaps that it asks. It is installed with the first such heap
 *            and taken away with the last, unless a handler that the program installed later stands before it: then it
 *            stays, because that one may call it. Where the program has gone back to the default, to ignoring or to the
 *            handler that this one calls, nobody calls it, and the next heap installs it anew. A heap that ends waits
 *            for a report that another thread makes, since that may ask it.
 * [faults.3] What the handler calls is fit for a signal handler. Of backtrace that holds once it was called before,
 *            which is done when the heap starts.
 */
#ifndef CRADLE_RUNTIME_FAULTS_H
#define CRADLE_RUNTIME_FAULTS_H

#include <cradle/options.h>

typedef struct crd_faults crd_faults;

/* Makes options report faults if they ask for it, by listening to the heap's collections; their own listener is passed
 * each event. NULL, options unchanged, when they do not or there is no memory for it. */
crd_faults *crd_faults_open(cradle_options *options);
/* The heap exists: from now on its faults are reported, until CRADLE_EVENT_HEAP_DESTROYED. */
void crd_faults_hand_over(crd_faults *faults, cradle_heap *heap);
/* For a heap that could not be made. */
void crd_faults_close(crd_faults *faults);

#endif
