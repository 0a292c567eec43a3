#include "gc/check.h"

#include <stdlib.h>
#include <string.h>

#include "gc/heap.h"
#include "gc/platform/pages.h"

void crd_text_add(crd_text *text, const char *words) {
  size_t room = sizeof text->buffer - 1 - text->length;
  size_t length = strlen(words);
  if (length > room) length = room;
  memcpy(text->buffer + text->length, words, length);
  text->length += length;
  text->buffer[text->length] = '\0';
}

static void add_in_base(crd_text *text, uint64_t number, unsigned base) {
  char digits[24];
  size_t at = sizeof digits - 1;
  digits[at] = '\0';
  do {
    digits[--at] = "0123456789abcdef"[number % base];
    number /= base;
  } while (number != 0);
  crd_text_add(text, digits + at);
}

void crd_text_number(crd_text *text, uint64_t number) {
  add_in_base(text, number, 10);
}

void crd_text_hex(crd_text *text, uint64_t number) {
  crd_text_add(text, "0x");
  add_in_base(text, number, 16);
}

static _Noreturn void last_words(const char *kind, const char *message) {
  crd_text text = {.length = 0};
  crd_text_add(&text, kind);
  crd_text_add(&text, message);
  crd_platform_last_words(text.buffer, text.length);
  crd_platform_last_words("\n", 1);
  abort();
}

void crd_assertion_failed(const char *message) {
  last_words("cradle: assertion failed: ", message);
}

void crd_out_of_memory_abort(const char *message) {
  last_words("cradle: ", message);
}

void crd_misuse(cradle_heap *heap, const char *message) {
  if (heap != NULL && heap->options.on_misuse != NULL) {
    heap->options.on_misuse(heap->options.handler_data, message);
    last_words("cradle: the misuse handler returned after: ", message);
  }
  last_words("cradle: misuse: ", message);
}
