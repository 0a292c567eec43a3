import java.util.Arrays;

/* The four everyday programs of the suite in Java: bench/everyday.h, string_cache.c, tree_map.c, json.c and symbols.c say what they
 * do. Numbers are drawn and folded as there, so that the checksums agree. */
final class Everyday {
  /* --- numbers and texts --- */

  static final long LOW_32 = 0xffffffffL;

  private long state = 1, sum;

  int below(int bound) {
    state = (state * 1103515245 + 12345) & 0x7fffffff;
    return (int) (state * bound >> 31);
  }

  int skewed(int bound) {
    int a = below(bound), b = below(bound);
    return Math.min(a, b);
  }

  static long mix(long number) {
    long x = number * 2654435761L & LOW_32;
    x = (x ^ x >> 16) * 2246822519L & LOW_32;
    return x ^ x >> 13;
  }

  static long fold(long sum, long number) {
    return sum * 31 + number & LOW_32;
  }

  void add(long number) {
    sum = fold(sum, number);
  }

  static int hash(byte[] data, int length) {
    int hash = (int) 2166136261L ^ length, end = Math.min(length, 16);
    for (int i = 0; i < end; i++) hash = (hash ^ data[i]) * 16777619;
    return hash;
  }

  static long summary(byte[] string) {
    return (long) string.length << 8 | string[string.length - 1];
  }

  /* A text outside of what the programs keep. */
  static final class Text {
    final byte[] data = new byte[100];
    int length;

    void write(int number, int least, int most) {
      length = least + (int) (mix(number) % (most - least + 1));
      for (int i = 0; i < 6; i++) data[i] = (byte) ('A' + (number >> 5 * i & 31));
      Arrays.fill(data, 6, length, (byte) ('a' + number % 26));
    }

    boolean is(byte[] string) {
      return Arrays.equals(data, 0, length, string, 0, string.length);
    }

    byte[] contents() {
      return Arrays.copyOf(data, length);
    }
  }

  private final Text text = new Text(), value = new Text();

  /* --- string-cache --- */

  static final class Cached {
    Cached chain, newer, older;
    final byte[] key;
    byte[] value;
    final int hash;

    Cached(byte[] key, byte[] value, int hash) {
      this.key = key;
      this.value = value;
      this.hash = hash;
    }
  }

  static final class Cache {
    final Cached[] table;
    Cached newest, oldest;
    int count;

    Cache(int capacity) {
      int length = 1;
      while (length < capacity) length *= 2;
      table = new Cached[length];
    }

    int slot(int hash) {
      return hash & (table.length - 1);
    }

    Cached find(Text key, int hash) {
      Cached e = table[slot(hash)];
      while (e != null && !(e.hash == hash && key.is(e.key))) e = e.chain;
      return e;
    }

    void unlinkUsed(Cached e) {
      if (e.newer != null) e.newer.older = e.older;
      else newest = e.older;
      if (e.older != null) e.older.newer = e.newer;
      else oldest = e.newer;
    }

    void makeNewest(Cached e) {
      if (e == newest) return;
      unlinkUsed(e);
      e.newer = null;
      e.older = newest;
      newest.newer = e;
      newest = e;
    }

    void takeOldestOut() {
      Cached gone = oldest, e = table[slot(gone.hash)];
      if (e == gone) {
        table[slot(gone.hash)] = gone.chain;
      } else {
        while (e.chain != gone) e = e.chain;
        e.chain = gone.chain;
      }
      unlinkUsed(gone);
      count--;
    }

    void add(Cached e) {
      e.chain = table[slot(e.hash)];
      e.older = newest;
      table[slot(e.hash)] = e;
      if (newest != null) newest.newer = e;
      else oldest = e;
      newest = e;
      count++;
    }
  }

  long stringCache(int steps, int capacity) {
    Cache c = new Cache(capacity);
    int hits = 0;
    for (int i = 0; i < steps; i++) {
      text.write(skewed(2 * capacity), 16, 100);
      int hash = hash(text.data, text.length);
      Cached e = c.find(text, hash);
      if (e == null) {
        value.write(below(1 << 29), 16, 100);
        if (c.count == capacity) c.takeOldestOut();
        c.add(new Cached(text.contents(), value.contents(), hash));
        continue;
      }
      c.makeNewest(e);
      hits++;
      add(summary(e.value));
      if (hits % 8 != 0) continue;
      value.write(below(1 << 29), 16, 100);
      e.value = value.contents();
    }
    add(hits);
    for (Cached e = c.newest; e != null; e = e.older) {
      add(e.hash & LOW_32);
      add(hash(e.value, e.value.length) & LOW_32);
    }
    return sum;
  }

