#!/usr/bin/env python3
"""Checks that the end of what tools/check prints says which test failed, in which run, and what it wrote last.

    test_check.py TOOLS

TOOLS is the folder tools/. Runs its check and testlog.py in a tree of its own, where a Meson that only writes its record stands in
for Meson, and everything else succeeds.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MESON = f"#!{sys.executable} -IS" r'''
import json, pathlib, sys
words = sys.argv[1:]
if words[0] == "--version":
    print("1")
if words[0] == "setup":
    pathlib.Path(words[1], "meson-logs").mkdir(parents=True)
if words[0] == "test":
    build = pathlib.Path(words[words.index("-C") + 1])
    setup = words[words.index("--setup") + 1] if "--setup" in words else ""
    tests = [{"name": "cradle:unit / base", "result": "OK", "returncode": 0, "stdout": "unasked\n"},
             {"name": "cradle:unit / skipped", "result": "SKIP", "returncode": 77}]
    if setup:
        tests.append({"name": "cradle:unit / bulk", "result": "FAIL", "returncode": 1,
                      "stdout": "".join(f"line {number}\n" for number in range(50)), "stderr": "wrong \\n sum\n"})
    if build.name == "asan":
        tests += [{"name": "cradle:unit / roots", "result": "FAIL", "returncode": -11, "stderr": "SUMMARY\nShadow bytes around\nlegend\n"},
                  {"name": "cradle:unit+long / old", "result": "TIMEOUT", "returncode": 0, "stdout": ""}]
    if build.name != "lto":
        pathlib.Path(build, "meson-logs", f"testlog{setup and '-' + setup}.json").write_text("".join(json.dumps(test) + "\n" for test in tests))
    sys.exit(any(test["result"] not in ("OK", "SKIP") for test in tests))
'''
# The machine's python3 may be a script that starts another program, and takes its time.
COMMANDS = {"bin/meson": MESON, "bin/python3": f"#!/bin/sh\nexec {sys.executable} \"$@\"\n",
            "tools/setup": "#!/bin/sh\n", "bin/gcc": "#!/bin/sh\n", "bin/clang": "#!/bin/sh\n",
            "tools/cross": "#!/bin/sh\necho 'musl: 3 tests, 3 ran, 0 skipped, 0 failed'\n"}
END = "\n".join([
    "", "  gcc, setup beside: bulk failed", *(f"    | line {number}" for number in range(31, 50)), "    | wrong \\n sum",
    "  asan: roots failed by signal 11", "    | SUMMARY", "  asan: old took too long",
    "  lto: no test ran", "8 passed, 4 failed, 5 skipped", ""])


def main():
    tools = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as name:
        tree = pathlib.Path(name)
        for path, text in COMMANDS.items():
            (tree / path).parent.mkdir(exist_ok=True)
            (tree / path).write_text(text)
            (tree / path).chmod(0o755)
        for tool in ("check", "place.sh", "testlog.py"):
            shutil.copy(tools / tool, tree / "tools" / tool)
        surroundings = {**os.environ, "PATH": f"{tree / 'bin'}:{os.environ['PATH']}"}
        result = subprocess.run([tree / "tools" / "check", "--all"], capture_output=True, text=True, timeout=100, env=surroundings)
    if result.returncode != 1 or not result.stdout.endswith(END):
        print(f"exit status {result.returncode}; expected at the end:\n{END}\nfound:\n{result.stdout}\n{result.stderr}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
