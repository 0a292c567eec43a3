/* Tests the verifier's messages about the collector's own structures: each structure is broken in one place, checked
 * and repaired. test_instruments.c tests the messages about objects and roots that an embedder broke. */
#include <inttypes.h>

#include "tests/support/allocated.h"
#include "tests/support/services.h"
#include "tests/support/waiting.h"

#include "tests/inside.h"

static fixture f;

static int open_heap(void **state) {
  (void)state;
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false;
  options.gc_threads = 0; /* tests stop marking in the middle */
  fixture_open_with(&f, &options);
  for (uint32_t i = 0; i < T_SERVICES - T_COUNT; i++)
    assert_int_equal(cradle_type_add(f.heap, &service_types[i]), T_COUNT + i);
  return 0;
}

static int close_heap(void **state) {
  (void)state;
  assert_heap_sound(f.heap);
  fixture_close(&f);
  return 0;
}

static void assert_unsound(const char *words) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  if (strstr(error.message, words) == NULL) fail_msg("the message is \"%s\", without \"%s\"", error.message, words);
  if (strstr(error.message, "; last collection: ") == NULL)
    fail_msg("\"%s\" does not name the collection", error.message);
}

/* Breaks one place, runs the verifier, and repairs the place. */
#define PLANT(place, broken, words) \
  do { \
    __typeof__(place) whole_ = (place); \
    (place) = (__typeof__(place))(broken); \
    assert_unsound(words); \
    (place) = whole_; \
  } while (0)

#define ADDRESS(object) ((uintptr_t)(object))

/* --- bounds --- */

static void stacks_keep_their_order(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  cradle_store(f.m, p, &p->first, new_pair(&f, NULL)); /* so that the remembered set is not empty */
  crd_word_stack *remembered = &inside_local(f.heap)->remembered, *mark_stack = inside_mark_stack(f.heap);
  PLANT(remembered->top, remembered->limit + 1, "the remembered set's bounds are out of order [word_stack.1]");
  PLANT(remembered->limit, remembered->end + 1, "the remembered set's bounds are out of order [word_stack.1]");
  PLANT(inside_local(f.heap)->recorded.top, inside_local(f.heap)->recorded.base - 1,
        "the bounds of the recorded slots are out of order");
  PLANT(mark_stack->base, mark_stack->top + 1, "the mark stack's bounds are out of order [word_stack.1]");
  PLANT(mark_stack->top, mark_stack->top + 1, "the mark stack holds objects while nothing marks");
}

static void the_nursery_keeps_its_bounds(void **state) {
  (void)state;
  crd_nursery *nursery = inside_nursery(f.heap);
  crd_old *old = inside_old(f.heap);
  PLANT(nursery->end, nursery->start - 8, "the nursery's bounds are out of order [nursery.1]");
  PLANT(nursery->slack_end, nursery->end - 8, "the nursery's bounds are out of order [nursery.1]");
  PLANT(nursery->committed_bytes, 8, "the nursery's bounds are out of order [nursery.1]");
  PLANT(f.m->free, nursery->slack_end + 8, "free lies outside of the nursery [nursery.1]");
  PLANT(f.m->free, f.m->free + 4, "free is not aligned");
  PLANT(f.m->top, nursery->end + 8, "top is above the nursery's end");
  PLANT(old->reserve, old->arenas.free_count + 1, "arenas of the promotion reserve are not FREE [heap.2]");
  PLANT(old->reserve, 0, "the promotion reserve is too small for the nursery [nursery.2]");
}

static void the_mutator_keeps_its_bounds(void **state) {
  (void)state;
  PLANT(f.m->shadow_top, f.m->shadow_limit + 1, "the shadow stack's top lies outside of it [mutator.3]");
  PLANT(f.m->shadow_top, f.m->shadow_base - 1, "the shadow stack's top lies outside of it [mutator.3]");
  PLANT(f.m->shadow_watermark, f.m->shadow_top + 1, "the shadow stack's watermark lies outside of it [mutator.3]");
  PLANT(f.m->shadow_watermark, f.m->shadow_base - 1, "the shadow stack's watermark lies outside of it [mutator.3]");
  PLANT(f.m->scoped_top, f.m->scoped_limit + 1, "the top of the scoped roots lies outside of their stack [mutator.7]");
  PLANT(f.m->scoped_base[-1], 8, "the top of the scoped roots lies outside of their stack [mutator.7]");
  PLANT(f.m->registered, f.m->registered_end + 1, "more objects are registered than there is room for");
  PLANT(inside_local(f.heap)->registered, &inside_local(f.heap)->fresh.top,
        "what a mutator registered is another's, or lies outside of its list [local.3]");
}

