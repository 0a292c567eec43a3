#include "gc/misuse.h"

#include <string.h>

#define CRADLE_WITHOUT_PLACES 1 /* the functions themselves are here */
#include <cradle/detail/places.h>

#include "gc/base/address.h"
#include "gc/base/check.h"
#include "gc/base/text.h"
#include "gc/heap.h"
#include "gc/instruments/history.h"
#include "gc/old/arena.h"
#include "gc/old/span.h"

/* --- places --- */

/* Of a path, so many bytes of its end are told. */
#define PLACE_MOST 160

/* Where the innermost call that is under way stands. */
static _Thread_local const char *call_place __attribute__((tls_model("initial-exec")));

const char *cradle_call_begin(const char *place) {
  const char *outer = call_place;
  call_place = place;
  return outer;
}

void cradle_call_end(const char *const *outer) {
  call_place = outer == NULL ? NULL : *outer;
}

const char *crd_call_place(void) {
  return call_place;
}

void crd_leave_call(crd_text *text) {
  const char *place = call_place;
  call_place = NULL;
  if (place == NULL) return;
  size_t length = strlen(place);
  bool cut = length > PLACE_MOST;
  crd_text_format(text, "; in the call at %s%s", cut ? "..." : "", cut ? place + length - PLACE_MOST : place);
}

/* --- misuse and errors --- */

/* wrong: what the verifier's history adds, or NULL. */
static CRADLE_COLD _Noreturn void tell(cradle_heap *heap, const crd_text *text, const crd_text *wrong) {
  crd_text place = {.length = 0};
  const crd_text *const parts[] = {text, wrong, &place};
  char message[3 * sizeof text->buffer];
  size_t length = 0;
  crd_leave_call(&place);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i] == NULL) continue;
    memcpy(message + length, parts[i]->buffer, parts[i]->length);
    length += parts[i]->length;
  }
  message[length] = '\0';
  if (heap != NULL && heap->options.on_misuse != NULL) {
    heap->options.on_misuse(heap->options.handler_data, message);
    crd_abort("cradle: the misuse handler returned after: ", message);
  }
  crd_say("cradle: misuse: ", message);
  if (wrong != NULL) crd_history_write(heap);
  crd_abort_here();
}

void crd_misuse(cradle_heap *heap, const char *format, ...) {
  crd_text text = {.length = 0};
  va_list list;
  va_start(list, format);
  crd_text_format_list(&text, format, list);
  va_end(list);
  tell(heap, &text, NULL);
}

void crd_misuse_found(cradle_heap *heap, const crd_text *fault, bool before) {
  crd_text wrong = {.length = 0};
  crd_history_wrong(heap, before, &wrong);
  tell(heap, fault, &wrong);
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

/* --- words --- */

static crd_type_words type_words(const crd_text *text) {
  crd_type_words words;
  memcpy(words.buffer, text->buffer, sizeof words.buffer);
  words.buffer[sizeof words.buffer - 1] = '\0';
  return words;
}

crd_type_words crd_name_type(const cradle_heap *heap, uint32_t type) {
  crd_text text = {.length = 0};
  const char *name = type < heap->types.count ? heap->types.types[type].name : NULL;
  crd_text_format(&text, name == NULL ? "type %u" : "type %u (%s)", type, name);
  return type_words(&text);
}

/* Whether its header can be read: what a program gives by mistake may be anything. */
static bool is_object(const cradle_heap *heap, const void *object) {
  uintptr_t address = address_of(object);
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  if (address - address_of(heap->nursery.start) < nursery_filled(heap)) return true;
  return arenas_contain(&heap->old.arenas, address) && crd_old_is_object(&heap->old, address);
}

crd_type_words crd_name_object(const cradle_heap *heap, const void *object) {
  crd_text text = {.length = 0};
  if (object == NULL)
    crd_text_format(&text, "NULL");
  else if (is_object(heap, object))
    crd_text_format(&text, "%s at %p", crd_name_type(heap, cradle_type_of(object)).buffer, object);
  else
    crd_text_format(&text, "%p, which is no object of this heap", object);
  return type_words(&text);
}
