/* Process: what the runtime asks the system about the process it is in. One file a system.
 *
 * [process.1] No function prints or changes errno. What a system does not have is said by the function's result.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_PROCESS_H
#define CRADLE_RUNTIME_PLATFORM_PROCESS_H

#include <cradle/base.h>

/* The process's number, which a child of fork has anew. */
int crd_process_number(void);
/* Lets other threads run; the second sleeps for about a millisecond. */
void crd_thread_yield(void);
void crd_thread_rest(void);

/* Nanoseconds: of the clock that events carry, and since 1970. */
uint64_t crd_clock_ns(void);
uint64_t crd_unix_time_ns(void);

/* Whether the program acts with rights that its caller does not have, so that its environment is not trusted. */
bool crd_has_more_rights_than_user(void);
/* The value of an environment variable in UTF-8; NULL: it is not set. Good until the variable changes. */
const char *crd_variable_value(const char *name);
/* Calls function with each variable, "NAME=value" in UTF-8, good during the call. */
void crd_each_variable(void (*function)(void *data, const char *entry), void *data);

/* A byte that is not 0 here and reads as 0 in a child of fork. NULL: the system has none; compare process numbers. */
char *crd_fork_mark_new(void);
void crd_fork_mark_free(char *mark);

#endif
