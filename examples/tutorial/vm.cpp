// The virtual machine of docs/embed.md in C++. docs/cpp.md builds it step by step.
#include <cradle/cradle.hpp>

#include <cstdio>
#include <cstdlib>

struct number { uint64_t header; double value; };
CRADLE_TYPE(number, "number", header, value)
struct pair { uint64_t header; cradle::slot<void> first, rest; }; // NULL is the empty list
CRADLE_TYPE(pair, "pair", header, first, rest)
struct array { uint64_t header, length; using item = cradle::slot<void>; };
CRADLE_TYPE(array, "array", header, length)
using types = cradle::types<number, pair, array>;

struct mistake : std::runtime_error { using std::runtime_error::runtime_error; };

class vm {
 public:
  explicit vm(cradle_mutator *mutator) CRADLE_MAY_COLLECT
      : m(mutator), stack(m, types::make<array>(m, 1000)), variables(m, types::make<array>(m, 26)) {}
  const char *run(const char *code) CRADLE_MAY_COLLECT; // returns where it stopped: a ] or the end

 private:
  void push(void *value) {
    if (depth == stack->length) throw mistake("the stack is full");
    stack[depth++] = value;
  }
  void *pop() {
    if (depth == 0) throw mistake("the stack is empty");
    return stack[--depth];
  }
  template <class T> T *pop_a() {
    if (T *found = types::as<T>(pop())) return found;
    throw mistake("a value of another type is wanted");
  }
  double pop_number() { return pop_a<number>()->value; }
  void push_number(double value) CRADLE_MAY_COLLECT {
    number *made = types::make<number>(m);
    made->value = value;
    push(made);
  }
  void push_pair() CRADLE_MAY_COLLECT {
    cradle::root<void> rest(m, pop()), first(m, pop());
    pair *made = types::make<pair>(m);
    made->first.init(first), made->rest.init(rest); // just made: needs no barrier
    push(made);
  }
  void set_rest() {
    cradle::root<void> rest(m, pop());
    cradle::root<pair> changed(m, pop_a<pair>());
    changed[&pair::rest] = rest;
  }
  int variable(char name) {
    if (name < 'a' || name > 'z') throw mistake("no such instruction or variable");
    return name - 'a';
  }

  cradle_mutator *m;
  cradle::root<array> stack, variables; // members are roots, too, as long as the vm is a local variable
  uint64_t depth = 0;
};

const char *vm::run(const char *code) {
  for (const char *loop;; code++) {
    switch (*code) {
    case '\0': case ']': return code;
    case ' ': break;
    case '+': push_number(pop_number() + pop_number()); break;
    case '-': push_number(-pop_number()); break;
    case ',': push_pair(); break;
    case '<': push(pop_a<pair>()->first); break;
    case '>': push(pop_a<pair>()->rest); break;
    case '!': set_rest(); break;
    case '?': push_number(pop() != nullptr); break;
    case '.': std::printf("%g\n", pop_number()); break;
    case '=': variables[variable(*++code)] = pop(); break;
    case '[':
      for (loop = code + 1; *(code = run(loop)) == ']' && pop_number() != 0;) continue;
      if (*code == '\0') throw mistake("a [ has no ]");
      break;
    default:
      if (*code < '0' || *code > '9') { push(variables[variable(*code)]); break; }
      char *end;
      push_number(std::strtod(code, &end));
      code = end - 1;
    }
  }
}

int main(int argc, char **argv) {
  try {
    cradle::heap heap(types::options());
    cradle::mutator m(heap);
    if (argc != 2) throw mistake("usage: vm CODE");
    if (*vm(m).run(argv[1]) != '\0') throw mistake("a ] has no [");
  } catch (const std::exception &error) {
    std::fprintf(stderr, "vm: %s\n", error.what());
    return 1;
  }
}
