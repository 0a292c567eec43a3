/* Workloads of the suite in Java: Workloads NAME SIZE SLOTS RUNS prints a line of seconds and checksum for each run. */
public final class Workloads {
  /* --- binary-trees --- */

  static final class Tree {
    final Tree left, right;

    Tree(Tree left, Tree right) {
      this.left = left;
      this.right = right;
    }

    static Tree make(int depth) {
      return depth == 0 ? new Tree(null, null) : new Tree(make(depth - 1), make(depth - 1));
    }

    long count() {
      return left == null ? 1 : 1 + left.count() + right.count();
    }
  }

  static long binaryTrees(int most) {
    long sum = Tree.make(most + 1).count();
    Tree kept = Tree.make(most);
    for (int depth = 4; depth <= most; depth += 2)
      for (int i = 0; i < 1 << (most - depth + 4); i++) sum += Tree.make(depth).count();
    return sum + kept.count();
  }

  /* --- gcbench --- */

  static final class Node {
    Node left, right;
    int i, j;

    Node(Node left, Node right) {
      this.left = left;
      this.right = right;
    }

    static Node makeUp(int depth) {
      return depth == 0 ? new Node(null, null) : new Node(makeUp(depth - 1), makeUp(depth - 1));
    }

    static Node makeDown(int depth) {
      Node node = new Node(null, null);
      populate(node, depth);
      return node;
    }

    static void populate(Node node, int depth) {
      if (depth == 0) return;
      node.left = new Node(null, null);
      node.right = new Node(null, null);
      populate(node.left, depth - 1);
      populate(node.right, depth - 1);
    }

    long leftDepth() {
      long depth = 0;
      for (Node node = this; node.left != null; node = node.left) depth++;
      return depth;
    }

    long count() {
      return left == null ? 1 : 1 + left.count() + right.count();
    }
  }

  static long nodesOf(int depth) {
    return (2L << depth) - 1;
  }

  static long gcbench(int stretch) {
    int most = stretch - 2;
    int length = stretch < 18 ? 500000 >> (18 - stretch) : 500000;
    long sum = Node.makeUp(stretch).leftDepth();
    Node longLived = Node.makeDown(most);
    double[] numbers = new double[length];
    for (int i = 0; i < length / 2; i++) numbers[i] = 1.0 / (i + 1);
    for (int depth = 4; depth <= most; depth += 2) {
      long trees = 2 * nodesOf(stretch) / nodesOf(depth);
      for (long i = 0; i < trees; i++) sum += Node.makeDown(depth).leftDepth();
      for (long i = 0; i < trees; i++) sum += Node.makeUp(depth).leftDepth();
    }
    if (numbers[9] != 0.1) throw new IllegalStateException("the long-lived array changed");
    return sum + longLived.count();
  }

  /* --- tuples --- */

  static final class Tuple {
    final long a, b, c;

    Tuple(long a, long b, long c) {
      this.a = a;
      this.b = b;
      this.c = c;
    }
  }

  static long tuples(int rounds, int slots) {
    Tuple[] all = new Tuple[slots];
    for (int round = 0; round < rounds; round++)
      for (int i = 0; i < slots; i++) all[i] = new Tuple(2L * i + 1, 2L * (i + 1) + 1, 2L * (i + round) + 1);
    long sum = 0;
    for (Tuple tuple : all) sum += tuple.a + 3 * tuple.b + 5 * tuple.c;
    return sum;
  }

  /* --- store --- */

  static final class Cell {
    Cell next;
    final long number;

    Cell(long number) {
      this.number = number;
    }
  }

  static long store(int steps, int slots) {
    Cell[] all = new Cell[slots];
    long state = 1, sum = 0;
    for (int number = 1; number <= steps; number++) {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      all[(int) (state * slots >> 31)] = new Cell(number);
    }
    for (Cell cell : all) sum += cell == null ? 0 : cell.number;
    return sum;
  }

  static long run(String name, int size, int slots) {
    switch (name) {
      case "binary-trees": return binaryTrees(size);
      case "gcbench": return gcbench(size);
      case "tuples": return tuples(size, slots);
      case "store": return store(size, slots);
      case "string-cache": return new Everyday().stringCache(size, slots);
      case "tree-map": return new Everyday().treeMap(size, slots);
      case "json": return new Everyday().json(size, slots);
      case "symbols": return new Everyday().symbols(size, slots);
      default: throw new IllegalArgumentException(name + ": no such workload");
    }
  }

  public static void main(String[] words) {
    for (int i = Integer.parseInt(words[3]); i > 0; i--) {
      long begun = System.nanoTime();
      long sum = run(words[0], Integer.parseInt(words[1]), Integer.parseInt(words[2]));
      System.out.printf("%.6f %d%n", (System.nanoTime() - begun) * 1e-9, sum);
    }
  }
}
