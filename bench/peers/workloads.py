"""Workloads of the suite in Python: workloads.py NAME SIZE SLOTS RUNS prints a line of seconds and checksum for each run. PyPy
runs this file, and RPython's translator makes a program of it (rpython workloads.py): it keeps to what both understand."""

import sys
import time

import everyday


class Tree(object):
    __slots__ = ("left", "right")

    def __init__(self, left, right):
        self.left = left
        self.right = right


class Node(Tree):
    __slots__ = ("i", "j")

    def __init__(self, left, right):
        Tree.__init__(self, left, right)
        self.i = 0
        self.j = 0


class Cell(object):
    __slots__ = ("next", "number")

    def __init__(self, number):
        self.next = None
        self.number = number


def make(depth):
    return Tree(None, None) if depth == 0 else Tree(make(depth - 1), make(depth - 1))


def count(node):
    return 1 if node.left is None else 1 + count(node.left) + count(node.right)


def binary_trees(most):
    total = count(make(most + 1))
    kept = make(most)
    for depth in range(4, most + 1, 2):
        for _ in range(1 << (most - depth + 4)):
            total += count(make(depth))
    return total + count(kept)


def populate(node, depth):
    if depth == 0:
        return
    node.left = Node(None, None)
    node.right = Node(None, None)
    populate(node.left, depth - 1)
    populate(node.right, depth - 1)


def make_down(depth):
    node = Node(None, None)
    populate(node, depth)
    return node


def make_up(depth):
    return Node(None, None) if depth == 0 else Node(make_up(depth - 1), make_up(depth - 1))


def left_depth(node):
    depth = 0
    while node.left is not None:
        node = node.left
        depth += 1
    return depth


def nodes_of(depth):
    return (2 << depth) - 1


def gcbench(stretch):
    most = stretch - 2
    length = 500000 >> (18 - stretch) if stretch < 18 else 500000
    total = left_depth(make_up(stretch))
    long_lived = make_down(most)
    numbers = [0.0] * length
    for i in range(length // 2):
        numbers[i] = 1.0 / (i + 1)
    for depth in range(4, most + 1, 2):
        trees = 2 * nodes_of(stretch) // nodes_of(depth)
        for _ in range(trees):
            total += left_depth(make_down(depth))
        for _ in range(trees):
            total += left_depth(make_up(depth))
    assert numbers[9] == 0.1, "the long-lived array changed"
    return total + count(long_lived)


def tuples(rounds, slots):
    every = [(0, 0, 0)] * slots
    for number in range(rounds):
        for i in range(slots):
            every[i] = (2 * i + 1, 2 * (i + 1) + 1, 2 * (i + number) + 1)
    total = 0
    for a, b, c in every:
        total += a + 3 * b + 5 * c
    return total


def store(steps, slots):
    every = [None] * slots
    state = 1
    for number in range(1, steps + 1):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        every[state * slots >> 31] = Cell(number)
    total = 0
    for cell in every:
        if cell is not None:
            total += cell.number
    return total


def run(name, size, slots):
    if name == "binary-trees":
        return binary_trees(size)
    if name == "gcbench":
        return gcbench(size)
    if name == "tuples":
        return tuples(size, slots)
    if name == "store":
        return store(size, slots)
    if name == "string-cache":
        return everyday.string_cache(size, slots)
    if name == "tree-map":
        return everyday.tree_map(size, slots)
    if name == "json":
        return everyday.json(size, slots)
    assert name == "symbols"
    return everyday.symbols(size, slots)


def seconds_of(microseconds):
    fraction = str(microseconds % 1000000)
    return str(microseconds // 1000000) + "." + "0" * (6 - len(fraction)) + fraction


def main(words):
    for _ in range(int(words[4])):
        begun = time.time()
        total = run(words[1], int(words[2]), int(words[3]))
        print(seconds_of(int((time.time() - begun) * 1000000)) + " " + str(total))
    return 0


def target(driver, arguments):
    """What RPython's translator asks for: the program's main function."""
    return main, None


if __name__ == "__main__":
    main(sys.argv)
