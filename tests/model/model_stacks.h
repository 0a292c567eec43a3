/* The random mutator's root stacks; included by tests/model/model.h after its world.
 *
 * The mutator's own root stack is the first; the others come and go. Each has words on its shadow stack, scoped roots
 * and, mostly, a range. What one holds is reached whether it runs or not, and only the running one is written to. A
 * choice of the root stack that runs next favours the first ones, so that the last rest over several collections.
 *
 * Comparing switches to none of them, which would let it run: the words of a suspended shadow stack do not move.
 */
enum { OWN_MOST = 4096, COROUTINE_MOST = 600 };

static object *random_object(world *w, uint32_t *number);
static object *allocate(world *w, uint32_t *number) CRADLE_MAY_COLLECT;

static bool stack_is_open(const world *w, const model_stack *stack) {
  return stack == w->stacks || stack->real != NULL;
}

static cradle_word *stack_base(const world *w, const model_stack *stack) {
  return stack == w->running ? w->m->shadow_base : stack->base;
}

static size_t stack_roots(const world *w, const model_stack *stack) {
  return stack_is_open(w, stack) ? stack->shadow_count + stack->scoped_count + (stack->has_range ? STACK_WORDS : 0) : 0;
}

static model_root stack_root(const world *w, model_stack *stack, size_t i) {
  if (i < stack->shadow_count)
    return (model_root){(void **)(stack_base(w, stack) + i), &stack->shadow_model[i], stack == w->running};
  i -= stack->shadow_count;
  if (i < stack->scoped_count) return (model_root){&stack->scoped[i], &stack->scoped_model[i], stack == w->running};
  i -= stack->scoped_count;
  return (model_root){&stack->range[i], &stack->range_model[i], stack == w->running};
}

/* Root i of all root stacks. false: there are no more. */
static bool stacks_root_at(world *w, size_t i, model_root *root) {
  for (model_stack *stack = w->stacks; stack < w->stacks + STACKS; stack++) {
    size_t count = stack_roots(w, stack);
    if (i < count) {
      *root = stack_root(w, stack, i);
      return true;
    }
    i -= count;
  }
  return false;
}

static bool stacks_random_root(world *w, model_root *root) {
  model_stack *stack = &w->stacks[below(w, STACKS)];
  size_t count = stack_roots(w, stack);
  if (count == 0) return false;
  *root = stack_root(w, stack, below(w, count));
  return true;
}

/* --- their life --- */

static void stack_begin(model_stack *stack, cradle_root_stack *real, size_t most) {
  *stack = (model_stack){.real = real, .shadow_most = most, .shadow_model = calloc(most, sizeof(uint32_t))};
  if (stack->shadow_model == NULL) abort();
}

static void stack_new(world *w) {
  model_stack *stack = &w->stacks[below(w, STACKS)];
  if (stack_is_open(w, stack)) return;
  cradle_root_stack *real = cradle_root_stack_new(w->m);
  if (real == NULL) abort();
  stack_begin(stack, real, COROUTINE_MOST);
  w->stacks_made++;
}

static void stack_switch(world *w, model_stack *to) {
  const model_stack *from = w->running;
  w->running->base = w->m->shadow_base;
  if (cradle_root_stack_switch(w->m, to->real) != from->real) differ(w, "another root stack ran");
  w->running = to;
  if ((size_t)(w->m->shadow_top - w->m->shadow_base) != to->shadow_count)
    differ(w, "a root stack has lost words, or has more of them");
}

static void stack_free(world *w, model_stack *stack) {
  if (stack == w->stacks || stack == w->running || stack->real == NULL) return;
  cradle_root_stack_free(stack->real);
  if (stack->has_range && stack->roots.mutator != NULL) differ(w, "a freed root stack's range is still registered");
  free(stack->shadow_model);
  *stack = (model_stack){.real = NULL};
  if (w->checkpoint.stack == stack) w->checkpoint.stack = NULL;
}

/* Whoever was suspended stays as it is, until it is freed or goes on. */
static void stack_restore(world *w) {
  model_stack *to = w->checkpoint.stack;
  if (to == NULL || w->checkpoint.shadow_count > to->shadow_count || w->checkpoint.scoped_count > to->scoped_count)
    return;
  w->running->base = w->m->shadow_base;
  cradle_checkpoint_restore(w->m, &w->checkpoint.saved);
  w->running = to;
  to->shadow_count = w->checkpoint.shadow_count;
  to->scoped_count = w->checkpoint.scoped_count;
}

static void stack_save(world *w) {
  w->checkpoint.saved = cradle_checkpoint_save(w->m);
  w->checkpoint.stack = w->running;
  w->checkpoint.shadow_count = w->running->shadow_count;
  w->checkpoint.scoped_count = w->running->scoped_count;
}

/* --- scopes and ranges --- */

