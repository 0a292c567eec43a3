/* Every call that a callback must not make is refused, in a trace callback, a root callback, a destructor, an external
 * size, a weak set's swept function, a listener and a walk. No handler can go on from the middle of a collection, so a
 * child process tries each. */
#include "tests/support/heap_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

static fixture f;
static vector *kept; /* old, with its barrier flag set */
static cradle_weak_set *set;
static void (*act)(void); /* what callbacks do; NULL: nothing */

/* --- what they do --- */

static void store(void) {
  cradle_store(f.m, kept, &kept->item[0], kept);
}
static void tell_of_a_store(void) {
  kept->item[0] = kept;
  cradle_write_barrier(f.m, kept);
}
static void copy_slots(void) {
  void *from[1] = {kept};
  cradle_copy_slots(f.m, kept, kept->item, from, 1);
}
static void add_global_root(void) {
  static void *global;
  cradle_global_root_add(f.heap, &global, CRADLE_KIND_REFERENCE);
}
static void remove_global_root(void) {
  cradle_global_root_remove(f.heap, &kept);
}
static void set_root_callback(void) {
  cradle_root_callback_set(f.heap, NULL, NULL);
}
static void verify(void) {
  cradle_error error;
  (void)!cradle_heap_verify(f.heap, &error);
}
static void free_heap(void) {
  cradle_heap_free(f.heap);
}
static void make_mutator(void) {
  (void)cradle_mutator_new(f.heap);
}
static void free_set(void) {
  cradle_weak_set_free(set);
}
static void hash(void) {
  (void)cradle_identity_hash(f.m, kept);
}
static void release(void) {
  (void)cradle_release_memory(f.heap);
}
static void walk(void) {
  (void)cradle_heap_walk(f.heap, NULL, NULL);
}
static void push(void) {
  while (f.m->shadow_top != f.m->shadow_limit) f.m->shadow_top++;
  cradle_push(f.m, NULL);
}
CRADLE_UNCHECKED_COLLECTION static void allocate(void) {
  if (cradle_new_fast(f.m, T_PAIR, sizeof(pair)) != NULL) return; /* not refused, but it has no room */
  (void)cradle_new(f.m, T_PAIR, sizeof(pair));
}

static const struct {
  void (*act)(void);
  const char *name; /* as the message has it */
  bool of_heap;     /* takes the heap, and needs no mutator */
} acts[] = {
    {store, "cradle_store", false},
    {tell_of_a_store, "cradle_write_barrier", false},
    {copy_slots, "cradle_copy_slots", false},
    {hash, "cradle_identity_hash", false},
    {push, "cradle_push", false},
    {allocate, "cradle_new", false},
    {add_global_root, "cradle_global_root_add", true},
    {remove_global_root, "cradle_global_root_remove", true},
    {set_root_callback, "cradle_root_callback_set", true},
    {verify, "cradle_heap_verify", true},
    {walk, "cradle_heap_walk", true},
    {release, "cradle_release_memory", true},
    {make_mutator, "cradle_mutator_new", true},
    {free_heap, "cradle_heap_free", true},
    {free_set, "cradle_weak_set_free", false},
};

/* --- who does it --- */

static void do_it(void) {
  void (*what)(void) = act;
  act = NULL;
  if (what != NULL) what();
}

static void acting_trace(void *user, void *object, cradle_visitor *visitor) {
  assert_ptr_equal(user, &f); /* options.user */
  (void)object, (void)visitor;
  do_it();
}
static void acting_root(void *data, cradle_visitor *visitor) {
  (void)data, (void)visitor;
  do_it();
}
static void acting_destructor(void *user, void *object) {
  assert_ptr_equal(user, &f); /* options.user */
  (void)object;
  do_it();
}
static size_t acting_size(void *user, const void *object) {
  assert_ptr_equal(user, &f); /* options.user */
  (void)object;
  do_it();
  return 0;
}
static void acting_swept(void *data, size_t removed) {
  (void)data, (void)removed;
  do_it();
}
static void acting_listener(void *data, const cradle_event *event) {
  (void)data, (void)event;
  do_it();
}
static bool acting_walk(void *data, const cradle_object_info *info) {
  (void)data, (void)info;
  do_it();
  return true;
}

typedef void (*collection)(cradle_mutator *);
static void walk_the_heap(cradle_mutator *m) {
  (void)m;
  (void)cradle_heap_walk(f.heap, acting_walk, NULL);
}

/* Checks that the call, made from the current callback, ends in a message with the words. */
CRADLE_UNCHECKED_COLLECTION static void assert_refused(const char *who, size_t i, collection collect,
                                                       const char *words) {
  char wanted[200];
  snprintf(wanted, sizeof wanted, "%s: %s", acts[i].name, words);
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    act = acts[i].act;
    if (FIXTURE_LANDS(&f)) {
      collect(f.m);
      _exit(act == NULL ? 1 : 3);
    }
    _exit(strstr(f.message, wanted) != NULL ? 0 : 2);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    fail_msg("%s in %s: status %#x (0x100 not refused, 0x200 without \"%s\", 0x300 not called)", acts[i].name, who,
             status, wanted);
}

