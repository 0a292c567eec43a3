/* Mistakes that embedders make, planted on purpose: each is one function, and tests/programs/planted_bugs.py runs each
 * of them under each instrument and says which one catches it, at which line, and after how many allocations.
 *
 *   planted_bugs            lists them: a name, a tab, what is wrong
 *   planted_bugs NAME       makes the mistake again and again
 *
 * The line with the mistake is marked "mistake", the lines at which an instrument may stop the program "stops". What
 * stops it is told with a stack, whose frames the script turns into lines. Exit status: 0 nothing was noticed, 1 the
 * program's results were wrong, 3 a fault, 4 misuse, 5 an abort. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#include <ucontext.h>
#endif

#include <cradle/cradle.h>

#define ROUNDS 3000
#define NOINLINE __attribute__((noinline))
#define CHECK(condition) (wrong |= !(condition))

enum { T_PAIR, T_VECTOR, T_TEXT, T_BOX, T_FORGETFUL, T_EAGER, T_TRACED, T_OWNER, T_FINALIZED };
typedef struct pair {
  uint64_t header;
  struct pair *first, *rest;
  uint64_t number;
} pair;
typedef struct vector {
  uint64_t header, length;
  pair *item[];
} vector;
typedef struct text {
  uint64_t header, length;
  char byte[];
} text;
typedef struct box {
  uint64_t header, value;
} box;
typedef struct traced {
  uint64_t header;
  pair *inside;
} traced;
typedef struct owner { /* with a destructor */
  uint64_t header;
  pair *inside;
  uint64_t number;
} owner;

static cradle_heap *heap;
static cradle_mutator *m;
static uint64_t allocations;
static volatile bool wrong;

/* --- telling --- */

static void write_all(const char *words) {
  size_t length = strlen(words);
  while (length > 0) {
    ssize_t written = write(STDERR_FILENO, words, length);
    if (written <= 0) return;
    words += written;
    length -= (size_t)written;
  }
}

static void tell(const char *what, const char *message, const void *counter) {
  char line[400];
  snprintf(line, sizeof line, "planted: %s after %llu allocations: %s\n", what, (unsigned long long)allocations,
           message);
  write_all(line);
#ifdef __GLIBC__
  void *frames[32];
  int depth = backtrace(frames, 32), first = 0;
  for (int i = 0; i < depth; i++)
    if (frames[i] == counter) first = i;
  backtrace_symbols_fd(frames + first, depth - first, STDERR_FILENO);
#else
  (void)counter;
#endif
}

static void on_fault(int number, siginfo_t *info, void *context) {
  const void *counter = NULL;
  (void)number, (void)info, (void)context;
#if defined(__linux__) && defined(__x86_64__)
  counter = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__linux__) && defined(__aarch64__)
  counter = (void *)((ucontext_t *)context)->uc_mcontext.pc;
#endif
  tell("fault", "", counter);
  _exit(3);
}

static void on_abort(int number) {
  (void)number;
  tell("abort", "", NULL);
  _exit(5);
}

static void on_misuse(void *data, const char *message) {
  (void)data;
  tell("misuse", message, NULL);
  _exit(4);
}

void __asan_on_error(void);
void __asan_on_error(void) {
  char line[80];
  snprintf(line, sizeof line, "planted: sanitizer after %llu allocations:\n", (unsigned long long)allocations);
  write_all(line);
}

/* --- the honest part --- */

#define NEW(type) (allocations++, cradle_new(m, T_##type, SIZE_##type))
#define NEW_REGISTERED(type) (allocations++, cradle_new_registered(m, T_##type, SIZE_##type))
#define SIZE_PAIR sizeof(pair)
#define SIZE_BOX sizeof(box)
#define SIZE_FORGETFUL sizeof(pair)
#define SIZE_EAGER sizeof(pair)
#define SIZE_TRACED sizeof(traced)
#define SIZE_OWNER sizeof(owner)
#define SIZE_FINALIZED sizeof(pair)

