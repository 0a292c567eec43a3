#include "bench/hiccup.h"

#include <stdio.h>
#include <sys/mman.h>

#include "bench/timing.h"
#include "bench/workloads.h"

static void *run(void *argument) {
  hiccup *h = argument;
  uint64_t last = now_ns();
  while (!atomic_load_explicit(&h->stop, memory_order_relaxed)) {
    uint64_t now = now_ns();
    if (now - last > h->max_ns) h->max_ns = now - last;
    h->long_count += now - last > HICCUP_LONG_NS;
    last = now;
  }
  h->cpu_ns = cpu_now_ns();
  return NULL;
}

void hiccup_start(hiccup *h) {
  atomic_init(&h->stop, false);
  h->max_ns = h->long_count = h->cpu_ns = 0;
  if (pthread_create(&h->thread, NULL, run, h) == 0) return;
  fputs("workloads: no thread for the hiccup loop\n", stderr);
  exit(1);
}

void hiccup_stop(hiccup *h) {
  atomic_store(&h->stop, true);
  pthread_join(h->thread, NULL);
}

enum { LINE_BYTES = 64, LINE_WORDS = LINE_BYTES / sizeof(uint64_t), HUGE_PAGE_BYTES = 1 << 21 };

/* One half of the memory is read at random; the other is written from front to back, again and again. */
static uint64_t stall_round(uint64_t *words, uint64_t lines, uint64_t *place, randomizer *r) {
  uint64_t *written = words + lines * LINE_WORDS;
  for (int i = 0; i < STALL_TOUCHES; i++) {
    uint64_t *line = words + random_below(r, lines) * LINE_WORDS;
    memcpy(written + *place * LINE_WORDS, line, LINE_BYTES);
    *line = *place;
    *place = *place + 1 == lines ? 0 : *place + 1;
  }
  return now_ns();
}

void stall_measure(uint64_t bytes, uint64_t nanoseconds, histogram *rounds) {
  size_t size = (bytes + HUGE_PAGE_BYTES - 1) & ~(size_t)(HUGE_PAGE_BYTES - 1);
  uint64_t *words = aligned_alloc(HUGE_PAGE_BYTES, size);
  if (words == NULL) {
    fputs("workloads: no memory for the stall loop\n", stderr);
    exit(1);
  }
  madvise(words, size, MADV_HUGEPAGE);
  memset(words, 1, size);
  randomizer r = RANDOMIZER_SEED;
  uint64_t place = 0, begin = now_ns(), last = begin;
  while (last - begin < nanoseconds) {
    uint64_t now = stall_round(words, size / 2 / LINE_BYTES, &place, &r);
    histogram_record(rounds, now - last);
    last = now;
  }
  free(words);
}
