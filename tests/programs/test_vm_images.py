#!/usr/bin/env python3
"""Saves images of what programs of the example VMs have defined, and begins with them.

    test_vm_images.py SCHEME STACKVM LIBRARY.scm LIBRARY.vm [HOLD]

A program that begins with an image of a library must print what it prints after the library. The code of stackvm's programs is
damaged in images, which must be refused in words. HOLD is a shared library that keeps
an address from being used, so that the image has to be relocated.
"""

import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEME_MORE = """
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
# What the library makes of these lines is known.
SCHEME_LIBRARY_SAYS = """((0 1 2 3 4) (a b) (1 2 3) 9 (1 2 "x"))
(((#t 0 2 4) (#f 1 3 5)) ((1 2 3) (1 3 2) (2 1 3) (2 3 1) (3 1 2) (3 2 1)) ((1 a) (2 b)) 4 2)
(("a" "b" "" "c") "x-y-z" "t t" "  7" "a+b")
((2 3 5 7 11 13 17 19 23 29) 1548008755920 (2 2 2 3 3 5) "ff" "MCMXCIV" #t)
(1 2 (1 3 5 9) (1 2 3) (1))
((0 2 4 6) (1 3 5))
(25 2 2 ((a . 5)) (0 1 4 9))
((2 4) 4 (9 16) 3 #t v)
"""
SCHEME_PROGRAM = """
(write (list (iota 5) (take '(a b c d) 2) (fold-right cons '() '(1 2 3)) (reduce max 0 '(3 9 2))
             (delete-duplicates '(1 2 1 "x" "x"))))
(newline)
(write (list (group-by even? (iota 6)) (permutations '(1 2 3)) (zip '(1 2) '(a b)) (find even? '(1 3 4 5)) (list-index even? '(1 3 4))))
(newline)
(write (list (string-split "a,b,,c" #\\,) (string-join '("x" "y" "z") "-") (string-trim "  t t ")
             (string-pad-left "7" 3) (string-replace "a-b" #\\- #\\+)))
(newline)
(write (list (stream-take primes 10) (fibonacci 60) (factors 360) (number-base 255 16) (number->roman 1994) (prime? 97)))
(newline)
(define jobs (make-queue))
(for-each (lambda (n) (queue-put! jobs n)) '(1 2 3))
(write (list (queue-take! jobs) (queue-take! jobs) (heap->list < (list->heap < '(5 3 9 1)))
             (set-union '(1 2) '(2 3)) (set-difference '(1 2) '(2))))
(newline)
(call-with-values (lambda () (partition even? (iota 7))) (lambda (a b) (write (list a b))))
(newline)
(write (list ((compose square (curry + 1)) 4) ((flip -) 1 3) (alist-ref 'b '((a . 1) (b . 2)) 0)
             (alist-update 'a 5 '((a . 1))) (unfold (lambda (n) (> n 3)) square (curry + 1) 0)))
(newline)
(write (list (take-while even? '(2 4 5 6)) (count odd? (iota 9)) (filter-map (lambda (x) (and (> x 2) (* x x))) '(1 2 3 4))
             (last '(1 2 3)) (string-prefix? "ab" "abc") (hash-table-ref/default (alist->hash-table '((k . v))) 'k #f)))
(newline)
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
fn doubled(n) { let m = n; let k = m; return k + m + n; }
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
print(doubled(3), next(), next(), at_once(), shapes[1].text(), table.name, table[3], table.nested, caught(fn() { return Queue([]).take(); }));
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
# A function whose code is damaged in the image of it: its name and file are followed by its code. 60 bytes of code or more.
STACKVM_TARGET = """
fn target_of_damage(a) { let b = [a, a + 1, a + 2]; b.x = a; for (let c in b) print(c, b); return fn() { return b; }; }
"""
TARGET_NAME = b"target_of_damage\0"
# offsetof(code, ...) in examples/stackvm/object.h, counted back from the name
ARITY, STACK_NEED, CACHES, COUNTS = -36, -32, -28, -20
BAD_CODE = [
    ([255], "there is no such instruction"),
    (["CONSTANT", 255, 255], "there is no such constant"),
    (["GET_GLOBAL", 255, 255], "there is no such global"),
    (["SET_GLOBAL", 255, 255], "there is no such global"),
    (["CLOSURE", 255, 255], "there is no such function"),
    (["CLOSURE", "inner", 0], "a closure captures a variable that is not there"),
    (["GET_LOCAL", 2], "there is no such local variable"),
    (["GET_LOCALS", 1, 3], "there is no such local variable"),
    (["INDEX_LOCALS", 1, 2], "there is no such local variable"),
    (["NEXT_KEY", 1, 0, 0], "there is no such local variable"),
    (["SET_LOCAL", 0], "the running function is overwritten"),
    (["GET_UPVALUE", 0], "there is no such captured variable"),
    (["GET_FIELD", "name", 0, 255, 255], "there is no such cache"),
    (["GET_FIELD", "number", 0, 0, 0], "a name is no string"),
    (["JUMP", 255, 255], "it goes on outside of the code"),
    (["LOOP", 9, 0], "it goes on outside of the code"),
    (["TRY", 255, 255], "it goes on outside of the code"),
    (["TRUE", "JUMP_IF_FALSE", 1, 0, "NIL", "NIL", "RETURN"], "paths with different stacks meet"),
    (["TRY", 0, 0, "NIL", "RETURN"], "paths with different stacks meet"),
    (["TRY", 2, 0, "NIL", "RETURN", "RETURN"], "it returns from an open try"),
    (["END_TRY"], "it ends a try that is not open"),
    (["POP", "POP"], "it takes more from the stack than there is"),
    (["CALL", 9], "it takes more from the stack than there is"),
    (["NIL"] * 40, "it needs more of the stack than the function asks for"),
]
STRESSES = [{}, {"CRADLE_STRESS": "50,major=5", "CRADLE_VERIFY": "1"}, {"CRADLE_STRESS": "1", "CRADLE_GC_NURSERY": "4K"},
            {"CRADLE_STRESS": "7,major=11", "CRADLE_QUARANTINE": "8"}]
BASE_AT = struct.calcsize("<8sIIQQQQQ") + 8 * 11  # image_header.base (gc/image/format.h): after the words of the encoding


def run(variables, *command):
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, errors="replace", timeout=200)


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

    def check_damage(self, folder):
        """Code that is damaged in an image is refused in words. What is not refused may run to any end, but not crash."""
        header = (Path(__file__).parents[2] / "examples/stackvm/code.h").read_text()
        numbers = {name: i for i, name in enumerate(re.findall(r"^  I\((\w+),", header, re.MULTILINE))}
        image, damaged, self.path = folder / "whole.image", folder / "damaged.image", folder / f"target{self.suffix}"
        self.path.write_text(STACKVM_TARGET)
        self.save({}, image)
        whole = image.read_bytes()
        name = whole.index(TARGET_NAME + bytes(self.path) + b"\0")
        code = name + len(TARGET_NAME) + len(bytes(self.path)) + 1
        length = struct.unpack_from("<I", whole, name + COUNTS + 8)[0]
        field = whole.index(bytes([numbers["SET_FIELD"]]), code)
        numbers["name"] = whole[field + 1]
        numbers["inner"] = whole[whole.index(bytes([numbers["CLOSURE"]]), code) + 1]
        numbers["number"] = whole[whole.index(bytes([numbers["ADD_CONSTANT"]]), code) + 1]
        self.path.write_text("try { target_of_damage(1); } catch (e) {}")

        def run_with(at, contents):
            damaged.write_bytes(whole[:at] + contents + whole[at + len(contents):])
            return run({"CRADLE_GC_MAX": "64M"}, self.program, f"--image={damaged}", self.path)

        plants = [(code, bytes(numbers.get(item, item) for item in items), words) for items, words in BAD_CODE]
        plants += [(code, bytes([numbers["NIL"], numbers["POP"]] * length)[:length], "it goes on outside of the code"),
                   (code, bytes([numbers["NIL"], numbers["POP"]] * length)[: length - 1] + bytes([numbers["CONSTANT"]]),
                    "the code ends in an instruction")]
        need = struct.unpack_from("<I", whole, name + STACK_NEED)[0]
        full = [numbers["NIL"]] * (need - 2)
        plants += [(code, bytes([*full, numbers[taker], *operands]), "it needs more of the stack")
                   for taker, operands in (("ADD_LOCAL", [1]), ("ADD_CONSTANT", [0, 0]), ("INDEX_LOCALS", [1, 1]))]
        plants += [(name + at, struct.pack("<I", number), words) for at, number, words in (
            (STACK_NEED, 0, "it needs more of the stack"), (STACK_NEED, need - 1, "it needs more of the stack"),
            (STACK_NEED, 1 << 31, "it asks for too much of the stack"), (ARITY, 256, "or it is damaged"),
            (ARITY, 200, "it needs more of the stack"), (CACHES, 0, "there is no such cache"),
            (CACHES, 1 << 31, "or it is damaged"), (COUNTS, 0, "or it is damaged"), (COUNTS + 8, 1 << 31, "or it is damaged"))]
        lines = struct.unpack_from("<I", whole, name + COUNTS + 12)[0]
        plants.append((name + COUNTS + 12, struct.pack("<II", lines - 1, 4), "or it is damaged"))
        plants += [(name + len(TARGET_NAME) - 1, b"x", "its name has no end"), (code - 1, b"x", "its file has no end")]
        for at, contents, words in plants:
            refused = run_with(at, contents)
            if refused.returncode != 1 or "image is damaged: function" not in refused.stderr.replace(
                    "the code of the image, or it is damaged", "or it is damaged: the image is damaged: function") or words not in refused.stderr:
                self.fault(f"not refused with {words!r}", refused)
        draw = random.Random(7)
        for _ in range(60):
            at = draw.randrange(name + ARITY, code + length)
            try:
                ended = run_with(at, bytes(draw.choice((draw.randrange(256), draw.randrange(8))) for _ in range(draw.randrange(1, 4))))
                if ended.returncode not in (0, 1):
                    self.fault(f"a crash after damage at {at}", ended)
            except subprocess.TimeoutExpired:
                pass  # a loop without an end

    def check_programs(self, folder):
        """The code of whole programs is not refused."""
        image = folder / "program.image"
        for program in sorted((Path(__file__).parents[2] / "examples/stackvm/tests").glob("*.vm")):
            if run({}, self.program, f"--save-image={image}", program).returncode == 0:
                loaded = run({}, self.program, f"--image={image}", os.devnull)
                if loaded.returncode != 0:
                    self.fault(f"the image of {program.name}", loaded)

    def refuse(self, folder):
        for image, words in (self.path, "image: the file is no image of a heap"), (folder / "none", "there is no such file"):
            refused = run({}, self.program, f"--image={image}", self.path)
            if refused.returncode != 1 or words not in refused.stderr:
                self.fault("a file that is no image", refused)
        refused = run({}, self.program, f"--save-image={folder}/none/a.image", os.devnull)
        if refused.returncode != 1 or "image" not in refused.stderr:
            self.fault("a folder that is not there", refused)


def main():
    scheme, stackvm, scheme_library, library, *hold = sys.argv[1:]
    machines = [Machine(scheme, ".scm", Path(scheme_library).read_text() + SCHEME_MORE, SCHEME_PROGRAM, "", *hold or [None]),
                Machine(stackvm, ".vm", Path(library).read_text() + STACKVM_MORE, STACKVM_PROGRAM, "in take, ", *hold or [None])]
    with tempfile.TemporaryDirectory() as name:
        for machine in machines:
            machine.check(Path(name))
        if not machines[0].expected[1].startswith(SCHEME_LIBRARY_SAYS):
            machines[0].faults.append(f"scheme's library says {machines[0].expected[1]!r}")
        machines[1].check_programs(Path(name))
        machines[1].check_damage(Path(name))
    faults = [fault for machine in machines for fault in machine.faults]
    print("\n".join(faults) or "images give what their files gave")
    if not hold:
        print("not run: no image was relocated, since this build cannot preload a library")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
