#include "second_model.h"

static uint64_t mix(uint64_t word) {
  word = (word ^ (word >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  word = (word ^ (word >> 27)) * UINT64_C(0x94d049bb133111eb);
  return word ^ (word >> 31);
}

void draw_from(world *w, uint64_t seed, uint64_t step) {
  w->random = mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ (step * UINT64_C(0xd1342543de82ef95)));
}

uint64_t draw(world *w) {
  w->random += UINT64_C(0x9e3779b97f4a7c15);
  return mix(w->random);
}

uint64_t below(world *w, uint64_t bound) {
  return draw(w) % bound;
}

bool chance(world *w, uint64_t of) {
  return below(w, of) == 0;
}
