/* Options and types of every version of this series, as this version's. */
#ifndef CRADLE_GC_OPTIONS_H
#define CRADLE_GC_OPTIONS_H

#include <cradle/options.h>

/* What a shorter structure lacks has its default, and what a longer one has beyond this version's must be 0. The
 * result's size is this version's; its type_size stays that of the rows. false: the error says why. */
bool crd_options_read(cradle_options *whole, const cradle_options *given, cradle_error *error);
/* A row of a table of types, whose rows have size bytes. */
cradle_type crd_type_read(const cradle_type *row, size_t size);

#endif
