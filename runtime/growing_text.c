#include "runtime/growing_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_ROOM 4096
#define FORMAT_BYTES 501

static bool make_room(crd_growing_text *to, size_t length) {
  if (to->room > length && to->room - length > to->length) return true;
  size_t room = 2 * to->room + length + LEAST_ROOM;
  char *grown = realloc(to->text, room);
  if (grown == NULL) return false;
  to->text = grown;
  to->room = room;
  return true;
}

void crd_growing_put(crd_growing_text *to, const void *bytes, size_t length) {
  to->failed = to->failed || !make_room(to, length);
  if (to->failed) return;
  memcpy(to->text + to->length, bytes, length);
  to->length += length;
  to->text[to->length] = '\0';
}

void crd_growing_words(crd_growing_text *to, const char *words) {
  crd_growing_put(to, words, strlen(words));
}

void crd_growing_format(crd_growing_text *to, const char *format, ...) {
  char words[FORMAT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(words, sizeof words, format, arguments);
  va_end(arguments);
  crd_growing_words(to, words);
}