static void allocators_keep_to_their_spans(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  crd_old *old = inside_old(f.heap);
  uint32_t size_class = old_span_of(old, ADDRESS(p))->size_class;
  crd_allocator *allocator = &old->leader.allocators[size_class];
  assert_true(allocator->free < allocator->end);
  char *span = (char *)old_page_start(old, old->spans[size_class].open);
  PLANT(allocator->free, allocator->end + sizeof *p, "an allocator's run lies outside of its span [span.1]");
  PLANT(allocator->free, span - sizeof *p, "an allocator's run lies outside of its span [span.1]");
  PLANT(allocator->end, span + 100000 * sizeof *p, "an allocator's run lies outside of its span [span.1]");
  PLANT(allocator->free, allocator->free + 8, "an allocator's run begins or ends inside a place [span.1]");
  PLANT(allocator->end, allocator->end - 8, "an allocator's run begins or ends inside a place [span.1]");
  PLANT(old->born_marked, true, "new old objects are marked while nothing marks, or the reverse [span.7]");
}

static void root_ranges_keep_their_order(void **state) {
  (void)state;
  void *words[5] = {NULL}, **base = words + 1, **top = words + 5;
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, "stack");
  cradle_root_range_add(f.m, &range);
  PLANT(top, words, "root range stack: its base variable holds 0x");
  PLANT(top, words, ": the base is above the top; CRADLE_ROOT_RANGE takes the variables; last collection: ");
  top = words + 4; /* the words beside the range are other roots */
  cradle_global_root_add(f.heap, &words[0], CRADLE_KIND_REFERENCE);
  cradle_global_root_add(f.heap, &words[4], CRADLE_KIND_REFERENCE);
  PLANT(words[0], 21, "no reference: 0x15 in the global root at ");
  PLANT(words[1], 21, "no reference: 0x15 in root range stack, index 0 at ");
  PLANT(words[3], 21, "no reference: 0x15 in root range stack, index 2 at ");
  PLANT(words[4], 21, "no reference: 0x15 in the global root at ");
  cradle_global_root_remove(f.heap, &words[0]);
  cradle_global_root_remove(f.heap, &words[4]);
  cradle_root_range_remove(f.m, &range);
}

/* What such a word refers to need not be an object any more. But the word is the cause, so it is what the message
 * names. */
