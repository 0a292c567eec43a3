/* Pins: which objects are pinned, and how often.
 *
 *   [pin.1] An object's pinned flag is set exactly when it has an entry with a count above 0.
 *   [pin.2] Pinned objects are old, or prebuilt.
 *   [pin.3] While marking, the pinned objects below marked_at are marked, and those pinned since it began.
 */
#ifndef CRADLE_GC_TABLES_PIN_H
#define CRADLE_GC_TABLES_PIN_H

#include <cradle/pin.h>

#include "gc/base/address_map.h"

typedef struct crd_pin {
  uintptr_t address;
  uint64_t count;
} crd_pin;

typedef struct crd_pins {
  crd_address_map by_address; /* index in pins */
  crd_pin *pins;
  uint32_t count, capacity;
  uint32_t marked_at; /* of pins: where marking goes on */
} crd_pins;

void crd_pins_fini(crd_pins *pins);
/* Makes room for one pin more. false: memory was refused. */
bool crd_pins_reserve(crd_pins *pins);
/* The first pin of an object that is old or prebuilt; there is room. */
void crd_pin_add(cradle_heap *heap, cradle_word *object);
/* What is wrong, for the verifier, or NULL. *at: with what address, 0 if with none. */
const char *crd_pins_check(const cradle_heap *heap, uintptr_t *at);

#endif