static NOINLINE pair *new_pair(uint64_t number) {
  pair *made = NEW(PAIR);
  made->number = number;
  return made;
}

static NOINLINE vector *new_vector(size_t length) {
  allocations++;
  return cradle_new_array(m, T_VECTOR, length);
}

/* A small working set, so that a minor collection has something to move. */
static NOINLINE void work(void) {
  pair *list = NULL;
  CRADLE_ROOT(m, list);
  for (uint64_t i = 0; i < 4; i++) {
    pair *next = new_pair(i);
    next->rest = list;
    list = next;
  }
}

/* An object that lives in the old generation. */
static NOINLINE pair *old_pair(void) {
  cradle_push(m, new_pair(1));
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  return cradle_pop(m);
}

/* Two of them, the second one in rest. */
static NOINLINE pair *old_pairs(void) {
  pair *second = NULL;
  CRADLE_ROOT(m, second);
  second = new_pair(2);
  pair *first = new_pair(1);
  first->rest = second;
  cradle_push(m, first);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  return cradle_pop(m);
}

/* --- a root is missing --- */

static NOINLINE void missing_root_local(void) {
  pair *first = new_pair(1); /* mistake: no root over the next line */
  pair *second = new_pair(2);
  second->first = first;
  CHECK(first->number == 1 && second->first->number == 1); /* stops */
}

static NOINLINE void join(pair *first, pair *second) {
  CHECK(first->number == 1 && second->number == 2); /* stops: in missing_root_argument */
}
static NOINLINE void missing_root_argument(void) {
  /* mistake: the first of the two is not rooted while the second is allocated; stops */
  join(new_pair(1), new_pair(2));
}

static NOINLINE uint64_t count_things(void) {
  return new_pair(7)->number;
}
static NOINLINE void missing_root_nested(void) {
  pair *kept = new_pair(1);
  uint64_t number = count_things();  /* mistake: kept is not rooted, and nobody sees that count_things allocates */
  CHECK(kept->number + number == 8); /* stops */
}

static NOINLINE void missing_root_loop(void) {
  pair *list = NULL;
  for (uint64_t i = 0; i < 3; i++) {
    pair *next = new_pair(i); /* mistake: list is not rooted from round to round */
    next->rest = list;
    list = next;
  }
  CHECK(list->rest->number == 1); /* stops */
}

static pair *forgotten;
static NOINLINE void missing_root_global(void) {
  if (forgotten == NULL) forgotten = new_pair(1); /* mistake: the variable is not registered */
  work();
  CHECK(forgotten->number == 1); /* stops */
}

/* What is old dies in major collections only, and moves in compacting ones. */
static NOINLINE void missing_root_old(void) {
  pair *old = old_pairs();
  work();                        /* mistake: old is not rooted */
  CHECK(old->rest->number == 2); /* stops */
}

static NOINLINE void missing_root_copy(void) {
  pair *kept = old_pairs(), *copy = kept;
  CRADLE_ROOT(m, kept);
  work();                                              /* mistake: kept is rooted, its copy is not */
  CHECK(copy->rest->number == 2 && kept->number == 1); /* stops */
}

/* Above 32 KiB an array has pages of its own. */
enum { MUCH = 100000 };
static NOINLINE text *new_much_text(void) {
  allocations++;
  text *made = cradle_new_array(m, T_TEXT, MUCH);
  memset(made->byte, 'x', MUCH);
  return made;
}

static NOINLINE void missing_root_large(void) {
  text *much = new_much_text();
  work();                             /* mistake: much is not rooted */
  CHECK(much->byte[MUCH / 2] == 'x'); /* stops */
}

static NOINLINE void missing_root_large_old(void) {
  cradle_push(m, new_much_text());
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  text *much = cradle_pop(m);
  for (int i = 0; i < 10; i++) work(); /* mistake: much is not rooted */
  CHECK(much->byte[MUCH / 2] == 'x');  /* stops */
}

/* --- a barrier is missing --- */

