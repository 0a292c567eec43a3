#include "gc/base/bits.h"
#include "gc/old/closed.h"
#include "gc/old/span.h"

typedef struct recount {
  uint64_t large, class_used[SIZE_CLASS_MAX]; /* bytes */
  uint32_t class_spans[SIZE_CLASS_MAX];
  uint32_t with_room[SIZE_CLASS_MAX]; /* swept spans with a free place, without open ones */
  uint64_t pages;                     /* of spans */
  uint32_t closed_pages;              /* taken although they belong to no span */
  uint32_t young_large;               /* objects */
  bool marking;                       /* mark bits may be set */
} recount;

/* class NULL: a large object's span, where only bit 0 of the first word may be set. */
static const char *check_bits(span_bits bits, const crd_size_class *class, bool marks, uint64_t *objects) {
  for (uint32_t i = 0; i < bits.words; i++) {
    uint64_t starts = class != NULL ? size_class_starts(class, i) : i == 0;
    if (bits.allocated[i] & ~starts) return "an allocation bit lies off an object's start [span.2]";
    if (bits.marks[i] & ~(marks ? bits.allocated[i] : 0)) return "a mark bit is set where none may be [span.4]";
    *objects += count_bits(bits.allocated[i]);
  }
  return NULL;
}

/* Whether a small span with so many objects must be in the partial list of its class [span.3]. */
static bool has_room(const crd_old *old, uint32_t page, uint64_t objects) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  return objects < old->classes.of[entry->size_class].objects && !old_is_unswept(old, entry) &&
         old->spans[entry->size_class].open != page && !old_is_sealed(old, arenas_page_address(&old->arenas, page));
}

static const char *check_span(const crd_old *old, uint32_t page, recount *counted) {
  const crd_page *entry = arenas_page(&old->arenas, page);
  const crd_size_class *class = entry->state == PAGE_SMALL ? &old->classes.of[entry->size_class] : NULL;
  if ((class != NULL && entry->pages != class->pages) || entry->head != page)
    return "a span's page entry does not match its class";
  bool sealed = old_is_sealed(old, arenas_page_address(&old->arenas, page));
  if (!sealed) counted->pages += entry->pages;
  uint64_t objects = 0;
  bool marks = counted->marking || old_is_unswept(old, entry) || sealed;
  const char *fault = check_bits(old_bits_of(old, page, entry->pages), class, marks, &objects);
  if (fault != NULL) return fault;
  if (class == NULL) {
    counted->large += (uint64_t)entry->pages << PAGE_SHIFT;
    counted->young_large += entry->state != PAGE_LARGE;
    return objects == 1 ? NULL : "a large object has no allocation bit [span.2]";
  }
  counted->class_used[entry->size_class] += objects * class->bytes;
  counted->class_spans[entry->size_class]++;
  counted->with_room[entry->size_class] += has_room(old, page, objects);
  return NULL;
}

static const char *check_partial(const crd_old *old, uint32_t size_class, const recount *counted) {
  uint32_t listed = 0, with_room = 0;
  for (uint32_t page = old->spans[size_class].partial; page != PAGE_NONE;
       page = arenas_page(&old->arenas, page)->next) {
    const crd_page *entry = arenas_page(&old->arenas, page);
    if (entry->state != PAGE_SMALL || entry->size_class != size_class)
      return "a partial list holds a span of another class [span.3]";
    if (old_is_unswept(old, entry)) return "a partial list holds a span that has not been swept [span.6]";
    if (page == old->spans[size_class].open) return "a partial list holds the open span of its class [span.3]";
    if (++listed > counted->class_spans[size_class]) return "a partial list has a span twice [span.3]";
    with_room += has_room(old, page, crd_old_count_taken(old, page));
  }
  return with_room == counted->with_room[size_class] ? NULL : "a span with room is not in its partial list [span.3]";
}

static const char *check_young_large(const crd_old *old, const recount *counted) {
  uint32_t listed = 0;
  for (uint32_t page = old->young_large; page != PAGE_NONE; page = arenas_page(&old->arenas, page)->next)
    if (arenas_page(&old->arenas, page)->state < PAGE_LARGE_YOUNG || ++listed > counted->young_large)
      return "the list of young large objects has another one, or one twice [large.1]";
  return listed == counted->young_large ? NULL : "a young large object is not in its list [large.1]";
}

static const char *check_counts(const crd_old *old, const recount *counted) {
  uint64_t taken = 0, used = counted->large;
  for (uint32_t i = 0; i < old->arenas.used_end; i++)
    if (old->arenas.states[i] == ARENA_USED && !(old->arenas.origins[i] & ARENA_SEALED))
      taken += ARENA_PAGES - old->arenas.meta[i].free_pages;
  if (taken != counted->pages + counted->closed_pages)
    return "pages are taken that are no span's and not closed [closed.1]";
  for (uint32_t i = 0; i < old->classes.count; used += counted->class_used[i++])
    if (old->spans[i].used_bytes != counted->class_used[i] || old->spans[i].count != counted->class_spans[i])
      return "a size class's counts do not match its spans [span.5]";
  if (counted->large != old->large_bytes) return "the bytes of large objects do not match their pages [large.2]";
  return used == old->used_bytes ? NULL : "used bytes do not match the allocation bits [span.5]";
}

const char *crd_old_check(const crd_old *old) {
  recount counted = {.marking = old->born_marked};
  const char *fault = NULL;
  for (uint32_t page = crd_old_next_span(old, 0); page != PAGE_NONE && fault == NULL; page = old_span_after(old, page))
    fault = check_span(old, page, &counted);
  const crd_arenas *arenas = &old->arenas;
  if (fault == NULL) fault = crd_arenas_check(arenas);
  if (fault == NULL) fault = crd_closed_check(arenas, &counted.closed_pages);
  if (fault == NULL) fault = check_counts(old, &counted);
  for (uint32_t i = 0; i < old->classes.count && fault == NULL; i++) fault = check_partial(old, i, &counted);
  return fault != NULL ? fault : check_young_large(old, &counted);
}