static void stack_open_scope(world *w) {
  model_stack *stack = w->running;
  size_t i = stack->scoped_count;
  if (i == SCOPES_MAX) return;
  uint32_t number = 0;
  stack->scoped[i] = random_object(w, &number);
  stack->scoped_model[i] = stack->scoped[i] == NULL ? 0 : number;
  stack->scopes[i] = cradle_scope_open(w->m, &stack->scoped[i], CRADLE_KIND_REFERENCE, "scoped");
  stack->scoped_count++;
}

static void stack_close_scopes(world *w, size_t count) {
  model_stack *stack = w->running;
  for (; count > 0 && stack->scoped_count > 0; count--) cradle_scope_close(&stack->scopes[--stack->scoped_count]);
}

/* A suspended one may get a range, too. */
static void stack_range(world *w) {
  model_stack *stack = &w->stacks[below(w, STACKS)];
  if (!stack_is_open(w, stack)) return;
  if (stack->has_range) {
    cradle_root_range_remove(w->m, &stack->roots);
    stack->has_range = false;
    return;
  }
  for (size_t i = 0; i < STACK_WORDS; i++) {
    uint32_t number = 0;
    stack->range[i] = i % 4 == 0 ? random_object(w, &number) : NULL;
    stack->range_model[i] = stack->range[i] == NULL ? 0 : number;
  }
  stack->range_base = stack->range;
  stack->range_top = stack->range + STACK_WORDS;
  stack->roots = CRADLE_ROOT_RANGE(stack->range_base, stack->range_top, CRADLE_KIND_REFERENCE, "coroutine");
  stack->roots.stack = stack->real;
  cradle_root_range_add(w->m, &stack->roots);
  stack->has_range = true;
}

/* --- what the running one holds --- */

static void stack_push(world *w, object *real, uint32_t number) {
  model_stack *stack = w->running;
  if (stack->shadow_count == stack->shadow_most) return;
  cradle_push(w->m, real);
  stack->shadow_model[stack->shadow_count++] = real == NULL ? 0 : number;
}

/* Mostly a few words; sometimes more than marking looks at in one piece. */
static void stack_push_many(world *w) {
  uint32_t number = 0;
  uint64_t count = below(w, 4) == 0 ? below(w, COROUTINE_MOST) : below(w, 20);
  object *real = random_object(w, &number);
  for (; count > 0; count--) {
    if (count % 16 == 0) real = random_object(w, &number);
    stack_push(w, real, number);
  }
}

/* Into a scoped variable or a word of the range. */
static void stack_write(world *w, object *real, uint32_t number) {
  model_stack *stack = w->running;
  size_t count = stack_roots(w, stack) - stack->shadow_count;
  if (count == 0) return;
  model_root root = stack_root(w, stack, stack->shadow_count + below(w, count));
  *root.word = real;
  *root.number = real == NULL ? 0 : number;
}

/* The root stack is all that knows the new object. */
static void stack_allocate(world *w) CRADLE_MAY_COLLECT {
  uint32_t number;
  object *real = allocate(w, &number);
  if (below(w, 2))
    stack_push(w, real, number);
  else
    stack_write(w, real, number);
}

static void stack_step(world *w) CRADLE_MAY_COLLECT {
  uint32_t number = 0;
  switch (below(w, 17)) {
  case 0:
  case 1:
  case 2: stack_new(w); break;
  case 3:
  case 4:
  case 5:
  case 6: {
    model_stack *to = &w->stacks[below(w, 1 + below(w, STACKS))];
    if (stack_is_open(w, to)) stack_switch(w, to);
    break;
  }
  case 7: stack_free(w, &w->stacks[below(w, STACKS)]); break;
  case 8:
  case 9: stack_open_scope(w); break;
  case 10: stack_close_scopes(w, below(w, 4)); break;
  case 11: {
    object *real = random_object(w, &number);
    stack_write(w, real, number);
    break;
  }
  case 12: stack_allocate(w); break;
  case 13: stack_range(w); break;
  case 14: stack_save(w); break;
  case 15: stack_push_many(w); break;
  default: stack_restore(w); break;
  }
}

/* Before the mutator goes. The others may be freed before it or after it. */
static void stacks_leave(world *w) {
  stack_switch(w, w->stacks);
  stack_close_scopes(w, SCOPES_MAX);
  cradle_pop_many(w->m, w->running->shadow_count);
  if (w->stacks->has_range) cradle_root_range_remove(w->m, &w->stacks->roots);
  w->stacks->has_range = false;
  for (size_t i = 1; i < STACKS; i += 2) stack_free(w, &w->stacks[i]);
}

static void stacks_close(world *w) {
  for (size_t i = 1; i < STACKS; i++) stack_free(w, &w->stacks[i]);
  free(w->stacks->shadow_model);
}
