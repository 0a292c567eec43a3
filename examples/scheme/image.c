/* Heap images. Data and code lie in the heap, so an image has all that was defined. What leads out of it are the
 * rows of
 * primitives: symbols, named after their table and their procedure. */
#include "scheme.h"

#include <stdlib.h>

cradle_image_symbol *row_symbols(size_t *count) {
  const struct {
    const primitive_row *rows;
    size_t count;
    const char *table;
  } tables[] = {
      {number_rows, number_row_count, "number"},    {number_text_rows, number_text_row_count, "number text"},
      {list_rows, list_row_count, "list"},          {walk_rows, walk_row_count, "walk"},
      {text_rows, text_row_count, "text"},          {table_rows, table_row_count, "table"},
      {control_rows, control_row_count, "control"}, {syntax_rows, syntax_row_count, "syntax"},
  };
  enum { TABLES = sizeof tables / sizeof *tables, NAME_BYTES = 64 };
  size_t all = 0, made = 0;
  for (size_t i = 0; i < TABLES; i++) all += tables[i].count;
  cradle_image_symbol *symbols = malloc((all + 2) * (sizeof *symbols + NAME_BYTES));
  char *name = (char *)(symbols + all + 2); /* the names lie behind the symbols */
  for (size_t i = 0; i < TABLES && symbols != NULL; i++)
    for (size_t row = 0; row < tables[i].count; row++, made++, name += NAME_BYTES) {
      snprintf(name, NAME_BYTES, "%s %s", tables[i].table, tables[i].rows[row].name);
      symbols[made] = (cradle_image_symbol){name, &tables[i].rows[row], NULL};
    }
  *count = made + 2;
  if (symbols == NULL) return NULL;
  symbols[made] = (cradle_image_symbol){"equal", &equal_keys, NULL}; /* how tables compare their keys */
  symbols[made + 1] = (cradle_image_symbol){"eqv", &eqv_keys, NULL};
  return symbols;
}

bool save_image(scheme *s, const char *path) {
  size_t count;
  cradle_image_symbol *symbols = row_symbols(&count);
  cradle_image_root roots[] = {{"globals", &s->globals, CRADLE_KIND_REFERENCE},
                               {"files", &s->files, CRADLE_KIND_REFERENCE}};
  cradle_image_set sets[] = {{"symbols", s->symbols}};
  cradle_image_contents contents = {roots, 2, sets, 1, symbols, count};
  cradle_error error = {.message = "no memory"};
  s->handlers = s->winders = NIL;
  bool saved = symbols != NULL && cradle_image_save(s->m, path, &contents, &error);
  if (!saved) fprintf(stderr, "scheme: %s\n", error.message);
  free(symbols);
  return saved;
}

void take_image(scheme *s) {
  s->symbols = cradle_image_set_take(s->heap, "symbols", NULL, NULL);
  s->globals = object_of(cradle_image_root_get(s->heap, "globals"));
  s->files = object_of(cradle_image_root_get(s->heap, "files"));
}
