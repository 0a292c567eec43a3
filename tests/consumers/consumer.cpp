// The public headers from C++: everything inline is compiled, and a program with a list that survives collections links and runs.
#include <cradle/cradle.h>
#if __has_include(<cradle/kit.h>) // of the two files, cradle.h holds it
#include <cradle/kit.h>
#endif

#include <cstdio>

namespace {

struct cell {
  uint64_t header;
  cell *next;
  int64_t number;
};

cell *push(cradle_mutator *m, cell *list, int64_t number) CRADLE_MAY_COLLECT {
  CRADLE_ROOT(m, list);
  cell *fresh = CRADLE_NEW(m, cell, 0);
  fresh->next = list;
  fresh->number = number;
  return fresh;
}

int64_t sum_of_list(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cell *list = nullptr;
  CRADLE_ROOT(m, list);
  for (int64_t i = 1; i <= 100; i++) list = push(m, list, i);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  cell *tail = push(m, nullptr, 1000);
  cradle_store(m, list, &list->next, tail); // 100 and what follows it: 1000
  cell *fixed = CRADLE_NEW_WITH(m, cell, 0, CRADLE_PINNED);
  cradle_reservation room = cradle_reserve(m, sizeof(cell));
  CRADLE_NEW_RESERVED(&room, cell, 0)->next = nullptr;
  uint64_t value = 0;
  CRADLE_ROOT_VALUE(m, value);
  cradle_unpin(m, fixed);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  int64_t sum = 0;
  for (const cell *c = list; c != nullptr; c = c->next) sum += c->number;
  return sum;
}

// The kit, whose types are added to the heap: its rows for a table are C.
bool kit_works(cradle_heap *heap, cradle_mutator *m) CRADLE_MAY_COLLECT {
  const uint32_t first = cradle_kit_add_types(heap);
  cradle_kit kit;
  cradle_kit_init(&kit, m, first);
  cradle_kit_string *text = cradle_kit_string_new(&kit, "C++", 3);
  CRADLE_ROOT(m, text);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  return cradle_type_of(text) == first + CRADLE_KIT_STRING && text->length == 3;
}

} // namespace

int main() {
  cradle_type type = {};
  type.name = "cell";
  type.size = sizeof(cell);
  type.references = CRADLE_SLOT(cell, next);
  cradle_options options;
  cradle_options_init(&options);
  options.types = &type;
  options.type_count = 1;
  cradle_error error;
  cradle_heap *heap = cradle_heap_new_from_environment(&options, &error);
  if (heap == nullptr) {
    std::fprintf(stderr, "%s\n", error.message);
    return 1;
  }
  cradle_mutator *m = cradle_mutator_new(heap);
  const int64_t sum = sum_of_list(m);
  const bool has_kit = kit_works(heap, m);
  cradle_mutator_free(m);
  cradle_heap_free(heap);
  if (sum == 1100 && has_kit) return 0;
  if (!has_kit) std::fputs("the kit's string is wrong\n", stderr);
  std::fprintf(stderr, "the list's sum is %lld, not 1100\n", static_cast<long long>(sum));
  return 1;
}
