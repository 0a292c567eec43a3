/* Pairs, lists, vectors, symbols, and the equality of values. */
#include "scheme.h"

value cons(scheme *s, value car, value cdr) {
  CRADLE_ROOT_VALUE(s->m, car);
  CRADLE_ROOT_VALUE(s->m, cdr);
  pair *made = CRADLE_NEW_UNINITIALIZED(s->m, pair, T_PAIR);
  made->car = car;
  made->cdr = cdr;
  return value_of(made);
}

value list_2(scheme *s, value first, value second) {
  CRADLE_ROOT_VALUE(s->m, first);
  value rest = cons(s, second, NIL);
  return cons(s, first, rest);
}

int64_t list_length(value list) {
  int64_t length = 0;
  value slow = list;
  for (; is_pair(list); list = cdr(list), length++) {
    if (length % 2 == 1 && (slow = cdr(slow)) == cdr(list) && is_pair(slow)) return -1;
  }
  return list == NIL ? length : -1;
}

value reverse_in_place(scheme *s, value list, value tail) {
  while (list != NIL) {
    value next = cdr(list);
    cradle_store_value(s->m, pair_of(list), &pair_of(list)->cdr, tail);
    tail = list;
    list = next;
  }
  return tail;
}

bool is_eqv(value left, value right) {
  if (left == right) return true;
  if (!is_a(left, T_FLONUM) || !is_a(right, T_FLONUM)) return false;
  return ((const flonum *)object_of(left))->number == ((const flonum *)object_of(right))->number;
}

static bool vectors_equal(scheme *s, const cradle_kit_array *left, const cradle_kit_array *right)
    CRADLE_UNCHECKED_COLLECTION;
static bool vectors_equal(scheme *s, const cradle_kit_array *left, const cradle_kit_array *right) {
  if (left->length != right->length) return false;
  for (size_t i = 0; i < left->length; i++)
    if (!is_equal(s, left->items[i], right->items[i])) return false;
  return true;
}

/* Collects only to fail: nothing is used after that. Two circular lists are walked together. They are equal when
 * everything was compared: that is when the two pairs come again that Brent's algorithm remembers. */
CRADLE_UNCHECKED_COLLECTION bool is_equal(scheme *s, value left, value right) {
  check_stack(s);
  value remembered_left = NIL, remembered_right = NIL;
  uint64_t step = 0, remembers_at = 1;
  for (; is_pair(left) && is_pair(right); left = cdr(left), right = cdr(right)) {
    if (left == right || (left == remembered_left && right == remembered_right)) return true;
    if (!is_equal(s, car(left), car(right))) return false;
    if (++step != remembers_at) continue;
    remembered_left = left, remembered_right = right, remembers_at *= 2;
  }
  if (is_eqv(left, right)) return true;
  if (is_a(left, T_STRING) && is_a(right, T_STRING))
    return cradle_kit_string_compare(object_of(left), object_of(right)) == 0;
  return is_a(left, T_VECTOR) && is_a(right, T_VECTOR) && vectors_equal(s, object_of(left), object_of(right));
}

/* --- procedures: pairs --- */

CRADLE_MAY_COLLECT static void check_pair(scheme *s, value v) {
  if (CRADLE_UNLIKELY(!is_pair(v))) fail_type(s, v, "a pair");
}
CRADLE_MAY_COLLECT static size_t check_list(scheme *s, value v) {
  int64_t length = list_length(v);
  if (length < 0) fail_type(s, v, "a list");
  return (size_t)length;
}

value cons_row(scheme *s, size_t count, const value *args) {
  (void)count;
  pair *made = CRADLE_NEW_UNINITIALIZED(s->m, pair, T_PAIR);
  made->car = args[0];
  made->cdr = args[1];
  return value_of(made);
}
CRADLE_MAY_COLLECT static value car_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_pair(s, args[0]);
  return car(args[0]);
}
CRADLE_MAY_COLLECT static value cdr_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_pair(s, args[0]);
  return cdr(args[0]);
}
/* The path is read from its end: d, then a, is cadr. */
CRADLE_MAY_COLLECT static value follow(scheme *s, value v, const char *path) {
  for (; *path != '\0'; path++) {
    check_pair(s, v);
    v = *path == 'a' ? car(v) : cdr(v);
  }
  return v;
}
#define DEFINE_PATH(name, path) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)count; \
    return follow(s, args[0], path); \
  }
