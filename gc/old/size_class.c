#include "gc/old/size_class.h"

#include "gc/old/arena.h"

#define EXACT_MAX_BYTES 256
#define STEPS_PER_DOUBLING 8
#define HEADER_BYTES 8
#define SPAN_MIN_OBJECTS 4

/* The pages of the span of a class whose objects have smallest to bytes bytes. */
static uint32_t span_pages(uint32_t smallest, uint32_t bytes) {
  for (uint32_t pages = SPAN_MIN_PAGES;; pages++) {
    uint32_t span = pages * PAGE_BYTES, objects = span / bytes;
    ASSERT(pages <= SPAN_MAX_PAGES, "[size_class.1] a span is too long");
    if (objects >= SPAN_MIN_OBJECTS && smallest * objects >= span - span / 8) return pages;
  }
}

static uint64_t start_pattern(uint32_t words) {
  uint64_t pattern = 0;
  for (uint32_t bit = 0; bit < 64; bit += words) pattern |= UINT64_C(1) << bit;
  return pattern;
}

/* Adds a class, unless the bound is there already: the last bound of one power of two is the first of the next. */
static void add_class(crd_size_classes *classes, uint32_t bytes) {
  uint32_t previous = classes->count == 0 ? 8 : classes->of[classes->count - 1].bytes;
  if (bytes <= previous) return;
  ASSERT(classes->count < SIZE_CLASS_MAX, "too many size classes");
  uint32_t pages = span_pages(previous + 8, bytes);
  for (uint32_t words = previous / 8 + 1; words <= bytes / 8; words++)
    classes->by_words[words] = (uint8_t)classes->count;
  classes->of[classes->count++] = (crd_size_class){.bytes = bytes,
                                                   .words = bytes / 8,
                                                   .pages = pages,
                                                   .objects = pages * PAGE_BYTES / bytes,
                                                   .pattern = start_pattern(bytes / 8)};
  classes->span_bytes_total += pages * PAGE_BYTES;
  classes->run_bytes_total += bytes > TEAM_RUN_BYTES ? bytes : TEAM_RUN_BYTES;
}

void crd_size_classes_init(crd_size_classes *classes) {
  classes->count = classes->span_bytes_total = classes->run_bytes_total = classes->by_words[0] = classes->by_words[1] =
      0;
  for (uint32_t bytes = CRADLE_OBJECT_MIN_BYTES; bytes <= EXACT_MAX_BYTES; bytes += 8) add_class(classes, bytes);
  for (uint32_t power = EXACT_MAX_BYTES; power < SMALL_MAX_BYTES - HEADER_BYTES; power *= 2)
    for (uint32_t step = 0; step <= STEPS_PER_DOUBLING; step++)
      add_class(classes, power + power / STEPS_PER_DOUBLING * step + HEADER_BYTES);
  ASSERT(classes->of[classes->count - 1].bytes == SMALL_MAX_BYTES,
         "[size_class.1] the largest small object has no class");
  ASSERT(classes->span_bytes_total < ARENA_BYTES, "[size_class.2] a span of every class together is too much");
}
