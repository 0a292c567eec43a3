/* Places: with CRADLE_CHECKED, messages end with the file and the line of the call.
 *
 * Each function becomes a macro of its name, which tells the library where the call stands before it and that it is
 * over after it. So the place is the caller's, also where arguments contain other calls of the library, and none is
 * told of callers that were not compiled so. The function's address and its call in parentheses, (cradle_pop)(m), are
 * the function's own. docs/design/instruments.md weighs this against other ways.
 */
#ifndef CRADLE_DETAIL_CALL_H
#define CRADLE_DETAIL_CALL_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* A call of the library begins at the place, such as "reader.c:12"; returns that of the one around it, or NULL. */
CRADLE_API const char *cradle_call_begin(const char *place);
/* It is over; outer: of what cradle_call_begin returned, or NULL when a longjmp left all calls. */
CRADLE_API void cradle_call_end(const char *const *outer);

CRADLE_END_DECLS

/* Whether this file's calls have places. */
#if CRADLE_CHECKED && !defined(CRADLE_WITHOUT_PLACES) && !defined(CRADLE_ROOTCHECK)
#define CRADLE_HAS_PLACES 1
#else
#define CRADLE_HAS_PLACES 0
#endif

/* The call, with its place told before and its end after it. */
#define CRADLE_PLACED_(outer, ...) \
  __extension__({ \
    const char *outer __attribute__((__cleanup__(cradle_call_end), __unused__)) = \
        cradle_call_begin(__FILE__ ":" CRADLE_TEXT(__LINE__)); \
    __VA_ARGS__; \
  })
#define CRADLE_PLACED(...) CRADLE_PLACED_(CRADLE_JOIN(cradle_outer_, __COUNTER__), __VA_ARGS__)

#endif
