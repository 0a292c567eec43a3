/* What is kept beside objects, and the parts that it works on. */
#ifndef CRADLE_GC_TABLES_TABLES_H
#define CRADLE_GC_TABLES_TABLES_H

#include "gc/space.h"
#include "gc/tables/handle.h"
#include "gc/tables/identity.h"
#include "gc/tables/pin.h"

struct crd_tables {
  crd_space *space;
  crd_marking *marking;
  crd_handles handles;
  crd_pins pins;
  crd_ids ids;
};

/* Open handles, block by block: [first, last). */
CRD_ALWAYS_INLINE void visit_handles(crd_tables *tables, uint32_t first, uint32_t last, crd_slot_function visit,
                                     void *context) {
  for (uint32_t i = first, end; i < last; i = end) {
    crd_handle_entry *entry = handle_entry(&tables->handles, i);
    end = handle_block_end(i) < last ? handle_block_end(i) : last;
    for (const crd_handle_entry *stop = entry + (end - i); entry < stop; entry++)
      if (handle_is_open(entry)) visit(context, false, &entry->word);
  }
}

#endif
