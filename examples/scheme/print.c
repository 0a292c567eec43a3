/* Data to text. */
#include "scheme.h"

#include <string.h>

enum { DEPTH_MAX = 1000 };

static void print_deep(scheme *s, FILE *to, value v, bool as_written, int depth);

static const struct {
  uint32_t code;
  const char *name;
} character_names[] = {{' ', "space"},   {'\n', "newline"}, {'\t', "tab"},
                       {'\r', "return"}, {0, "null"},       {127, "delete"}};

static void print_character(FILE *to, uint32_t code, bool as_written) {
  char bytes[4];
  if (as_written) {
    fputs("#\\", to);
    for (size_t i = 0; i < sizeof character_names / sizeof *character_names; i++)
      if (character_names[i].code == code) {
        fputs(character_names[i].name, to);
        return;
      }
  }
  fwrite(bytes, 1, put_utf8(bytes, code), to);
}

static void print_string(FILE *to, const cradle_kit_string *string, bool as_written) {
  if (!as_written) {
    fwrite(string->bytes, 1, string->length, to);
    return;
  }
  fputc('"', to);
  for (size_t i = 0; i < string->length; i++) {
    char byte = string->bytes[i];
    if (byte == '"' || byte == '\\')
      fprintf(to, "\\%c", byte);
    else if (byte == '\n')
      fputs("\\n", to);
    else if (byte == '\t')
      fputs("\\t", to);
    else
      fputc(byte, to);
  }
  fputc('"', to);
}

static void print_list(scheme *s, FILE *to, value list, bool as_written, int depth) {
  fputc('(', to);
  print_deep(s, to, car(list), as_written, depth);
  value slow = list;
  bool steps = false;
  for (list = cdr(list); is_pair(list); list = cdr(list), steps = !steps) {
    if (steps && (slow = cdr(slow)) == list) {
      fputs(" ... circle", to);
      list = NIL;
      break;
    }
    fputc(' ', to);
    print_deep(s, to, car(list), as_written, depth);
  }
  if (list != NIL) {
    fputs(" . ", to);
    print_deep(s, to, list, as_written, depth);
  }
  fputc(')', to);
}

static void print_items(scheme *s, FILE *to, const cradle_word *items, size_t count, bool as_written, int depth) {
  for (size_t i = 0; i < count; i++) {
    if (i > 0) fputc(' ', to);
    print_deep(s, to, items[i], as_written, depth);
  }
}

static void print_named(scheme *s, FILE *to, const char *kind, value name, int depth) {
  fprintf(to, "#<%s", kind);
  if (name != FALSE) {
    fputc(' ', to);
    print_deep(s, to, name, false, depth);
  }
  fputc('>', to);
}

static void print_record(scheme *s, FILE *to, const record *r, int depth) {
  fputs("#<", to);
  print_deep(s, to, r->type->name, false, depth);
  if (r->length > 0) fputc(' ', to);
  print_items(s, to, r->fields, r->length, true, depth);
  fputc('>', to);
}

static void print_object(scheme *s, FILE *to, value v, bool as_written, int depth) {
  const cradle_kit_array *vector = object_of(v);
  char text[72];
  switch (cradle_type_of(object_of(v))) {
  case T_PAIR:
  case T_SOURCE_PAIR: print_list(s, to, v, as_written, depth); break;
  case T_FLONUM:
    number_to_text(v, 10, text);
    fputs(text, to);
    break;
  case T_STRING: print_string(to, object_of(v), as_written); break;
  case T_SYMBOL: print_string(to, ((const cradle_kit_symbol *)object_of(v))->name, false); break;
  case T_VECTOR:
    fputs("#(", to);
    print_items(s, to, vector->items, vector->length, as_written, depth);
    fputc(')', to);
    break;
  case T_VALUES:
    print_items(s, to, ((const values *)object_of(v))->items, ((const values *)object_of(v))->length, as_written,
                depth);
    break;
  case T_CLOSURE: print_named(s, to, "procedure", ((const closure *)object_of(v))->lambda->name, depth); break;
  case T_PRIMITIVE: fprintf(to, "#<procedure %s>", ((const primitive *)object_of(v))->row->name); break;
  case T_RECORD_PROCEDURE:
    print_named(s, to, "procedure", ((const record_procedure *)object_of(v))->name, depth);
    break;
  case T_RECORD: print_record(s, to, object_of(v), depth); break;
  case T_CONTINUATION: fputs("#<continuation>", to); break;
  case T_TABLE:
    fprintf(to, "#<hash-table %llu>", (unsigned long long)((const cradle_kit_map *)object_of(v))->count);
    break;
  case T_PROMISE: fputs("#<promise>", to); break;
  case T_ERROR: print_named(s, to, "error", ((const error *)object_of(v))->message, depth); break;
  default: fputs("#<object>", to);
  }
}

/* The depth is bounded, so that printing an error does not itself overflow the stack. The text of an object that
 * contains itself many times does not end: an interrupt ends it, and so does a file that takes no more. */
static void print_deep(scheme *s, FILE *to, value v, bool as_written, int depth) {
  static const char *const specials[] = {"#f",     "#t",         "()",         "#<unspecified>",
                                         "#<eof>", "#<unbound>", "#<nothing>", "#<exit>"};
  char text[72];
  if (is_interrupted || ferror(to)) return;
  if (depth == 0)
    fputs("...", to);
  else if (is_reference(v))
    print_object(s, to, v, as_written, depth - 1);
  else if (is_character(v))
    print_character(to, character_of(v), as_written);
  else if (is_fixnum(v)) {
    number_to_text(v, 10, text);
    fputs(text, to);
  } else
    fputs(specials[v >> TAG_BITS], to);
}

void print(scheme *s, FILE *to, value v, bool as_written) {
  print_deep(s, to, v, as_written, DEPTH_MAX);
}
