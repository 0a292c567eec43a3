#!/usr/bin/env python3
"""Builds the runtime of examples/foreign in Rust or Zig as docs/other-languages.md says, and runs it, also with a collection at
every allocation and the verifier: foreign.py rust|zig BUILD

Exits with 77 where there is no compiler; a line says so.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "examples" / "foreign"
SAYS = "1113775 in the table, 150 pairs in the list\n"
WAYS = [{}, {"CRADLE_STRESS": "1", "CRADLE_VERIFY": "1", "CRADLE_GC_NURSERY": "4K"}, {"CRADLE_STRESS": "3,major=5", "CRADLE_QUARANTINE": "4"}]


def zig_compiler():
    """zig, or the package ziglang, which tools/cross installs in .venv; or None."""
    if shutil.which("zig"):
        return ["zig"]
    for python in (sys.executable, ROOT / ".venv" / "bin" / "python"):
        module = [python, "-m", "ziglang"]
        if Path(python).exists() and subprocess.run([*module, "version"], capture_output=True, check=False).returncode == 0:
            return module
    return None


def commands(language, build):
    """Those that build vm in the working directory, or None: there is no compiler."""
    if language == "rust":
        compiler = shutil.which("rustc")
        return compiler and [["cc", "-O2", "-std=c11", f"-I{ROOT / 'include'}", "-c", SOURCES / "shim.c"],
                             [compiler, "--edition", "2021", "-O", SOURCES / "vm.rs", "-C", "link-arg=shim.o", f"-L{build}", "-l", "cradle"]]
    zig = zig_compiler()
    return zig and [[*zig, "build-exe", "-O", "ReleaseSafe", SOURCES / "vm.zig", SOURCES / "shim.c", f"-I{ROOT / 'include'}",
                     f"-L{build}", "-lcradle", "-lc"]]


def main():
    language, build = sys.argv[1], Path(sys.argv[2]).resolve()
    steps = commands(language, build)
    if not steps:
        print(f"no compiler for {language}: {'rustc' if language == 'rust' else 'zig, or Python with ziglang'}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        for step in steps:
            subprocess.run(step, cwd=folder, check=True, timeout=300, env={**os.environ, "ZIG_GLOBAL_CACHE_DIR": str(build / "zig-cache")})
        for way in WAYS:
            ran = subprocess.run([Path(folder) / "vm"], capture_output=True, text=True, timeout=100,
                                 env={**os.environ, **way, "LD_LIBRARY_PATH": str(build)})
            if (ran.returncode, ran.stderr) != (0, SAYS):
                print(f"{way}: {ran}")
                return 1
        failed = subprocess.run([Path(folder) / "vm"], capture_output=True, text=True, timeout=100,
                                env={**os.environ, "CRADLE_GC_NURSERY": "x", "LD_LIBRARY_PATH": str(build)})
        if "CRADLE_GC_NURSERY" not in failed.stderr:
            print(f"a wrong option: {failed}")
            return 1
    print(f"{language}: {len(WAYS)} ways")
    return 0


if __name__ == "__main__":
    sys.exit(main())
