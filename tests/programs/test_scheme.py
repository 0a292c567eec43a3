#!/usr/bin/env python3
"""Runs the Scheme example's test programs with various nursery sizes and stress modes, and tests its prompt.

    test_scheme.py [--long] [--update] [--timeout SECONDS] SCHEME FOLDER...

A folder has NAME.scm and NAME.expected: what the program prints, then, when it says anything there, "--- errors" and
its standard error. The output must be the same in every environment, and the exit status 1 if there are errors,
otherwise 0. Lines at the beginning of a program can say how to run it:

    ; stress: N             under stress collect at every N-th allocation, because this program runs long (default: 1)
    ; options: --stack=4M
    ; variables: CRADLE_GC_MAX=80M

--long takes every nursery size from 4 KiB to 64 MiB, each with and without a collection at every allocation (at the
program's pace). --update writes the expected files from a plain run; read them before you keep them.
"""

import argparse
import concurrent.futures
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

INTERRUPT = "\x03"
NURSERIES = ["4K", "5K", "32K", "256K", "1M", "64M"]
EVERY_NURSERY = [f"{size}K" for size in (4, 8, 16, 32, 64, 128, 256, 512)] + [f"{size}M" for size in (1, 2, 4, 8, 16, 32, 64)]


class Program:
    def __init__(self, path):
        self.path = path
        self.stress, self.is_short, self.options, self.variables = 1, False, [], {}
        for line in path.read_bytes().decode(errors="replace").splitlines():
            word, _, rest = line.lstrip("; ").partition(": ")
            if not line.startswith("; ") or word not in ("stress", "sweep", "options", "variables"):
                break
            if word == "stress":
                self.stress = int(rest)
            elif word == "sweep":
                self.is_short = rest == "short"
            elif word == "options":
                self.options = rest.split()
            else:
                self.variables = dict(part.split("=") for part in rest.split())

    def environments(self, long):
        yield {}
        if long:
            for size in EVERY_NURSERY:
                yield {"CRADLE_GC_NURSERY": size}
                yield {"CRADLE_GC_NURSERY": size, "CRADLE_STRESS": f"{self.stress},major=7"}
            return
        if self.is_short:
            yield {"CRADLE_GC_NURSERY": "4K"}
            yield {"CRADLE_GC_NURSERY": "64K", "CRADLE_STRESS": f"{self.stress},major=5"}
            return
        for size in NURSERIES:
            yield {"CRADLE_GC_NURSERY": size}
        for size, factor, major in (("4K", 1, ""), ("4K", 3, ",major=5"), ("64K", 7, ",major=3"), ("1M", 1, ",major=11")):
            yield {"CRADLE_GC_NURSERY": size, "CRADLE_STRESS": f"{self.stress * factor}{major}"}
        if self.stress == 1:
            yield {"CRADLE_GC_NURSERY": "4K", "CRADLE_STRESS": "5", "CRADLE_VERIFY": "1"}


KEPT = ("CRADLE_GC_THREADS",)  # of the caller's variables; tools/matrix sets it


def run(scheme, arguments, variables, timeout, given=""):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_") or name in KEPT}
    environment.update(variables)
    try:
        return subprocess.run([scheme, *arguments], env=environment, capture_output=True, timeout=timeout,
                              input=given.encode(), check=False)
    except subprocess.TimeoutExpired:
        return None


def said(result, folder):
    """The output of a run, in the form of an expected file. Paths look as if the program ran in the folder."""
    text = result.stdout.decode(errors="replace")
    if text and not text.endswith("\n"):
        text += "\n"
    if result.stderr:
        text += "--- errors\n" + result.stderr.decode(errors="replace")
    # a message is cut at a length that includes the folder's name
    return re.sub(r"(.)\1{99,}", r"\1...", text.replace(str(folder) + os.sep, ""))


def fault(result, expected, folder):
    """A sentence that says what is wrong; None when nothing is."""
    if result is None:
        return "did not end in time"
    text = said(result, folder)
    if text != expected:
        return f"printed\n{text}\n  in place of\n{expected}"
    if result.returncode != (1 if "--- errors\n" in expected else 0):
        return f"exit status {result.returncode}"
    return None