CRADLE_UNCHECKED_COLLECTION static void open_fixture(void) {
  cradle_options options;
  fixture_options(&f, &options);
  fixture_unstress(&options);
  options.verify = false; /* it calls the callbacks, too */
  options.listener = (cradle_listener){fixture_listen, &f};
  fixture_open_with(&f, &options);
  kept = cradle_new_array(f.m, T_VECTOR, 4);
  cradle_global_root_add(f.heap, &kept, CRADLE_KIND_REFERENCE);
  set = cradle_weak_set_new(f.m, acting_swept, NULL);
  cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
}

static void close_fixture(void) {
  cradle_weak_set_free(set);
  cradle_global_root_remove(f.heap, &kept);
  fixture_close(&f);
}

static const collection collections[] = {collect_minor, collect_major, collect_compacting};
#define EACH_COLLECTION(way) for (size_t way = 0; way < sizeof collections / sizeof *collections; way++)
#define EACH_ACT(i) for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)

/* Tries a young and an old object, in each kind of collection that calls their type's callback. */
CRADLE_UNCHECKED_COLLECTION static void refused_with_type(const char *who, const cradle_type *type, bool dies,
                                                          const char *words) {
  open_fixture();
  uint32_t id = cradle_type_add(f.heap, type);
  for (int old = 0; old < 2; old++) {
    void *object = type->trace != NULL ? cradle_new(f.m, id, type->size) : cradle_new_registered(f.m, id, type->size);
    CRADLE_ROOT(f.m, object);
    if (old) cradle_collect(f.m, CRADLE_COLLECT_MAJOR);
    void *alive = object;
    if (dies) object = NULL;
    EACH_COLLECTION(way) {
      if (old && way == 0) continue; /* minor collections leave old ones alone */
      EACH_ACT(i) assert_refused(who, i, collections[way], words);
    }
    object = alive;
  }
  close_fixture();
}

static void in_trace_callbacks(void **state) {
  (void)state;
  refused_with_type("a trace callback", &(cradle_type){.name = "traced", .size = 16, .trace = acting_trace}, false,
                    "called from a callback while a collection runs");
}

static void in_destructors(void **state) {
  (void)state;
  refused_with_type("a destructor", &(cradle_type){.name = "doomed", .size = 16, .destructor = acting_destructor}, true,
                    "called from a destructor");
}

static void free_all(cradle_mutator *m) {
  cradle_weak_set_free(set);
  cradle_mutator_free(m);
  cradle_heap_free(f.heap);
}

CRADLE_UNCHECKED_COLLECTION static void in_destructors_of_a_heap_that_is_freed(void **state) {
  (void)state;
  open_fixture();
  uint32_t id = cradle_type_add(f.heap, &(cradle_type){.name = "doomed", .size = 16, .destructor = acting_destructor});
  void *object = cradle_new_registered(f.m, id, 16);
  cradle_global_root_add(f.heap, &object, CRADLE_KIND_REFERENCE);
  EACH_ACT(i)
  if (acts[i].of_heap) assert_refused("a destructor at the end", i, free_all, "called from a destructor");
  cradle_global_root_remove(f.heap, &object);
  close_fixture();
}

static void in_external_sizes(void **state) {
  (void)state;
  refused_with_type("an external size", &(cradle_type){.name = "sized", .size = 16, .external_size = acting_size},
                    false, "called from a destructor, an external-size callback");
}

CRADLE_UNCHECKED_COLLECTION static void in_root_callbacks(void **state) {
  (void)state;
  open_fixture();
  cradle_root_callback_set(f.heap, acting_root, NULL);
  EACH_COLLECTION(way)
  EACH_ACT(i) assert_refused("a root callback", i, collections[way], "called from a callback while a collection runs");
  cradle_root_callback_set(f.heap, NULL, NULL);
  close_fixture();
}

CRADLE_UNCHECKED_COLLECTION static void in_swept_functions(void **state) {
  (void)state;
  open_fixture();
  cradle_weak_set_add(set, 1, cradle_new(f.m, T_PAIR, sizeof(pair)));
  EACH_COLLECTION(way)
  EACH_ACT(i)
  assert_refused("a swept function", i, collections[way],
                 "called from a destructor, an external-size callback or a weak "
                 "set's swept function");
  close_fixture();
}

CRADLE_UNCHECKED_COLLECTION static void in_listeners(void **state) {
  (void)state;
  open_fixture();
  f.listener = acting_listener;
  for (int kind = CRADLE_EVENT_MINOR_BEGIN; kind <= CRADLE_EVENT_PAUSE; kind++) {
    f.listens_to = EVENT_BIT(kind);
    EACH_ACT(i) assert_refused("a listener", i, collect_compacting, "called from a listener");
  }
  f.listens_to = 0;
  close_fixture();
}

static void in_walks(void **state) {
  (void)state;
  open_fixture();
  EACH_ACT(i) assert_refused("a walk", i, walk_the_heap, "called from a callback of a heap walk");
  close_fixture();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(in_trace_callbacks), cmocka_unit_test(in_root_callbacks),
      cmocka_unit_test(in_destructors),     cmocka_unit_test(in_external_sizes),
      cmocka_unit_test(in_swept_functions), cmocka_unit_test(in_listeners),
      cmocka_unit_test(in_walks),           cmocka_unit_test(in_destructors_of_a_heap_that_is_freed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
