/* Procedures that go through lists, vectors and strings and call a procedure for each element: map and its kin,
 * sort. */
#include "scheme.h"

enum { WALKED_MAX = 4 }; /* lists, vectors or strings at once */

/* --- going through lists --- */

/* Pushes the next element of each list from args[1] on, and advances each list; false: a list has ended. lists is on
 * the shadow stack. */
CRADLE_MAY_COLLECT static bool push_next(scheme *s, size_t lists, value *list) {
  for (size_t i = 0; i < lists; i++)
    if (!is_pair(list[i])) return false;
  for (size_t i = 0; i < lists; i++) {
    cradle_push_word(s->m, car(list[i]));
    list[i] = cdr(list[i]);
  }
  return true;
}
typedef struct list_walk {
  value list[WALKED_MAX];
} list_walk;
/* map and for-each: results are listed, or dropped. */
CRADLE_MAY_COLLECT static value walk(scheme *s, size_t count, const value *args, bool collects) {
  list_walk at = {{NIL, NIL, NIL, NIL}};
  value results = NIL;
  CRADLE_ROOT_VALUE(s->m, results);
  CRADLE_ROOT_VALUE(s->m, at.list[0]);
  CRADLE_ROOT_VALUE(s->m, at.list[1]);
  CRADLE_ROOT_VALUE(s->m, at.list[2]);
  CRADLE_ROOT_VALUE(s->m, at.list[3]);
  for (size_t i = 1; i < count; i++) at.list[i - 1] = args[i];
  while (push_next(s, count - 1, at.list)) {
    value result = apply(s, args[0], count - 1);
    if (collects) results = cons(s, result, results);
  }
  return collects ? reverse_in_place(s, results, NIL) : UNSPECIFIED;
}
CRADLE_MAY_COLLECT static value map_row(scheme *s, size_t count, const value *args) {
  return walk(s, count, args, true);
}
CRADLE_MAY_COLLECT static value for_each_row(scheme *s, size_t count, const value *args) {
  return walk(s, count, args, false);
}

CRADLE_MAY_COLLECT static value filter_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value results = NIL, list = args[1];
  CRADLE_ROOT_VALUE(s->m, results);
  CRADLE_ROOT_VALUE(s->m, list);
  for (; is_pair(list); list = cdr(list))
    if (apply_1(s, args[0], car(list)) != FALSE) results = cons(s, car(list), results);
  return reverse_in_place(s, results, NIL);
}
/* (fold-left procedure start list) */
CRADLE_MAY_COLLECT static value fold_left_row(scheme *s, size_t count, const value *args) {
  (void)count;
  value result = args[1], list = args[2];
  CRADLE_ROOT_VALUE(s->m, list);
  for (; is_pair(list); list = cdr(list)) {
    cradle_push_word(s->m, result);
    cradle_push_word(s->m, car(list));
    result = apply(s, args[0], 2);
  }
  return result;
}

/* --- going through vectors and strings --- */

/* Pushes the item at the index of each vector from args[1] on; false: a vector is too short. */
CRADLE_MAY_COLLECT static bool push_items(scheme *s, size_t count, const value *args, size_t index) {
  for (size_t i = 1; i < count; i++)
    if (index >= ((const cradle_kit_array *)object_of(args[i]))->length) return false;
  for (size_t i = 1; i < count; i++)
    cradle_push_word(s->m, ((const cradle_kit_array *)object_of(args[i]))->items[index]);
  return true;
}
/* Returns the length of the shortest. */
CRADLE_MAY_COLLECT static size_t check_vectors(scheme *s, size_t count, const value *args) {
  size_t least = SIZE_MAX;
  for (size_t i = 1; i < count; i++) {
    check_type(s, args[i], T_VECTOR, "a vector");
    size_t length = ((const cradle_kit_array *)object_of(args[i]))->length;
    if (length < least) least = length;
  }
  return least;
}
CRADLE_MAY_COLLECT static value vector_map_row(scheme *s, size_t count, const value *args) {
  cradle_kit_array *made = cradle_kit_array_new(&s->kit, check_vectors(s, count, args));
  CRADLE_ROOT(s->m, made);
  for (size_t i = 0; i < made->length; i++) made->items[i] = FALSE;
  for (size_t i = 0; push_items(s, count, args, i); i++) {
    value result = apply(s, args[0], count - 1);
    cradle_store_value(s->m, made, &made->items[i], result);
  }
  return value_of(made);
}
CRADLE_MAY_COLLECT static value vector_for_each_row(scheme *s, size_t count, const value *args) {
  check_vectors(s, count, args);
  for (size_t i = 0; push_items(s, count, args, i); i++) apply(s, args[0], count - 1);
  return UNSPECIFIED;
}

