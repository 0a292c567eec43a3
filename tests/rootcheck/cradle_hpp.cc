// cradle.hpp: its roots, slots and owners.
#include <cradle/cradle.hpp>

struct node {
  uint64_t header;
  cradle::slot<node> next;
  int64_t key;
};
CRADLE_TYPE(node, "node", header, next, key)
struct row {
  uint64_t header, length;
  using item = cradle::slot<node>;
};
CRADLE_TYPE(row, "row", header, length)
using types = cradle::types<node, row>;
void use(const node *n);
void use_both(node *a, node *b);

// --- right ---

node *rooted(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> a(m, types::make<node>(m));
  a[&node::next] = types::make<node>(m);
  use(a);
  node *fresh = types::make<node>(m);
  fresh->next.init(a);
  use(fresh);
  return a;
}
void items(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<row> many(m, types::make<row>(m, 10));
  many[3] = types::make<node>(m);
  for (node *each : cradle::items(many)) use(each);
}
void handles(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::handle<node> kept(m, types::make<node>(m));
  types::make<node>(m);
  use(kept.get());
}

// --- wrong ---

void stale(cradle_mutator *m) CRADLE_MAY_COLLECT {
  node *a = types::make<node>(m);
  types::make<row>(m, 3);
  use(a);  // expect: stale 'a'
}
void out_of_a_root(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> a(m, types::make<node>(m));
  node *raw = a;
  types::make<node>(m);
  use(raw);  // expect: stale 'raw'
}
void out_of_a_slot(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> a(m, types::make<node>(m));
  node *raw = a->next;
  types::make<node>(m);
  use(raw);  // expect: stale 'raw'
}
void rooted_too_late(cradle_mutator *m) CRADLE_MAY_COLLECT {
  node *a = types::make<node>(m);
  types::make<node>(m);
  cradle::root<node> b(m, a);  // expect: stale 'a'
}
