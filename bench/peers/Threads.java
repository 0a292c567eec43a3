// Threads ALLOCATIONS TREES DEPTH SLOTS STORES PUTS THREADS RUNS: the work of bench/threads.c. Prints for each kind of work the
// seconds of one thread and of THREADS threads, which each do the same amount; medians of RUNS, after one that does not count.
import java.util.Arrays;

class Threads {
  static final class Node {
    Node left, right;
  }

  static final class Branch {
    final Object[] below = new Object[16];
  }

  static final int APART = 16; // sinks of two threads lie in different lines
  static final Node[] sinks = new Node[64 * APART];
  static final Branch[] maps = new Branch[64 * APART];
  static long allocations, trees, depth, slots, stores, puts;

  static void allocate(int thread) {
    for (long i = 0; i < allocations; i++) sinks[thread * APART] = new Node();
  }

  static Node tree(long depth) {
    Node node = new Node();
    if (depth > 0) {
      node.left = tree(depth - 1);
      node.right = tree(depth - 1);
    }
    return node;
  }

  static void trees(int thread) {
    for (long i = 0; i < trees; i++) sinks[thread * APART] = tree(depth);
  }

  static void cache(int thread) {
    Node[] table = new Node[(int)slots];
    long random = 1;
    for (long i = 0; i < stores; i++) {
      random = random * 6364136223846793005L + 1442695040888963407L;
      table[(int)((random >>> 33) % slots)] = new Node();
    }
    sinks[thread * APART] = table[0];
  }

  static Branch put(Branch old, long key, int level) {
    int at = (int)(key >>> (4 * level)) & 15;
    Object below = level == 0 ? new Node() : put(old == null ? null : (Branch)old.below[at], key, level - 1);
    Branch fresh = new Branch();
    if (old != null) System.arraycopy(old.below, 0, fresh.below, 0, 16);
    fresh.below[at] = below;
    return fresh;
  }

  static void map(int thread) {
    Branch now = null;
    long random = 1;
    for (long i = 0; i < puts; i++) {
      random = random * 6364136223846793005L + 1442695040888963407L;
      now = put(now, random >>> 33, 3);
    }
    maps[thread * APART] = now;
  }

  interface Work {
    void run(int thread);
  }

  static double seconds(Work work, int count) throws InterruptedException {
    Thread[] threads = new Thread[count];
    long begin = System.nanoTime();
    for (int i = 0; i < count; i++) {
      int number = i;
      threads[i] = new Thread(() -> work.run(number));
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    return (System.nanoTime() - begin) * 1e-9;
  }

  static double median(Work work, int count, int runs) throws InterruptedException {
    double[] all = new double[runs];
    seconds(work, count);
    for (int i = 0; i < runs; i++) all[i] = seconds(work, count);
    Arrays.sort(all);
    return all[runs / 2];
  }

  public static void main(String[] args) throws InterruptedException {
    long[] n = Arrays.stream(args).mapToLong(Long::parseLong).toArray();
    allocations = n[0];
    trees = n[1];
    depth = n[2];
    slots = n[3];
    stores = n[4];
    puts = n[5];
    int threads = (int)n[6], runs = (int)n[7];
    String[] names = {"allocate", "trees", "cache", "map"};
    Work[] works = {Threads::allocate, Threads::trees, Threads::cache, Threads::map};
    for (int i = 0; i < works.length; i++)
      System.out.println(names[i] + " " + median(works[i], 1, runs) + " " + median(works[i], threads, runs));
  }
}
