/* Cradle for C++17 and later: types from structures, typed slots, scoped roots, and owners of heaps and mutators. It is
 * made of the functions of cradle/cradle.h, which can be called beside it (docs/cpp.md).
 *
 *     struct cell { uint64_t header; cradle::slot<cell> next; double number; };
 *     CRADLE_TYPE(cell, "cell", header, next, number)
 *     using types = cradle::types<cell>;
 *
 *     cradle::heap heap(types::options());
 *     cradle::mutator m(heap);
 *     cradle::root<cell> list(m, types::make<cell>(m));
 *     list[&cell::next] = types::make<cell>(m);
 *
 * The last line is safe although it allocates: in C++17 the right side of an assignment comes before the left side.
 * Arguments of a call have no such order, so allocate them before the call and root them. When memory runs out, and the
 * out-of-memory handler returns, std::bad_alloc is thrown; without exceptions it is misuse with a message. Roots end in
 * destructors, so an exception ends them, too.
 */
#ifndef CRADLE_CRADLE_HPP
#define CRADLE_CRADLE_HPP

#include <cradle/cradle.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <type_traits>

/* Inlined without optimization, too: checked code remembers the frame of the function that opens a root. */
#define CRADLE_HPP_INLINE_ __attribute__((__always_inline__)) inline

