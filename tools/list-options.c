/* Prints the Markdown table of docs/environment.md, made from the library's option table. */
#include "runtime/option_table.h"

#include <stdio.h>

int main(void) {
  puts("| Variable | Accepted | Default | Meaning |\n|---|---|---|---|");
  for (size_t i = 0; i < crd_option_count; i++) {
    const crd_option *row = &crd_options[i];
    char accepted[CRD_ACCEPTED_BYTES];
    crd_option_accepted(row, accepted);
    printf("| `%s` | %s | %s | %s |\n", row->name, accepted, row->initial, row->help);
  }
  return fflush(stdout) != 0;
}
