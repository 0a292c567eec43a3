#include "gc/misuse.h"

#include <cradle/inspect.h>
#include <inttypes.h>
#include <string.h>

#define CRADLE_WITHOUT_PLACES 1 /* the functions themselves are here */
#include <cradle/detail/call.h>

#include "gc/heap.h"
#include "gc/instruments/history.h"
#include "gc/platform/limits.h"

/* --- places --- */

/* At most so many bytes from the end of a path are reported. */
#define PLACE_MOST 160

/* The place of the innermost call that runs on this thread. */
static CRD_THREAD_LOCAL const char *call_place;

/* The calling function's frame, while there is a place. It is not set again when a call that was made for an argument
 * ends: it is then lower than the outer call's, and tells less, but nothing wrong. */
static CRD_THREAD_LOCAL const void *call_frame;

const char *cradle_call_begin(const char *place, const void *frame) {
  const char *outer = call_place;
  call_place = place;
  call_frame = frame;
  return outer;
}

void cradle_call_end(const char *const *outer) {
  call_place = outer == NULL ? NULL : *outer;
}

const char *crd_call_place(void) {
  return call_place;
}

uintptr_t crd_call_frame(void) {
  return call_place == NULL ? 0 : address_of(call_frame);
}

void crd_forget_frame(void) {
  call_frame = NULL;
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

/* The parts of a message, one behind the other. A single crd_text would be too short for all of them, and would cut
 * the last, which is the place. */
typedef struct message {
  char words[4 * sizeof(((crd_text *)0)->buffer)];
} message;

static message message_of(const crd_text *first, const crd_text *second, const crd_text *third) {
  crd_text place = {.length = 0};
  const crd_text *const parts[] = {first, second, third, &place};
  message message;
  size_t length = 0;
  crd_leave_call(&place);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (parts[i] == NULL) continue;
    memcpy(message.words + length, parts[i]->buffer, parts[i]->length);
    length += parts[i]->length;
  }
  message.words[length] = '\0';
  return message;
}

/* wrong: what the verifier's history adds, or NULL. */
static CRADLE_COLD _Noreturn void tell(cradle_heap *heap, const crd_text *text, const crd_text *wrong) {
  /* The message is complete before the handler runs, because the handler may longjmp. */
  message message = message_of(text, wrong, NULL);
  if (heap != NULL && heap->options.on_misuse != NULL) {
    heap->options.on_misuse(heap->options.handler_data, message.words);
    crd_abort("cradle: the misuse handler returned after: ", message.words);
  }
  crd_say("cradle: misuse: ", message.words);
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

void cradle_misuse(cradle_heap *heap, const char *message) {
  crd_misuse(heap, "%s", message);
}

void crd_misuse_found(cradle_heap *heap, const crd_text *fault, bool before) {
  crd_text wrong = {.length = 0};
  crd_history_wrong(heap, before, &wrong);
  tell(heap, fault, &wrong);
}

/* --- out of memory --- */

void crd_text_limit(crd_text *text, size_t bytes) {
  crd_limit limit = crd_limits_blame(bytes);
  if (limit.name == NULL)
    crd_text_format(text, "the system refused it");
  else if (limit.bytes == 0)
    crd_text_format(text, "%s (%s)", limit.name, limit.remedy);
  else
    crd_text_format(text, "%s is %llu bytes (%s)", limit.name, limit.bytes, limit.remedy);
}

/* The old generation's addresses are few because the process may have few: heaps take a share of what is left. */
static void add_shared_limit(const crd_arenas *arenas, crd_text *text) {
  if (arenas->refused_bytes == 0) return;
  crd_limit limit = crd_limits_blame_addresses(arenas->refused_bytes);
  if (limit.bytes != 0)
    crd_text_format(text, ", a share of what %s, %llu bytes, leaves (%s)", limit.name, limit.bytes, limit.remedy);
}

/* What stands in the way of so many bytes, in the order in which a heap meets it: the maximum heap, the end of the
 * reserved addresses, a limit of the system. The promotion reserve needs its room, too. */
static void add_limit(const cradle_heap *heap, size_t bytes, crd_text *text) {
  const crd_arenas *arenas = &heap->old.arenas;
  size_t more = bytes / ARENA_BYTES + 1 + heap->old.reserve, room = arenas->limit - arenas_in_use(arenas);
  if (more > room && arenas->limit < arenas->capacity)
    crd_text_format(text, "maximum heap %zu (CRADLE_GC_MAX)", heap->options.heap_max_bytes);
  else if (more > room) {
    crd_text_format(text, "the old generation's addresses, %zu, are used up (CRADLE_GC_RESERVE)", arenas->bytes);
    add_shared_limit(arenas, text);
  } else
    crd_text_limit(text, bytes < ARENA_BYTES ? ARENA_BYTES : bytes);
}

/* Adds to the message what holds the memory and what limits it, and hands the message over. */
static CRADLE_COLD void tell_shortage(cradle_heap *heap, size_t size, const crd_text *text) {
  const crd_old *old = &heap->old;
  size_t arenas = old->arenas.committed_count * ARENA_BYTES;
  uint32_t kept = old->arenas.free_count < old->reserve ? old->arenas.free_count : old->reserve;
  crd_text held = {.length = 0}, limit = {.length = 0};
  crd_text_format(&held, "; old objects %" PRIu64 " bytes, %" PRIu64 " of them large, in arenas of %zu",
                  old->used_bytes, old->large_bytes, arenas);
  if (kept != 0) crd_text_format(&held, ", %zu of these bytes kept free for promotion", kept * ARENA_BYTES);
  crd_text_format(&held, "; nursery %zu; ", heap->nursery.bytes);
  add_limit(heap, size, &limit);
  message message = message_of(text, &held, &limit);
  if (heap->options.on_out_of_memory == NULL) crd_abort("cradle: ", message.words);
  cradle_mutator *mutator = heap->mutator == NULL ? NULL : &heap->mutator->public;
  heap->options.on_out_of_memory(heap->options.handler_data, mutator, size, message.words);
}

void crd_out_of_memory(cradle_heap *heap, const char *what, size_t size) {
  crd_text text = {.length = 0};
  if (size == SIZE_MAX)
    crd_text_format(&text, "%s: out of memory: an array whose size overflows was asked for", what);
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

/* --- words --- */

crd_type_words crd_show_name(const char *name) {
  enum { NAME_ROOM = 100 }; /* "type 4294967295 ()" stands around it */
  crd_type_words words;
  if (name == NULL) name = "without a name";
  (void)crd_show_text(words.buffer, NAME_ROOM, name, strlen(name));
  return words;
}

static crd_type_words type_words(const crd_text *text) {
  crd_type_words words;
  memcpy(words.buffer, text->buffer, sizeof words.buffer);
  words.buffer[sizeof words.buffer - 1] = '\0';
  return words;
}

crd_type_words crd_name_type(const cradle_heap *heap, uint32_t type) {
  crd_text text = {.length = 0};
  const char *name = type < heap->types.count ? heap->types.types[type].name : NULL;
  crd_text_format(&text, name == NULL ? "type %u" : "type %u (%s)", type,
                  name == NULL ? NULL : crd_show_name(name).buffer);
  return type_words(&text);
}

/* Whether the header of an object can be read: what a program gives by mistake may be anything. */
static bool is_object(const cradle_heap *heap, const void *object) {
  uintptr_t address = address_of(object);
  if (address % CRADLE_OBJECT_ALIGNMENT != 0) return false;
  if (address - address_of(heap->nursery.start) < nursery_filled(heap)) return true;
  return crd_old_is_object(&heap->old, address);
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
