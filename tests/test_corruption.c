/* Heaps that are broken on purpose: the verifier names what is broken, where it is, and the last collection. */
#include "tests/services.h"

#include "gc/heap.h"

static fixture f;

static void open_heap(void) {
  cradle_options options;
  fixture_options(&f, &options);
  options.verify = false; /* the tests say when */
  fixture_unstress(&options);
  fixture_open_with(&f, &options);
  for (uint32_t i = 0; i < T_SERVICES - T_COUNT; i++) assert_int_equal(cradle_type_add(f.heap, &service_types[i]), T_COUNT + i);
}

/* The message must have the words in this order, and the last collection. */
static void assert_broken(const char *words, const char *then) {
  cradle_error error;
  if (cradle_heap_verify(f.heap, &error)) fail_msg("the verifier found nothing, where \"%s\" was planted", words);
  const char *found = strstr(error.message, words);
  if (found == NULL || strstr(found, then) == NULL || strstr(error.message, "; last collection: ") == NULL)
    fail_msg("the message is \"%s\", without \"%s\" and \"%s\" and the last collection", error.message, words, then);
}

/* Writes the word, expects the message, and takes the word back. */
#define ASSERT_BREAKS(place, word, words, then)                 \
  do {                                                          \
    uint64_t *place_ = (uint64_t *)(place), was_ = *place_;     \
    *place_ = (word);                                           \
    assert_broken((words), (then));                             \
    *place_ = was_;                                             \
    cradle_error error_;                                        \
    if (!cradle_heap_verify(f.heap, &error_)) fail_msg("%s", error_.message); \
  } while (0)

/* --- roots --- */

static void handles_and_weak_sets_are_named(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, new_pair(&f, NULL));
  cradle_handle handle = cradle_handle_new(f.m, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  cradle_weak_set *set = cradle_weak_set_new(f.m, NULL, NULL);
  assert_true(cradle_weak_set_add(set, 1, (void *)(uintptr_t)*cradle_peek(f.m, 0)));
  cradle_collect_minor(f.m);
  crd_handle_entry *entry = &f.heap->handles.entries[0];
  ASSERT_BREAKS(&entry->word, entry->word + 8, "stale reference into the old generation, where no object is: ", "in a handle at ");
  uint64_t word = *cradle_peek(f.m, 0);
  assert_true(cradle_weak_set_remove(set, 1, (void *)(uintptr_t)word) && cradle_weak_set_add(set, 1, (void *)(uintptr_t)(word + 8)));
  assert_broken("stale reference into the old generation, where no object is: ", "in a weak set at ");
  cradle_weak_set_free(set);
  cradle_handle_free(f.m, handle);
  cradle_pop(f.m);
  fixture_close(&f);
}

/* What a handle holds is not looked up any more once it was found broken. */
static void after_a_fault_nothing_is_looked_up(void **state) {
  (void)state;
  open_heap();
  cradle_push(f.m, cradle_new_array(f.m, T_STRING, (size_t)1 << 20));
  cradle_handle handle = cradle_handle_new(f.m, (void *)(uintptr_t)*cradle_peek(f.m, 0));
  uintptr_t unused = f.heap->old.arenas.base + f.heap->old.arenas.bytes - 4096;
  ASSERT_BREAKS(&f.heap->handles.entries[0].word, unused, "stale reference into the old generation, where no object is: ", "in a handle at ");
  cradle_handle_free(f.m, handle);
  cradle_pop(f.m);
  fixture_close(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(handles_and_weak_sets_are_named),
      cmocka_unit_test(after_a_fault_nothing_is_looked_up),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
