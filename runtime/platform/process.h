/* Process: what the runtime asks the system about its process. One source file for each system.
 *
 * [process.1] No function prints or changes errno. If the system lacks something, the function's result says so.
 */
#ifndef CRADLE_RUNTIME_PLATFORM_PROCESS_H
#define CRADLE_RUNTIME_PLATFORM_PROCESS_H

#include <cradle/base.h>

/* The process's number; a child of fork has a new one. */
int crd_process_number(void);
/* Sleeps for about a millisecond. */
void crd_thread_rest(void);

/* Nanoseconds since 1970. */
uint64_t crd_unix_time_ns(void);

/* Whether the program has rights that its user does not have, so that the environment must not be trusted. */
bool crd_has_more_rights_than_user(void);
/* The value of an environment variable in UTF-8; NULL: it is not set. Valid until the variable changes. */
const char *crd_variable_value(const char *name);
/* Calls function for each variable, as "NAME=value" in UTF-8, valid during the call. */
void crd_each_variable(void (*function)(void *data, const char *entry), void *data);

#endif
