/* The program that tests/tools/test_gdb.py debugs while the collector's thread marks. */
#include "tests/support/second_core.h"

void stop_here(cradle_heap *heap, node *first);
__attribute__((noinline)) void stop_here(cradle_heap *heap, node *first) {
  __asm__ volatile("" ::"r"(heap), "r"(first) : "memory");
}

int main(void) {
  second_core s = second_core_new(1, LIST_NODES);
  second_core_begin_round(&s);
  stop_here(s.heap, s.roots->list);
  second_core_work(&s);
  second_core_check(&s);
  second_core_free(&s);
  return 0;
}
