/* Programs of tests/old/test_second_core.c that ask nothing of POSIX but threads, so that
 * tests/old/test_second_core_windows.c runs them, too. Who includes this header has defined require_markers and
 * keep_to_one_processor before. */
#ifndef TESTS_SECOND_CORE_PROGRAMS_H
#define TESTS_SECOND_CORE_PROGRAMS_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/second_core.h"

#define HEAPS 4

/* --- the end --- */

static void says_exit(void) {
  if (write(STDOUT_FILENO, "", 0) != 0) _exit(2);
}

static void exits(void) {
  second_core s = second_core_new(1, LIST_NODES);
  (void)atexit(says_exit);
  second_core_begin_round(&s);
  exit(7);
}

static void *exits_elsewhere(void *data) {
  (void)data;
  exit(8);
}

static void exits_on_another_thread(void) {
  second_core s = second_core_new(1, LIST_NODES);
  pthread_t thread;
  second_core_begin_round(&s);
  require(pthread_create(&thread, NULL, exits_elsewhere, NULL) == 0, "no thread");
  for (;;) second_core_work(&s);
}

static void frees_the_heap(void) {
  for (int i = 0; i < 5; i++) {
    second_core s = second_core_new(1, LIST_NODES);
    second_core_begin_round(&s);
    require_markers(1);
    second_core_free(&s);
    require_markers(0);
  }
}

/* --- one processor --- */

static void has_one_processor(void) {
  keep_to_one_processor();
  second_core s = second_core_new(CRADLE_GC_THREADS_AUTO, LIST_NODES);
  second_core_begin(&s);
  require_markers(0);
  second_core_work(&s);
  second_core_check(&s);
  second_core_free(&s);
  s = second_core_new(1, LIST_NODES);
  second_core_begin_round(&s);
  require_markers(1);
  second_core_work(&s);
  second_core_check(&s);
  second_core_free(&s);
}

/* --- threads of the program --- */

static void *uses_a_heap(void *data) {
  (void)data;
  second_core s = second_core_new(1, WORTHWHILE_NODES);
  for (int i = 0; i < 3; i++) {
    second_core_begin(&s);
    second_core_work(&s);
  }
  second_core_check(&s);
  second_core_begin(&s);
  second_core_free(&s);
  return NULL;
}

static void has_heaps_on_many_threads(void) {
  pthread_t threads[HEAPS];
  for (int i = 0; i < HEAPS; i++) require(pthread_create(&threads[i], NULL, uses_a_heap, NULL) == 0, "no thread");
  for (int i = 0; i < HEAPS; i++) (void)pthread_join(threads[i], NULL);
  require_markers(0);
}

/* The thread that began the round ends in it. */
static void *begins_a_round(void *data) {
  second_core *s = data;
  cradle_mutator_attach(s->m);
  second_core_begin_round(s);
  cradle_mutator_detach(s->m);
  return NULL;
}

static void hands_the_mutator_on(void) {
  second_core s = second_core_new(1, LIST_NODES);
  for (int i = 0; i < 3; i++) {
    pthread_t thread;
    cradle_mutator_detach(s.m);
    require(pthread_create(&thread, NULL, begins_a_round, &s) == 0, "no thread");
    (void)pthread_join(thread, NULL);
    cradle_mutator_attach(s.m);
    second_core_work(&s);
  }
  second_core_check(&s);
  second_core_free(&s);
}

/* --- words that are no references --- */

/* For a moment, each slot of an old array holds an address inside of an object [marker.4]. */
CRADLE_UNCHECKED_COLLECTION static void holds_no_references(void) {
  static node *held[TABLE_ITEMS];
  cradle_error error = {.message = ""};
  second_core s = second_core_new(1, WORTHWHILE_NODES);
  for (int i = 0; i < 8; i++) {
    second_core_begin_round(&s);
    table *items = s.roots->items;
    memcpy(held, items->item, sizeof held);
    for (int k = 0; k < TABLE_ITEMS; k++) items->item[k] = (node *)(void *)((char *)held[k] + 8);
    nap_ms(2);
    for (int k = 0; k < TABLE_ITEMS; k++) cradle_store(s.m, items, &items->item[k], held[k]);
    require(cradle_heap_verify(s.heap, &error), error.message);
  }
  second_core_check(&s);
  second_core_free(&s);
}

#endif