static void words_that_count_as_unchanged_are_named(void **state) {
  (void)state;
  cradle_push(f.m, NULL);
  cradle_push(f.m, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_ptr_equal(f.m->shadow_watermark, f.m->shadow_top);
  PLANT(f.m->shadow_base[0], ADDRESS(f.m->free),
        "a shadow-stack word that counts as unchanged refers to a young object");
  PLANT(f.m->shadow_base[1], ADDRESS(f.m->free),
        "a shadow-stack word that counts as unchanged refers to a young object");
  cradle_pop_many(f.m, 2);
}

/* --- arenas and spans --- */

static void free_pages_are_empty(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  crd_arena *arena = arenas_of(&inside_old(f.heap)->arenas, ADDRESS(p));
  uint32_t page = ARENA_PAGES - 1;
  assert_true(arena->free_map[page / 64] >> page % 64 & 1);
  PLANT(arena->pages[page].head, 1, "a free page has an entry [arena.5]");
  PLANT(arena->marks[ARENA_BITMAP_WORDS - 1], 1, "a bit is set in a free page [arena.5]");
  PLANT(arena->allocated[ARENA_BITMAP_WORDS - 8], 1, "a bit is set in a free page [arena.5]");
}

static void arenas_are_recounted(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_heap_sound(f.heap);
  crd_arenas *arenas = &inside_old(f.heap)->arenas;
  crd_arena *arena = arenas_of(arenas, ADDRESS(p));
  uint32_t index = (uint32_t)(arena - arenas->meta);
  PLANT(arena->free_pages, arena->free_pages - 1, "an arena's free pages do not match its map [arena.4]");
  PLANT(arena->longest, arena->longest - 1, "an arena's free pages do not match its map [arena.4]");
  PLANT(arenas->free_count, arenas->free_count + 1, "arena counts do not match their states [arena.2]");
  PLANT(arenas->committed_count, arenas->committed_count + 1, "arena counts do not match their states [arena.2]");
  PLANT(arenas->pool_count, 1, "the count of arenas from the pool does not match their origins");
  PLANT(arenas->used_end, index, "[arena.3]");
  PLANT(arenas->origins[index], arenas->origins[index] ^ ARENA_FROM_POOL, "the count of arenas from the pool");
  PLANT(arenas->states[arenas->committed_end - 1], ARENA_RESERVED, "[arena.2]");
  arenas->origins[arenas->committed_end] = ARENA_TOUCHED;
  PLANT(arenas->committed_end, arenas->committed_end + 1, "a reserved arena has an origin");
  arenas->origins[arenas->committed_end] = 0;
  bool clean;
  uint32_t page = crd_arenas_take(arenas, 1, 0, &clean);
  assert_unsound("pages are taken that are no span's and not closed [closed.1]");
  crd_arenas_give_back(arenas, page, 1);
  for (int room = 0; room < ARENA_BUCKETS; room++)
    for (int longest = 0; longest < ARENA_BUCKETS; longest++)
      if (arenas->lists[room][longest] == index)
        PLANT(arenas->lists[room][longest], arena->next, "the arenas' lists lost or doubled an arena [arena.4]");
  PLANT(arena->next, index, "the arenas' lists lost or doubled an arena [arena.4]");
}

static void spans_are_recounted(void **state) {
  (void)state;
  pair *list = NULL;
  string *text = cradle_new_array(f.m, T_STRING, 100);
  CRADLE_ROOT(f.m, list);
  CRADLE_ROOT(f.m, text);
  for (int i = 0; i < 1000; i++) list = new_pair(&f, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  assert_heap_sound(f.heap);
  crd_old *old = inside_old(f.heap);
  uint32_t page = old_span_of(old, ADDRESS(list))->head, other = old_span_of(old, ADDRESS(text))->head;
  crd_page *span = arenas_page(&old->arenas, page);
  crd_arena *arena = arenas_of(&old->arenas, ADDRESS(list));
  size_t word = arena_bit_word(ADDRESS(list));
  uint8_t class = span->size_class;
  PLANT(span->head, page + 1, "a span's page entry does not match its class");
  PLANT(arena->allocated[word], arena->allocated[word] | arena_bit_mask(ADDRESS(list) + 8),
        "an allocation bit lies off an object's start [span.2]");
  PLANT(arena->allocated[word], arena->allocated[word] & ~arena_bit_mask(ADDRESS(list)), "[span.5]");
  PLANT(arena->marks[word], arena_bit_mask(ADDRESS(list)), "a mark bit is set where none may be [span.4]");
  PLANT(old->spans[class].used_bytes, old->spans[class].used_bytes + 8,
        "a size class's counts do not match its spans [span.5]");
  PLANT(old->spans[class].count, old->spans[class].count - 1, "a size class's counts do not match its spans [span.5]");
  PLANT(old->used_bytes, old->used_bytes + 8, "used bytes do not match the allocation bits [span.5]");
  PLANT(old->spans[class].partial, other, "a partial list holds a span of another class [span.3]");
  uint32_t partial = old->spans[arenas_page(&old->arenas, other)->size_class].partial;
  assert_int_not_equal(partial, PAGE_NONE);
  PLANT(arenas_page(&old->arenas, partial)->epoch, old->epoch - 1,
        "a partial list holds a span that has not been swept [span.6]");
}

/* A large object leaves less than a page of its place. */
static void large_objects_fill_their_places(void **state) {
  (void)state;
  uint32_t type = cradle_type_add(f.heap, &(cradle_type){.name = "pages", .size = 3 * PAGE_BYTES});
  void *large = cradle_new(f.m, type, 3 * PAGE_BYTES);
  CRADLE_ROOT(f.m, large);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  crd_type *entry = &f.heap->space.types.types[type];
  PLANT(entry->size, 2 * PAGE_BYTES, "wrong length or size of type");
  PLANT(entry->size, 3 * PAGE_BYTES + 8, "wrong length or size of type");
  uint32_t size = entry->size;
  entry->size = 2 * PAGE_BYTES + 8;
  assert_heap_sound(f.heap);
  entry->size = size;
}

/* The holder, if a reference to the object was found. */
static void faults_of_objects_name_object_and_holder(void **state) {
  (void)state;
  char words[200];
  pair *p = new_pair(&f, NULL);
  cradle_push(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  p = (pair *)*cradle_peek(f.m, 0);
  snprintf(words, sizeof words,
           "but no pin [pin.1]: type 0 (pair) at 0x%" PRIxPTR " in shadow stack, word 0 at 0x%" PRIxPTR
           "; last collection: ",
           (uintptr_t)p, (uintptr_t)f.m->shadow_base);
  PLANT(p->header, p->header | HEADER_PINNED_FLAG, words);
  *cradle_peek(f.m, 0) = 0;
  snprintf(words, sizeof words, "but no pin [pin.1]: type 0 (pair) at 0x%" PRIxPTR "; last collection: ", (uintptr_t)p);
  PLANT(p->header, p->header | HEADER_PINNED_FLAG, words);
  cradle_pop(f.m);
}

/* --- barriers --- */

static void what_is_young_and_large_is_remembered(void **state) {
  (void)state;
  vector *holder = cradle_new_array(f.m, T_VECTOR, 3);
  CRADLE_ROOT(f.m, holder);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  string *large = cradle_new_array(f.m, T_STRING, 1 << 20);
  PLANT(holder->item[0], large, "an old object that is not remembered refers to a young large one [heap.1]");
  cradle_store(f.m, holder, &holder->item[0], large);
  assert_heap_sound(f.heap);
  crd_word_stack *set = &inside_local(f.heap)->remembered;
  PLANT(set->top, set->base,
        "an old object has not the barrier flag, but is not remembered (was its header overwritten?) [heap.3]");
}

static void slots_of_arrays_are_recorded(void **state) {
  (void)state;
  vector *array = cradle_new_array(f.m, T_VECTOR, 200);
  CRADLE_ROOT(f.m, array);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  assert_true(header_records_slots(array->header));
  pair *young = new_pair(&f, NULL);
  PLANT(array->item[7], young, "an old object that is not remembered refers to a young one [heap.5]");
  cradle_store(f.m, array, &array->item[7], young);
  assert_heap_sound(f.heap);
  crd_word_stack *slots = &inside_local(f.heap)->recorded;
  PLANT(slots->top, slots->base, "an old object that is not remembered refers to a young one [heap.5]");
}

static void what_is_marked_leads_to_what_is_marked(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  vector *black = cradle_new_array(f.m, T_VECTOR, 1);
  CRADLE_ROOT(f.m, black);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  f.heap->options.pause_ns = 1;
  (void)cradle_collect_step(f.m, 0);
  pair *unmarked = list;
  while (unmarked != NULL && old_is_marked(inside_old(f.heap), ADDRESS(unmarked))) unmarked = unmarked->first;
  assert_non_null(unmarked);
  assert_heap_sound(f.heap);
  assert_true(old_is_marked(inside_old(f.heap), ADDRESS(black)));
  PLANT(black->item[0], unmarked,
        "missing write barrier while marking: a traced object refers to one that is not marked [heap.6]");
}

/* An object that the second core left to the mutator is still to be traced. */
static void what_is_put_aside_is_not_traced_yet(void **state) {
  (void)state;
  pair *list = NULL;
  CRADLE_ROOT(f.m, list);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  vector *aside = cradle_new_array(f.m, T_VECTOR, 1);
  CRADLE_ROOT(f.m, aside);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  do (void)cradle_collect_step(f.m, 0);
  while (!old_is_marked(inside_old(f.heap), ADDRESS(aside)));
  assert_int_equal(inside_major(f.heap)->phase, MAJOR_MARKING);
  pair *unmarked = list;
  while (unmarked != NULL && old_is_marked(inside_old(f.heap), ADDRESS(unmarked))) unmarked = unmarked->first;
  assert_non_null(unmarked);
  crd_word_stack *stack = &inside_marker(f.heap)->first.aside, before = *stack;
  size_t page = f.heap->hardware.page_bytes;
  assert_true(crd_word_stack_init(stack, page, page, "aside"));
  assert_true(word_stack_push(stack, ADDRESS(aside)));
  aside->item[0] = unmarked;
  assert_heap_sound(f.heap);
  crd_word_stack_fini(stack);
  *stack = before;
  assert_heap_sound(f.heap);
}

/* While a finalizer's object is brought back, the pair of an ephemeron may lead to an object whose header is open. */
static void what_is_coming_back_is_no_fault(void **state) {
  (void)state;
  enum { COUNT = 300 };
  final *dies = new_final(&f, 1, NULL);
  CRADLE_ROOT(f.m, dies);
  for (int i = 0; i < COUNT; i++) {
    pair *fresh = new_pair(&f, dies->to);
    cradle_store(f.m, dies, &dies->to, fresh);
  }
  ephemeron *pairs = new_ephemeron(&f, dies, NULL);
  CRADLE_ROOT(f.m, pairs);
  cradle_store(f.m, pairs, &pairs->value, dies->to);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  dies = NULL;
  int open = 0;
  while (finalizers_waiting(f.m, QUEUE) == 0) {
    (void)cradle_collect_step(f.m, 0);
    open += space_has_open(&f.heap->space, pairs->value);
    assert_heap_sound(f.heap);
  }
  assert_true(open > 3);
  dies = cradle_finalizer_next(f.m, QUEUE);
  assert_ptr_equal(dies->to, pairs->value);
}

/* Makes a state as if marking had missed a change behind it. The unmarked objects hang from the last root. */
static void what_marking_has_passed_leads_to_what_is_marked(void **state) {
  (void)state;
  pair *list = NULL, *pinned = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, list);
  pinned = cradle_pin(f.m, pinned);
  cradle_handle handle = cradle_handle_new(f.m, NULL);
  for (int i = 0; i < 20000; i++) list = new_pair(&f, list);
  cradle_store(f.m, pinned, &pinned->rest, list);
  list = NULL;
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  f.heap->options.pause_ns = 1;
  do (void)cradle_collect_step(f.m, 0);
  while (f.heap->tables.pins.marked_at == 0);
  assert_int_equal(inside_major(f.heap)->phase, MAJOR_MARKING);
  pair *unmarked = pinned->rest;
  while (unmarked != NULL && old_is_marked(inside_old(f.heap), ADDRESS(unmarked))) unmarked = unmarked->first;
  assert_non_null(unmarked);
  assert_heap_sound(f.heap);
  assert_int_equal(f.heap->tables.handles.marked_at, 1);
  assert_int_equal(f.heap->tables.pins.marked_at, 1);
  PLANT(handle_entry(&f.heap->tables.handles, 0)->word, ADDRESS(unmarked),
        "that marking has passed refers to an unmarked object [handle.4]");
  uint64_t *marks = &arenas_of(&inside_old(f.heap)->arenas, ADDRESS(pinned))->marks[arena_bit_word(ADDRESS(pinned))];
  cradle_handle_free(f.m, handle);
  PLANT(*marks, *marks & ~arena_bit_mask(ADDRESS(pinned)),
        "a pinned object that marking has passed is not marked [pin.3]");
  cradle_unpin(f.m, pinned);
}

/* --- tables beside the objects --- */

static void pins_are_compared(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  p = cradle_pin(f.m, p);
  pair *other = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, other);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  pair *young = new_pair(&f, NULL);
  crd_pins *pins = &f.heap->tables.pins;
  crd_address_entry *entry = crd_address_map_find(&pins->by_address, ADDRESS(p));
  PLANT(pins->by_address.count, 2, "the pins and their map disagree");
  PLANT(entry->number, 1, "a pin is not found by its object's address");
  PLANT(pins->pins[0].count, 0, "a pin that nobody holds [pin.1]");
  PLANT(p->header, p->header & ~HEADER_PINNED_FLAG, "a pinned object has not the flag [pin.1]");
  PLANT(other->header, other->header | HEADER_PINNED_FLAG, "an object has the pinned flag, but no pin [pin.1]");
  const struct {
    uintptr_t address;
    const char *words;
  } elsewhere[] = {{ADDRESS(young), "a young object is pinned [pin.2]"},
                   {ADDRESS(p) + 8, "a pinned object is gone [pin.2]"}};
  p->header &= ~HEADER_PINNED_FLAG;
  for (size_t i = 0; i < 2; i++) { /* addresses on which pin and map agree */
    crd_address_map_remove(&pins->by_address, ADDRESS(p));
    crd_address_map_insert(&pins->by_address, elsewhere[i].address, 0);
    PLANT(pins->pins[0].address, elsewhere[i].address, elsewhere[i].words);
    crd_address_map_remove(&pins->by_address, elsewhere[i].address);
    crd_address_map_insert(&pins->by_address, ADDRESS(p), 0);
  }
  p->header |= HEADER_PINNED_FLAG;
  assert_heap_sound(f.heap);
  cradle_unpin(f.m, p);
}

static void handles_are_compared(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_handle open = cradle_handle_new(f.m, p), freed = cradle_handle_new(f.m, p);
  cradle_handle_free(f.m, freed);
  crd_handles *handles = &f.heap->tables.handles;
  assert_int_equal(handles->used, 2);
  crd_handle_entry *taken = handle_entry(handles, handle_is_open(handle_entry(handles, 0)) ? 0 : 1);
  crd_handle_entry *empty = handle_entry(handles, taken == handle_entry(handles, 0) ? 1 : 0);
  PLANT(empty->word, ADDRESS(p), "a free handle holds a reference [handle.1]");
  PLANT(empty->link, HANDLE_UNLISTED, "a free handle is in no list [handle.3]");
  PLANT(taken->link, HANDLE_UNLISTED, "a handle of a young object is in no list [handle.2]");
  PLANT(handles->open_count, 2, "open handles are counted wrong");
  cradle_handle_free(f.m, open);
}

static void ids_are_compared(void **state) {
  (void)state;
  pair *old = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, old);
  pair *dead[2] = {new_pair(&f, NULL), new_pair(&f, NULL)};
  uint32_t first = (uint32_t)cradle_id(f.m, dead[0]) - 1, second = (uint32_t)cradle_id(f.m, dead[1]) - 1;
  (void)cradle_id(f.m, old);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* frees both entries; one is then used again */
  pair *young = new_pair(&f, NULL), *without = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, young);
  CRADLE_ROOT(f.m, without);
  uint32_t free_entry = (uint32_t)cradle_id(f.m, young) - 1 == first ? second : first;
  crd_ids *ids = &f.heap->tables.ids;
  crd_id_entry *of_old = &ids->entries[crd_address_map_get(&ids->by_address, ADDRESS(old))];
  crd_id_entry *of_young = &ids->entries[crd_address_map_get(&ids->by_address, ADDRESS(young))];
  PLANT(of_old->address, ADDRESS(old) + 64, "an id is not found by its object's address");
  PLANT(of_young->link, ID_UNLISTED, "a young object's id is in no list [identity.2]");
  PLANT(old->header, old->header & ~HEADER_ID_FLAG, "an id belongs to an object without the flag [identity.1]");
  PLANT(without->header, without->header | HEADER_ID_FLAG, "an object has the flag of an id, but no id [identity.1]");
  PLANT(ids->by_address.count, 3, "the ids and their map disagree");
  PLANT(ids->entries[free_entry].link, ID_UNLISTED, "a free id is in no list [identity.4]");
  uint32_t number = crd_address_map_get(&ids->by_address, ADDRESS(old));
  crd_address_map_remove(&ids->by_address, ADDRESS(old));
  crd_address_map_insert(&ids->by_address, ADDRESS(old) + 8, number);
  uint64_t header = old->header;
  old->header &= ~HEADER_ID_FLAG;
  PLANT(of_old->address, ADDRESS(old) + 8, "an id belongs to what is no object [identity.1]");
  old->header = header;
  crd_address_map_remove(&ids->by_address, ADDRESS(old) + 8);
  crd_address_map_insert(&ids->by_address, ADDRESS(old), number);
}