namespace cradle {

/* A heap that could not be made; what() says why. */
struct failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

namespace detail {

template <class> constexpr bool never = false;

#ifdef __cpp_exceptions
#define CRADLE_HPP_FAIL_(exception, message) throw exception
#else
#define CRADLE_HPP_FAIL_(exception, message) (cradle_misuse)(nullptr, message)
#endif

/* A reference or a value as the heap holds it, and back. */
template <class Word> CRADLE_HPP_INLINE_ cradle_word to_word(Word word) {
  cradle_word bits;
  std::memcpy(&bits, &word, 8);
  return bits;
}

/* A slot cannot be copied, so what holds one is not plain. */
template <class T>
constexpr bool is_plain = std::is_trivially_copyable_v<T> && std::is_copy_constructible_v<std::remove_all_extents_t<T>>;

template <class Word> constexpr bool is_word = sizeof(Word) == 8 && alignof(Word) == 8 && is_plain<Word>;

} // namespace detail

/* --- slots --- */

/* A field or an item of an object: cradle::slot<T>, value_slot<V> and weak_slot<T> below. Reading it is reading a
 * pointer. It is assigned through a root, which knows the mutator and the object. */
template <class Word, bool weak> class basic_slot {
  static_assert(detail::is_word<Word>, "cradle: a value must be 8 bytes of plain data, aligned to 8");

 public:
  basic_slot() = default;
  basic_slot(const basic_slot &) = delete;
  basic_slot &operator=(const basic_slot &) = delete;
  template <class Other> void operator=(Other &&) {
    static_assert(detail::never<Other>,
                  "cradle: a slot is assigned through a root, root[&type::field] = value, which is "
                  "the write barrier; an object just made has field.init(value)");
  }
  Word get() const {
    static_assert(!weak, "cradle: a weak slot may hold a dead object: read it with get(mutator)");
    return word_;
  }
  operator Word() const { return get(); }
  Word operator->() const { return get(); }
  /* Reads a weak slot: NULL when its object is dead. */
  Word get(cradle_mutator *mutator) const {
    static_assert(weak && std::is_pointer_v<Word>, "cradle: only a weak slot is read with a mutator");
    return static_cast<Word>((cradle_weak_get)(mutator, this));
  }
  /* Stores without the barrier, into an object that was just made: nothing that may collect has run since. */
  void init(Word word) { word_ = word; }
  /* Stores with the barrier. object: whose slot this is. */
  CRADLE_HPP_INLINE_ void store(cradle_mutator *mutator, void *object, Word word) {
    (cradle_store_value)(mutator, object, this, detail::to_word(word));
  }

 private:
  Word word_;
};

/* A reference to an object, or NULL. void: to any object. */
template <class T> using slot = basic_slot<T *, false>;
/* A value in the heap's encoding, cradle_value or a type of the program's. */
template <class V = cradle_value> using value_slot = basic_slot<V, false>;
/* A reference that does not keep its object alive (cradle/weak.h). */
template <class T> using weak_slot = basic_slot<T *, true>;
/* A pointer to memory outside of the heap, as a field of an object. */
template <class T> struct outside {
  T *address;
  outside &operator=(T *other) {
    address = other;
    return *this;
  }
  operator T *() const { return address; }
  T *operator->() const { return address; }
};

/* What root[&type::field], root.at(slot) and root[index] give: assigning to it is the write barrier. */
template <class Word, bool weak> class place {
 public:
  place(cradle_mutator *mutator, void *object, basic_slot<Word, weak> *slot)
      : mutator_(mutator), object_(object), slot_(slot) {}
  place(const place &) = default;
  CRADLE_HPP_INLINE_ void operator=(Word word) && { slot_->store(mutator_, object_, word); }
  CRADLE_HPP_INLINE_ void operator=(const place &from) && { slot_->store(mutator_, object_, from.get()); }
  Word get() const {
    if constexpr (weak)
      return slot_->get(mutator_);
    else
      return slot_->get();
  }
  operator Word() const { return get(); }
  Word operator->() const { return get(); }

 private:
  cradle_mutator *mutator_;
  void *object_;
  basic_slot<Word, weak> *slot_;
};

/* --- types from structures --- */

namespace detail {

template <class> struct slot_traits {
  static constexpr bool is_slot = false, is_value = false, is_weak = false;
};
template <class Word, bool weak> struct slot_traits<basic_slot<Word, weak>> {
  static constexpr bool is_slot = true, is_value = !std::is_pointer_v<Word>, is_weak = weak;
};

template <class T, class = void> struct items_of {
  using item = void;
};
template <class T> struct items_of<T, std::void_t<typename T::item>> {
  using item = typename T::item;
};
template <class T> using item_of = typename items_of<T>::item;
template <class T> constexpr bool has_items = !std::is_void_v<item_of<T>>;

template <class T, class = void> constexpr bool has_length = false;
template <class T>
constexpr bool has_length<T, std::void_t<decltype(T::length)>> = std::is_same_v<decltype(T::length), uint64_t>;

/* A field of a structure: its type and offset. */
template <class Field, size_t at> struct field {
  using slot = slot_traits<std::remove_all_extents_t<Field>>;
  static constexpr size_t offset = at, end = at + sizeof(Field);
  static constexpr bool is_header = at == 0 && std::is_same_v<Field, uint64_t>;
  static_assert(
      !std::is_pointer_v<std::remove_all_extents_t<Field>>,
      "CRADLE_TYPE: a pointer is no slot: use cradle::slot<T> for an object, cradle::outside<T> for other memory");
  static_assert(slot::is_slot || is_plain<Field>,
                "CRADLE_TYPE: a field must be a slot, an array of slots or plain data without slots in it");
  static_assert(!slot::is_slot || end <= 64 * 8, "CRADLE_TYPE: a slot must be in the first 64 words: use items");
  /* The bits of its words. */
  static constexpr uint64_t bits() {
    uint64_t set = 0;
    for (size_t word = offset / 8; word < end / 8 && word < 64; word++) set |= UINT64_C(1) << word;
    return set;
  }
};

/* Whether the fields, in this order, leave no room for another slot. */
template <class T, class... Fields> constexpr bool is_complete() {
  size_t end = 0;
  bool complete = true;
  ((complete = complete && Fields::offset >= end && Fields::offset - end < 8, end = Fields::end), ...);
  return complete && sizeof(T) - end < 8;
}

template <class T> constexpr void describe_items(cradle_type &row) {
  using item = item_of<T>;
  using slot = slot_traits<item>;
  static_assert(slot::is_slot || (is_plain<item> && !std::is_pointer_v<item> && alignof(item) <= 8),
                "CRADLE_TYPE: items must be slots or plain data");
  static_assert(has_length<T>, "CRADLE_TYPE: a structure with items must have a field \"uint64_t length\"");
  row.items = !slot::is_slot   ? CRADLE_ITEMS_BYTES
              : slot::is_weak  ? CRADLE_ITEMS_WEAK
              : slot::is_value ? CRADLE_ITEMS_VALUES
                               : CRADLE_ITEMS_REFERENCES;
  row.item_size = sizeof(item);
  if constexpr (has_length<T>) row.length_offset = offsetof(T, length);
}

template <class T, class First, class... Rest> constexpr cradle_type row(const char *name) {
  static_assert(std::is_standard_layout_v<T>,
                "CRADLE_TYPE: the structure must be of standard layout: no virtual functions, "
                "and all fields public and in one class");
  static_assert(std::is_trivially_destructible_v<T>,
                "CRADLE_TYPE: the structure must have no destructor: the collector never runs it");
  static_assert(First::is_header, "CRADLE_TYPE: the first field must be the header, \"uint64_t header\"");
  static_assert(is_complete<T, First, Rest...>(), "CRADLE_TYPE: every field of the structure must be listed, in order");
  static_assert(alignof(T) == 8, "CRADLE_TYPE: objects are aligned to 8");
  cradle_type row = {};
  row.name = name;
  row.size = sizeof(T);
  ((Rest::slot::is_weak    ? row.weak |= Rest::bits()
    : Rest::slot::is_value ? row.values |= Rest::bits()
    : Rest::slot::is_slot  ? row.references |= Rest::bits()
                           : 0),
   ...);
  if constexpr (has_items<T>) describe_items<T>(row);
  return row;
}

template <class T, class = void> constexpr bool has_row = false;
template <class T>
constexpr bool has_row<T, std::void_t<decltype(cradle_row_of(static_cast<const T *>(nullptr)))>> = true;

template <class T> constexpr cradle_type row_of() {
  static_assert(has_row<T>, "cradle::types: a structure needs its CRADLE_TYPE, in the same namespace and before this");
  if constexpr (has_row<T>)
    return cradle_row_of(static_cast<const T *>(nullptr));
  else
    return {};
}

constexpr bool has_services(const cradle_type &row) {
  return row.weak != 0 || row.items == CRADLE_ITEMS_WEAK || row.finalizer != 0 || row.destructor != nullptr ||
         row.external_size != nullptr;
}

} // namespace detail

/* The types of a heap, in the order of their ids. */
template <class... Ts> struct types {
  static constexpr cradle_type rows[] = {detail::row_of<Ts>()...};

  /* The id of a structure's type. */
  template <class T> static constexpr uint32_t id() {
    static_assert((std::is_same_v<T, Ts> || ...), "cradle::types: the structure is not one of these types");
    uint32_t id = 0;
    (void)((std::is_same_v<T, Ts> || (id++, false)) || ...);
    return id;
  }
  /* The default options with these types. */
  static cradle_options options() {
    cradle_options options;
    cradle_options_init(&options);
    options.types = rows;
    options.type_count = sizeof...(Ts);
    return options;
  }
  /* A new object, zeroed after its header; with items if its structure names their type: "using item = ...". */
  template <class T> static T *make(cradle_mutator *m) CRADLE_MAY_COLLECT {
    static_assert(!detail::has_items<T>, "cradle::types: a structure with items is made with their number");
    constexpr bool services = detail::has_services(detail::row_of<T>());
    void *made =
        services ? (cradle_new_with)(m, id<T>(), {sizeof(T), 0, 0}, 0, 0) : (cradle_new)(m, id<T>(), sizeof(T));
    return checked<T>(made);
  }
  template <class T> static T *make(cradle_mutator *m, size_t count) CRADLE_MAY_COLLECT {
    static_assert(detail::has_items<T>, "cradle::types: only a structure with items is made with a number");
    constexpr cradle_type row = detail::row_of<T>();
    const cradle_array_layout layout = {sizeof(T), row.item_size, row.length_offset};
    void *made = detail::has_services(row) ? (cradle_new_with)(m, id<T>(), layout, count, 0)
                                           : (cradle_new_items)(m, id<T>(), layout, count);
    return checked<T>(made);
  }
  /* The object as a T, or NULL if it is NULL or of another type. */
  template <class T> static T *as(void *object) {
    return object != nullptr && cradle_type_of(object) == id<T>() ? static_cast<T *>(object) : nullptr;
  }

 private:
  template <class T> static T *checked(void *made) {
    if (CRADLE_UNLIKELY(made == nullptr)) CRADLE_HPP_FAIL_(std::bad_alloc(), "cradle::types: out of memory");
    return static_cast<T *>(made);
  }
};

/* --- owners --- */

/* Makes a heap with cradle_heap_new_from_environment, and frees it. */
class heap {
 public:
  explicit heap(const cradle_options &options) {
    cradle_error error;
    heap_ = (cradle_heap_new_from_environment)(&options, &error);
    if (heap_ == nullptr) CRADLE_HPP_FAIL_(failure(error.message), error.message);
  }
  ~heap() { (cradle_heap_free)(heap_); }
  heap(const heap &) = delete;
  heap &operator=(const heap &) = delete;
  operator cradle_heap *() const { return heap_; }

