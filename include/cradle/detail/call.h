/* Places: with CRADLE_CHECKED, messages end with the file and the line of the call.
 *
 * Each function becomes a macro of its name. The macro reports the place to the library before the call, and the end of
 * the call after it. So the place is right even if arguments contain other calls of the library, and callers that were
 * compiled without CRADLE_CHECKED have no place. The frame of the calling function is reported with the place: what
 * scoped roots of functions that are gone are found by. Taking the function's address, and a call with parentheses,
 * (cradle_pop)(m), bypass the macro. docs/design/instruments.md compares this with other ways.
 */
#ifndef CRADLE_DETAIL_CALL_H
#define CRADLE_DETAIL_CALL_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

/* A call of the library begins at the place, such as "reader.c:12", in the function with this frame. Returns the place
 * of the call around it, or NULL. */
CRADLE_API const char *cradle_call_begin(const char *place, const void *frame);
/* The call ends. outer: the address of what cradle_call_begin returned, or NULL if a longjmp left all calls. */
CRADLE_API void cradle_call_end(const char *const *outer);

CRADLE_END_DECLS

/* Whether this file's calls have places. */
#if CRADLE_CHECKED && !defined(CRADLE_WITHOUT_PLACES) && !defined(CRADLE_ROOTCHECK)
#define CRADLE_HAS_PLACES 1
#else
#define CRADLE_HAS_PLACES 0
#endif

/* The call, with its place reported before it and its end after it. */
#define CRADLE_PLACED_(outer, ...) \
  __extension__({ \
    const char *outer __attribute__((__cleanup__(cradle_call_end), __unused__)) = \
        cradle_call_begin(__FILE__ ":" CRADLE_TEXT(__LINE__), __builtin_frame_address(0)); \
    __VA_ARGS__; \
  })
#define CRADLE_PLACED(...) CRADLE_PLACED_(CRADLE_JOIN(cradle_outer_, __COUNTER__), __VA_ARGS__)

#endif
