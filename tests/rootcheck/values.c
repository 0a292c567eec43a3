/* Types of values that nothing roots yet: a half-ported program shows them in its descriptors, ranges and callbacks. */
#include <cradle/cradle.h>

typedef uint64_t in_slot, in_items, in_structure, in_range, visited, stored, elsewhere;

typedef struct box {
  uint64_t header;
  in_slot inside;
} box;
typedef struct list {
  uint64_t header, length;
  in_items items[];
} list;
typedef struct entry {
  in_structure value;
  uint64_t hash;
} entry;
typedef struct table {
  uint64_t header, length;
  entry items[];
} table;
typedef struct owner {
  uint64_t header;
  visited *items;
  stored last;
} owner;

enum { T_BOX, T_LIST, T_TABLE, T_OWNER, TYPES };
static void trace_owner(void *user, void *object, cradle_visitor *visitor) {
  (void)user;
  cradle_visit(visitor, &((owner *)object)->items[0], CRADLE_KIND_VALUE);
}
const cradle_type types[TYPES] = {
    [T_BOX] = {.name = "box", .size = sizeof(box), .values = CRADLE_SLOT(box, inside)},
    [T_LIST] = {.name = "list",
                .size = sizeof(list),
                .items = CRADLE_ITEMS_VALUES,
                .item_size = 8,
                .length_offset = offsetof(list, length)},
    [T_TABLE] = {.name = "table",
                 .size = sizeof(table),
                 .items = CRADLE_ITEMS_STRUCTURES,
                 .item_size = sizeof(entry),
                 .length_offset = offsetof(table, length),
                 .item_values = CRADLE_SLOT(entry, value)},
    [T_OWNER] = {.name = "owner", .size = sizeof(owner), .trace = trace_owner},
};
static in_range *base, *top;
void start(cradle_mutator *m) {
  static cradle_root_range range;
  range = CRADLE_ROOT_RANGE(base, top, CRADLE_KIND_VALUE, "stack");
  cradle_root_range_add(m, &range);
}
void work(void) CRADLE_MAY_COLLECT;
void use(uint64_t v);

void a_slot(in_slot v) {
  work();
  use(v); // expect: stale 'v'
}
void an_item(in_items v) {
  work();
  use(v); // expect: stale 'v'
}
void an_items_field(in_structure v) {
  work();
  use(v); // expect: stale 'v'
}
void on_the_stack(in_range v) {
  work();
  use(v); // expect: stale 'v'
}
void in_a_callback(visited v) {
  work();
  use(v); // expect: stale 'v'
}
void through_the_barrier(cradle_mutator *m, owner *o, stored v) {
  cradle_store_value(m, o, &o->last, v);
  work();
  use(v); // expect: stale 'v'
}
void no_value(elsewhere v) {
  work();
  use(v);
}
