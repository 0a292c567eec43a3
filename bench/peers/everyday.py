"""The four everyday programs of the suite in Python, for PyPy, and for RPython's translator: both read this file, so it keeps to
what they have in common. bench/everyday.h, string_cache.c, tree_map.c, json.c and symbols.c say what the programs do; numbers are
drawn and folded as there, so that the checksums agree. A text is a string here, made anew for each look-up."""

LOW_32 = 0xFFFFFFFF


def times(x, factor):
    """The low 32 bits of a product of such, in steps that stay within 62."""
    return (x * (factor & 0xFFFF) + ((x * (factor >> 16) & 0xFFFF) << 16)) & LOW_32


def mix(number):
    x = times(number, 2654435761)
    x = times(x ^ x >> 16, 2246822519)
    return x ^ x >> 13


def hash_of(text):
    total = 2166136261 ^ len(text)
    for i in range(min(len(text), 16)):
        total = (total ^ ord(text[i])) * 16777619 & LOW_32
    return total


def summary(text):
    return len(text) << 8 | ord(text[len(text) - 1])


PAIRS = [chr(65 + (i & 31)) + chr(65 + (i >> 5)) for i in range(1024)]
FILLERS = [chr(97 + i) * 100 for i in range(26)]


def text_of(number, least, most):
    rest = least + mix(number) % (most - least + 1) - 6
    assert rest >= 0  # which RPython's translator does not see by itself
    return "".join([PAIRS[number & 1023], PAIRS[number >> 10 & 1023], PAIRS[number >> 20 & 1023], FILLERS[number % 26][0:rest]])


class Program(object):
    __slots__ = ("state", "total")

    def __init__(self):
        self.state = 1
        self.total = 0

    def below(self, bound):
        self.state = (self.state * 1103515245 + 12345) & 0x7FFFFFFF
        return self.state * bound >> 31

    def skewed(self, bound):
        a = self.below(bound)
        b = self.below(bound)
        return a if a < b else b

    def add(self, number):
        self.total = (self.total * 31 + number) & LOW_32


# --- string-cache ---


class Cached(object):
    __slots__ = ("chain", "newer", "older", "key", "value", "hash")

    def __init__(self, chain, older, key, value, hashed):
        self.chain = chain
        self.newer = None
        self.older = older
        self.key = key
        self.value = value
        self.hash = hashed


class Cache(object):
    def __init__(self, capacity):
        length = 1
        while length < capacity:
            length *= 2
        self.table = [None] * length
        self.mask = length - 1
        self.newest = None
        self.oldest = None
        self.count = 0

    def find(self, key, hashed):
        e = self.table[hashed & self.mask]
        while e is not None and not (e.hash == hashed and e.key == key):
            e = e.chain
        return e

    def unlink_used(self, e):
        if e.newer is not None:
            e.newer.older = e.older
        else:
            self.newest = e.older
        if e.older is not None:
            e.older.newer = e.newer
        else:
            self.oldest = e.newer

    def make_newest(self, e):
        if e is self.newest:
            return
        self.unlink_used(e)
        e.newer = None
        e.older = self.newest
        self.newest.newer = e
        self.newest = e

    def take_oldest_out(self):
        gone = self.oldest
        at = gone.hash & self.mask
        e = self.table[at]
        if e is gone:
            self.table[at] = gone.chain
        else:
            while e.chain is not gone:
                e = e.chain
            e.chain = gone.chain
        self.unlink_used(gone)
        self.count -= 1

    def insert(self, key, value, hashed):
        at = hashed & self.mask
        e = Cached(self.table[at], self.newest, key, value, hashed)
        self.table[at] = e
        if self.newest is not None:
            self.newest.newer = e
        else:
            self.oldest = e
        self.newest = e
        self.count += 1


def string_cache(steps, capacity):
    p = Program()
    c = Cache(capacity)
    hits = 0
    for _ in range(steps):
        key = text_of(p.skewed(2 * capacity), 16, 100)
        hashed = hash_of(key)
        e = c.find(key, hashed)
        if e is None:
            value = text_of(p.below(1 << 29), 16, 100)
            if c.count == capacity:
                c.take_oldest_out()
            c.insert(key, value, hashed)
            continue
        c.make_newest(e)
        hits += 1
        p.add(summary(e.value))
        if hits % 8 == 0:
            e.value = text_of(p.below(1 << 29), 16, 100)
    p.add(hits)
    e = c.newest
    while e is not None:
        p.add(e.hash)
        p.add(hash_of(e.value))
        e = e.older
    return p.total