/* Pushes the characters that begin at the bytes at[i] of the strings from args[1] on, and advances at[i]; false: a
 * string has ended. */
CRADLE_MAY_COLLECT static bool push_characters(scheme *s, size_t count, const value *args, size_t *at) {
  for (size_t i = 1; i < count; i++)
    if (at[i] >= ((const cradle_kit_string *)object_of(args[i]))->length) return false;
  for (size_t i = 1; i < count; i++) {
    size_t bytes;
    uint32_t code = get_utf8(((const cradle_kit_string *)object_of(args[i]))->bytes + at[i], &bytes);
    cradle_push_word(s->m, character(code));
    at[i] += bytes;
  }
  return true;
}
CRADLE_MAY_COLLECT static value string_for_each_row(scheme *s, size_t count, const value *args) {
  size_t at[WALKED_MAX + 1] = {0};
  for (size_t i = 1; i < count; i++) check_type(s, args[i], T_STRING, "a string");
  while (push_characters(s, count, args, at)) apply(s, args[0], count - 1);
  return UNSPECIFIED;
}

/* --- sort: of lists, by merging, in place of a copy --- */

CRADLE_MAY_COLLECT static value merge(scheme *s, value left, value right, value less) {
  CRADLE_ROOT_VALUE(s->m, left);
  CRADLE_ROOT_VALUE(s->m, right);
  CRADLE_ROOT_VALUE(s->m, less);
  value merged = NIL;
  CRADLE_ROOT_VALUE(s->m, merged);
  while (left != NIL && right != NIL) {
    cradle_push_word(s->m, car(right));
    cradle_push_word(s->m, car(left));
    value *from = apply(s, less, 2) != FALSE ? &right : &left, next = cdr(*from);
    cradle_store_value(s->m, pair_of(*from), &pair_of(*from)->cdr, merged);
    merged = *from;
    *from = next;
  }
  return reverse_in_place(s, merged, left != NIL ? left : right);
}
CRADLE_MAY_COLLECT static value sort_list(scheme *s, value list, int64_t length, value less) {
  if (length < 2) return list;
  CRADLE_ROOT_VALUE(s->m, less);
  value last = list;
  for (int64_t i = 1; i < length / 2; i++) last = cdr(last);
  value right = cdr(last);
  CRADLE_ROOT_VALUE(s->m, right);
  cradle_store_value(s->m, pair_of(last), &pair_of(last)->cdr, NIL);
  value left = sort_list(s, list, length / 2, less);
  CRADLE_ROOT_VALUE(s->m, left);
  right = sort_list(s, right, length - length / 2, less);
  return merge(s, left, right, less);
}
/* (sort list less) */
CRADLE_MAY_COLLECT static value sort_row(scheme *s, size_t count, const value *args) {
  (void)count;
  int64_t length = list_length(args[0]);
  if (length < 0) fail_type(s, args[0], "a list");
  value copy = NIL, list = args[0];
  CRADLE_ROOT_VALUE(s->m, list);
  for (; list != NIL; list = cdr(list)) copy = cons(s, car(list), copy);
  copy = reverse_in_place(s, copy, NIL);
  return sort_list(s, copy, length, args[1]);
}

const primitive_row walk_rows[] = {
    {"map", map_row, 2, WALKED_MAX + 1},
    {"for-each", for_each_row, 2, WALKED_MAX + 1},
    {"filter", filter_row, 2, 2},
    {"fold-left", fold_left_row, 3, 3},
    {"vector-map", vector_map_row, 2, WALKED_MAX + 1},
    {"vector-for-each", vector_for_each_row, 2, WALKED_MAX + 1},
    {"string-for-each", string_for_each_row, 2, WALKED_MAX + 1},
    {"sort", sort_row, 2, 2},
};
const size_t walk_row_count = sizeof walk_rows / sizeof *walk_rows;
