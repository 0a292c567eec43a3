/* Through this header tests look inside the collector: no other file of tests/ includes a header of gc/, but for those
 * that stand in front of the library's sources (*_calls.h). What moves inside the collector moves here. */
#ifndef TESTS_INSIDE_H
#define TESTS_INSIDE_H

#include "gc/base/address_map.h"
#include "gc/base/bits.h"
#include "gc/base/check.h"
#include "gc/base/grow.h"
#include "gc/base/prefix.h"
#include "gc/base/random.h"
#include "gc/base/sanitizers.h"
#include "gc/base/text.h"
#include "gc/base/word_stack.h"
#include "gc/collect.h"
#include "gc/death/services.h"
#include "gc/heap.h"
#include "gc/image/image.h"
#include "gc/instruments/dump.h"
#include "gc/instruments/history.h"
#include "gc/instruments/verify.h"
#include "gc/object/header.h"
#include "gc/object/poison.h"
#include "gc/object/type_table.h"
#include "gc/object/value.h"
#include "gc/object/visit.h"
#include "gc/old/arena_memory.h"
#include "gc/old/closed.h"
#include "gc/old/mark.h"
#include "gc/old/marker.h"
#include "gc/old/pacing.h"
#include "gc/old/supply.h"
#include "gc/old/sweep.h"
#include "gc/outgrow.h"
#include "gc/platform/backtrace.h"
#include "gc/platform/hardware.h"
#include "gc/platform/pages.h"
#include "gc/platform/sleepers.h"
#include "gc/platform/thread.h"
#include "gc/report/report.h"
#include "gc/statistics.h"
#include "gc/world.h"
#include "gc/young/cost.h"

/* The parts of a heap at which tests look most. They are macros, so that a const heap has const parts. */
#define inside_old(heap) (&(heap)->space.old)
#define inside_nursery(heap) (&(heap)->space.nursery)
#define inside_local(heap) (&(heap)->space.locals) /* of its mutator */
#define inside_services(heap) ((heap)->space.services)
#define inside_major(heap) (&(heap)->marking.major)
#define inside_marker(heap) (&(heap)->marking.marker)
#define inside_pacing(heap) (&(heap)->marking.pacing)
#define inside_mark_stack(heap) (&(heap)->marking.mark_stack)

static inline void inside_hardware(cradle_hardware *hardware) {
  unsigned known = 0;
  crd_hardware_init(hardware);
  crd_hardware_learn(hardware, &known, HARDWARE_ALL);
}

#endif
