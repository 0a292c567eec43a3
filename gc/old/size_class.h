/* Size classes of small objects, and the spans that hold them.
 *
 * Every word size up to 256 bytes has its own class; above, each power of two is cut into eight, and every bound has
 * room for a header on top (264, 520, 1032, ..., 8200), so that an object of 2^n bytes of payload fits its class. The
 * span of a class is the shortest run of pages whose worst-case waste (rounding to the class and the span's tail
 * together, for the smallest object of the class) is at most an eighth, with at least four objects. The rule is
 * Seastar's; the table is computed from it when a heap is made.
 *
 *   [size_class.1] For an object of any size, at most an eighth of its span is waste, the tail included; a span has
 *                  SPAN_MIN_PAGES to SPAN_MAX_PAGES pages.
 *   [size_class.2] One span of every class together is below 2 MiB.
 */
#ifndef CRADLE_GC_OLD_SIZE_CLASS_H
#define CRADLE_GC_OLD_SIZE_CLASS_H

#include <cradle/base.h>

#define SMALL_MAX_BYTES ((size_t)8200)
#define SIZE_CLASS_MAX 80
#define SPAN_MAX_PAGES 16
#define SPAN_MIN_PAGES 4

typedef struct crd_size_class {
  uint32_t bytes;   /* of an object */
  uint32_t words;   /* the same in words */
  uint32_t pages;   /* of a span */
  uint32_t objects; /* in a span */
  uint64_t pattern; /* bits 0, words, 2*words, ... below 64: object starts in a bitmap word */
} crd_size_class;

typedef struct crd_size_classes {
  crd_size_class of[SIZE_CLASS_MAX];
  uint32_t count;
  uint32_t span_bytes_total;                 /* one span of each class */
  uint8_t by_words[SMALL_MAX_BYTES / 8 + 1]; /* class of an object of so many words */
} crd_size_classes;

void crd_size_classes_init(crd_size_classes *classes);

/* The object starts in bitmap word i of a span of the class. */
static inline uint64_t size_class_starts(const crd_size_class *class, uint32_t i) {
  uint32_t over = i * 64 % class->words, phase = over == 0 ? 0 : class->words - over;
  return phase >= 64 ? 0 : class->pattern << phase;
}

#endif
