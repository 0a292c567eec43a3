/* Prints the Markdown table of docs/environment.md, made from the library's option table. */
#include <cradle/runtime.h>

#include <stdio.h>

static void print_row(void *data, const cradle_option_row *row) {
  (void)data;
  printf("| `%s` | %s | %s | %s |\n", row->name, row->accepted, row->initial, row->help);
}

int main(void) {
  puts("| Variable | Accepted | Default | Meaning |\n|---|---|---|---|");
  cradle_options_list(print_row, NULL);
  return fflush(stdout) != 0;
}