 private:
  cradle_heap *heap_;
};

/* Makes a mutator of a heap, attached to this thread, and frees it. */
class CRADLE_ATTRIBUTE(scoped_lockable) mutator {
 public:
  explicit mutator(cradle_heap *heap) CRADLE_GRANTS_COLLECTION : mutator_((cradle_mutator_new)(heap)) {
    if (mutator_ == nullptr) CRADLE_HPP_FAIL_(std::bad_alloc(), "cradle::mutator: out of memory");
  }
  ~mutator() CRADLE_ATTRIBUTE(release_capability()) { (cradle_mutator_free)(mutator_); }
  mutator(const mutator &) = delete;
  mutator &operator=(const mutator &) = delete;
  operator cradle_mutator *() const { return mutator_; }

 private:
  cradle_mutator *mutator_;
};

/* Parks the mutator until the end of the scope, however it is left (cradle_mutator_park). */
class CRADLE_ATTRIBUTE(scoped_lockable) parked {
 public:
  explicit parked(cradle_mutator *mutator) CRADLE_REVOKES_COLLECTION : mutator_(mutator) {
    (cradle_mutator_park)(mutator);
  }
  ~parked() CRADLE_ATTRIBUTE(release_capability()) { (cradle_mutator_unpark)(mutator_); }
  parked(const parked &) = delete;
  parked &operator=(const parked &) = delete;

