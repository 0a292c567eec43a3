#!/usr/bin/env python3
"""Saves an image of what a Scheme program has defined, and begins with it: test_scheme_image.py SCHEME."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

LIBRARY = """
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
PROGRAM = """
(write (list (square 12) (counter) (hash-table-ref table 'key (lambda () #f)) (eq? (car names) 'a) (point-x here) (point-y here)
             (force promised) (counter)))
(newline)
(define (loop n) (if (> n 0) (begin (vector-set! v (modulo n 3000) (list n)) (set-point-y! here (list n)) (loop (- n 1)))))
(loop 20000)
(gc)
(write (list (vector-ref v 7) (point-y here) (make-point 3 4)))
(newline)
"""


def run(*command):
    variables = {"CRADLE_STRESS": "50,major=5", "CRADLE_VERIFY": "1"}
    return subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, timeout=200)


def main():
    scheme = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "library.scm").write_text(LIBRARY)
        (folder / "program.scm").write_text(PROGRAM)
        whole = run(scheme, folder / "library.scm", folder / "program.scm")
        saved = run(scheme, f"--save-image={folder}/a.image", folder / "library.scm")
        loaded = run(scheme, f"--image={folder}/a.image", folder / "program.scm")
        again = run(scheme, f"--image={folder}/a.image", f"--save-image={folder}/b.image", folder / "program.scm")
        refused = run(scheme, f"--image={folder}/program.scm", folder / "program.scm")
    faults = []
    if saved.returncode != 0 or saved.stderr:
        faults.append(f"saving: {saved.returncode} {saved.stderr}")
    for which in (loaded, again):
        if (which.returncode, which.stdout) != (0, whole.stdout) or not whole.stdout:
            faults.append(f"{which.args}: {which.returncode} {which.stdout!r} {which.stderr!r}, not {whole.stdout!r} {whole.stderr!r}")
    if refused.returncode != 1 or "image: the file is no image of a heap" not in refused.stderr:
        faults.append(f"a file that is no image: {refused.returncode} {refused.stderr}")
    print("\n".join(faults) or "an image gives what its files gave")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
