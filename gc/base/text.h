/* Messages, put together in the caller's buffer. Nothing here allocates or locks, so signal handlers may use it. Of
 * libc it calls only memcpy and strlen, which runtime/faults.c calls before any fault (docs/design/instruments.md).
 *
 *   [text.1] length < sizeof buffer, and buffer[length] is the terminating zero. What does not fit is cut.
 *   [text.2] A format has only the conversions that are named below.
 *   [text.3] What %s stands for is shown as crd_show_text does: a program's names may hold anything.
 */
#ifndef CRADLE_GC_BASE_TEXT_H
#define CRADLE_GC_BASE_TEXT_H

#include <cradle/event.h>

#include <stdarg.h>

/* The compiler checks the arguments of a format as it does printf's. */
#define CRD_PRINTF(format, first) __attribute__((__format__(CRADLE_PRINTF_KIND, format, first)))

typedef struct crd_text {
  char buffer[256];
  size_t length;
} crd_text;

/* Appends as printf does, with these conversions: %s, %u and %x (with # for the 0x, with l, ll or z for the length), %p
 * and %%. */
void crd_text_format(crd_text *text, const char *format, ...) CRD_PRINTF(2, 3);
void crd_text_format_list(crd_text *text, const char *format, va_list arguments) CRD_PRINTF(2, 0);

/* Copies length bytes of text to out, made safe for a terminal or a line of a log: each byte of a control character,
 * and each byte that is not part of a UTF-8 character, becomes '?'. A text that does not fit ends with "...". room: the
 * bytes at out, at least 5, the terminating zero included. out may be text itself. Returns the length of the result. */
size_t crd_show_text(char *out, size_t room, const char *text, size_t length);

/* The cause, or the phase, in words, as the log prints it; never NULL. */
const char *crd_cause_name(cradle_cause cause);
const char *crd_phase_name(cradle_phase phase);

#endif