static NOINLINE void missing_barrier_field(void) {
  pair *old = old_pair();
  CRADLE_ROOT(m, old);
  old->first = new_pair(2);       /* mistake */
  work();                         /* stops */
  CHECK(old->first->number == 2); /* stops */
}

static NOINLINE void missing_barrier_item(void) {
  vector *table = new_vector(20);
  CRADLE_ROOT(m, table);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  pair *item = new_pair(2);
  table->item[17] = item;              /* mistake */
  work();                              /* stops */
  CHECK(table->item[17]->number == 2); /* stops */
}

static NOINLINE void missing_barrier_copy(void) {
  vector *table = new_vector(20), *other = NULL;
  CRADLE_ROOT(m, table);
  CRADLE_ROOT(m, other);
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  other = new_vector(20);
  pair *item = new_pair(2);
  cradle_store(m, other, &other->item[3], item);
  memcpy(table->item, other->item, 20 * sizeof *table->item); /* mistake: no barrier behind it */
  other = NULL;
  work();                             /* stops */
  CHECK(table->item[3]->number == 2); /* stops */
}

static NOINLINE void header_overwritten(void) {
  pair *old = old_pair();
  CRADLE_ROOT(m, old);
  *old = (pair){.number = 1}; /* mistake: the header, too, in which the barrier's flag is */
  pair *item = new_pair(2);   /* stops */
  cradle_store(m, old, &old->first, item);
  work();                         /* stops */
  CHECK(old->first->number == 2); /* stops */
}

/* --- a descriptor is wrong --- */

static NOINLINE void map_misses_a_slot(void) {
  pair *kept = NULL;
  CRADLE_ROOT(m, kept);
  kept = NEW(FORGETFUL); /* mistake: the descriptor names first only */
  pair *rest = new_pair(3);
  kept->rest = rest;
  work();
  CHECK(kept->rest->number == 3); /* stops */
}

static NOINLINE void map_has_a_slot_too_many(void) {
  pair *kept = NULL;
  CRADLE_ROOT(m, kept);
  kept = NEW(EAGER); /* mistake: the descriptor takes number for a reference */
  kept->number = 77;
  work(); /* stops */
  CHECK(kept->number == 77);
}

static NOINLINE void wrong_size(void) {
  allocations++;
  pair *small = cradle_new(m, T_PAIR, 16); /* mistake: a pair has 32 bytes; stops */
  CRADLE_ROOT(m, small);
  small->first = NULL;
  work();
  CHECK(small->first == NULL);
}

static NOINLINE void wrong_length(void) {
  vector *table = new_vector(4);
  CRADLE_ROOT(m, table);
  table->length = 400; /* mistake: it has room for 4 */
  work();              /* stops */
  CHECK(table->length == 400);
}

static NOINLINE void type_out_of_range(void) {
  allocations++;
  box *strange = cradle_new(m, 1000, sizeof(box)); /* mistake: there is no such type; stops */
  CRADLE_ROOT(m, strange);
  strange->value = 1;
  work(); /* stops */
  CHECK(strange->value == 1);
}

static NOINLINE void slot_not_written(void) {
  allocations++;
  pair *made = cradle_new_uninitialized(m, T_PAIR, sizeof(pair));
  made->first = NULL; /* mistake: rest is not written */
  CRADLE_ROOT(m, made);
  work(); /* stops */
  CHECK(made->first == NULL);
}

static NOINLINE void wrong_tag(void) {
  vector *table = new_vector(2);
  CRADLE_ROOT(m, table);
  table->item[1] = (pair *)(uintptr_t)129; /* mistake: a number with its tag, where plain references belong */
  work();                                  /* stops */
  CHECK(table->item[1] != NULL);
}

/* --- roots go wrong --- */

static jmp_buf landing;
static NOINLINE void jump_out(void) {
  pair *inner = new_pair(2);
  CRADLE_ROOT(m, inner);
  work();
  longjmp(landing, 1);
}
static NOINLINE void longjmp_without_restore(void) {
  pair *volatile outer = new_pair(1);
  CRADLE_ROOT(m, outer);
  if (setjmp(landing) == 0) jump_out(); /* mistake: no cradle_checkpoint_restore after it */
  work();                               /* stops */
  CHECK(outer->number == 1);
} /* stops */

