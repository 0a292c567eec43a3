/* Prints the Markdown table of docs/environment.md, made from the library's option table. */
#include "gc/base/option_table.h"

#include <stdio.h>

int main(void) {
  puts("| Variable | Accepted | Default | Meaning |\n|---|---|---|---|");
  for (size_t i = 0; i < crd_option_count; i++) {
    const crd_option *row = &crd_options[i];
    if (row->variable != NULL)
      printf("| `%s` | %s | %s | %s |\n", row->variable, row->wants + sizeof "wants", row->initial, row->help);
  }
  return fflush(stdout) != 0;
}