def programs_in(folders):
    return [Program(path) for folder in folders for path in sorted(folder.glob("*.scm"))]


def check_programs(scheme, folders, timeout, long):
    jobs = []
    for program in programs_in(folders):
        expected = program.path.with_suffix(".expected").read_text(encoding="utf-8")
        jobs += [(program, variables, expected) for variables in program.environments(long)]

    def check(job):
        program, variables, expected = job
        variables = {**program.variables, **variables}
        result = run(scheme, [*program.options, program.path], variables, timeout)
        words = fault(result, expected, program.path.parent)
        settings = " ".join(f"{name}={value}" for name, value in variables.items())
        return f"{settings} {program.path.name}: {words}" if words else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return len(jobs), [words for words in pool.map(check, jobs) if words]


# The typed text, the variables, the words expected in the output and in the errors, and the exit status.
PROMPT = [
    ("(define x 20)\n(+ x\n   1)\n\"a\\nb\"\n", {}, ["21\n", '"a\\nb"\n'], [], 0),
    ("(car 1)\n(+ 1 1)\n", {}, ["2\n"], ["input:1: error: a pair expected, not 1"], 1),
    ("(define (f l) (f (cons (make-vector 1000 l) l)))\n(f '())\n(f '())\n(* 6 7)\n", {"CRADLE_GC_MAX": "48M"}, ["42\n"],
     ["out of memory"], 1),
    # A global variable fills the memory. Each further line must still find room, and the maximum is restored.
    ("(define keep '())\n(define (g) (set! keep (cons 1 keep)) (g))\n" + "(g)\n(+ 1 (length '(1 2 3)))\n" * 5 +
     "(set! keep '())\n(define (h l) (h (cons (make-vector 1000 l) l)))\n(h '())\n'on\n", {"CRADLE_GC_MAX": "48M"},
     ["4\n4\n4\n4\n4\non\n"], ["input:1: error: out of memory\n" * 6], 1),
    ("(define (f n) (+ 1 (f n)))\n(f 1)\n'on\n", {"CRADLE_GC_NURSERY": "1M"}, ["on\n"], ["recursion is too deep"], 1),
    ("'(1 2", {}, [], ["end of input"], 1),
    ("(exit 7)\n(display 1)\n", {}, [], [], 7),
    ("#| one\ntwo |# (+ 1\n#;(a\nb) 2)\n", {}, ["3\n"], [], 0),
    ("1/3\n#e1.5\n#q\n", {}, [], ['no fractions: "1/3"', 'no fractions: "#e1.5"', 'unknown # form: "#q"'], 1),
    ("#| one\n", {}, [], ["input:2: error: syntax: end of input in what began in line 1"], 1),
    (")\n#\\x\n", {}, ["#\\x\n"], [") without ("], 1),
    ("", {}, [], [], 0),
]


def check_prompt(scheme, timeout):
    for given, variables, outputs, errors, status in PROMPT:
        result = run(scheme, ["--stack=8M"], variables, timeout, given)
        if result is None:
            yield f"prompt, {given!r}: did not end in time"
            continue
        out, err = result.stdout.decode(), result.stderr.decode()
        if result.returncode != status or any(text not in out for text in outputs) or any(text not in err for text in errors):
            yield f"prompt, {given!r}: status {result.returncode}, printed {out!r}, {err!r}"
        if not errors and err:
            yield f"prompt, {given!r}: printed {err!r}"


# None of these ends by itself; c and a are circles, e holds itself, and the text of (deep 60) is as long as 2^60 pairs.
LOOPS = ["(memv 2 c)", "(member 2 c)", "(assq 2 a)", "(assoc 2 a)", "(list-tail c 1000000000000000)", "(list-ref c 1000000000000000)",
         "(for-each car a)", "(fold-left eq? 0 a)", "(equal? (deep 60) (deep 60))", "(write (deep 60))", "(deep 60)",
         "(eval (list 'define e 1))", "(do ((i 0 i)) (#f))"]

