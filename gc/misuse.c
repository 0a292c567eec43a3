#include "gc/misuse.h"

#include <cradle/inspect.h>

#include <string.h>

#include "gc/base/check.h"
#include "gc/base/text.h"
#include "gc/heap.h"

void crd_misuse(cradle_heap *heap, const char *format, ...) {
  crd_text text = {.length = 0};
  va_list list;
  va_start(list, format);
  crd_text_format_list(&text, format, list);
  va_end(list);
  if (heap != NULL && heap->options.on_misuse != NULL) {
    heap->options.on_misuse(heap->options.handler_data, text.buffer);
    crd_abort("cradle: the misuse handler returned after: ", text.buffer);
  }
  crd_abort("cradle: misuse: ", text.buffer);
}

bool crd_fail(cradle_error *error, const char *format, ...) {
  if (error == NULL) return false;
  crd_text text = {.length = 0};
  va_list list;
  va_start(list, format);
  crd_text_format_list(&text, format, list);
  va_end(list);
  _Static_assert(sizeof error->message == sizeof text.buffer, "an error holds a text");
  *error = (cradle_error){.option = NULL};
  memcpy(error->message, text.buffer, sizeof error->message);
  return false;
}

crd_type_words crd_show_name(const char *name) {
  enum { NAME_ROOM = 100 }; /* "type 4294967295 ()" stands around it */
  crd_type_words words;
  if (name == NULL) name = "without a name";
  (void)crd_show_text(words.buffer, NAME_ROOM, name, strlen(name));
  return words;
}

size_t cradle_show_text(char *out, size_t room, const char *text, size_t length) {
  return crd_show_text(out, room, text, length);
}

crd_type_words crd_name_type(const cradle_heap *heap, uint32_t type) {
  crd_type_words words;
  crd_text text = {.length = 0};
  const char *name = type < heap->types.count ? heap->types.types[type].name : NULL;
  crd_text_format(&text, name == NULL ? "type %u" : "type %u (%s)", type,
                  name == NULL ? NULL : crd_show_name(name).buffer);
  memcpy(words.buffer, text.buffer, sizeof words.buffer);
  words.buffer[sizeof words.buffer - 1] = '\0';
  return words;
}