static NOINLINE void stale_interior_pointer(void) {
  vector *table = new_vector(8);
  CRADLE_ROOT(m, table);
  pair **slot = &table->item[5]; /* mistake: the address of a slot does not move with its object */
  pair *item = new_pair(2);
  *slot = item; /* stops */
  CHECK(table->item[5] == item);
}

static NOINLINE void pop_below_the_base(void) {
  cradle_push(m, new_pair(1));
  pair *got = cradle_pop(m);
  CHECK(got->number == 1);
  cradle_pop_many(m, 1); /* mistake; stops */
}

static NOINLINE void use_and_pop_too_much(pair *object) {
  cradle_push(m, object);
  cradle_pop_many(m, 2); /* mistake: the caller's root goes, too */
}
static NOINLINE void pop_of_anothers_root(void) {
  pair *kept = new_pair(1);
  cradle_push(m, kept);
  use_and_pop_too_much(kept);
  work();
  cradle_push(m, NULL);
  kept = *(pair **)(cradle_peek(m, 0)) == NULL ? kept : NULL;
  CHECK(kept->number == 1); /* stops */
  cradle_pop(m);
}

static void *vm_stack[64], **vm_base = vm_stack, **vm_top = vm_stack;
static cradle_root_range vm_range = {.base = &vm_base, .top = &vm_top, .name = "vm stack"};
static void add_vm_stack(void) {
  static bool added;
  if (!added) cradle_root_range_add(m, &vm_range);
  added = true;
}
static NOINLINE void range_top_behind(void) {
  add_vm_stack();
  vm_top = vm_stack;
  vm_stack[0] = new_pair(1); /* mistake: vm_top is not moved up before the next call */
  work();
  CHECK(((pair *)vm_stack[0])->number == 1); /* stops */
}

static NOINLINE void range_frame_not_cleared(void) {
  add_vm_stack();
  vm_top = vm_stack;
  *vm_top++ = new_pair(1);
  *vm_top++ = new_pair(2);
  vm_top -= 2;
  work();
  vm_top += 2; /* mistake: a frame of two words, in which old ones lie */
  work();      /* stops */
  vm_top -= 2;
}

static NOINLINE void freed_global_root(void) {
  void **module = calloc(1, 64);
  cradle_global_root_add(heap, module, CRADLE_KIND_REFERENCE);
  *module = new_pair(1);
  free(module); /* mistake: it is still registered */
  char *name = malloc(64);
  if (name == NULL) exit(2);
  strcpy(name, "what other data may lie there");
  work(); /* stops */
  free(name);
}

/* --- rules are broken --- */

static bool trace_allocates;
static CRADLE_UNCHECKED_COLLECTION void eager_trace(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  if (trace_allocates) (void)new_pair(1); /* mistake; stops */
  cradle_visit(visitor, &((traced *)object)->inside, CRADLE_KIND_REFERENCE);
}
static NOINLINE void allocation_in_a_trace(void) {
  traced *object = NEW(TRACED);
  CRADLE_ROOT(m, object);
  trace_allocates = true;
  work(); /* stops */
}

static CRADLE_UNCHECKED_COLLECTION void eager_roots(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  (void)new_pair(1); /* mistake; stops */
}
static NOINLINE void allocation_in_a_root_callback(void) {
  cradle_root_callback_set(heap, eager_roots, NULL);
  work(); /* stops */
}

/* What the destructor of all owners does; each of the mistakes below sets its own. */
static void (*destroy)(owner *dead);
static void destroy_owner(void *user, void *dead) {
  (void)user;
  if (destroy != NULL) destroy(dead); /* stops */
}
static NOINLINE void make_garbage_owner(void (*destructor)(owner *)) {
  destroy = destructor;
  pair *inside = new_pair(5);
  CRADLE_ROOT(m, inside);
  owner *made = NEW_REGISTERED(OWNER);
  made->inside = inside;
  made->number = 5;
}

