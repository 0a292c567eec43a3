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

/* A pointer to a va_list that is itself a parameter would be one to another type: hence the structure. */
typedef struct arguments {
  va_list list;
} arguments;

static uint64_t next_number(arguments *from, unsigned longs) {
  if (longs == 0) return va_arg(from->list, unsigned);
  if (longs == 1) return va_arg(from->list, unsigned long);
  return va_arg(from->list, unsigned long long);
}

/* Adds what the conversion at at, behind its %, stands for, and returns where the format goes on. */
static const char *add_conversion(crd_text *text, const char *at, arguments *from) {
  bool prefix = *at == '#';
  unsigned longs = 0;
  if (prefix) at++;
  for (; *at == 'l' || *at == 'z'; at++) longs++;
  ASSERT(longs <= 2, "[text.2] a length that text.h does not name");
  switch (*at) {
  case '%': add(text, "%", 1); break;
  case 'u': add_number(text, next_number(from, longs), 10); break;
  case 'x': add_hex(text, next_number(from, longs), prefix); break;
  case 'p': add_hex(text, address_of(va_arg(from->list, const void *)), true); break;
  case 's': {
    const char *words = va_arg(from->list, const char *);
    add(text, words, strlen(words));
    break;
  }
  default: ASSERT(false, "[text.2] a conversion that text.h does not name"); return at;
  }
  return at + 1;
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
