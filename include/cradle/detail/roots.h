/* What the inline functions and macros of cradle/roots.h are made of. Nothing here collects. A program does not call or
 * name these; generated code calls the partners that docs/jit.md names. */
#ifndef CRADLE_DETAIL_ROOTS_H
#define CRADLE_DETAIL_ROOTS_H

#include <cradle/mutator.h>

CRADLE_BEGIN_DECLS

/* --- the shadow stack --- */

/* Commits more of the stack and pushes word. Growth beyond options.shadow_stack_bytes is misuse with a message. */
CRADLE_API CRADLE_COLD void cradle_push_slow(cradle_mutator *mutator, cradle_word word);
/* Lowers the watermark for count words that are popped next. It is misuse if the stack holds fewer. */
CRADLE_API CRADLE_COLD void cradle_pop_slow(cradle_mutator *mutator, size_t count);
/* Lowers the watermark below the word at index, which may be written next. It is misuse if there is no such word. */
CRADLE_API CRADLE_COLD void cradle_peek_slow(cradle_mutator *mutator, size_t index);

/* --- scoped roots --- */

/* Flags in the low bits of a variable's address on the stack of scoped roots. VALUE: the variable holds a value, not a
 * reference. NAMED: the word below is the address of the root's name, and the word below that the frame of the function
 * that opened the scope. Code that is compiled with CRADLE_CHECKED pushes these two. */
#define CRADLE_SCOPED_VALUE ((cradle_word)1)
#define CRADLE_SCOPED_NAMED ((cradle_word)2)
#define CRADLE_SCOPED_WORDS_ (CRADLE_CHECKED ? 3 : 1)

/* An open scope: the part of a scoped root that lies in the program's frame. */
typedef struct cradle_scope {
  cradle_mutator *mutator;
  cradle_word variable; /* its address and the flags, as on the stack */
} cradle_scope;

/* Commits more of the stack and opens the scope. If the memory is refused or the mutator was freed, it is misuse with a
 * message. */
CRADLE_API CRADLE_COLD void cradle_scope_open_slow(cradle_mutator *mutator, cradle_word variable, const char *name,
                                                   const void *frame);
/* Closing a scope that is not the innermost is misuse, unless the mutator was freed. */
CRADLE_API CRADLE_COLD void cradle_scope_close_slow(cradle_mutator *mutator, cradle_word variable);
/* With CRADLE_CHECKED: reports misuse if the innermost scoped root was opened by a function that this frame's function
 * or one of its callers called, and that is gone: a longjmp or a C++ exception left it. */
CRADLE_API void cradle_check_scope(cradle_mutator *mutator, const void *frame);

/* What CRADLE_ROOT does: pushes the variable's address, and pops it at the end of the scope, where it must be the last
 * one. name: used by CRADLE_CHECKED code, else ignored. Neither function collects. */
CRADLE_INLINE cradle_scope cradle_scope_open(cradle_mutator *mutator, void *address, cradle_kind kind,
                                             const char *name) {
  cradle_word flags =
      (kind == CRADLE_KIND_VALUE ? CRADLE_SCOPED_VALUE : 0) | (CRADLE_CHECKED ? CRADLE_SCOPED_NAMED : 0);
  cradle_scope scope = {mutator, (cradle_word)(uintptr_t)address | flags};
  const void *frame = CRADLE_CHECKED ? __builtin_frame_address(0) : NULL;
  if (CRADLE_CHECKED) cradle_check_scope(mutator, frame);
  cradle_word *top = mutator->scoped_top + CRADLE_SCOPED_WORDS_;
  if (CRADLE_UNLIKELY(top > mutator->scoped_limit)) {
    cradle_scope_open_slow(mutator, scope.variable, name, frame);
    return scope;
  }
  if (CRADLE_CHECKED) top[-3] = (cradle_word)(uintptr_t)frame;
  if (CRADLE_CHECKED) top[-2] = (cradle_word)(uintptr_t)name;
  top[-1] = scope.variable;
  mutator->scoped_top = top;
  return scope;
}
/* Ends the scope. */
CRADLE_INLINE void cradle_scope_close(const cradle_scope *scope) {
  cradle_word *top = scope->mutator->scoped_top;
  if (CRADLE_UNLIKELY(top[-1] != scope->variable)) {
    cradle_scope_close_slow(scope->mutator, scope->variable);
    return;
  }
  scope->mutator->scoped_top = top - CRADLE_SCOPED_WORDS_;
}

/* "list (reader.c:12)" for messages. */
#define CRADLE_SCOPE_NAME_(text) (CRADLE_CHECKED ? text " (" __FILE__ ":" CRADLE_TEXT(__LINE__) ")" : (const char *)0)
#define CRADLE_SCOPED_(mutator, variable, kind, text, name) \
  cradle_scope name __attribute__((__cleanup__(cradle_scope_close), __unused__)) = \
      cradle_scope_open((mutator), (void *)(uintptr_t)&(variable), (kind), CRADLE_SCOPE_NAME_(text))
/* Whether an expression is a pointer variable. In C, class 5 is pointers and arrays; an array differs from a pointer in
 * that it becomes another type when it is used. */
#ifdef __cplusplus
extern "C++" {
template <class type> char cradle_is_pointer(type *const volatile &variable);
char (&cradle_is_pointer(...))[2];
}
#define CRADLE_STATIC_ASSERT_ static_assert
#define CRADLE_IS_POINTER_(variable) (sizeof(cradle_is_pointer(variable)) == 1)
#define CRADLE_RANGE_LITERAL_ cradle_root_range
#else
#define CRADLE_STATIC_ASSERT_ _Static_assert
#define CRADLE_IS_POINTER_(variable) \
  (__builtin_classify_type(variable) == 5 && \
   __builtin_types_compatible_p(__typeof__(variable), __typeof__(1 ? (variable) : (variable))))
#define CRADLE_RANGE_LITERAL_ (cradle_root_range)
#endif
#define CRADLE_IS_WORD_(variable) (sizeof(variable) == 8 && __alignof__(variable) >= 8)

/* --- root ranges --- */

/* The checks of the two variables stand in the first field, where they add up to NULL. */
#define CRADLE_RANGE_(first, last, words, text) \
  CRADLE_RANGE_LITERAL_ { \
    (cradle_root_range *)(uintptr_t)(CRADLE_REQUIRE_(CRADLE_IS_POINTER_(first), \
                                                     "base: a pointer variable is wanted") + \
                                     CRADLE_REQUIRE_(CRADLE_IS_POINTER_(last), "top: a pointer variable is wanted")), \
        NULL, NULL, &(first), &(last), (words), (text), NULL \
  }

CRADLE_END_DECLS

#endif