static CRADLE_UNCHECKED_COLLECTION void allocate_in_destructor(owner *dead) {
  CHECK(new_pair(dead->number)->number == 5); /* mistake; stops */
}
static NOINLINE void allocation_in_a_destructor(void) {
  make_garbage_owner(allocate_in_destructor);
  work(); /* stops */
}

static pair *registry; /* a global root */
static void enter_in_destructor(owner *dead) {
  cradle_store(m, registry, &registry->first, dead->inside); /* mistake: the object may be dead or moved; stops */
}
static NOINLINE void store_in_a_destructor(void) {
  if (registry == NULL) {
    registry = old_pair();
    cradle_global_root_add(heap, &registry, CRADLE_KIND_REFERENCE);
  }
  make_garbage_owner(enter_in_destructor);                        /* stops */
  work();                                                         /* stops */
  CHECK(registry->first == NULL || registry->first->number == 5); /* stops */
}

static owner *saved;
static void save_in_destructor(owner *dead) {
  saved = dead; /* mistake: the object's memory is freed after the destructor, even if something still refers to it */
}
static NOINLINE void resurrection_in_a_destructor(void) {
  static bool is_registered;
  if (!is_registered) cradle_global_root_add(heap, &saved, CRADLE_KIND_REFERENCE), is_registered = true;
  make_garbage_owner(save_in_destructor);     /* stops */
  work();                                     /* stops */
  CHECK(saved == NULL || saved->number == 5); /* stops */
}

static void jump_from_destructor(owner *dead) {
  CHECK(dead->number == 5);
  longjmp(landing, 1); /* mistake: the collection is left half done */
}
static NOINLINE void longjmp_out_of_a_destructor(void) {
  cradle_checkpoint here = cradle_checkpoint_save(m);
  if (setjmp(landing) == 0) {
    make_garbage_owner(jump_from_destructor);
    work();
  }
  cradle_checkpoint_restore(m, &here); /* stops */
  work();
}

static NOINLINE void finalized_type_not_registered(void) {
  pair *made = NEW(FINALIZED); /* mistake: cradle_new_registered makes such objects; stops */
  made->number = 6;
}

static NOINLINE void finalized_object_not_rooted(void) {
  pair *part = new_pair(6);
  CRADLE_ROOT(m, part);
  pair *made = NEW_REGISTERED(FINALIZED);
  made->first = part;
  part = NULL;
  cradle_collect(m, CRADLE_COLLECT_MINOR);
  pair *dead = cradle_finalizer_next(m, 1);
  if (dead == NULL) return;
  work();                          /* mistake: dead is alive again, and not rooted */
  CHECK(dead->first->number == 6); /* stops */
}

static NOINLINE void allocation_where_none_may_be(void) {
  cradle_no_collect_begin(m);
  CHECK(new_pair(1)->number == 1); /* mistake; stops */
  cradle_no_collect_end(m);
}

static NOINLINE void reservation_too_late(void) {
  cradle_reservation room = cradle_reserve(m, 2 * sizeof(pair));
  allocations++;
  pair *first = cradle_new_reserved(&room, T_PAIR, sizeof(pair));
  memset(&first->first, 0, sizeof(pair) - 8);
  CRADLE_ROOT(m, first);
  work(); /* mistake: it may collect, which ends the reservation */
  allocations++;
  pair *second = cradle_new_reserved(&room, T_PAIR, sizeof(pair)); /* stops */
  memset(&second->first, 0, sizeof(pair) - 8);
  CHECK(second->first == NULL);
}

