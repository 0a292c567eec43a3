#include "gc/base/text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "gc/base/address.h"
#include "gc/base/check.h"

static void add(crd_text *text, const char *words, size_t length) {
  ASSERT(text->length < sizeof text->buffer, "[text.1] a text is longer than its buffer");
  size_t room = sizeof text->buffer - 1 - text->length;
  if (length > room) length = room;
  memcpy(text->buffer + text->length, words, length);
  text->length += length;
  text->buffer[text->length] = '\0';
}

static bool is_continuation(char byte) {
  return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Whether a character of several bytes may begin so. Other second bytes would make a character that a shorter form has,
 * half of a pair of UTF-16, or a number above U+10FFFF (RFC 3629). */
static bool can_begin(unsigned char first, unsigned char second) {
  switch (first) {
  case 0xE0: return second >= 0xA0;
  case 0xED: return second < 0xA0;
  case 0xF0: return second >= 0x90;
  case 0xF4: return second < 0x90;
  default: return first >= 0xC2 && first < 0xF4;
  }
}

/* The length of the UTF-8 character at text, of which so many bytes are left; 0: none begins there, or its end is
 * missing. */
static size_t character_bytes(const char *text, size_t left) {
  unsigned char first = (unsigned char)text[0];
  if (first < 0x80) return 1;
  size_t length = (size_t)2 + (first >= 0xE0) + (first >= 0xF0);
  for (size_t i = 1; i < length; i++)
    if (i >= left || !is_continuation(text[i])) return 0;
  return can_begin(first, (unsigned char)text[1]) ? length : 0;
}

/* Whether the whole character at text is a control character: U+0000 to U+001F, or U+007F to U+009F. */
static bool is_control(const char *text) {
  unsigned char first = (unsigned char)text[0];
  return first < 0x20 || first == 0x7F || (first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

/* A text is not cut within a character. */
static size_t without_broken_end(const char *text, size_t length) {
  while (length > 0 && is_continuation(text[length])) length--;
  return length;
}

/* Control characters become question marks: messages may go to a terminal. */
size_t crd_show_text(char *out, size_t room, const char *text, size_t length) {
  static const char cut[] = "...";
  ASSERT(room > sizeof cut, "there is no room to say that a text was cut");
  bool is_cut = length >= room;
  size_t shown = is_cut ? without_broken_end(text, room - sizeof cut) : length, at = 0;
  while (at < shown) {
    size_t bytes = character_bytes(text + at, shown - at), end = at + (bytes != 0 ? bytes : 1);
    bool hidden = bytes == 0 || is_control(text + at);
    for (; at < end; at++) out[at] = hidden ? '?' : text[at];
  }
  if (is_cut) memcpy(out + at, cut, sizeof cut - 1), at += sizeof cut - 1;
  out[at] = '\0';
  return at;
}

static void add_shown(crd_text *text, const char *words) {
  char shown[sizeof text->buffer];
  add(text, shown, crd_show_text(shown, sizeof shown, words, strlen(words)));
}

static void add_number(crd_text *text, uint64_t number, unsigned base) {
  ASSERT(base == 10 || base == 16, "a number's digits may not fit");
  char digits[24];
  size_t at = sizeof digits;
  do {
    digits[--at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  add(text, digits + at, sizeof digits - at);
}

static void add_hex(crd_text *text, uint64_t number, bool prefix) {
  if (prefix) add(text, "0x", 2);
  add_number(text, number, 16);
}

/* va_list may be an array type, so as a parameter it would be a pointer, and a pointer to it of another type. A
 * structure is not changed so. */
typedef struct arguments {
  va_list list;
} arguments;

/* Reads a number whose length modifier is at *at, and moves *at behind the modifier. A size_t is not a long everywhere:
 * on Windows a long has 32 bits. */
static uint64_t next_number(arguments *from, const char **at) {
  if (**at == 'z') return ++*at, va_arg(from->list, size_t);
  if (**at != 'l') return va_arg(from->list, unsigned);
  if (*++*at != 'l') return va_arg(from->list, unsigned long);
  return ++*at, va_arg(from->list, unsigned long long);
}

/* Adds what a conversion stands for; at: the character behind its %. Returns where the format goes on. */
static const char *add_conversion(crd_text *text, const char *at, arguments *from) {
  switch (*at) {
  case '%': add(text, "%", 1); return at + 1;
  case 'p': add_hex(text, address_of(va_arg(from->list, const void *)), true); return at + 1;
  case 's': add_shown(text, va_arg(from->list, const char *)); return at + 1;
  default: break;
  }
  bool prefix = *at == '#';
  if (prefix) at++;
  uint64_t number = next_number(from, &at);
  ASSERT(*at == 'u' || *at == 'x', "[text.2] a conversion that text.h does not name");
  if (*at == 'x')
    add_hex(text, number, prefix);
  else
    add_number(text, number, 10);
  return *at == '\0' ? at : at + 1;
}

void crd_text_format_list(crd_text *text, const char *format, va_list list) {
  arguments from;
  va_copy(from.list, list);
  while (*format != '\0') {
    const char *plain = format;
    while (*format != '\0' && *format != '%') format++;
    add(text, plain, (size_t)(format - plain));
    if (*format == '%') format = add_conversion(text, format + 1, &from);
  }
  va_end(from.list);
}

void crd_text_format(crd_text *text, const char *format, ...) {
  va_list list;
  va_start(list, format);
  crd_text_format_list(text, format, list);
  va_end(list);
}

/* Names are in the order of their enumeration. */

const char *crd_cause_name(cradle_cause cause) {
  static const char *const names[] = {
      "nursery full",  "request",       "threshold",         "large allocation",
      "out of memory", "stress",        "safepoint request", "before a major collection",
      "mutator freed", "before a fork", "before a pin",      "age"};
  _Static_assert(sizeof names / sizeof *names == CRADLE_CAUSE_AGE + 1, "each cause has a name");
  return (size_t)cause <= CRADLE_CAUSE_AGE ? names[cause] : "unknown cause";
}

const char *crd_phase_name(cradle_phase phase) {
  static const char *const names[] = {"idle", "marking", "sweeping", "clearing"};
  _Static_assert(sizeof names / sizeof *names == CRADLE_PHASE_CLEARING + 1, "each phase has a name");
  return (size_t)phase <= CRADLE_PHASE_CLEARING ? names[phase] : "unknown phase";
}
