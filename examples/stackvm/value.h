/* Values: NaN-boxing in 64 bits.
 *
 * A double is itself. The quiet NaNs with bit 50 set are ours: with the sign bit clear they are the four immediates
 * below, with the sign bit set they are references, with the address in the low 48 bits. Arithmetic makes no NaN with
 * bit 50 set from operands without it, so a computed NaN stays a number. The zero word is the number 0, not a
 * reference, as the collector requires; so cleared memory holds values.
 *
 * The collector gets the encoding as data (options.encoding in vm.c): cradle_encoding_of(REFERENCE,
 * REFERENCE, 1 << 0). */
#ifndef STACKVM_VALUE_H
#define STACKVM_VALUE_H

#include <cradle/cradle.h>

typedef uint64_t value;

#define OURS UINT64_C(0x7ffc000000000000)
#define REFERENCE UINT64_C(0xfffc000000000000)
#define NIL (OURS | 1)
#define FALSE (OURS | 2)
#define TRUE (OURS | 3)
#define UNDEFINED (OURS | 4) /* a global or field without a value; programs never see it */

static inline bool is_number(value v) {
  return (v & OURS) != OURS;
}
static inline bool are_numbers(value a, value b) {
  return is_number(a) && is_number(b);
}
static inline value number(double n) {
  value v;
  memcpy(&v, &n, sizeof v);
  return v;
}
static inline double to_double(value v) {
  double n;
  memcpy(&n, &v, sizeof n);
  return n;
}

static inline value boolean(bool b) {
  return b ? TRUE : FALSE;
}
static inline bool is_true(value v) {
  return v != FALSE && v != NIL;
}

static inline bool is_object(value v) {
  return (v & REFERENCE) == REFERENCE;
}
static inline value object(const void *address) {
  return REFERENCE | (value)(uintptr_t)address;
}
static inline void *address(value v) {
  return (void *)(uintptr_t)(v & ~REFERENCE);
}
static inline bool is_a(value v, uint32_t type) {
  return is_object(v) && cradle_type_of(address(v)) == type;
}

/* Whether v is a whole number from 0 to most; *index gets it. */
static inline bool to_index(value v, size_t most, size_t *index) {
  if (!is_number(v)) return false;
  double n = to_double(v);
  if (!(n >= 0 && n <= (double)most)) return false;
  *index = (size_t)n;
  return (double)*index == n;
}

#endif
