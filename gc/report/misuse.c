#include "gc/report/misuse.h"

#include <cradle/inspect.h>
#include <string.h>

#define CRADLE_WITHOUT_PLACES 1 /* the functions themselves are here */
#include <cradle/detail/call.h>

#include "gc/platform/limits.h"
#include "gc/report/report.h"

/* At most so many bytes from the end of a path are reported. */
#define PLACE_MOST 160

CRD_THREAD_LOCAL crd_call crd_running_call = {NULL, NULL};

void cradle_call_end(const char *const *outer) {
  crd_running_call.place = outer == NULL ? NULL : *outer;
}

/* Adds the place to a message, and forgets it, because a handler may leave the call by longjmp. */
static void leave_call(crd_text *text) {
  const char *place = crd_running_call.place;
  crd_running_call.place = NULL;
  if (place == NULL) return;
  size_t length = strlen(place);
  bool cut = length > PLACE_MOST;
  crd_text_format(text, "; in the call at %s%s", cut ? "..." : "", cut ? place + length - PLACE_MOST : place);
}

crd_message crd_message_of(const crd_text *first, const crd_text *second, const crd_text *third) {
  crd_text place = {.length = 0};
  const crd_text *const parts[] = {first, second, third, &place};
  crd_message message;
  size_t length = 0;
  leave_call(&place);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i] == NULL) continue;
    memcpy(message.words + length, parts[i]->buffer, parts[i]->length);
    length += parts[i]->length;
  }
  message.words[length] = '\0';
  return message;
}

void crd_misuse_with(cradle_heap *heap, const crd_text *text, const crd_text *more,
                     void (*last)(const cradle_heap *heap)) {
  /* The message is complete before the handler runs, because the handler may longjmp. */
  crd_message message = crd_message_of(text, more, NULL);
  const cradle_options *options = heap == NULL ? NULL : heap_report(heap)->options;
  if (options != NULL && options->on_misuse != NULL) {
    heap_report(heap)->let_go(heap);
    options->on_misuse(options->user, message.words);
    crd_abort("cradle: the misuse handler returned after: ", message.words);
  }
  crd_say("cradle: misuse: ", message.words);
  if (last != NULL) last(heap);
  crd_abort_here();
}

void crd_misuse(cradle_heap *heap, const char *format, ...) {
  crd_text text = {.length = 0};
  va_list list;
  va_start(list, format);
  crd_text_format_list(&text, format, list);
  va_end(list);
  crd_misuse_with(heap, &text, NULL, NULL);
}

void cradle_misuse(cradle_heap *heap, const char *message) {
  crd_misuse(heap, "%s", message);
}

void crd_text_limit(crd_text *text, size_t bytes) {
  crd_limit limit = crd_limits_blame(bytes);
  if (limit.name == NULL)
    crd_text_format(text, "the system refused it");
  else if (limit.bytes == 0)
    crd_text_format(text, "%s (%s)", limit.name, limit.remedy);
  else
    crd_text_format(text, "%s is %llu bytes (%s)", limit.name, limit.bytes, limit.remedy);
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
