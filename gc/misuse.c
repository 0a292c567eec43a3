#include "gc/misuse.h"

#include <cradle/inspect.h>
#include <inttypes.h>
#include <string.h>

#include "gc/base/check.h"
#include "gc/base/text.h"
#include "gc/heap.h"
#include "gc/old/arena.h"

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

/* --- out of memory --- */

/* Adds what holds the memory and what bounds it, and hands the message over. */
static CRADLE_COLD _Noreturn void tell_shortage(cradle_heap *heap, size_t size, crd_text *text) {
  const crd_old *old = &heap->old;
  size_t max = heap->options.heap_max_bytes, arenas = old->arenas.committed_count * ARENA_BYTES;
  crd_text_format(text, "; old objects %" PRIu64 " bytes, %" PRIu64 " of them large, in arenas of %zu; nursery %zu; ",
                  old->used_bytes, old->large_bytes, arenas, heap->nursery.bytes);
  if (max != 0)
    crd_text_format(text, "maximum heap %zu (CRADLE_GC_MAX)", max);
  else
    crd_text_format(text, "no maximum heap: the system refused");
  if (heap->options.on_out_of_memory == NULL) crd_abort("cradle: ", text->buffer);
  cradle_mutator *mutator = heap->mutator == NULL ? NULL : &heap->mutator->public;
  heap->options.on_out_of_memory(heap->options.handler_data, mutator, size, text->buffer);
  crd_misuse(NULL, "the out-of-memory handler returned; it must not");
}

void crd_out_of_memory(cradle_heap *heap, const char *what, size_t size) {
  crd_text text = {.length = 0};
  if (size == SIZE_MAX)
    crd_text_format(&text, "%s: out of memory: an array beyond all addresses asked for", what);
  else
    crd_text_format(&text, "%s: out of memory: %zu bytes asked for", what, size);
  tell_shortage(heap, size, &text);
}

void crd_out_of_room(cradle_heap *heap, const char *what, const char *thing) {
  crd_text text = {.length = 0};
  crd_text_format(&text, "%s: out of memory: no room for another %s", what, thing);
  tell_shortage(heap, 0, &text);
}

/* --- errors --- */

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
