/* Pins: objects that must not move, because foreign code has their address. They are roots, too. A minor collection
 * promotes a young object when it is pinned. Compaction leaves out those with the pinned flag. An object may be pinned
 * several times, so its entry has a count.
 *
 *   [pin.1] An object's pinned flag is set exactly when it has an entry with a count above 0.
 *   [pin.2] Pinned objects are old.
 *   [pin.3] While marking, the pinned objects below marked_at are marked, and those pinned since it began.
 */
#ifndef CRADLE_GC_TABLES_PIN_H
#define CRADLE_GC_TABLES_PIN_H

#include <cradle/pin.h>

#include "gc/base/address_map.h"
#include "gc/parts.h"

typedef struct crd_pin {
  uintptr_t address;
  uint64_t count;
} crd_pin;

typedef struct crd_pins {
  crd_address_map by_address; /* index in pins */
  crd_pin *pins;
  uint32_t count, capacity;
  uint32_t marked_at; /* marking has looked at the pins below [pin.3] */
} crd_pins;

void crd_pins_fini(crd_pins *pins);
/* Makes room for one more pin. false: memory was refused. */
bool crd_pins_reserve(crd_pins *pins);
/* Pins an object that has no pin yet and is old. There must be room. */
void crd_pin_add(crd_tables *tables, cradle_word *object);
/* For the verifier: NULL, or what is wrong. *at: at which address; 0: at none. */
const char *crd_pins_check(const crd_tables *tables, uintptr_t *at);

#endif
