/* Process: what the runtime asks the system about its process. One source file for each system.
 *
 * [process.1] No function prints or changes errno. If the system lacks something, the function's result says so.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_PROCESS_H
#define CRADLE_RUNTIME_PLATFORM_PROCESS_H

#include <cradle/base.h>

/* The process's number; a child of fork has a new one. */
int crd_process_number(void);
/* The last part of the program's path; "unknown" if the system does not say it. */
const char *crd_program_name(void);
/* Sleeps for about a millisecond. */
void crd_thread_rest(void);

/* Runs another program, found on PATH, whose standard output is this process's standard error, and waits for its end.
 * arguments: as main gets them, its name first and NULL last. At most most_ms, then it is killed. May be called in a
 * signal handler on one thread at a time, after a call without arguments, which runs nothing. No signal tells the
 * process of its end. */
typedef enum crd_run_end {
  CRD_RUN_OK,
  CRD_RUN_FAILED, /* it ended with another status than 0, or by a signal */
  CRD_RUN_LATE,   /* it was killed */
  CRD_RUN_NONE,   /* there is no such program, or the system cannot run one in this way */
} crd_run_end;
crd_run_end crd_run(const char *const *arguments, int most_ms);

/* Nanoseconds since 1970. */
uint64_t crd_unix_time_ns(void);

/* Whether the program has rights that its user does not have, so that the environment must not be trusted. */
bool crd_has_more_rights_than_user(void);
/* The value of an environment variable in UTF-8; NULL: it is not set. Valid until the variable changes. */
const char *crd_variable_value(const char *name);
/* Calls function for each variable, as "NAME=value" in UTF-8, valid during the call. */
void crd_each_variable(void (*function)(void *data, const char *entry), void *data);

#endif