# At a terminal: the variables, pairs of typed text and text that must then appear, the exit status, and the text that
# must be in the history.
TERMINAL = [
    ({"LANG": "C"}, [('(string-length "\u00e9\u20ac")', "\n2\r\n> "), ('"na\u00efve"', '\n"na\u00efve"\r\n> '),
                     ("(exit)", "")], 0, ["na\u00efve"]),
    ({"LC_ALL": "C.UTF-8"}, [('(string-length "\u00e9\u20ac")', "\n2\r\n> "), ("(exit)", "")], 0, []),
    ({}, [("(define (f) (f))", "\n> "), ('(begin (display "goes") (newline) (f))', "\ngoes\r\n"),
          (INTERRUPT, "error: interrupted\r\n> "), ("(* 6 7)", "\n42\r\n> "),
          ('(let loop () (guard (e (#t (loop))) (display "on") (newline) (f)))', "\non\r\n"),
          (INTERRUPT, "error: interrupted\r\n> "),
          ("(define c (list 1))", "\n> "), ("(set-cdr! c c)", "\n> "), ("(define d (list 1))", "\n> "),
          ("(set-cdr! d d)", "\n> "), ("(equal? c d)", "\n#t\r\n> "),
          ("(define a (list (list 1)))", "\n> "), ("(set-cdr! a a)", "\n> "),
          ("(define e (list 1))", "\n> "), ("(set-car! e e)", "\n> "),
          ("(define (deep n) (if (= n 0) '() (let ((r (deep (- n 1)))) (cons r r))))", "\n> "),
          *[step for loop in LOOPS for step in ((f'(begin (display "goes") (newline) {loop})', "\ngoes\r\n"),
                                               (INTERRUPT, "error: interrupted\r\n> "), ("(* 6 9)", "\n54\r\n> "))],
          ("(car '(1 2", "\n  "), (INTERRUPT, "\n> "), ("(* 5 5)", "\n25\r\n> "), (INTERRUPT, "\n> "), ("(exit 3)", "")],
     3, ["(* 6 7)", "(let loop"]),
]


def read_until(terminal, wanted, timeout, repeated=""):
    """What the terminal shows up to the wanted text, or to its end if `wanted` is empty. Raises OSError if the program
    ended early or takes too long. Types `repeated` when nothing happens, because libedit misses a signal that comes
    just before it reads."""
    seen, end = "", time.monotonic() + timeout
    while not wanted or wanted not in seen.replace("^C", ""):  # the repeated text may be echoed inside the wanted text
        if not select.select([terminal], [], [], min(2, timeout))[0]:
            os.write(terminal, repeated.encode())
            if time.monotonic() > end:
                raise OSError(f"{wanted!r} was not seen in {seen!r}")
            continue
        try:
            more = os.read(terminal, 4096)
        except OSError:
            more = b""
        if not more and wanted:
            raise OSError(f"it ended before {wanted!r}; seen: {seen!r}")
        if not more:
            break
        seen += more.decode(errors="replace")
    return seen


def check_terminal(scheme, timeout, interrupts):
    for variables, typed, wanted_status, remembered in TERMINAL:
        if not interrupts and any(text == INTERRUPT for text, _ in typed):
            continue
        with tempfile.TemporaryDirectory() as home:
            left = {name: value for name, value in os.environ.items()
                    if name in KEPT or not name.startswith(("CRADLE_", "LC_")) and name != "LANG"}
            child, terminal = pty.fork()
            if child == 0:
                os.execve(scheme, [scheme, "--stack=8M"], {**left, "TERM": "dumb", "HOME": home, **variables})
            try:
                read_until(terminal, "> ", timeout)
                for text, wanted in typed:
                    os.write(terminal, text.encode() + (b"" if text == INTERRUPT else b"\r"))
                    if wanted:
                        read_until(terminal, wanted, timeout, INTERRUPT if text == INTERRUPT else "")
                read_until(terminal, "", timeout)
            except OSError as error:
                os.kill(child, signal.SIGKILL)
                yield f"terminal, {variables}, {text!r}: {error}"
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            os.close(terminal)
            if status != wanted_status:
                yield f"terminal, {variables}: status {status}"
            history = Path(home, ".cradle_scheme_history")
            history = history.read_text(encoding="utf-8", errors="replace") if history.exists() else None
            # Without libedit there is no history.
            if history is not None and any(text not in history.replace("\\040", " ") for text in remembered):
                yield f"terminal, {variables}: history {history!r}"


