/* The summary that CRADLE_STATS=1 prints on standard error when a heap ends, or when the process does.
 *
 * [summary.1] For a heap that is alive at exit, the summary shows what was recorded until then. A child of fork prints
 *             no summary of a heap that it inherited: the parent prints it.
 */
#ifndef CRADLE_RUNTIME_SUMMARY_H
#define CRADLE_RUNTIME_SUMMARY_H

#include "runtime/chain.h"

/* Adds a summary to the listeners of the options. NULL: memory ran out, which was reported. */
crd_link *crd_summary_open(cradle_options *options);

#endif
