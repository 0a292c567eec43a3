#include "bench/hiccup.h"

#include <stdio.h>

#include "bench/timing.h"

static void *run(void *argument) {
  hiccup *h = argument;
  uint64_t last = now_ns();
  while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
    uint64_t now = now_ns();
    if (now - last > h->max_ns) h->max_ns = now - last;
    last = now;
  }
  return NULL;
}

void hiccup_start(hiccup *h) {
  atomic_init(&h->stop, false);
  h->max_ns = 0;
  if (pthread_create(&h->thread, NULL, run, h) == 0) return;
  fputs("workloads: no thread for the hiccup loop\n", stderr);
  exit(1);
}

uint64_t hiccup_stop(hiccup *h) {
  atomic_store(&h->stop, true);
  pthread_join(h->thread, NULL);
  return h->max_ns;
}