static void lists_of_services_are_compared(void **state) {
  (void)state;
  weak *old = new_weak(&f, NULL);
  CRADLE_ROOT(f.m, old);
  pair *plain = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, plain);
  ephemeron *pairs = new_ephemeron(&f, old, NULL);
  CRADLE_ROOT(f.m, pairs);
  final *lives = new_final(&f, 2, NULL);
  CRADLE_ROOT(f.m, lives);
  file *owner = new_file(&f, NULL, 0);
  CRADLE_ROOT(f.m, owner);
  (void)new_final(&f, 1, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR); /* the last object with a finalizer now waits in its queue */
  weak *young = new_weak(&f, NULL);
  CRADLE_ROOT(f.m, young);
  crd_services *services = inside_services(f.heap);
  cradle_word *listed = services->lists[REGISTERED_WEAK].words.base;
  assert_heap_sound(f.heap);
  *f.m->registered = ADDRESS(f.m->free);
  PLANT(f.m->registered, f.m->registered + 1,
        "what is no object was registered since the last minor collection [services.1]");
  PLANT(f.m->registered, inside_local(f.heap)->fresh.base,
        "an object of a type with services was not registered when it was allocated");
  PLANT(f.m->registered_end, inside_local(f.heap)->fresh.limit,
        "more objects may be registered than the lists have room for [services.3]");
  PLANT(*listed, ADDRESS(old) + 8, "a list of registered objects holds what is no object [services.1]");
  PLANT(*listed, ADDRESS(young), "an entry of a list is young [services.1]");
  PLANT(*listed, ADDRESS(plain), "an object is registered in a list that its type does not have [services.1]");
  for (int kind = 0; kind < REGISTERED_KINDS; kind++) {
    assert_true(services->lists[kind].words.top > services->lists[kind].words.base);
    PLANT(*services->lists[kind].words.base, ADDRESS(old) + 8,
          "a list of registered objects holds what is no object [services.1]");
  }
  PLANT(*services->queues[QUEUE - 1].head, ADDRESS(plain) + 8, "a finalizer queue holds what is no object");
  PLANT(old->header, old->header & ~HEADER_WEAK_FLAG,
        "an object of a type with services was not registered when it was allocated");
}