# --- tree-map ---


class MapNode(object):
    __slots__ = ("left", "right", "key", "priority", "value")

    def __init__(self, left, right, key, priority, value):
        self.left = left
        self.right = right
        self.key = key
        self.priority = priority
        self.value = value

    def with_left(self, left):
        return MapNode(left, self.right, self.key, self.priority, self.value)

    def with_right(self, right):
        return MapNode(self.left, right, self.key, self.priority, self.value)


def map_find(t, key):
    while t is not None and t.key != key:
        t = t.left if key < t.key else t.right
    return 0 if t is None else t.value


def map_split(t, key, fresh):
    """Both sides of the key become fresh's, by copying the search path."""
    last_left = None
    last_right = None
    while t is not None:
        if key < t.key:
            copy = t.with_left(None)
            if last_right is None:
                fresh.right = copy
            else:
                last_right.left = copy
            last_right = copy
            t = t.left
        else:
            copy = t.with_right(None)
            if last_left is None:
                fresh.left = copy
            else:
                last_left.right = copy
            last_left = copy
            t = t.right


def map_set(t, key, priority, value):
    if t is not None and t.key == key:
        return MapNode(t.left, t.right, key, priority, value)
    if t is not None and t.priority >= priority:
        if key < t.key:
            return t.with_left(map_set(t.left, key, priority, value))
        return t.with_right(map_set(t.right, key, priority, value))
    fresh = MapNode(None, None, key, priority, value)
    map_split(t, key, fresh)
    return fresh


def map_merge(left, right):
    if left is None:
        return right
    if right is None:
        return left
    if left.priority >= right.priority:
        return left.with_right(map_merge(left.right, right))
    return right.with_left(map_merge(left, right.left))


def map_without(t, key):
    if t.key == key:
        return map_merge(t.left, t.right)
    if key < t.key:
        return t.with_left(map_without(t.left, key))
    return t.with_right(map_without(t.right, key))


def map_change(t, key, value):
    return map_without(t, key) if value == 0 else map_set(t, key, mix(key), value)


def map_add_all(p, t):
    if t is None:
        return 0
    nodes = map_add_all(p, t.left)
    p.add(t.key)
    p.add(t.value)
    return nodes + 1 + map_add_all(p, t.right)


def tree_map(steps, live):
    p = Program()
    versions = [None] * 64
    newest = 0
    for i in range(live):
        fresh = map_change(versions[newest], 2 * i, 2 * i + 1)
        newest = (newest + 1) % 64
        versions[newest] = fresh
    for i in range(1, steps + 1):
        what = p.below(4)
        key = p.below(2 * live)
        if what < 2:
            p.add(map_find(versions[p.below(64)], key))
        elif what == 2 or map_find(versions[newest], key) != 0:
            fresh = map_change(versions[newest], key, i if what == 2 else 0)
            newest = (newest + 1) % 64
            versions[newest] = fresh
    p.add(map_add_all(p, versions[newest]))
    return p.total


# --- json ---


class Json(object):
    __slots__ = ()

    def add_to(self, p):
        raise NotImplementedError


class Number(Json):
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    def add_to(self, p):
        p.add(int(4 * self.value))


class Integer(Json):  # and constants, which are three of these
    __slots__ = ("integer",)

    def __init__(self, integer):
        self.integer = integer

    def add_to(self, p):
        p.add(self.integer)


class String(Json):
    __slots__ = ("text",)

    def __init__(self, text):
        self.text = text

    def add_to(self, p):
        p.add(summary(self.text))


class Array(Json):
    __slots__ = ("items",)

    def __init__(self, items):
        self.items = items

    def add_to(self, p):
        p.add(len(self.items))
        for item in self.items:
            item.add_to(p)


class Object(Json):
    __slots__ = ("keys", "values")

    def __init__(self, keys, values):
        self.keys = keys
        self.values = values

    def add_to(self, p):
        p.add(len(self.keys))
        for i in range(len(self.keys)):
            p.add(summary(self.keys[i]))
            self.values[i].add_to(p)