 private:
  cradle_mutator *mutator_;
};

/* --- roots --- */

/* A local variable that is a root until the end of its scope: cradle::root<T> and value_root<V>. Roots end in the
 * reverse order of their beginning, as local variables do: do not make one with new, do not keep one in a container,
 * and do not return one. cradle::handle is for those uses. */
template <class Word> class basic_root {
  using T = std::remove_pointer_t<Word>;
  static constexpr cradle_kind kind = std::is_pointer_v<Word> ? CRADLE_KIND_REFERENCE : CRADLE_KIND_VALUE;
  static_assert(detail::is_word<Word>, "cradle: a value must be 8 bytes of plain data, aligned to 8");
  static_assert(!std::is_pointer_v<T>, "cradle::root<T>: T is the object's structure, without the *");

 public:
  CRADLE_HPP_INLINE_ explicit basic_root(cradle_mutator *mutator, Word word = Word(), const char *name = "cradle::root")
      : word_(word), scope_(cradle_scope_open(mutator, &word_, kind, name)) {}
  CRADLE_HPP_INLINE_ ~basic_root() { cradle_scope_close(&scope_); }
  basic_root(const basic_root &) = delete;
  static void *operator new(size_t) = delete;
  static void *operator new[](size_t) = delete;

  basic_root &operator=(Word word) {
    word_ = word;
    return *this;
  }
  basic_root &operator=(const basic_root &from) { return *this = from.word_; }
  Word get() const { return word_; }
  operator Word() const { return word_; }
  Word operator->() const { return word_; }
  cradle_mutator *mutator() const { return scope_.mutator; }

  /* A slot of the object, to read or assign. at: root.at(root->children[2]). */
  template <class Other, bool weak> place<Other, weak> at(basic_slot<Other, weak> &slot) const {
    return {scope_.mutator, word_, &slot};
  }
  template <class Other, bool weak, class C> place<Other, weak> operator[](basic_slot<Other, weak> C::*field) const {
    return at(word_->*field);
  }
  /* An item of the object: a slot to read or assign, or a reference to plain data, stale after the next collection.
   * CRADLE_CHECKED code reports an index beyond the length. */
  template <class Index, class = std::enable_if_t<std::is_integral_v<Index>>>
  decltype(auto) operator[](Index index) const {
    using item = detail::item_of<T>;
    static_assert(detail::has_items<T>, "cradle: the structure has no items");
    if (CRADLE_CHECKED && static_cast<uint64_t>(index) >= word_->length)
      (cradle_misuse)(scope_.mutator->heap, "cradle::root: the index is beyond the length");
    item &found = reinterpret_cast<item *>(word_ + 1)[index];
    if constexpr (detail::slot_traits<item>::is_slot)
      return at(found);
    else
      return static_cast<item &>(found);
  }

 private:
  Word word_;
  cradle_scope scope_;
};

/* A reference to an object, or NULL. void: to any object. */
template <class T> using root = basic_root<T *>;
/* A value in the heap's encoding. */
template <class V = cradle_value> using value_root = basic_root<V>;

/* The items of a rooted object as a range: for (cell *c : cradle::items(row)). The loop may collect, because each step
 * finds the object through its root, and may lower the length. */
template <class T> class items {
 public:
  struct end_mark {};
  struct iterator {
    const root<T> *array;
    uint64_t index;
    decltype(auto) operator*() const { return (*array)[index]; }
    iterator &operator++() {
      index++;
      return *this;
    }
    bool operator!=(end_mark) const { return index < (*array)->length; }
  };
  explicit items(const root<T> &array) : array_(&array) {}
  explicit items(const root<T> &&) = delete;
  iterator begin() const { return {array_, 0}; }
  end_mark end() const { return {}; }

 private:
  const root<T> *array_;
};
template <class T> items(const basic_root<T *> &) -> items<T>;

/* Keeps an object alive from anywhere: a member, a container, another library's data (cradle/handle.h). */
template <class T> class handle {
 public:
  explicit handle(cradle_mutator *mutator, T *object)
      : mutator_(mutator), handle_((cradle_handle_new)(mutator, object)) {
    if (handle_.number == 0) CRADLE_HPP_FAIL_(std::bad_alloc(), "cradle::handle: out of memory");
  }
  ~handle() {
    if (handle_.number != 0) (cradle_handle_free)(mutator_, handle_);
  }
  handle(handle &&from) noexcept : mutator_(from.mutator_), handle_(from.handle_) { from.handle_.number = 0; }
  handle &operator=(handle &&from) noexcept {
    cradle_handle mine = handle_;
    handle_ = from.handle_, from.handle_ = mine;
    return *this;
  }
  T *get() const { return static_cast<T *>((cradle_handle_get)(mutator_, handle_)); }
  T *operator->() const { return get(); }
  void set(T *object) { (cradle_handle_set)(mutator_, handle_, object); }

 private:
  cradle_mutator *mutator_;
  cradle_handle handle_;
};

} // namespace cradle