  /* --- tree-map --- */

  static final class Node {
    Node left, right;
    final int key, value;
    final long priority;

    Node(Node left, Node right, int key, long priority, int value) {
      this.left = left;
      this.right = right;
      this.key = key;
      this.priority = priority;
      this.value = value;
    }

    Node withLeft(Node other) {
      return new Node(other, right, key, priority, value);
    }

    Node withRight(Node other) {
      return new Node(left, other, key, priority, value);
    }

    static int find(Node t, int key) {
      while (t != null && t.key != key) t = key < t.key ? t.left : t.right;
      return t == null ? 0 : t.value;
    }

    static Node set(Node t, int key, long priority, int value) {
      if (t != null && t.key == key) return new Node(t.left, t.right, key, priority, value);
      if (t != null && t.priority >= priority)
        return key < t.key ? t.withLeft(set(t.left, key, priority, value)) : t.withRight(set(t.right, key, priority, value));
      Node fresh = new Node(null, null, key, priority, value);
      fresh.split(t);
      return fresh;
    }

    /* Both sides of the key become this node's, by copying the search path. */
    void split(Node t) {
      Node lastLeft = null, lastRight = null;
      while (t != null) {
        if (key < t.key) {
          Node copy = t.withLeft(null);
          if (lastRight == null) right = copy;
          else lastRight.left = copy;
          lastRight = copy;
          t = t.left;
        } else {
          Node copy = t.withRight(null);
          if (lastLeft == null) left = copy;
          else lastLeft.right = copy;
          lastLeft = copy;
          t = t.right;
        }
      }
    }

    static Node merge(Node left, Node right) {
      if (left == null) return right;
      if (right == null) return left;
      return left.priority >= right.priority ? left.withRight(merge(left.right, right)) : right.withLeft(merge(left, right.left));
    }

    static Node without(Node t, int key) {
      if (t.key == key) return merge(t.left, t.right);
      return key < t.key ? t.withLeft(without(t.left, key)) : t.withRight(without(t.right, key));
    }
  }

  private final Node[] versions = new Node[64];
  private int newest;

  void change(int key, int value) {
    Node t = versions[newest];
    if (value == 0 && Node.find(t, key) == 0) return;
    newest = (newest + 1) % versions.length;
    versions[newest] = value == 0 ? Node.without(t, key) : Node.set(t, key, mix(key), value);
  }

  int addAll(Node t) {
    if (t == null) return 0;
    int nodes = addAll(t.left);
    add(t.key);
    add(t.value);
    return nodes + 1 + addAll(t.right);
  }

  long treeMap(int steps, int live) {
    for (int i = 0; i < live; i++) change(2 * i, 2 * i + 1);
    for (int i = 1; i <= steps; i++) {
      int what = below(4), key = below(2 * live);
      if (what < 2) add(Node.find(versions[below(versions.length)], key));
      else change(key, what == 2 ? i : 0);
    }
    add(addAll(versions[newest]));
    return sum;
  }

  /* --- json: null, Boolean, Integer, Double, byte[], Object[] or JsonObject --- */

  static final class JsonObject {
    final byte[][] keys;
    final Object[] values;

    JsonObject(int count) {
      keys = new byte[count][];
      values = new Object[count];
    }
  }

  static final int NUMBERS = 1 << 20;

  byte[] nextString(int range, int most) {
    text.write(below(range), 6, most);
    return text.contents();
  }

  int nextChildren(int nodes) {
    return Math.min(2 + below(8), nodes - 1);
  }

  Object build(int nodes) {
    if (nodes > 2 && below(4) != 0) return below(3) == 0 ? buildArray(nodes) : buildObject(nodes);
    switch (below(8)) {
      case 0:
        int constant = below(3);
        return constant == 0 ? null : constant == 1 ? Boolean.FALSE : Boolean.TRUE;
      case 1:
      case 2: return below(NUMBERS);
      case 3: return below(NUMBERS) / 4.0;
      default: return nextString(1 << 29, 40);
    }
  }

