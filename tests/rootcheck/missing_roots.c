/* Locals that hold a reference over a call that may collect, and are not rooted. */
#include "program.h"

pair *parameter(cradle_mutator *m, pair *list) {
  pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
  fresh->rest = list; // expect: stale 'list'
  return fresh;
}

void first_of_two(cradle_mutator *m) {
  pair *a = make(m);
  pair *b = make(m);
  use_two(a, b); // expect: stale 'a'
}

/* helper is not marked; it calls what is. */
static void helper(cradle_mutator *m) {
  make(m);
}
static void helper_of_helper(cradle_mutator *m) {
  helper(m);
}
void through_helpers(cradle_mutator *m) {
  pair *a = make(m);
  helper_of_helper(m);
  use(a); // expect: stale 'helper_of_helper'
}

void in_one_branch(cradle_mutator *m, pair *a, int rarely) {
  if (rarely) cradle_collect(m, CRADLE_COLLECT_MINOR);
  use(a); // expect: stale 'cradle_collect'
}

void in_a_loop(cradle_mutator *m, int times) {
  pair *kept = make(m);
  for (int i = 0; i < times; i++) {
    use(kept); // expect: stale 'kept'
    make(m);
  }
}

void loop_variable(cradle_mutator *m, pair *list) {
  for (; list != NULL; list = list->rest) make(m); // expect: stale 'list'
}

/* The semicolons of these are in no line of the function. */
#define EACH(item, list) for (pair *item = (list); item != NULL; item = item->rest)
#define TIMES(count) for (int i_ = 0; i_ < (count); i_++)
#define WITH(item, first) for (pair *item = (first); item != NULL; item = NULL)
#define REST(item) for (; item != NULL; item = item->rest)
#define AGAIN(item, list) for (item = (list); item != NULL;)
#define NOTHING
void after_a_loop_of_a_macro(cradle_mutator *m, pair *list, int64_t *total) {
  EACH(item, list) *total += item->number;
  pair *a = make(m);
  make(m);
  use(a); // expect: stale 'a'
}
void in_a_loop_of_a_macro(cradle_mutator *m, int times) {
  pair *a = make(m);
  TIMES(times) {
    make(m);
  }
  use(a); // expect: stale 'a'
}
void before_a_loop_of_a_macro(cradle_mutator *m, pair *a) {
  WITH(b, make(m)) use_two(a, b); // expect: stale 'a'
}
void macros_without_all_parts(cradle_mutator *m, pair *list, pair *a) {
  REST(list) make(m); // expect: stale 'list'
  AGAIN(list, NULL) list = list->rest;
  for (NOTHING; list != NULL; list = list->rest) use(list);
  for (list = NULL NOTHING; list != NULL; NOTHING) list = list->rest;
  use(a); // expect: stale 'a'
}

void list_built_in_a_loop(cradle_mutator *m) {
  pair *list = NULL;
  for (int i = 0; i < 10; i++) {
    pair *fresh = make(m);
    fresh->rest = list; // expect: stale 'list'
    list = fresh;
  }
}

pair *returned(cradle_mutator *m) {
  pair *a = make(m);
  make(m);
  return a; // expect: stale 'a'
}

void scope_has_ended(cradle_mutator *m) {
  pair *a = make(m);
  {
    CRADLE_ROOT(m, a);
    make(m);
  }
  use(a);
  make(m);
  use(a); // expect: stale 'a'
}

void rooted_too_late(cradle_mutator *m) {
  pair *a = make(m);
  make(m);
  CRADLE_ROOT(m, a); // expect: stale 'a'
  use(a);
}

void the_wrong_one_is_rooted(cradle_mutator *m, pair *a, pair *b) {
  CRADLE_ROOT(m, a);
  make(m);
  use_two(a, b); // expect: stale 'b'
}

void pushed_but_not_reloaded(cradle_mutator *m, pair *a) {
  cradle_push(m, a);
  make(m);
  cradle_pop(m);
  use(a); // expect: stale 'a'
}

void popped_too_early(cradle_mutator *m, pair *a) {
  cradle_push(m, a);
  make(m);
  a = cradle_pop(m);
  make(m);
  use(a); // expect: stale 'a'
}

void no_type(cradle_mutator *m) {
  void *a = cradle_new(m, T_PAIR, sizeof(pair));
  make(m);
  use(a); // expect: stale 'a'
}

void no_type_from_a_pop(cradle_mutator *m) {
  void *a = cradle_pop(m);
  void *copy = a;
  make(m);
  use(copy); // expect: stale 'copy'
}

void no_type_from_a_slot(cradle_mutator *m, boxed *b) {
  void *any = b->any;
  CRADLE_ROOT(m, b);
  make(m);
  use(any); // expect: stale 'any'
}

void a_value(cradle_mutator *m, value v) {
  value kept = v;
  CRADLE_ROOT_VALUE(m, kept);
  make(m);
  use_value(v); // expect: stale 'v'
}

void an_item(cradle_mutator *m, array *a) {
  CRADLE_ROOT(m, a);
  pair *item = a->items[0];
  make(m);
  use(item); // expect: stale 'item'
}

void inside_of_an_object(cradle_mutator *m, array *a) {
  CRADLE_ROOT(m, a);
  void **slot = &a->items[3];
  make(m);
  *slot = NULL; // expect: stale cannot be rooted
}