CONSTANTS = [Integer(0), Integer(1), Integer(2)]


def children_of(p, nodes):
    count = 2 + p.below(8)
    return count if count < nodes else nodes - 1


def build(p, nodes):
    if nodes > 2 and p.below(4) != 0:
        return build_array(p, nodes) if p.below(3) == 0 else build_object(p, nodes)
    what = p.below(8)
    if what == 0:
        return CONSTANTS[p.below(3)]
    if what < 3:
        return Integer(p.below(1 << 20))
    if what == 3:
        return Number(p.below(1 << 20) / 4.0)
    return String(text_of(p.below(1 << 29), 6, 40))


def build_array(p, nodes):
    count = children_of(p, nodes)
    items = [None] * count
    for i in range(count):
        items[i] = build(p, (nodes - 1) // count)
    return Array(items)


def build_object(p, nodes):
    count = children_of(p, nodes)
    keys = [""] * count
    values = [None] * count
    for i in range(count):
        keys[i] = text_of(p.below(1000), 6, 12)
        values[i] = build(p, (nodes - 1) // count)
    return Object(keys, values)


def json(documents, live):
    p = Program()
    window = [None] * live
    for i in range(documents):
        old = window[i % live]
        if old is not None:
            old.add_to(p)
        window[i % live] = build_object(p, 1000)
    for document in window:
        if document is not None:
            document.add_to(p)
    return p.total


# --- symbols ---


class Symbol(object):
    __slots__ = ("chain", "declared", "name", "hash")

    def __init__(self, chain, name, hashed):
        self.chain = chain
        self.declared = None
        self.name = name
        self.hash = hashed


class Declared(object):
    __slots__ = ("symbol", "hidden", "next", "number")

    def __init__(self, symbol, following, number):
        self.symbol = symbol
        self.hidden = symbol.declared
        self.next = following
        self.number = number


class Scope(object):
    __slots__ = ("outer", "first")

    def __init__(self, outer):
        self.outer = outer
        self.first = None


class Compiler(object):
    def __init__(self, p):
        self.p = p
        self.table = [None]
        self.scope = None
        self.symbols = 0
        self.depth = 0
        self.declarations = 0

    def grow(self):
        table = [None] * (2 * len(self.table))
        for first in self.table:
            s = first
            while s is not None:
                following = s.chain
                at = s.hash & (len(table) - 1)
                s.chain = table[at]
                table[at] = s
                s = following
        self.table = table

    def intern(self, identifiers):
        name = text_of(self.p.skewed(identifiers), 6, 24)
        hashed = hash_of(name)
        s = self.table[hashed & (len(self.table) - 1)]
        while s is not None and not (s.hash == hashed and s.name == name):
            s = s.chain
        if s is not None:
            return s
        if self.symbols == len(self.table):
            self.grow()
        at = hashed & (len(self.table) - 1)
        s = Symbol(self.table[at], name, hashed)
        self.table[at] = s
        self.symbols += 1
        return s

    def use(self, s):
        self.p.add(0 if s.declared is None else s.declared.number)

    def declare(self, s):
        self.declarations += 1
        self.scope.first = Declared(s, self.scope.first, self.declarations)
        s.declared = self.scope.first

    def open_scope(self):
        self.scope = Scope(self.scope)
        self.depth += 1

    def close_scope(self):
        d = self.scope.first
        while d is not None:
            self.p.add(d.number)
            d.symbol.declared = d.hidden
            d = d.next
        self.scope = self.scope.outer
        self.depth -= 1

    def compile(self, identifiers):
        self.table = [None] * 64
        self.symbols = 0
        self.open_scope()
        for _ in range(10 * identifiers):
            drawn = self.p.below(100)
            if drawn < 5 and self.depth < 50:
                self.open_scope()
            elif 5 <= drawn < 10 and self.depth > 1:
                self.close_scope()
            elif 10 <= drawn < 25:
                self.declare(self.intern(identifiers))
            else:
                self.use(self.intern(identifiers))
        while self.depth > 0:
            self.close_scope()
        self.p.add(self.symbols)


def symbols(sources, identifiers):
    p = Program()
    c = Compiler(p)
    for _ in range(sources):
        c.compile(identifiers)
    return p.total