DEFINE_PATH(caar_row, "aa")
DEFINE_PATH(cadr_row, "da")
DEFINE_PATH(cdar_row, "ad")
DEFINE_PATH(cddr_row, "dd")
DEFINE_PATH(caaar_row, "aaa")
DEFINE_PATH(caadr_row, "daa")
DEFINE_PATH(cadar_row, "ada")
DEFINE_PATH(caddr_row, "dda")
DEFINE_PATH(cdaar_row, "aad")
DEFINE_PATH(cdadr_row, "dad")
DEFINE_PATH(cddar_row, "add")
DEFINE_PATH(cdddr_row, "ddd")
DEFINE_PATH(caaaar_row, "aaaa")
DEFINE_PATH(caaadr_row, "daaa")
DEFINE_PATH(caadar_row, "adaa")
DEFINE_PATH(caaddr_row, "ddaa")
DEFINE_PATH(cadaar_row, "aada")
DEFINE_PATH(cadadr_row, "dada")
DEFINE_PATH(caddar_row, "adda")
DEFINE_PATH(cadddr_row, "ddda")
DEFINE_PATH(cdaaar_row, "aaad")
DEFINE_PATH(cdaadr_row, "daad")
DEFINE_PATH(cdadar_row, "adad")
DEFINE_PATH(cdaddr_row, "ddad")
DEFINE_PATH(cddaar_row, "aadd")
DEFINE_PATH(cddadr_row, "dadd")
DEFINE_PATH(cdddar_row, "addd")
DEFINE_PATH(cddddr_row, "dddd")
CRADLE_MAY_COLLECT static value set_car_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_pair(s, args[0]);
  cradle_store_value(s->m, pair_of(args[0]), &pair_of(args[0])->car, args[1]);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value set_cdr_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_pair(s, args[0]);
  cradle_store_value(s->m, pair_of(args[0]), &pair_of(args[0])->cdr, args[1]);
  return UNSPECIFIED;
}

/* --- procedures: lists --- */

CRADLE_MAY_COLLECT static value list_row(scheme *s, size_t count, const value *args) {
  value list = NIL;
  for (size_t i = count; i > 0; i--) list = cons(s, args[i - 1], list);
  return list;
}
CRADLE_MAY_COLLECT static value length_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return fixnum((int64_t)check_list(s, args[0]));
}
CRADLE_MAY_COLLECT static value reversed(scheme *s, value list, value tail) {
  CRADLE_ROOT_VALUE(s->m, list);
  for (; list != NIL; list = cdr(list)) tail = cons(s, car(list), tail);
  return tail;
}
CRADLE_MAY_COLLECT static value reverse_row(scheme *s, size_t count, const value *args) {
  (void)count;
  check_list(s, args[0]);
  return reversed(s, args[0], NIL);
}
value append_row(scheme *s, size_t count, const value *args) {
  value tail = count > 0 ? args[count - 1] : NIL;
  CRADLE_ROOT_VALUE(s->m, tail);
  for (size_t i = count; i-- > 1;) {
    check_list(s, args[i - 1]);
    value backwards = reversed(s, args[i - 1], NIL);
    tail = reverse_in_place(s, backwards, tail);
  }
  return tail;
}
CRADLE_MAY_COLLECT static value list_tail_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value list = args[0];
  for (size_t i = index_of(s, args[1], SIZE_MAX); i > 0; i--) {
    check_interrupt(s);
    if (!is_pair(list)) fail(s, args[1], "the list is shorter than");
    list = cdr(list);
  }
  return list;
}
CRADLE_MAY_COLLECT static value list_ref_row(scheme *s, size_t count, const value *args) {
  value tail = list_tail_row(s, count, args);
  if (!is_pair(tail)) fail(s, args[1], "index out of the list:");
  return car(tail);
}