static cradle_heap *other_heap;
static cradle_mutator *other_mutator;
static NOINLINE void reference_of_another_heap(void) {
  vector *table = new_vector(2);
  CRADLE_ROOT(m, table);
  allocations++;
  pair *foreign = cradle_new(other_mutator, T_PAIR, sizeof(pair));
  foreign->number = 5;
  cradle_store(m, table, &table->item[0], foreign); /* mistake: no root of its own heap holds it */
  for (int i = 0; i < 4; i++) allocations++, (void)cradle_new(other_mutator, T_PAIR, sizeof(pair));
  CHECK(table->item[0]->number == 5); /* stops */
}

static void *allocate_elsewhere(void *data) {
  (void)data;
  for (int i = 0; i < ROUNDS; i++) CHECK(new_pair(1)->number == 1); /* mistake: another thread's mutator; stops */
  return NULL;
}
static NOINLINE void another_thread(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, allocate_elsewhere, NULL) == 0) pthread_join(thread, NULL);
}

/* --- the program --- */

static const struct {
  const char *name;
  void (*run)(void);
  const char *mistake;
} bugs[] = {
    {"missing_root_local", missing_root_local, "a local holds a reference over a call that allocates"},
    {"missing_root_argument", missing_root_argument, "two arguments of a call allocate"},
    {"missing_root_nested", missing_root_nested, "a call allocates, deep inside"},
    {"missing_root_loop", missing_root_loop, "a local is carried from round to round"},
    {"missing_root_global", missing_root_global, "a global variable is not registered"},
    {"missing_root_old", missing_root_old, "a local holds an old object, to which nothing else refers"},
    {"missing_root_copy", missing_root_copy, "a local holds an old object, which moves with its root"},
    {"missing_root_large", missing_root_large, "a local holds a large array of bytes"},
    {"missing_root_large_old", missing_root_large_old, "a local holds a large array that is old"},
    {"missing_barrier_field", missing_barrier_field, "a plain store into a field of an old object"},
    {"missing_barrier_item", missing_barrier_item, "a plain store into an item of an old array"},
    {"missing_barrier_copy", missing_barrier_copy, "a memcpy into an old array"},
    {"header_overwritten", header_overwritten, "an assignment to a whole object"},
    {"map_misses_a_slot", map_misses_a_slot, "the descriptor does not name a slot"},
    {"map_has_a_slot_too_many", map_has_a_slot_too_many, "the descriptor names a number as a slot"},
    {"wrong_size", wrong_size, "an object is allocated smaller than its descriptor says"},
    {"wrong_length", wrong_length, "an array's length is overwritten"},
    {"type_out_of_range", type_out_of_range, "an object of a type that does not exist"},
    {"slot_not_written", slot_not_written, "a slot of an uninitialised object is not written"},
    {"wrong_tag", wrong_tag, "a tagged number where a reference belongs"},
    {"longjmp_without_restore", longjmp_without_restore, "a longjmp out of a scope with roots, and nothing restored"},
    {"stale_interior_pointer", stale_interior_pointer, "a store through a slot's address, taken before an allocation"},
    {"pop_below_the_base", pop_below_the_base, "a pop of an empty shadow stack"},
    {"pop_of_anothers_root", pop_of_anothers_root, "a function pops a word too many"},
    {"range_top_behind", range_top_behind, "a root range's top is not up to date"},
    {"range_frame_not_cleared", range_frame_not_cleared, "a frame in a root range begins with old words"},
    {"freed_global_root", freed_global_root, "a global root is freed and still registered"},
    {"allocation_in_a_trace", allocation_in_a_trace, "a trace callback allocates"},
    {"allocation_in_a_root_callback", allocation_in_a_root_callback, "a root callback allocates"},
    {"allocation_in_a_destructor", allocation_in_a_destructor, "a destructor allocates"},
    {"store_in_a_destructor", store_in_a_destructor, "a destructor stores what its object refers to into the heap"},
    {"resurrection_in_a_destructor", resurrection_in_a_destructor, "a destructor saves its object in a global root"},
    {"longjmp_out_of_a_destructor", longjmp_out_of_a_destructor, "a longjmp out of a destructor"},
    {"finalized_type_not_registered", finalized_type_not_registered, "cradle_new makes an object that has a finalizer"},
    {"finalized_object_not_rooted", finalized_object_not_rooted, "what a finalizer queue gave is not rooted"},
    {"allocation_where_none_may_be", allocation_where_none_may_be, "an allocation in a no-collection region"},
    {"reservation_too_late", reservation_too_late, "a reservation is used after a call that may collect"},
    {"reference_of_another_heap", reference_of_another_heap, "an object refers to one of another heap"},
    {"another_thread", another_thread, "another thread uses the mutator"},
};
#define BUGS (sizeof bugs / sizeof *bugs)