/* Faults are found in the first queue, the last, and those between. */
static void each_queue_is_looked_at(void **state) {
  (void)state;
  pair *plain = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, plain);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++)
    cradle_finalizer_register(f.m, new_pair(&f, NULL), queue);
  cradle_collect(f.m, CRADLE_COLLECT_FULL);
  for (uint32_t queue = 1; queue <= CRADLE_FINALIZER_QUEUES; queue++) {
    assert_int_equal(finalizers_waiting(f.m, queue), 1);
    PLANT(*inside_services(f.heap)->queues[queue - 1].head, ADDRESS(plain) + 8,
          "a finalizer queue holds what is no object");
  }
}

/* Neither a verification that finds nothing leaves memory behind, nor one that finds a fault, early or late. */
static void verifications_leave_no_memory_behind(void **state) {
  (void)state;
  pair *p = new_pair(&f, NULL);
  CRADLE_ROOT(f.m, p);
  cradle_collect(f.m, CRADLE_COLLECT_MINOR);
  for (int i = 0; i < 100; i++) (void)new_pair(&f, p);
  cradle_error error;
  size_t before = 0;
  for (int i = 0; i < 500; i++) {
    if (i == 100) before = allocated_bytes();
    assert_true((cradle_heap_verify)(f.heap, &error));
    p->header ^= HEADER_PINNED_FLAG;
    assert_false((cradle_heap_verify)(f.heap, &error));
    p->header ^= HEADER_PINNED_FLAG;
    f.m->shadow_watermark--;
    assert_false((cradle_heap_verify)(f.heap, &error));
    f.m->shadow_watermark++;
  }
  assert_true(allocated_bytes() < before + 4096);
}