typedef bool same_function(scheme *s, value left, value right);
static bool same_eqv(scheme *s, value left, value right) {
  (void)s;
  return is_eqv(left, right);
}
static value member_by(scheme *s, const value *args, same_function *same) CRADLE_MAY_COLLECT {
  value list = args[1];
  for (; is_pair(list); list = cdr(list)) {
    check_interrupt(s); /* it may be a circle */
    if (same(s, args[0], car(list))) return list;
  }
  if (list != NIL) fail_type(s, args[1], "a list");
  return FALSE;
}
static value assoc_by(scheme *s, const value *args, same_function *same) CRADLE_MAY_COLLECT {
  value list = args[1];
  for (; is_pair(list); list = cdr(list)) {
    check_interrupt(s); /* it may be a circle */
    check_pair(s, car(list));
    if (same(s, args[0], car(car(list)))) return car(list);
  }
  if (list != NIL) fail_type(s, args[1], "a list");
  return FALSE;
}
value memv_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return member_by(s, args, same_eqv);
}
CRADLE_MAY_COLLECT static value member_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return member_by(s, args, is_equal);
}
CRADLE_MAY_COLLECT static value assv_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return assoc_by(s, args, same_eqv);
}
CRADLE_MAY_COLLECT static value assoc_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return assoc_by(s, args, is_equal);
}

/* --- procedures: kinds and sameness --- */

CRADLE_MAY_COLLECT static value eqv_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(is_eqv(args[0], args[1]));
}
CRADLE_MAY_COLLECT static value eq_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(args[0] == args[1]);
}
CRADLE_MAY_COLLECT static value equal_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return boolean(is_equal(s, args[0], args[1]));
}
CRADLE_MAY_COLLECT static value not_row(scheme *s, size_t count, const value *args) {
  (void)s, (void)count;
  return boolean(args[0] == FALSE);
}
#define DEFINE_TEST(name, test) \
  CRADLE_MAY_COLLECT static value name(scheme *s, size_t count, const value *args) { \
    (void)s, (void)count; \
    value v = args[0]; \
    return boolean(test); \
  }
DEFINE_TEST(is_null_row, v == NIL)
DEFINE_TEST(is_pair_row, is_pair(v))
DEFINE_TEST(is_list_row, list_length(v) >= 0)
DEFINE_TEST(is_symbol_row, is_symbol(v))
DEFINE_TEST(is_string_row, is_a(v, T_STRING))
DEFINE_TEST(is_vector_row, is_a(v, T_VECTOR))
DEFINE_TEST(is_character_row, is_character(v))
DEFINE_TEST(is_boolean_row, v == TRUE || v == FALSE)
DEFINE_TEST(is_procedure_row, is_procedure(v))
DEFINE_TEST(is_end_row, v == END_OF_FILE)

/* --- procedures: vectors --- */