static const cradle_type types[] = {
    [T_PAIR] = {.name = "T_PAIR",
                .size = sizeof(pair),
                .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest)},
    [T_VECTOR] = {.name = "T_VECTOR",
                  .size = sizeof(vector),
                  .items = CRADLE_ITEMS_REFERENCES,
                  .item_size = 8,
                  .length_offset = offsetof(vector, length)},
    [T_TEXT] = {.name = "T_TEXT",
                .size = sizeof(text),
                .items = CRADLE_ITEMS_BYTES,
                .item_size = 1,
                .length_offset = offsetof(text, length)},
    [T_BOX] = {.name = "T_BOX", .size = sizeof(box)},
    [T_FORGETFUL] = {.name = "T_FORGETFUL", .size = sizeof(pair), .references = CRADLE_SLOT(pair, first)},
    [T_EAGER] = {.name = "T_EAGER",
                 .size = sizeof(pair),
                 .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest) | CRADLE_SLOT(pair, number)},
    [T_TRACED] = {.name = "T_TRACED", .size = sizeof(traced), .trace = eager_trace},
    [T_OWNER] = {.name = "T_OWNER",
                 .size = sizeof(owner),
                 .references = CRADLE_SLOT(owner, inside),
                 .destructor = destroy_owner},
    [T_FINALIZED] = {.name = "T_FINALIZED",
                     .size = sizeof(pair),
                     .references = CRADLE_SLOT(pair, first) | CRADLE_SLOT(pair, rest),
                     .finalizer = 1},
};

static void handle(int number, void (*function)(int, siginfo_t *, void *)) {
  struct sigaction action = {.sa_sigaction = function, .sa_flags = SA_SIGINFO};
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

static cradle_heap *start(void) {
  cradle_options options;
  cradle_error error;
  cradle_options_init(&options);
  options.types = types;
  options.type_count = sizeof types / sizeof *types;
  options.nursery_bytes = (size_t)32 << 10;
  options.on_misuse = on_misuse;
  cradle_heap *made = cradle_heap_new_from_environment(&options, &error);
  if (made == NULL) {
    fprintf(stderr, "%s\n", error.message);
    exit(2);
  }
  return made;
}

static int run(void (*bug)(void)) {
  handle(SIGSEGV, on_fault);
  handle(SIGBUS, on_fault);
  signal(SIGABRT, on_abort);
  heap = start();
  m = cradle_mutator_new(heap);
  other_heap = start();
  other_mutator = cradle_mutator_new(other_heap);
  if (m == NULL || other_mutator == NULL) return 2;
  work();
  const char *stress = getenv("CRADLE_STRESS");
  bool moves_all = stress != NULL && strstr(stress, ",major=1") != NULL; /* at each allocation */
  int rounds = moves_all ? ROUNDS / 10 : ROUNDS;
  for (int i = 0; i < rounds && !wrong; i++) bug();
  tell(wrong ? "wrong results" : "nothing noticed", "", NULL);
  return wrong ? 1 : 0;
}

int main(int argc, char **argv) {
  for (size_t i = 0; i < BUGS; i++) {
    if (argc < 2) printf("%s\t%s\n", bugs[i].name, bugs[i].mistake);
    if (argc == 2 && strcmp(argv[1], bugs[i].name) == 0) return run(bugs[i].run);
  }
  if (argc < 2) return 0;
  fprintf(stderr, "planted_bugs: %s is none of the names that it lists without arguments\n", argv[1]);
  return 2;
}
