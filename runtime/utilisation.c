#include "runtime/utilisation.h"

static uint64_t window_of(const crd_utilisation *utilisation) {
  return utilisation->slot_ns * CRD_UTILISATION_PARTS;
}

void crd_utilisation_init(crd_utilisation *utilisation, uint64_t window_ns) {
  *utilisation = (crd_utilisation){.slot_ns = window_ns / CRD_UTILISATION_PARTS};
}

static void advance(crd_utilisation *utilisation, uint64_t slot) {
  uint64_t steps = slot - utilisation->latest;
  if (steps > CRD_UTILISATION_SLOTS) steps = CRD_UTILISATION_SLOTS;
  for (uint64_t i = 0; i < steps; i++) {
    uint64_t *oldest = &utilisation->slots[(slot - i) % CRD_UTILISATION_SLOTS];
    utilisation->sum -= *oldest;
    *oldest = 0;
  }
  utilisation->latest = slot;
}

void crd_utilisation_add(crd_utilisation *utilisation, uint64_t begin, uint64_t end) {
  uint64_t window = window_of(utilisation);
  /* Slots before the window no longer count. */
  if (end - begin > window) begin = end - window;
  while (begin < end) {
    uint64_t slot = begin / utilisation->slot_ns, room = utilisation->slot_ns - begin % utilisation->slot_ns;
    uint64_t part = end - begin < room ? end - begin : room;
    if (slot > utilisation->latest) advance(utilisation, slot);
    utilisation->slots[slot % CRD_UTILISATION_SLOTS] += part;
    utilisation->sum += part;
    begin += part;
  }
  uint64_t busy = utilisation->sum < window ? utilisation->sum : window;
  if (busy > utilisation->worst) utilisation->worst = busy;
}

double crd_utilisation_minimum(const crd_utilisation *utilisation) {
  return 1 - (double)utilisation->worst / (double)window_of(utilisation);
}