CRADLE_MAY_COLLECT static cradle_kit_array *check_vector(scheme *s, value v) {
  check_type(s, v, T_VECTOR, "a vector");
  return object_of(v);
}
static void fill(scheme *s, cradle_kit_array *vector, value with) {
  for (size_t i = 0; i < vector->length; i++) cradle_store_value(s->m, vector, &vector->items[i], with);
}
CRADLE_MAY_COLLECT static value make_vector_row(scheme *s, size_t count, const value *args) {
  cradle_kit_array *made = cradle_kit_array_new(&s->kit, index_of(s, args[0], SIZE_MAX));
  fill(s, made, count > 1 ? args[1] : FALSE);
  return value_of(made);
}
CRADLE_MAY_COLLECT static value vector_row(scheme *s, size_t count, const value *args) {
  cradle_kit_array *made = cradle_kit_array_new(&s->kit, count);
  for (size_t i = 0; i < count; i++) made->items[i] = args[i];
  return value_of(made);
}
CRADLE_MAY_COLLECT static value vector_length_row(scheme *s, size_t count, const value *args) {
  (void)count;
  return fixnum((int64_t)check_vector(s, args[0])->length);
}
CRADLE_MAY_COLLECT static value vector_ref_row(scheme *s, size_t count, const value *args) {
  (void)count;
  const cradle_kit_array *vector = check_vector(s, args[0]);
  return vector->items[index_of(s, args[1], vector->length)];
}
CRADLE_MAY_COLLECT static value vector_set_row(scheme *s, size_t count, const value *args) {
  (void)count;
  cradle_kit_array *vector = check_vector(s, args[0]);
  size_t index = index_of(s, args[1], vector->length);
  cradle_store_value(s->m, vector, &vector->items[index], args[2]);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value vector_fill_row(scheme *s, size_t count, const value *args) {
  (void)count;
  fill(s, check_vector(s, args[0]), args[1]);
  return UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value vector_to_list_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value list = NIL;
  for (size_t i = check_vector(s, args[0])->length; i > 0; i--)
    list = cons(s, check_vector(s, args[0])->items[i - 1], list);
  return list;
}
value list_to_vector_row(scheme *s, size_t count, const value *args) {
  (void)count;
  cradle_kit_array *made = cradle_kit_array_new(&s->kit, check_list(s, args[0]));
  value list = args[0];
  for (size_t i = 0; i < made->length; i++, list = cdr(list)) made->items[i] = car(list);
  return value_of(made);
}

const primitive_row list_rows[] = {
    {"cons", cons_row, 2, 2},
    {"car", car_row, 1, 1},
    {"cdr", cdr_row, 1, 1},
    {"caar", caar_row, 1, 1},
    {"cadr", cadr_row, 1, 1},
    {"cdar", cdar_row, 1, 1},
    {"cddr", cddr_row, 1, 1},
    {"caaar", caaar_row, 1, 1},
    {"caadr", caadr_row, 1, 1},
    {"cadar", cadar_row, 1, 1},
    {"caddr", caddr_row, 1, 1},
    {"cdaar", cdaar_row, 1, 1},
    {"cdadr", cdadr_row, 1, 1},
    {"cddar", cddar_row, 1, 1},
    {"cdddr", cdddr_row, 1, 1},
    {"caaaar", caaaar_row, 1, 1},
    {"caaadr", caaadr_row, 1, 1},
    {"caadar", caadar_row, 1, 1},
    {"caaddr", caaddr_row, 1, 1},
    {"cadaar", cadaar_row, 1, 1},
    {"cadadr", cadadr_row, 1, 1},
    {"caddar", caddar_row, 1, 1},
    {"cadddr", cadddr_row, 1, 1},
    {"cdaaar", cdaaar_row, 1, 1},
    {"cdaadr", cdaadr_row, 1, 1},
    {"cdadar", cdadar_row, 1, 1},
    {"cdaddr", cdaddr_row, 1, 1},
    {"cddaar", cddaar_row, 1, 1},
    {"cddadr", cddadr_row, 1, 1},
    {"cdddar", cdddar_row, 1, 1},
    {"cddddr", cddddr_row, 1, 1},
    {"set-car!", set_car_row, 2, 2},
    {"set-cdr!", set_cdr_row, 2, 2},
    {"list", list_row, 0, -1},
    {"length", length_row, 1, 1},
    {"reverse", reverse_row, 1, 1},
    {"append", append_row, 0, -1},
    {"list-tail", list_tail_row, 2, 2},
    {"list-ref", list_ref_row, 2, 2},
    {"memq", memv_row, 2, 2},
    {"memv", memv_row, 2, 2},
    {"member", member_row, 2, 2},
    {"assq", assv_row, 2, 2},
    {"assv", assv_row, 2, 2},
    {"assoc", assoc_row, 2, 2},
    {"eq?", eq_row, 2, 2},
    {"eqv?", eqv_row, 2, 2},
    {"equal?", equal_row, 2, 2},
    {"not", not_row, 1, 1},
    {"null?", is_null_row, 1, 1},
    {"pair?", is_pair_row, 1, 1},
    {"list?", is_list_row, 1, 1},
    {"symbol?", is_symbol_row, 1, 1},
    {"string?", is_string_row, 1, 1},
    {"vector?", is_vector_row, 1, 1},
    {"char?", is_character_row, 1, 1},
    {"boolean?", is_boolean_row, 1, 1},
    {"procedure?", is_procedure_row, 1, 1},
    {"eof-object?", is_end_row, 1, 1},
    {"make-vector", make_vector_row, 1, 2},
    {"vector", vector_row, 0, -1},
    {"vector-length", vector_length_row, 1, 1},
    {"vector-ref", vector_ref_row, 2, 2},
    {"vector-set!", vector_set_row, 3, 3},
    {"vector-fill!", vector_fill_row, 2, 2},
    {"vector->list", vector_to_list_row, 1, 1},
    {"list->vector", list_to_vector_row, 1, 1},
};
const size_t list_row_count = sizeof list_rows / sizeof *list_rows;