  Object[] buildArray(int nodes) {
    Object[] items = new Object[nextChildren(nodes)];
    for (int i = 0; i < items.length; i++) items[i] = build((nodes - 1) / items.length);
    return items;
  }

  JsonObject buildObject(int nodes) {
    JsonObject fresh = new JsonObject(nextChildren(nodes));
    for (int i = 0; i < fresh.keys.length; i++) {
      fresh.keys[i] = nextString(1000, 12);
      fresh.values[i] = build((nodes - 1) / fresh.keys.length);
    }
    return fresh;
  }

  void addAll(Object json) {
    if (json == null) {
      add(0);
    } else if (json instanceof JsonObject) {
      JsonObject object = (JsonObject) json;
      add(object.keys.length);
      for (int i = 0; i < object.keys.length; i++) {
        add(summary(object.keys[i]));
        addAll(object.values[i]);
      }
    } else if (json instanceof Object[]) {
      add(((Object[]) json).length);
      for (Object item : (Object[]) json) addAll(item);
    } else if (json instanceof byte[]) {
      add(summary((byte[]) json));
    } else if (json instanceof Integer) {
      add((Integer) json);
    } else if (json instanceof Double) {
      add((long) (4 * (Double) json));
    } else {
      add((Boolean) json ? 2 : 1);
    }
  }

  long json(int documents, int live) {
    JsonObject[] window = new JsonObject[live];
    for (int i = 0; i < documents; i++) {
      if (window[i % live] != null) addAll(window[i % live]);
      window[i % live] = buildObject(1000);
    }
    for (JsonObject document : window) if (document != null) addAll(document);
    return sum;
  }

  /* --- symbols --- */

  static final class Symbol {
    Symbol chain;
    Declared declared;
    final byte[] name;
    final int hash;

    Symbol(byte[] name, int hash) {
      this.name = name;
      this.hash = hash;
    }
  }

  static final class Declared {
    final Symbol symbol;
    final Declared hidden, next;
    final int number;

    Declared(Symbol symbol, Declared next, int number) {
      this.symbol = symbol;
      this.hidden = symbol.declared;
      this.next = next;
      this.number = number;
    }
  }

  static final class Scope {
    final Scope outer;
    Declared first;

    Scope(Scope outer) {
      this.outer = outer;
    }
  }

  private Symbol[] table;
  private Scope scope;
  private int symbols, depth, declarations;

  void link(Symbol s) {
    int at = s.hash & (table.length - 1);
    s.chain = table[at];
    table[at] = s;
  }

  void grow() {
    Symbol[] from = table;
    table = new Symbol[2 * from.length];
    for (Symbol first : from)
      for (Symbol s = first, next; s != null; s = next) {
        next = s.chain;
        link(s);
      }
  }

  Symbol intern(int identifiers) {
    text.write(skewed(identifiers), 6, 24);
    int hash = hash(text.data, text.length);
    Symbol s = table[hash & (table.length - 1)];
    while (s != null && !(s.hash == hash && text.is(s.name))) s = s.chain;
    if (s != null) return s;
    if (symbols == table.length) grow();
    Symbol fresh = new Symbol(text.contents(), hash);
    link(fresh);
    symbols++;
    return fresh;
  }

  void use(Symbol s) {
    add(s.declared == null ? 0 : s.declared.number);
  }

  void declare(Symbol s) {
    scope.first = new Declared(s, scope.first, ++declarations);
    s.declared = scope.first;
  }

  void openScope() {
    scope = new Scope(scope);
    depth++;
  }

  void closeScope() {
    for (Declared d = scope.first; d != null; d = d.next) {
      add(d.number);
      d.symbol.declared = d.hidden;
    }
    scope = scope.outer;
    depth--;
  }

  long symbols(int sources, int identifiers) {
    for (int source = 0; source < sources; source++) {
      table = new Symbol[64];
      symbols = 0;
      openScope();
      for (int i = 0; i < 10 * identifiers; i++) {
        int drawn = below(100);
        if (drawn < 5 && depth < 50) openScope();
        else if (drawn >= 5 && drawn < 10 && depth > 1) closeScope();
        else if (drawn >= 10 && drawn < 25) declare(intern(identifiers));
        else use(intern(identifiers));
      }
      while (depth > 0) closeScope();
      add(symbols);
    }
    return sum;
  }
}