#define WITH_HEAP(test) cmocka_unit_test_setup_teardown(test, open_heap, close_heap)

int main(void) {
  const struct CMUnitTest tests[] = {
      WITH_HEAP(stacks_keep_their_order),
      WITH_HEAP(the_nursery_keeps_its_bounds),
      WITH_HEAP(the_mutator_keeps_its_bounds),
      WITH_HEAP(allocators_keep_to_their_spans),
      WITH_HEAP(root_ranges_keep_their_order),
      WITH_HEAP(words_that_count_as_unchanged_are_named),
      WITH_HEAP(arenas_are_recounted),
      WITH_HEAP(free_pages_are_empty),
      WITH_HEAP(spans_are_recounted),
      WITH_HEAP(large_objects_fill_their_places),
      WITH_HEAP(faults_of_objects_name_object_and_holder),
      WITH_HEAP(what_is_young_and_large_is_remembered),
      WITH_HEAP(slots_of_arrays_are_recorded),
      WITH_HEAP(what_is_marked_leads_to_what_is_marked),
      WITH_HEAP(what_is_put_aside_is_not_traced_yet),
      WITH_HEAP(what_is_coming_back_is_no_fault),
      WITH_HEAP(what_marking_has_passed_leads_to_what_is_marked),
      WITH_HEAP(pins_are_compared),
      WITH_HEAP(handles_are_compared),
      WITH_HEAP(ids_are_compared),
      WITH_HEAP(lists_of_services_are_compared),
      WITH_HEAP(each_queue_is_looked_at),
      WITH_HEAP(verifications_leave_no_memory_behind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
