/* Size classes of small objects, and the spans that hold them.
 *
 * A small object lies in a place of its size class, and a span holds places of one class only. Up to 256 bytes every
 * multiple of a word is a class. Above, each power of two is cut into eight steps, and 8 bytes are added to every bound
 * for the header, because programs like to ask for 2^n bytes of data:
 *
 *     16  24  32 ... 248  256 | 264  296  328 ... 520 | 584  648 ... 1032 | ... 8200
 *
 * In a long span, one live object keeps many pages. A short span wastes much in its tail, the bytes at its end that are
 * too few for one more place. So the span of a class is the shortest run of at least four pages that has at least four
 * places and wastes at most an eighth, rounding and tail together, if each object is the smallest of the class. The
 * rule is Seastar's; build/bench/span-table prints what comes of it.
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
/* A team's workers take runs of a span of so many bytes, or of one object. */
#define TEAM_RUN_BYTES 4096
#define SPAN_MAX_PAGES 16
#define SPAN_MIN_PAGES 4

typedef struct crd_size_class {
  uint32_t bytes;   /* of an object */
  uint32_t words;   /* the same in words */
  uint32_t pages;   /* of a span */
  uint32_t objects; /* in a span */
  uint64_t pattern; /* bits 0, words, 2*words, ... below 64: the places that start in a span's first bitmap word */
} crd_size_class;

typedef struct crd_size_classes {
  crd_size_class of[SIZE_CLASS_MAX];
  uint32_t count;
  uint32_t span_bytes_total;                 /* one span of each class */
  uint32_t run_bytes_total;                  /* one run of each class, as a team takes them */
  uint8_t by_words[SMALL_MAX_BYTES / 8 + 1]; /* class of an object of so many words */
} crd_size_classes;

void crd_size_classes_init(crd_size_classes *classes);

/* The places that start in bitmap word i of a span of the class, as bits. Places do not begin anew with each bitmap
 * word, so the pattern is shifted by the distance from the word's beginning to its first place. */
static inline uint64_t size_class_starts(const crd_size_class *class, uint32_t i) {
  uint32_t over = i * 64 % class->words, phase = over == 0 ? 0 : class->words - over;
  return phase >= 64 ? 0 : class->pattern << phase;
}

#endif