void inside_of_an_object_by_name(cradle_mutator *m, array *a) {
  CRADLE_ROOT(m, a);
  void **items = a->items;
  make(m);
  use(items[0]); // expect: stale cannot be rooted
}

struct two {
  pair *first, *second;
};
void member_of_a_local(cradle_mutator *m) {
  struct two t = {NULL, NULL};
  CRADLE_ROOT(m, t.first);
  t.first = make(m);
  t.second = make(m);
  make(m);
  use(t.first);
  use(t.second); // expect: stale 't.second'
}

void items_of_a_local(cradle_mutator *m) {
  pair *all[2];
  all[0] = make(m);
  all[1] = make(m);
  use(all[0]); // expect: stale 'all[]'
}

static int append(cradle_mutator *m, pair **list) {
  pair *fresh = make(m);
  fresh->rest = *list;
  *list = fresh;
  return 0;
}
void handed_by_address(cradle_mutator *m) {
  pair *list = make(m);
  append(m, &list);
  use(list); // expect: stale 'append'
}

void in_a_switch(cradle_mutator *m, pair *a, int which) {
  switch (which) {
  case 1: use(a); break;
  case 2: make(m);       // falls through
  case 3: use(a); break; // expect: stale 'a'
  default: break;
  }
}

void after_a_goto(cradle_mutator *m, pair *a, int n) {
  if (n > 1) goto collects;
done:
  use(a); // expect: stale 'a'
  return;
collects:
  make(m);
  goto done;
}

void after_a_continue(cradle_mutator *m, pair *a, int n) {
  for (int i = 0; i < n; i++) {
    use(a); // expect: stale 'a'
    if (i == 7) {
      make(m);
      continue;
    }
  }
}

void after_either_break(cradle_mutator *m, pair *a, int n) {
  for (;;) {
    if (n > 3) break;
    make(m);
    break;
  }
  use(a); // expect: stale 'a'
}

void in_a_condition(cradle_mutator *m, pair *a) {
  if (count(m) > 2 && sum(a) > 1) use(NULL); // expect: stale 'a'
}

static pair *built_in_cons(cradle_mutator *m, pair *list) {
  CRADLE_ROOT(m, list);
  pair *fresh = make(m);
  fresh->rest = list;
  return fresh;
}
typedef pair *(*built_in)(cradle_mutator *m, pair *list);
static const built_in table[] = {built_in_cons};
void through_a_pointer(cradle_mutator *m, pair *list, int which) {
  table[which](m, list);
  use(list); // expect: stale through a pointer
}

/* A reference by its use only: other pointers to the type are rooted. */
typedef uint64_t node;
void pointer_to_a_header(cradle_mutator *m, node *first, node *second) {
  CRADLE_ROOT(m, first);
  make(m);
  use_two(first, second); // expect: stale 'second'
}

void poll(cradle_mutator *m, pair *a) {
  cradle_safepoint(m);
  use(a); // expect: stale 'cradle_safepoint'
}

void not_yet_set(cradle_mutator *m) {
  pair *a;
  CRADLE_ROOT(m, a); // expect: unset 'a'
  a = make(m);
  use(a);
}

void rooted_inside_of_an_object(cradle_mutator *m, array *a) {
  void *item = &a->items[1];
  CRADLE_ROOT(m, item); // expect: interior 'item'
  make(m);
}

/* The block's own root ends with it, though one until the end was registered there. */
void rooted_in_a_block(cradle_mutator *m, cradle_heap *heap, pair *a, pair *b) {
  {
    CRADLE_ROOT(m, a);
    cradle_global_root_add(heap, &b, CRADLE_KIND_REFERENCE);
  }
  make(m);
  use_two(a, b); // expect: stale 'a'
}

/* A root until the end counts only where it was registered: not in the other branch, nor after both. */
void rooted_in_one_branch(cradle_mutator *m, cradle_heap *heap, pair *a, int keep) {
  if (keep) {
    cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
    make(m);
    use(a);
  } else {
    make(m);
    use(a); // expect: stale 'a'
  }
}

void rooted_in_one_case(cradle_mutator *m, cradle_heap *heap, pair *a, int which) {
  switch (which) {
  case 1: cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE); break;
  default: break;
  }
  make(m);
  use(a); // expect: stale 'a'
}

void rooted_on_a_condition(cradle_mutator *m, cradle_heap *heap, pair *a, int keep) {
  if (keep && !cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE)) return;
  make(m);
  use(a); // expect: stale 'a'
}

void rooted_before_a_goto(cradle_mutator *m, cradle_heap *heap, pair *a, int keep) {
  if (!keep) goto done;
  cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
done:
  make(m);
  use(a); // expect: stale 'a'
}

void null_where_not_rooted(cradle_mutator *m, cradle_heap *heap, int keep) {
  pair *a = NULL;
  if (keep) {
    cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
    a = make(m);
  }
  make(m);
  use(a);
  a = make(m);
  make(m);
  use(a); // expect: stale 'a'
}

/* Only the goto leads into the switch. */
void label_in_a_switch(cradle_mutator *m, int n, pair *a) {
  goto start;
  switch (n) {
  case 1:
  again:
    make(m);
    use(a); // expect: stale 'a'
    return;
  default: use(a);
  }
start:
  if (n) goto again;
}

#define TWO_FUNCTIONS(name) \
  void name##_first(void) {} \
  void name##_second(cradle_mutator *m, pair *a) { \
    make(m); \
    use(a); \
  }
TWO_FUNCTIONS(of_a_macro) // expect: stale 'a'
