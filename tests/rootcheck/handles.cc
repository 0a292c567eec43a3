// C++: a template that allocates, and handles that root their members while they live.
#include <cradle/cradle.h>

struct Node {
  uint64_t header;
  Node *first, *rest;
  int64_t number;
};
enum { T_NODE };
static cradle_mutator *m;
void use(const Node *node);
Node *plain() CRADLE_MAY_COLLECT;

template <class T>
T *make(uint32_t type) {
  T *made = static_cast<T *>(cradle_new(m, type, sizeof(T)));
  return made;
}

template <class T>
class Local {
 public:
  explicit Local(T *object) : object_(object) { cradle_push(m, object); }
  ~Local() { cradle_pop(m); }
  operator T *() const { return object_; }
  T *operator->() const { return object_; }
  T *get() const { return object_; }

 private:
  T *object_;
};
struct Handle {
  explicit Handle(Node *n) : node(n) { cradle_push(m, node); }
  ~Handle() { cradle_pop(m); }
  operator Node *() const { return node; }
  Node *node;
};

// --- right ---

void fresh_from_a_template() {
  Node *a = make<Node>(T_NODE);
  a->number = 3;
  a->first = a;
}
void converted() {
  Handle a(make<Node>(T_NODE));
  Node *b = make<Node>(T_NODE);
  use(a);
  use(b);
  use(a.node);
}
void of_a_template() {
  Local<Node> a(plain());
  plain();
  use(a);
  use(a.get());
  a->number = 3;
}
Node *returned() {
  Handle a(plain());
  plain();
  return a;
}

// --- wrong ---

void after_a_template() {
  Node *a = plain();
  make<Node>(T_NODE);
  use(a);  // expect: stale 'a'
}
void of_the_template() {
  Node *a = make<Node>(T_NODE);
  plain();
  use(a);  // expect: stale 'a'
}
void into_a_handle() {
  Node *a = plain();
  plain();
  Handle handle(a);  // expect: stale 'a'
}
void out_of_a_handle() {
  Handle a(plain());
  Node *raw = a;
  plain();
  use(raw);  // expect: stale 'raw'
}
namespace inner {
extern "C" {
void in_a_namespace(Node *a) {
  plain();
  use(a);  // expect: stale 'a'
}
}
struct Machine {
  void method(Node *a) {
    plain();
    use(a);  // expect: stale 'a'
  }
};
}  // namespace inner
void by_a_method(inner::Machine *machine, Node *a) {
  machine->method(a);
  use(a);  // expect: stale 'a'
}
