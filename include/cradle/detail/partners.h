/* What the inline functions, the macros and the runtime call. A program does not call these; generated code calls the
 * ones that docs/jit.md names. */
#ifndef CRADLE_DETAIL_PARTNERS_H
#define CRADLE_DETAIL_PARTNERS_H

#include <cradle/object.h>

CRADLE_BEGIN_DECLS

struct cradle_options;

/* The bytes that an object of the given size takes: rounded up, and at least the minimum. Does not collect. */
CRADLE_INLINE size_t cradle_object_bytes(size_t size) {
  size_t rounded = (size + (CRADLE_OBJECT_ALIGNMENT - 1)) & ~(size_t)(CRADLE_OBJECT_ALIGNMENT - 1);
  return rounded < CRADLE_OBJECT_MIN_BYTES ? CRADLE_OBJECT_MIN_BYTES : rounded;
}

/* Does the work of cradle_safepoint if a safepoint was asked for. */
CRADLE_API void cradle_safepoint_slow(cradle_mutator *mutator) CRADLE_MAY_COLLECT;
/* Does the work of cradle_identity_hash for an object without a hash: gives it one. */
CRADLE_API CRADLE_NOINLINE uint32_t cradle_identity_hash_slow(cradle_mutator *mutator, void *object);
/* For cradle_weak_get while weak slots may refer to dead objects: whether the word of a slot does. */
CRADLE_API bool cradle_weak_is_dead(cradle_mutator *mutator, cradle_word word, bool value);

/* Whether an object has the barrier's flag. */
#define CRADLE_HAS_BARRIER_(object) \
  (CRADLE_HEADER_(unsigned char, (const unsigned char *)(object) + CRADLE_BARRIER_OFFSET) & CRADLE_BARRIER_MASK)

/* --- stores: called by the inline parts, the slow ones only when the object's flag is set --- */

/* Remembers object for the next collection. */
CRADLE_API CRADLE_COLD void cradle_write_barrier_slow(cradle_mutator *mutator, void *object);
/* Stores word into the slot and remembers the object for the next collection; of a large array, only the slot. */
CRADLE_API void cradle_store_slow(cradle_mutator *mutator, void *object, void *slot, cradle_word word);
/* The same, for count slots from slots on, which were written already. */
CRADLE_API void cradle_copy_slots_slow(cradle_mutator *mutator, void *object, const void *slots, size_t count);

/* With CRADLE_CHECKED: reports misuse in a callback, and on a thread to which the mutator is not attached. */
CRADLE_API void cradle_check_store(cradle_mutator *mutator, const void *object);
/* As cradle_check_store. Also reports misuse if the slot is no word of object (unless its type has a trace callback),
 * or if the slot is for references and the value cannot be one. */
CRADLE_API void cradle_check_slot(cradle_mutator *mutator, const void *object, const void *slot, cradle_value value);
/* As cradle_check_slot, for count slots. */
CRADLE_API void cradle_check_slots(cradle_mutator *mutator, const void *object, const void *to, const void *from,
                                   size_t count);

/* memmove of words, of which each is published (CRADLE_RACY). */
CRADLE_INLINE void cradle_publish_words(cradle_word *to, const cradle_word *from, size_t count) {
  bool upward = (uintptr_t)to <= (uintptr_t)from;
  for (size_t i = 0; i < count; i++) {
    size_t at = upward ? i : count - 1 - i;
    __atomic_store_n(&to[at], __atomic_load_n(&from[at], __ATOMIC_RELAXED), __ATOMIC_RELEASE);
  }
}

/* --- parking --- */

/* What CRADLE_PARKED expands to: parks, and unparks as the block ends. */
CRADLE_API cradle_mutator *cradle_parked_begin(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION;
CRADLE_API void cradle_parked_end(cradle_mutator *const *mutator) CRADLE_GRANTS_COLLECTION;
/* Whether the block begins. If it has ended, the permission to collect is back: clang before 18 does not see that
 * cradle_parked_end is called, so the analysis takes it from here. */
#if defined(__clang__) && __clang_major__ < (defined(__apple_build_version__) ? 17 : 18)
#define CRADLE_PARKED_ENDS_ CRADLE_ATTRIBUTE(try_acquire_capability(false, cradle_collection))
#else
#define CRADLE_PARKED_ENDS_
#endif
CRADLE_INLINE bool cradle_parked_goes_on(cradle_mutator **begins) CRADLE_PARKED_ENDS_ CRADLE_UNCHECKED_COLLECTION {
  bool goes_on = *begins != NULL;
  *begins = NULL;
  return goes_on;
}

/* --- options --- */

/* What cradle_options_init expands to. */
CRADLE_API void cradle_options_init_sized(struct cradle_options *options, uint32_t version, size_t size,
                                          size_t type_size);
/* Whether the options agree with each other and with this library. false: error, unless NULL, names the field that must
 * change, and why; the message reads "nursery_bytes: wants ...". Does not collect. */
CRADLE_API bool cradle_options_check(const struct cradle_options *options, cradle_error *error);

/* --- inspection --- */

/* cradle_heap_dump to a function, which writes bytes of the dump and returns false if that fails; it ends the dump. */
typedef bool (*cradle_write_function)(void *data, const void *bytes, size_t count);
CRADLE_API bool cradle_heap_dump_to(cradle_heap *heap, cradle_write_function write, void *data, cradle_error *error);

/* The part of cradle_describe_address that explains. false: the heap knows nothing of the address, and the text is
 * empty. May be called in a signal handler, for a heap of any thread. */
typedef struct cradle_explanation {
  char text[256];
  uint64_t collection; /* the minor collection that the text is about; 0: none */
} cradle_explanation;
CRADLE_API bool cradle_explain_address(const cradle_heap *heap, const void *address, cradle_explanation *explanation,
                                       size_t size);

/* --- how code that serves any encoding of values, such as the kit, reads them; a VM reads its values itself --- */

/* Returns how the heap's values are encoded; valid as long as the heap. Does not collect. */
CRADLE_API const cradle_encoding *cradle_heap_encoding(const cradle_heap *heap);

/* The object that a value refers to, or NULL when it is an immediate. */
CRADLE_INLINE void *cradle_value_object(const cradle_encoding *encoding, cradle_value value) {
  if (!(encoding->tag_set >> (value & 7) & 1)) return NULL;
  uint64_t address = value & encoding->payload_mask;
  if (address == 0) return NULL;
  for (uint32_t i = 0; i < encoding->pair_count; i++)
    if ((value & encoding->pairs[i].mask) == encoding->pairs[i].pattern) return (void *)(uintptr_t)address;
  return NULL;
}

CRADLE_END_DECLS

#endif
