#!/usr/bin/env python3
"""Runs the test programs of the stack VM over nursery sizes and stress modes, and what is wrong with command lines and sources.

    test_stackvm.py [--long] [--fuzz N [--seed S]] [--write] [--timeout SECONDS] PROGRAM

NAME.vm is run as a file and NAME.repl through standard input, in this directory; what they print on standard output and then on
standard error must be what NAME.out says, in every environment. The exit status is 1 for error_NAME.vm and for NAME.repl with an
error, else 0. --long runs every nursery size from 4 KiB to 64 MiB with and without a collection at every allocation; without it, a
few that take seconds. --fuzz runs N damaged copies of the programs, which must end with 0 or 1 (or not at all). --write makes the
.out files from the first run, to be read before they are committed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SIZES = ["4K", "8K", "16K", "32K", "64K", "128K", "256K", "512K", "1M", "2M", "4M", "8M", "16M", "32M", "64M"]
QUICK = [
    {},
    {"CRADLE_GC_NURSERY": "4K"},
    {"CRADLE_GC_NURSERY": "4K", "CRADLE_STRESS": "1"},
    {"CRADLE_GC_NURSERY": "64K", "CRADLE_STRESS": "5,major=3"},
    {"CRADLE_GC_NURSERY": "5K", "CRADLE_STRESS": "3", "CRADLE_VERIFY": "1"},
    {"CRADLE_GC_NURSERY": "64M"},
]
# Programs that fill their heap or stack, and the heap they get: collections at every allocation would take hours.
FILLING = {"memory": "8M", "error_memory": "8M", "recursion": "32M", "statements": "8M",
           "full": "8M"}

REFUSED_SOURCES = [
    ("let", 'stdin:1: expected a variable\'s name after let, but the source ends here'),
    ("let 5 = 1;", 'stdin:1: expected a variable\'s name after let, at "5"'),
    ("\n\nprint(1", 'stdin:3: expected ")" after the arguments, but the source ends here'),
    ("print(1) print(2);", 'stdin:1: expected ";" after a statement, at "print"'),
    ("1 = 2;", "stdin:1: what is left of the assignment is no variable, field or item"),
    ("a + b = 2;", "what is left of the assignment is no variable, field or item"),
    ("(a) = 2;", "what is left of the assignment is no variable, field or item"),
    ("f() = 2;", "what is left of the assignment is no variable, field or item"),
    ("if (true) {", 'expected "}" at the end of a block, but the source ends here'),
    ('let s = "abc', "stdin:1: the string that begins here has no end"),
    (r'let s = "\q";', "a string has a backslash and no"),
    (r'let s = "\x4";', "a string has a backslash and no"),
    ("let a = 12abc;", "a name cannot begin with a digit"),
    ("let a = 1e;", "a number's exponent has no digits"),
    ("let a = " + "1" * 400 + ";", "more than 300 characters"),
    ("let a = #;", "this character means nothing here"),
    ("let a = 1 & 2;", "this character means nothing here"),
    ("break;", "this is outside of a loop"),
    ("while (true) { fn f() { continue; } }", "this is outside of a loop"),
    ("print(this);", "this outside of a method"),
    ("print(super.x);", "super outside of a class with a parent"),
    ("class A { f() { super.f(); } }", "super outside of a class with a parent"),
    ("class A { init() { return 5; } }", "init returns the instance and nothing else"),
    ("class A : this {}", "expected the parent's name"),
    ("class A {}\nclass A : A {}", 'stdin:2: a class cannot be its own parent, at "A"'),
    ("{ class B : B {} }", 'stdin:1: a class cannot be its own parent, at "B"'),
    ("{ let a; let a; }", "this block has a variable of that name"),
    ("fn f(a, a) {}", "this block has a variable of that name"),
    ("try { }", "expected catch after a try's block, but the source ends here"),
    ("for (let a of b) {}", 'expected "=" or "in" after a variable of for'),
    ("for (let i = 0; i < 3; i += 1", 'expected ")" after the header of for, but the source ends here'),
    ("for (let i = 0; i < 3; i += 1 2) {}", 'expected ")" after the header of for, at "2"'),
    ("let m = {1 + 1: 2};", 'expected ":" after a key'),
    ("let m = [1, 2", 'expected "]" after the items of a list'),
    ("a.5;", "expected"),
    ("(" * 200 + "1" + ")" * 200 + ";", "nested more than 150 deep"),
    ("-" * 200 + "1;", "nested more than 150 deep"),
    ("{" * 200 + "}" * 200, "nested more than 150 deep"),
    ("fn f() {" * 200 + "}" * 200, "nested more than 150 deep"),
    ("[" * 10000, "nested more than 150 deep"),
    ("f(" + "1," * 201 + ");", "more than 200 arguments"),
    ("fn f(" + ",".join(f"a{i}" for i in range(201)) + ") {}", "more than 200 parameters"),
    ("{" + "".join(f"let a{i};" for i in range(251)) + "}", "more than 250 variables"),
    ("fn f() {" + "x = y;" * 12000 + "}", "more than 65535 bytes of code"),
    ("".join("fn f() { return [%s]; }" % ",".join(str(1000 * i + j) for j in range(1000)) for i in range(67)),
     "stdin:1: there are more than 65535 constants"),
    ("\n" + ("fn f() {" + "fn() {};" * 1000 + "}") * 66, "stdin:2: there are more than 65535 functions"),
    ("fn f() {" + "".join(f"fn g{i}() {{ return {i}; }}" for i in range(300)) + "}", "more than 250 variables"),
    (b"print(1);\n\xff", "stdin:2: this is not UTF-8: byte 0xff"),
    (b"print(\"\xe2\x82\");", "stdin:1: this is not UTF-8: byte 0xe2"),
    (b"print(1);\0", "this character means nothing here"),
    ("let é = 1;", 'stdin:1: this character means nothing here, at "é"'),
    ("print(1 € 2);", 'stdin:1: this character means nothing here, at "€"'),
    ("print(\"x" + "é" * 40 + "\"\"\");", 'expected ")" after the arguments, at "'),
    ("f 1 \"x" + "é" * 40 + "\";", 'at "1"'),
    ("f \"x" + "é" * 40 + "\";", 'at "x' + "é" * 19 + '"'),
    (b"print(1);\n\xef\xbb\xbf", 'stdin:2: this character means nothing here, at "\ufeff"'),
]
ACCEPTED_SOURCES = [
    ("", ""),
    ("#! interpreter\nprint(1);", "1\n"),
    ("// only a comment", ""),
    (b"\xef\xbb\xbfprint(1);", "1\n"),
    (b"\xef\xbb\xbf", ""),
    (b"\xef\xbb\xbf#! interpreter\nprint(1);", "1\n"),
    ("print(1); // no line end", "1\n"),
    (";;{}{;}", ""),
    ("(" * 100 + "1" + ")" * 100 + ";", ""),
    ("print(len([" + "1," * 5000 + "]));", "5000\n"),
    ("print(len({" + ",".join(f"k{i}: {i}" for i in range(5000)) + "}));", "5000\n"),
    ("fn f(" + ",".join(f"a{i}" for i in range(200)) + ") { return a199; } print(f(" + ",".join(map(str, range(200))) + "));", "199\n"),
    ("{" + "".join(f"let a{i} = {i};" for i in range(250)) + "print(a249 + a1); }", "250\n"),
    ("print(\"" + "é" * 3000 + "\");", "é" * 3000 + "\n"),
]


KEPT = ("CRADLE_GC_THREADS",)  # of the caller's variables; tools/matrix sets it


class Runner:
    def __init__(self, program, timeout):
        self.program, self.timeout = os.path.abspath(program), timeout
        self.faults = 0
        self.runs = 0

    def run(self, arguments, variables=None, given=b"", timeout=None):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_") or name in KEPT}
        environment.update(variables or {})
        self.runs += 1
        try:
            return subprocess.run([self.program, *arguments], cwd=HERE, env=environment, input=given, capture_output=True,
                                  timeout=timeout or self.timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess([], 124, b"", b"did not end in time")

    def check(self, what, holds, result):
        if holds:
            return
        self.faults += 1
        print(f"{what}: exit status {result.returncode}\n{(result.stdout[-600:] + result.stderr[-1500:]).decode(errors='replace')}",
              flush=True)


def environments(name, every):
    """The environments to run a program in, the plainest first."""
    if every:
        found = [{"CRADLE_GC_NURSERY": size, **stress} for size in SIZES
                 for stress in ({}, {"CRADLE_STRESS": "1"}, {"CRADLE_STRESS": "7,major=11"})]
    else:
        found = QUICK
    if name not in FILLING:
        return found
    filling = []
    for variables in found:
        variables = dict(variables)
        if "CRADLE_STRESS" in variables:
            variables["CRADLE_STRESS"] = "1009,major=101" if "major" in variables["CRADLE_STRESS"] else "1009"
        if "CRADLE_VERIFY" in variables:  # goes over the whole heap at every collection: there are to be fewer
            variables["CRADLE_GC_NURSERY"] = "512K"
        large = variables.get("CRADLE_GC_NURSERY", "") in SIZES[SIZES.index("8M"):]
        filling.append({**variables, "CRADLE_GC_MAX": "160M" if large else FILLING[name]})
    return filling


def commented(variables):
    return " ".join(f"{name}={value}" for name, value in variables.items())


def check_program(runner, path, every, write):
    expected_path = path.with_suffix(".out")
    arguments, given = ([path.name], b"") if path.suffix == ".vm" else ([], path.read_bytes())
    status = 1 if path.name.startswith("error_") or path.suffix == ".repl" else 0
    for variables in environments(path.stem, every):
        result = runner.run(arguments, variables, given)
        if write:
            expected_path.write_bytes(result.stdout + result.stderr)
            return
        if expected_path.read_bytes() != result.stdout + result.stderr or result.returncode != status:
            runner.check(f"{commented(variables)} {path.name}", False, result)


def check_readme(runner):
    """The program in README.md, which shows the language, prints readme.out."""
    text = (HERE.parent / "README.md").read_text()
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    result = runner.run(["-"], given="".join(blocks).encode())
    expected = (HERE / "readme.out").read_bytes()
    runner.check("README.md", len(blocks) == 1 and result.stdout == expected and result.returncode == 0, result)


def check_sources(runner):
    def source_bytes(text):
        return text if isinstance(text, bytes) else text.encode()

    for text, expected in REFUSED_SOURCES:
        result = runner.run(["-"], given=source_bytes(text))
        holds = result.returncode == 1 and expected in result.stderr.decode() and result.stderr.count(b"\n") == 1
        runner.check(f"refused source {text[:60]!r}", holds, result)
    for text, expected in ACCEPTED_SOURCES:
        result = runner.run(["-"], given=source_bytes(text))
        holds = result.returncode == 0 and result.stdout.decode() == expected and not result.stderr
        runner.check(f"accepted source {text[:60]!r}", holds, result)


def check_commands(runner):
    with tempfile.TemporaryDirectory() as directory:
        empty = pathlib.Path(directory, "empty.vm")
        empty.write_bytes(b"")
        for arguments, status, words in [
                (["no-such-file.vm"], 1, "stackvm: no-such-file.vm: No such file or directory"),
                ([directory], 1, "Is a directory"),
                (["--no-such-option"], 2, "unknown option: --no-such-option"),
                (["values.vm", "text.vm"], 2, "one file at most"),
                (["--help"], 0, "usage: stackvm"),
                ([str(empty)], 0, ""),
                (["--gc-stats", str(empty)], 0, "gc: ")]:
            result = runner.run(arguments)
            said = (result.stdout + result.stderr).decode()
            runner.check(f"stackvm {arguments}", result.returncode == status and words in said and bool(said) == bool(words), result)
    if os.path.exists("/dev/full"):
        with open("/dev/full", "wb") as full:
            runner.runs += 1
            result = subprocess.run([runner.program, "values.vm"], cwd=HERE, stdout=full, stderr=subprocess.PIPE)
            result.stdout = b""
            runner.check("standard output is full", result.returncode == 1 and b"standard output" in result.stderr, result)


def check_memory(runner):
    """The prompt can be used when memory ran out and a global still holds it; the maximum goes back when it does no more."""
    endless = "while (true) k = [k];\n"
    small = {"CRADLE_GC_MAX": "8M", "CRADLE_GC_NURSERY": "512K"}
    full = b"stdin:1: out of memory\n"
    result = runner.run([], {"CRADLE_GC_MAX": "64M"}, f"let k = nil;\n{endless}print(1);\nk = nil;\nprint(2);\n".encode())
    runner.check("prompt without memory", result.stdout == b"1\n2\n" and result.stderr == full, result)
    result = runner.run([], small, f"let k = nil;\n{endless * 3}k = nil;\nlet s = \"x\";\nwhile (len(s) < 3e6) s += s;\n".encode())
    runner.check("maximum put back", result.stderr == full * 4, result)
    result = runner.run([], small, ('let s = "' + "x" * 16000000 + '";\nprint(1);\n').encode())
    runner.check("source without memory", result.stdout == b"1\n" and result.stderr == full, result)
    # Refused by the system, the prompt can only say so; a program that catches it can go on.
    limit = 'ulimit -v 400000; exec "$0" "$@"'
    if subprocess.run(["sh", "-c", limit, runner.program, "--help"], capture_output=True).returncode != 0:
        print("memory refused by the system: not run, the program does not start in so little address space")
        return
    source = f"let k = nil;\n{endless}print(1);\ntry {{ {endless} }} catch (e) {{ k = nil; print(e); }}\n".encode()
    for arguments in [], ["-"]:
        runner.runs += 1
        given = source if not arguments else source.replace(endless.encode(), b"", 1)
        result = subprocess.run(["sh", "-c", limit, runner.program, *arguments], input=given, capture_output=True)
        holds = result.returncode in (0, 1) and b"out of memory" in result.stderr + result.stdout
        if arguments:
            holds = result.returncode == 0 and result.stdout == b"1\nout of memory\n"
        runner.check(f"memory refused by the system {arguments}", holds, result)


def damaged(source, rng):
    """A copy of a program with some tokens dropped, doubled, exchanged, or bytes changed."""
    tokens = re.findall(rb'"(?:\\.|[^"\\])*"|\w+|\s+|[^\w\s]', source)
    for _ in range(rng.randint(1, 6)):
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        action = rng.randrange(5)
        if action == 0:
            tokens[i] = b""
        elif action == 1:
            tokens[i] = tokens[i] + b" " + tokens[j]
        elif action == 2:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif action == 3:
            tokens[i] = bytes([rng.randrange(256)])
        else:
            del tokens[rng.randrange(len(tokens)):]
            tokens = tokens or [b";"]
    return b"".join(tokens)


def check_damaged(runner, count, seed):
    sources = [path.read_bytes() for path in sorted(HERE.glob("*.vm"))]
    ended = 0

    def one(number):
        rng = random.Random(f"{seed} {number}")
        text = damaged(rng.choice(sources), rng)
        variables = {"CRADLE_GC_NURSERY": rng.choice(SIZES[:8]), "CRADLE_GC_MAX": "16M",
                     "CRADLE_STRESS": rng.choice(["0", "1", "13", "1009"])}
        result = runner.run(rng.choice([["-"], []]), variables, text, timeout=10)
        holds = result.returncode in (0, 1, 124) and b"Sanitizer" not in result.stderr and b"runtime error" not in result.stderr
        runner.check(f"damaged program {number} of seed {seed}, {commented(variables)}", holds, result)
        return result.returncode != 124

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        ended = sum(pool.map(one, range(count)))
    print(f"{count} damaged programs, {ended} came to an end")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="every nursery size")
    parser.add_argument("--fuzz", type=int, metavar="N", help="run so many damaged programs and nothing else")
    parser.add_argument("--seed", default="1", help="of the damage (1)")
    parser.add_argument("--write", action="store_true", help="write the .out files")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each run (300)")
    parser.add_argument("program")
    arguments = parser.parse_args()
    runner = Runner(arguments.program, arguments.timeout)
    if arguments.fuzz:
        check_damaged(runner, arguments.fuzz, arguments.seed)
    else:
        paths = sorted([*HERE.glob("*.vm"), *HERE.glob("*.repl")])
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda path: check_program(runner, path, arguments.long, arguments.write), paths))
        check_readme(runner)
        check_sources(runner)
        check_commands(runner)
        check_memory(runner)
    print(f"{runner.runs} runs, {runner.faults} wrong")
    return 1 if runner.faults or not runner.runs else 0


if __name__ == "__main__":
    sys.exit(main())
