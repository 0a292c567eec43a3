/* Reports of faults: if a program dies because it used a stale reference, a message first says which.
 *
 * [faults.1] The handler reports a fault and passes it on to the handler that was installed before it, or to the
 *            signal's default, so that the program dies as it would have. A fault that no heap knows anything about is
 *            passed on without a message. While one thread reports, other threads that fault wait, at most a second.
 * [faults.2] The process has one handler and one list of heaps that the handler asks. The first such heap installs the
 *            handler, and the last one removes it, unless the program installed a handler of its own later: then this
 *            handler stays, because the later one may call it. If the program has gone back to the default, to ignoring
 *            or to the handler before this one, nobody calls this handler any more, and the next heap installs it
 *            again. A heap that ends waits for a report on another thread, which may be asking this heap.
 * [faults.3] The handler calls only functions that are safe in a signal handler. backtrace() is safe after its first
 *            call, which is made when the heap starts.
 */
#ifndef CRADLE_RUNTIME_FAULTS_H
#define CRADLE_RUNTIME_FAULTS_H

#include "runtime/chain.h"

/* If options ask for reports of faults, adds them to the listeners of the options: the heap's faults are reported from
 * its beginning to its end. Returns NULL and leaves options unchanged if they do not ask, or if memory is refused,
 * which it reports. */
crd_link *crd_faults_open(cradle_options *options);

#endif