#undef CRADLE_HPP_INLINE_
#undef CRADLE_HPP_FAIL_

/* Describes a structure: its name for messages, then every field, in order, beginning with the header. Write it in the
 * structure's namespace. */
#define CRADLE_TYPE(structure, name, ...) \
  [[maybe_unused]] constexpr cradle_type cradle_row_of(const structure *) { \
    return CRADLE_ROW(structure, name, __VA_ARGS__); \
  }
/* The row itself, for a program that writes cradle_row_of by hand because it sets more, such as a finalizer. */
#define CRADLE_ROW(structure, name, ...) (cradle::detail::row<structure, CRADLE_FIELDS_(structure, __VA_ARGS__)>(name))

/* The fields of a structure, up to 16. */
#define CRADLE_FIELDS_(s, ...) \
  CRADLE_17TH_(__VA_ARGS__, CRADLE_F16_, CRADLE_F15_, CRADLE_F14_, CRADLE_F13_, CRADLE_F12_, CRADLE_F11_, CRADLE_F10_, \
               CRADLE_F9_, CRADLE_F8_, CRADLE_F7_, CRADLE_F6_, CRADLE_F5_, CRADLE_F4_, CRADLE_F3_, CRADLE_F2_, \
               CRADLE_F1_, )(s, __VA_ARGS__)
#define CRADLE_17TH_(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, ...) q
#define CRADLE_F1_(s, f) cradle::detail::field<decltype(s::f), offsetof(s, f)>
#define CRADLE_F2_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F1_(s, __VA_ARGS__)
#define CRADLE_F3_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F2_(s, __VA_ARGS__)
#define CRADLE_F4_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F3_(s, __VA_ARGS__)
#define CRADLE_F5_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F4_(s, __VA_ARGS__)
#define CRADLE_F6_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F5_(s, __VA_ARGS__)
#define CRADLE_F7_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F6_(s, __VA_ARGS__)
#define CRADLE_F8_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F7_(s, __VA_ARGS__)
#define CRADLE_F9_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F8_(s, __VA_ARGS__)
#define CRADLE_F10_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F9_(s, __VA_ARGS__)
#define CRADLE_F11_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F10_(s, __VA_ARGS__)
#define CRADLE_F12_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F11_(s, __VA_ARGS__)
#define CRADLE_F13_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F12_(s, __VA_ARGS__)
#define CRADLE_F14_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F13_(s, __VA_ARGS__)
#define CRADLE_F15_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F14_(s, __VA_ARGS__)
#define CRADLE_F16_(s, f, ...) CRADLE_F1_(s, f), CRADLE_F15_(s, __VA_ARGS__)

#endif
