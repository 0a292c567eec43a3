/* Programs that are right: nothing may be found. */
#include "program.h"

pair *parameter(cradle_mutator *m, pair *list) {
  CRADLE_ROOT(m, list);
  pair *fresh = cradle_new(m, T_PAIR, sizeof(pair));
  fresh->rest = list;
  return fresh;
}

void used_before_only(cradle_mutator *m, pair *a) {
  use(a);
  make(m);
}

void given_as_the_call_is_made(cradle_mutator *m) {
  pair *a = make(m);
  a = parameter(m, a);
  use(a);
}

void pushed_and_reloaded(cradle_mutator *m, pair *a) {
  cradle_push(m, a);
  pair *b = make(m);
  a = cradle_pop(m);
  use_two(a, b);
}

void given_anew(cradle_mutator *m) {
  pair *a = make(m);
  use(a);
  a = make(m);
  use(a);
}

void in_a_loop(cradle_mutator *m) {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (int i = 0; i < 10; i++) {
    pair *fresh = make(m);
    fresh->rest = list;
    list = fresh;
  }
  use(list);
}

void null_stays_null(cradle_mutator *m) {
  pair *list = NULL;
  make(m);
  use(list);
}

pair *made_when_absent(cradle_mutator *m, pair *cached) {
  if (cached == NULL) cached = make(m);
  return cached;
}

pair *known_to_be_null(cradle_mutator *m, pair *list) {
  if (!list) {
    make(m);
    return list;
  }
  return list->rest;
}

void compared_with_null(cradle_mutator *m, pair *a) {
  make(m);
  if (a != NULL) use(NULL);
}

void branch_that_leaves(cradle_mutator *m, pair *a, int failed) {
  if (failed) {
    make(m);
    return;
  }
  use(a);
}

void branch_that_exits(cradle_mutator *m, pair *a, int failed) {
  if (failed) {
    make(m);
    exit(1);
  }
  use(a);
}

void loop_that_is_left(cradle_mutator *m, pair *a) {
  for (;;) {
    use(a);
    if (sum(a) > 3) break;
    make(m);
    break;
  }
}

struct two {
  pair *first, *second;
};
void member_of_a_local(cradle_mutator *m) {
  struct two t = {NULL, NULL};
  CRADLE_ROOT(m, t.first);
  CRADLE_ROOT(m, t.second);
  t.first = make(m);
  t.second = make(m);
  make(m);
  use_two(t.first, t.second);
}

void global(cradle_mutator *m, cradle_heap *heap) {
  pair *kept = NULL;
  cradle_global_root_add(heap, &kept, CRADLE_KIND_REFERENCE);
  kept = make(m);
  make(m);
  use(kept);
  cradle_global_root_remove(heap, &kept);
}

static bool try_make(cradle_mutator *m, pair **made) {
  *made = make(m);
  return *made != NULL;
}
void result_by_address(cradle_mutator *m) {
  pair *a;
  if (try_make(m, &a)) use(a);
}

static void append(cradle_mutator *m, pair **list) {
  CRADLE_ROOT(m, *list);
  pair *fresh = make(m);
  fresh->rest = *list;
  *list = fresh;
}
void rooted_by_the_function_called(cradle_mutator *m) {
  pair *list = make(m);
  append(m, &list);
  use(list);
}

typedef struct vm {
  cradle_mutator *m;
  value stack[100], *top;
  pair *globals;
} vm;
void stack_machine(vm *v) {
  value *top = v->top;
  pair *made = make(v->m);
  *top = (value)(uintptr_t)made;
  v->globals = make(v->m);
  v->top[-1] = make_value(v->m);
  *v->top++ = make_value(v->m);
}

void not_a_slot(cradle_mutator *m, boxed *b) {
  void *buffer = b->unknown;
  make(m);
  use(buffer);
}

void plain_memory(cradle_mutator *m) {
  struct two *t = malloc(sizeof *t);
  make(m);
  free(t);
}

void in_order(cradle_mutator *m, pair *a) {
  CRADLE_ROOT(m, a);
  pair *b = make(m);
  use(join(m, a, b));
  b = make(m);
  cradle_store(m, a, &a->first, b);
  int64_t n = count(m) + sum(a);
  if (n > 0 && sum(a) > count(m)) use(a);
  use((make(m), a));
}

void both_ways(cradle_mutator *m, pair *a, int which) {
  pair *b = which ? a : make(m);
  use(b);
}

void local_array(cradle_mutator *m) {
  void *frame[8] = {NULL}, *base = frame, *top = frame + 8;
  cradle_root_range range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_REFERENCE, NULL);
  cradle_root_range_add(m, &range);
  frame[0] = make(m);
  frame[1] = make(m);
  use_two(frame[0], frame[1]);
  cradle_root_range_remove(m, &range);
}

void reserved(cradle_mutator *m) {
  cradle_reservation r = cradle_reserve(m, 2 * sizeof(pair));
  pair *a = cradle_new_reserved(&r, T_PAIR, sizeof(pair));
  pair *b = cradle_new_reserved(&r, T_PAIR, sizeof(pair));
  use_two(a, b);
}

void sizes_are_not_uses(cradle_mutator *m, pair *a) {
  make(m);
  a = cradle_new(m, T_PAIR, sizeof *a);
  use(a);
}

/* A root until the end, registered in a block, leaves the roots of the scopes around it and goes on after the block. */
void global_root_in_a_block(cradle_mutator *m, cradle_heap *heap, int wanted) {
  pair *a = make(m), *b = NULL;
  CRADLE_ROOT(m, a);
  if (wanted) {
    cradle_global_root_add(heap, &b, CRADLE_KIND_REFERENCE);
    b = make(m);
  }
  make(m);
  use_two(a, b);
}

void two_global_roots(cradle_mutator *m, cradle_heap *heap) {
  pair *a = make(m), *b = NULL;
  if (!cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE) ||
      !cradle_global_root_add(heap, &b, CRADLE_KIND_REFERENCE))
    return;
  b = make(m);
  make(m);
  use_two(a, b);
}

void two_global_roots_in_a_result(cradle_mutator *m, cradle_heap *heap) {
  pair *a = make(m), *b = NULL;
  bool done = cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE) &&
              cradle_global_root_add(heap, &b, CRADLE_KIND_REFERENCE);
  if (!done) return;
  b = make(m);
  make(m);
  use_two(a, b);
}

void global_root_that_is_read_in_any_order(cradle_mutator *m, cradle_heap *heap, int wanted) {
  pair *a = NULL;
  if (wanted) {
    cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
    a = make(m);
  }
  if (count(m) + sum(a) > 0) use(a);
}

void rooted_in_both_branches(cradle_mutator *m, cradle_heap *heap, pair *a, int which) {
  if (which) {
    cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
  } else {
    use(a);
    cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
  }
  make(m);
  use(a);
}

void rooted_in_a_loop(cradle_mutator *m, cradle_heap *heap, int times) {
  pair *a = NULL;
  cradle_global_root_add(heap, &a, CRADLE_KIND_REFERENCE);
  for (int i = 0; i < times; i++) {
    use(a);
    a = make(m);
  }
  make(m);
  use(a);
}
