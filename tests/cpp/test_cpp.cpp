// cradle.hpp: lists, trees and arrays by roots and slots, exceptions that pass roots, two heaps, a parked region. Each
// heap collects at every allocation.
#include <cradle/cradle.hpp>

#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#define CHECK(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

namespace {

[[noreturn]] void fail(const char *what, int line) {
  std::fprintf(stderr, "test_cpp.cpp:%d: %s\n", line, what);
  std::exit(1);
}

struct node {
  uint64_t header;
  cradle::slot<node> left, right;
  int64_t key;
};
CRADLE_TYPE(node, "node", header, left, right, key)

struct row {
  uint64_t header, length;
  using item = cradle::slot<node>;
};
CRADLE_TYPE(row, "row", header, length)

struct text {
  uint64_t header;
  cradle::slot<void> owner;
  uint64_t length;
  using item = char;
};
CRADLE_TYPE(text, "text", header, owner, length)

struct mixed {
  uint64_t header;
  int32_t small_number;
  cradle::slot<node> four[4];
  cradle::value_slot<> value;
  cradle::weak_slot<node> weak;
  cradle::outside<int> counter;
};
CRADLE_TYPE(mixed, "mixed", header, small_number, four, value, weak, counter)

int died;
struct resource {
  uint64_t header, number;
};
constexpr cradle_type cradle_row_of(const resource *) {
  cradle_type row = CRADLE_ROW(resource, "resource", header, number);
  row.destructor = [](void *, void *) { died++; };
  return row;
}

using types = cradle::types<node, row, text, mixed, resource>;

// What the rows say, at compile time.
static_assert(types::rows[0].references == 6 && types::rows[0].size == 32 && types::rows[0].items == CRADLE_ITEMS_NONE);
static_assert(types::rows[1].items == CRADLE_ITEMS_REFERENCES && types::rows[1].item_size == 8 && types::rows[1].length_offset == 8);
static_assert(types::rows[2].items == CRADLE_ITEMS_BYTES && types::rows[2].item_size == 1 && types::rows[2].references == 2 && types::rows[2].length_offset == 16);
static_assert(types::rows[3].references == 0x3c && types::rows[3].values == 0x40 && types::rows[3].weak == 0x80);
static_assert(types::id<node>() == 0 && types::id<resource>() == 4);

// A value is a reference with 1 added, or an immediate with another last digit.
cradle_value tagged(const node *object) {
  return reinterpret_cast<cradle_value>(object) + 1;
}

cradle_options stressed() {
  cradle_options options = types::options();
  options.encoding = cradle_encoding_of(0, 0, 1 << 1);
  options.stress_period = 1;
  options.stress_major = 5;
  options.verify = true;
  options.nursery_bytes = CRADLE_NURSERY_MIN_BYTES;
  return options;
}

// --- trees ---

node *leaf(cradle_mutator *m, int64_t key) CRADLE_MAY_COLLECT {
  node *made = types::make<node>(m);
  made->key = key;
  return made;
}

void insert(cradle::root<node> &tree, int64_t key) CRADLE_MAY_COLLECT {
  cradle_mutator *m = tree.mutator();
  if (tree == nullptr) {
    tree = leaf(m, key);
    return;
  }
  cradle::root<node> at(m, tree);
  for (;;) {
    auto side = key < at->key ? &node::left : &node::right;
    if (at[side] == nullptr) {
      at[side] = leaf(m, key); // the right side first: it moves the node
      return;
    }
    at = at[side];
  }
}

int64_t sum(const node *tree) {
  return tree == nullptr ? 0 : sum(tree->left) + tree->key + sum(tree->right);
}

void trees(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> tree(m);
  CHECK(!tree);
  for (int64_t i = 0; i < 200; i++) insert(tree, i * 37 % 200);
  CHECK(sum(tree) == 199 * 200 / 2);
  // Old objects that take young ones.
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (int64_t i = 200; i < 240; i++) insert(tree, i * 37 % 40 + 200);
  CHECK(sum(tree) == 239 * 240 / 2);
  tree[&node::left] = tree[&node::right];
  CHECK(tree->left == tree->right);
  tree[&node::right] = nullptr;
  CHECK(tree->right == nullptr);
}

// --- arrays ---

void arrays(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<row> many(m, types::make<row>(m, 300));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  for (int i = 0; i < 300; i++) many[i] = leaf(m, i);
  int64_t total = 0, count = 0;
  for (node *n : cradle::items(many)) {
    total += n->key, count++;
    leaf(m, 0); // moves the array under the loop
  }
  CHECK(total == 299 * 300 / 2 && count == 300);
  many[size_t(0)] = many[299];
  CHECK(many[0]->key == 299);
  many->length = 10;
  count = 0;
  for (node *n : cradle::items(many)) count += n != nullptr;
  CHECK(count == 10);

  cradle::root<text> letters(m, types::make<text>(m, 5));
  for (int i = 0; i < 5; i++) letters[i] = static_cast<char>('a' + i);
  letters[&text::owner] = many;
  leaf(m, 0);
  int letter = 'a';
  for (char &c : cradle::items(letters)) CHECK(c == letter++);
  CHECK(letter == 'a' + 5);
  CHECK(types::as<row>(letters->owner) == many && types::as<text>(letters->owner) == nullptr && types::as<row>(nullptr) == nullptr);
}

// --- slots of all kinds ---

void slots(cradle_mutator *m) CRADLE_MAY_COLLECT {
  static int counter = 3;
  cradle::root<mixed> all(m, types::make<mixed>(m));
  cradle::root<node> kept(m, leaf(m, 1));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  all->counter.address = &counter;
  all->small_number = 5;
  for (int i = 0; i < 4; i++) all.at(all->four[i]) = leaf(m, 10 + i);
  all[&mixed::value] = tagged(kept);
  all[&mixed::weak] = kept;
  cradle::value_root<> value(m, all[&mixed::value]);
  leaf(m, 0);
  for (int i = 0; i < 4; i++) CHECK(all->four[i]->key == 10 + i);
  CHECK(value == tagged(kept) && all->value == value && all[&mixed::weak] == kept);
  kept = nullptr;
  value = 0;
  all[&mixed::value] = 0;
  cradle_collect(m, CRADLE_COLLECT_FULL);
  CHECK(all[&mixed::weak] == nullptr && all->weak.get(m) == nullptr);
  CHECK(*all->counter == 3 && all->small_number == 5);

  node *fresh = types::make<node>(m);
  fresh->left.init(fresh);
  cradle::root<node> ring(m, fresh);
  leaf(m, 0);
  CHECK(ring->left == ring);
  fresh = leaf(m, 7);
  ring->right.store(m, ring, fresh);
  leaf(m, 0);
  CHECK(ring->right->key == 7);
}

// --- exceptions ---

void thrower(cradle_mutator *m, int depth) CRADLE_MAY_COLLECT {
  cradle::root<node> first(m, leaf(m, depth)), second(m, leaf(m, depth + 1));
  if (depth == 0) throw depth;
  thrower(m, depth - 1);
  CHECK(first->key == second->key);
}

size_t scoped(cradle_mutator *m) {
  return static_cast<size_t>(m->scoped_top - m->scoped_base);
}

void exceptions(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> outer(m, leaf(m, 1));
  const size_t depth = scoped(m);
  for (int i = 0; i < 10; i++) {
    bool caught = false;
    try {
      thrower(m, i);
    } catch (int) {
      caught = true;
    }
    CHECK(caught && scoped(m) == depth);
    cradle::root<node> after(m, leaf(m, 2)); // checked code finds roots that were left open
    CHECK(after->key == 2 && outer->key == 1);
  }
}

// --- handles and destructors ---

void handles(cradle_mutator *m) CRADLE_MAY_COLLECT {
  std::vector<cradle::handle<node>> many;
  for (int i = 0; i < 50; i++) many.emplace_back(m, leaf(m, i));
  std::swap(many[0], many[49]);
  many.erase(many.begin() + 10);
  leaf(m, 0);
  CHECK(many[0]->key == 49 && many.back()->key == 0 && many[10]->key == 11);
  many[10].set(leaf(m, 5));
  cradle_collect(m, CRADLE_COLLECT_FULL);
  CHECK(many[10]->key == 5);

  types::make<resource>(m);
  cradle_collect(m, CRADLE_COLLECT_FULL);
  CHECK(died > 0);
}

// --- two heaps, parked regions, failures ---

node *in_heap(cradle_mutator *m, int64_t from) CRADLE_MAY_COLLECT {
  cradle::root<node> list(m);
  for (int64_t i = from; i < from + 20; i++) {
    cradle::root<node> made(m, leaf(m, i));
    made[&node::left] = list;
    list = made;
  }
  return list;
}

void other_heap(cradle_mutator *first) CRADLE_UNCHECKED_COLLECTION {
  cradle::heap heap(stressed());
  cradle::mutator second(heap);
  cradle::root<node> a(first, in_heap(first, 0)), b(second, in_heap(second, 100));
  for (int i = 0; i < 20; i++) {
    insert(a, i);
    insert(b, 100 + i);
  }
  CHECK(sum(a) == 380 && sum(b) == 380 + 40 * 100);
}

void wait(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<node> kept(m, leaf(m, 3));
  {
    cradle::parked region(m);
  }
  try {
    cradle::parked region(m);
    throw 1;
  } catch (int) {
  }
  leaf(m, 0);
  CHECK(kept->key == 3);
}

void failures(cradle_mutator *m) CRADLE_MAY_COLLECT {
  cradle::root<row> huge(m);
  bool caught = false;
  try {
    huge = types::make<row>(m, SIZE_MAX / 2);
  } catch (const std::bad_alloc &) {
    caught = true;
  }
  CHECK(caught && huge == nullptr);
  cradle_options options = types::options();
  options.nursery_bytes = 1;
  caught = false;
  try {
    cradle::heap heap(options);
  } catch (const cradle::failure &error) {
    caught = error.what()[0] != '\0';
  }
  CHECK(caught);
}

void nothing(void *, cradle_mutator *, size_t, const char *) {}

} // namespace

int main() {
  cradle_options options = stressed();
  options.on_out_of_memory = nothing;
  cradle::heap heap(options);
  cradle::mutator m(heap);
  trees(m);
  arrays(m);
  slots(m);
  exceptions(m);
  handles(m);
  other_heap(m);
  wait(m);
  failures(m);
  cradle_statistics statistics;
  cradle_heap_statistics(heap, &statistics, sizeof statistics);
  std::printf("%llu minor and %llu major collections\n", static_cast<unsigned long long>(statistics.minor_collections),
              static_cast<unsigned long long>(statistics.major_collections));
  CHECK(statistics.minor_collections > 1000);
}