def check_arguments(scheme, timeout, deep_options):
    with tempfile.TemporaryDirectory() as place:
        loads, empty, bad = Path(place, "loads.scm"), Path(place, "empty.scm"), Path(place, "bad.scm")
        bad.write_text("(define (f)\n  (h))\n(f)\n", encoding="utf-8")
        loads.write_text(f'(guard (e (#t (display "caught "))) (load "{place}/absent.scm"))\n'
                         f'(load "{empty}")\n(display "loaded")\n(load "{bad}")\n', encoding="utf-8")
        empty.write_text("", encoding="utf-8")
        marked, nested = Path(place, "marked.scm"), Path(place, "nested.scm")
        marked.write_bytes("\ufeff(display \"marked\")\n\ufeff".encode())
        deep = Path(place, "deep.scm")
        deep.write_text("(define (f n) (+ 1 (f n)))\n(f 1)\n", encoding="utf-8")
        nested.write_text("(display 1)\n\n'" + "(" * 1000000, encoding="utf-8")
        cases = [
            ([Path(place, "absent.scm")], 1, "", "No such file or directory"),
            ([place], 1, "", "Is a directory"),
            ([empty], 0, "", ""),
            ([empty, loads], 1, "caught loaded", "bad.scm:2: error: unbound variable: h"),
            (["--gc-stats", empty], 0, "", "minor collections"),
            ([*deep_options, deep], 1, "", "deep.scm:1: error: recursion is too deep"),
            (["--help"], 0, "usage: scheme", ""),
            ([marked], 1, "marked", "marked.scm:2: error: unbound variable"),
            (["--stack=2M", nested], 1, "1", "nested.scm:3: error: recursion is too deep"),
            (["--no-such-option"], 2, "", "bad argument: --no-such-option"),
            (["--stack=tiny"], 2, "", "bad argument: --stack=tiny"),
        ]
        for arguments, status, out, err in cases:
            result = run(scheme, arguments, {}, timeout)
            if result is None or result.returncode != status or out not in result.stdout.decode() or \
                    err not in result.stderr.decode() or (not err and result.stderr):
                yield f"arguments {[str(a) for a in arguments]}: {result}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--long", action="store_true", help="every nursery size, and stress in each")
    parser.add_argument("--update", action="store_true", help="write the expected files")
    parser.add_argument("--timeout", type=float, default=100, help="seconds for each run (100)")
    parser.add_argument("--thread-sanitizer", action="store_true",
                        help="leave out what ThreadSanitizer cannot do: signal handlers in a loop without system calls, "
                             "and more than 65,536 frames")
    parser.add_argument("scheme")
    parser.add_argument("folder", type=Path, nargs="+")
    arguments = parser.parse_args()
    scheme, folders = os.path.abspath(arguments.scheme), [folder.resolve() for folder in arguments.folder]
    if arguments.update:
        for program in programs_in(folders):
            result = run(scheme, [*program.options, program.path], program.variables, arguments.timeout)
            program.path.with_suffix(".expected").write_text(said(result, program.path.parent), encoding="utf-8")
        return 0
    runs, faults = check_programs(scheme, folders, arguments.timeout, arguments.long)
    faults += check_prompt(scheme, arguments.timeout)
    faults += check_terminal(scheme, arguments.timeout, not arguments.thread_sanitizer)
    faults += check_arguments(scheme, arguments.timeout, ["--stack=8M"] if arguments.thread_sanitizer else [])
    for words in faults:
        print(words)
    if arguments.thread_sanitizer:
        print("Ctrl-C at the terminal was not tried, deep recursion only with a stack of 8 MiB")
    print(f"{runs} runs of programs, the prompt and the arguments: {len(faults)} wrong")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
