#!/usr/bin/env python3
"""Saves images of what programs of the example VMs have defined, and begins with them.

    test_vm_images.py SCHEME STACKVM LIBRARY.vm [HOLD]

A program that begins with an image of a library must print what it prints after the library. HOLD is a shared library that keeps
an address from being used, so that the image has to be relocated.
"""

import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEME_LIBRARY = """
(define (square x) (* x x))
(define counter (let ((n 0)) (lambda () (set! n (+ n 1)) n)))
(define table (make-hash-table))
(hash-table-set! table 'key "value")
(define names '(a b c))
(define-record-type point (make-point x y) point? (x point-x) (y point-y set-point-y!))
(define here (make-point 1 2.5))
(define promised (delay (begin (counter) 'done)))
(define v (make-vector 3000 'x))
(counter)
"""
SCHEME_PROGRAM = """
(write (list (square 12) (counter) (hash-table-ref table 'key (lambda () #f)) (eq? (car names) 'a) (point-x here) (point-y here)
             (force promised) (counter)))
(newline)
(define (loop n) (if (> n 0) (begin (vector-set! v (modulo n 3000) (list n)) (set-point-y! here (list n)) (loop (- n 1)))))
(loop 20000)
(gc)
(write (list (vector-ref v 7) (point-y here) (make-point 3 4)))
(newline)
(display "end")
(newline)
"""
STACKVM_MORE = """
class Shape { init(name) { this.name = name; } text() { return "shape " + this.name; } }
class Square : Shape { init(side) { super.init("square"); this.side = side; } text() { return super.text() + " of " + this.side; } }
let shapes = [Square(2), Shape("line")];
let table = {name: "x", 3: 2, nested: {list: [1, nil, true, "text"]}};
let next = counter(10);
let at_once = shapes[0].text;
fn name_of(shape) { return shape.name; }
fn deep(n) { return n == 0 ? 0 : len([%s, deep(n - 1)]); }
fn caught(f) { try { return f(); } catch (e) { return "caught " + e; } }
next();
""" % ", ".join(["n"] * 60)
STACKVM_PROGRAM = """
print(map(range(0, 5), fn(x) { return x * x; }), sum(range(0, 101)), sort_by([3, 1, 2], fn(a, b) { return a < b; }));
print(Set([1, 2, 2, "x"]).both(Set(["x", 1])).text(), Queue([1, 2]).text(), fibonacci(60), replace("a-b", "-", "+"));
let heap = Heap([5, 3, 9, 1]);
while (!heap.is_empty()) print(heap.take());
class Bag : Set { add(item) { super.add(item); this.last = item; } }
let bag = Bag([1, 2]);
print(bag.last, bag.text(), bag.union(Set([7])).text());
print(next(), next(), at_once(), shapes[1].text(), table.name, table[3], table.nested, caught(fn() { return Queue([]).take(); }));
print(group(range(0, 6), fn(n) { return n % 2; }), pad_left("x", 3), gcd(12, 18), power(2, 10), memoize, print, PI);
for (let i = 0; i < 2000; i += 1) {
  bag.add([i]);
  table[i] = {number: i};
  shapes[0].side = [i];
  shapes[0].last = bag;
}
// No class gets the id of one in the image: the cache in name_of would mix them up.
class A { init() { this.other = "wrong"; this.name = "right"; } }
class B { init() { this.other = "wrong"; this.name = "right"; } }
class C { init() { this.other = "wrong"; this.name = "right"; } }
class D { init() { this.other = "wrong"; this.name = "right"; } }
class E { init() { this.other = "wrong"; this.name = "right"; } }
for (let each in [A, B, C, D, E]) {
  let made = each();
  for (let shape in shapes) print(name_of(shape), name_of(made));
}
print(deep(2000));
gc();
print(bag.count, table[1999], shapes[0].text(), shapes[0].last == bag, Square(3).text());
print(any([1, 2], fn(x) { return x == 2; }), all([], any), unique([1, 1, 2]), zip([1, 2], [3, 4]), compose(str, len)("xyz"));
print("end");
Queue([]).take();
"""
STRESSES = [{}, {"CRADLE_STRESS": "50,major=5", "CRADLE_VERIFY": "1"}, {"CRADLE_STRESS": "1", "CRADLE_GC_NURSERY": "4K"},
            {"CRADLE_STRESS": "7,major=11", "CRADLE_QUARANTINE": "8"}]
BASE_AT = struct.calcsize("<8sIIQQQQQ") + 8 * 11  # image_header.base (gc/image/format.h): after the words of the encoding


def run(variables, *command):
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=200)


def base_of(image):
    return struct.unpack_from("<Q", image.read_bytes(), BASE_AT)[0]


class Machine:
    def __init__(self, program, suffix, library, text, error, hold):
        self.program, self.suffix, self.library, self.text, self.error, self.hold = program, suffix, library, text, error, hold
        self.faults = []

    def fault(self, what, result):
        self.faults.append(f"{what} {result.args}: {result.returncode} {result.stdout!r} {result.stderr!r}")

    def save(self, variables, image, *options):
        saved = run(variables, self.program, *options, f"--save-image={image}", self.path)
        if saved.returncode != 0 or saved.stderr:
            self.fault("saving", saved)

    def load(self, variables, *options):
        loaded = run(variables, self.program, *options, self.path)
        if (loaded.returncode, loaded.stdout, loaded.stderr) != self.expected:
            self.fault(f"not {self.expected!r}: {variables}", loaded)

    def check(self, folder):
        self.path = folder / f"program{self.suffix}"
        self.path.write_text(self.library + self.text)
        whole = run({}, self.program, self.path)
        self.expected = whole.returncode, whole.stdout, whole.stderr
        if not whole.stdout.endswith("\nend\n") or self.error not in whole.stderr or bool(whole.stderr) != bool(self.error):
            self.fault("without an image", whole)
        first, second = folder / f"first{self.suffix}.image", folder / f"second{self.suffix}.image"
        for stress in STRESSES:
            self.path.write_text(self.library)
            self.save(stress, first)
            self.path.write_text("")
            self.save(stress, second, f"--image={first}")
            self.path.write_text("\n" * self.library.count("\n") + self.text)  # errors are to name the same lines
            for image in first, second:
                self.load(stress, f"--image={image}")
                if self.hold:
                    self.load({**stress, "LD_PRELOAD": self.hold, "HOLD_ADDRESS": hex(base_of(image))}, f"--image={image}")
        self.refuse(folder)

    def refuse(self, folder):
        for image, words in (self.path, "image: the file is no image of a heap"), (folder / "none", "there is no such file"):
            refused = run({}, self.program, f"--image={image}", self.path)
            if refused.returncode != 1 or words not in refused.stderr:
                self.fault("a file that is no image", refused)
        refused = run({}, self.program, f"--save-image={folder}/none/a.image", os.devnull)
        if refused.returncode != 1 or "image" not in refused.stderr:
            self.fault("a folder that is not there", refused)


def main():
    scheme, stackvm, library, *hold = sys.argv[1:]
    machines = [Machine(scheme, ".scm", SCHEME_LIBRARY, SCHEME_PROGRAM, "", *hold or [None]),
                Machine(stackvm, ".vm", Path(library).read_text() + STACKVM_MORE, STACKVM_PROGRAM, "in take, ", *hold or [None])]
    with tempfile.TemporaryDirectory() as name:
        for machine in machines:
            machine.check(Path(name))
    faults = [fault for machine in machines for fault in machine.faults]
    print("\n".join(faults) or "images give what their files gave")
    if not hold:
        print("not run: no image was relocated, since this build cannot preload a library")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
