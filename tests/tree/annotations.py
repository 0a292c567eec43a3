#!/usr/bin/env python3
"""Checks that clang's -Wthread-safety, as errors, covers the collector, the kit and the examples: each file that may
collect must be refused without one of its annotations.

    annotations.py CLANG SOURCE_ROOT BUILD FOLDER_OR_FILE...

Compiles the C files under each path as they are, which must pass. Then, in copies, takes the may-collect marks of each
file away, one at a time, until the compiler refuses a program file with the stated reason. Some marks do not matter to
the compiler, for example that of a function that is only called through a pointer. It is a fault if none of a file's
marks matters, or if the command of one of the files in BUILD turns the analysis off.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

MARK = re.compile(r"\bCRADLE_MAY_COLLECT\b")
REFUSED = "requires holding"
NOT_CHECKED = re.compile(r"-Wno-thread-safety|-Wno-error=thread-safety")


def without_mark(text, place):
    return text[: place.start()] + text[place.end() :]


class Example:
    """A copy of the files below one path, which may be changed."""

    def __init__(self, clang, root, path, folder):
        self.clang = clang
        self.include = [folder, root / "include", root]  # the copy of gc/ before gc/
        self.folder = Path(shutil.copytree(path, folder / path.name)) if path.is_dir() else folder / path.stem
        if path.is_file():
            self.folder.mkdir()
            for file in path.parent.glob(f"{path.stem}*.c"):
                shutil.copy(file, self.folder)
        # Other systems cannot compile the files of Windows.
        self.programs = sorted(file for file in self.folder.rglob("*.c") if not file.stem.endswith("windows"))

    def refusals(self, files):
        """What the compiler says about each file that it refuses."""
        for file in files:
            command = [self.clang, "-std=c11", "-D_GNU_SOURCE", "-fsyntax-only", "-Wthread-safety", "-Werror=thread-safety",
                       *(f"-I{folder}" for folder in self.include), str(file)]
            result = subprocess.run(command, capture_output=True, text=True)
            if result.returncode != 0:
                yield result.stderr

    def is_refused_without_a_mark(self, file):
        """Whether the compiler refuses the file without at least one of its marks; None when the file has no marks."""
        text = file.read_text(encoding="utf-8")
        places = list(MARK.finditer(text))
        readers = [file] if file.suffix == ".c" else self.programs
        try:
            for place in places:
                file.write_text(without_mark(text, place), encoding="utf-8")
                if any(REFUSED in told for told in self.refusals(readers)):
                    return True
        finally:
            file.write_text(text, encoding="utf-8")
        return False if places else None


def unchecked_files(build, paths):
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = (Path(entry["directory"]) / entry["file"]).resolve()
        if any(file == path or path in file.parents for path in paths) and NOT_CHECKED.search(entry["command"]):
            yield file


def main():
    clang, root, build, *paths = sys.argv[1], *(Path(word).resolve() for word in sys.argv[2:])
    faults = [f"{file}: its command turns the analysis off" for file in unchecked_files(build, paths)]
    refused = marked = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            example = Example(clang, root, path, Path(folder))
            faults += [f"{path.name} is refused as it is:\n{told}" for told in example.refusals(example.programs)]
            for file in sorted(file for file in example.folder.rglob("*.[ch]") if not file.stem.endswith("windows")):
                found = example.is_refused_without_a_mark(file)
                marked += found is not None
                refused += found is True
                if found is False:
                    faults.append(f"{path.name}/{file.name}: each of its marks can be taken away")
    print("\n".join(faults))
    print(f"{refused} of {marked} files that have marks are refused without one of them")
    return 1 if faults or marked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
