/* What the macro and the functions of cradle/options.h and cradle/runtime.h are made of. A program does not call
 * these. */
#ifndef CRADLE_DETAIL_OPTIONS_H
#define CRADLE_DETAIL_OPTIONS_H

#include <cradle/base.h>

CRADLE_BEGIN_DECLS

struct cradle_options;

/* What cradle_options_init expands to. */
CRADLE_API void cradle_options_init_sized(struct cradle_options *options, uint32_t version, size_t size,
                                          size_t type_size);
/* Whether the options agree with each other and with this library. false: error, unless NULL, names the field that must
 * change, and why; the message reads "nursery_bytes: wants ...". Does not collect. */
CRADLE_API bool cradle_options_check(const struct cradle_options *options, cradle_error *error);

CRADLE_END_DECLS

#endif
