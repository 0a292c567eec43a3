"""The build with all mutants: a copy of the tree whose files of gc/ and runtime/ are guarded, and the tests of the ladder."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from .mutants import File

ROOMS = ("gc/", "runtime/")
# Files that a build on Linux does not have, or whose guards would be empty there.
LEFT_OUT = re.compile(r"(gc|runtime)/platform/(\w+_)?(posix|windows|sysctl)\.[ch]")
HEADER, SOURCE = Path("tools/mutation/schemata.h"), Path("tools/mutation/schemata.c")
OPTIONS = ["-Dassertions=true", "-Ddebug=false", "-Doptimization=1", "-Ddefault_library=static", "-Dbench=disabled",
           "-Dwarning_level=0", "-Dprobes=disabled"]
NUMBERS_A_FILE = 256
ERROR = re.compile(r"^(?:\.\./)*(?:\S*?/)?((?:gc|runtime)/[\w/]+\.[ch]):(\d+):\d+: error:", re.MULTILINE)


class Build:

    def __init__(self, tree, folder):
        self.tree, self.copy, self.build = tree, folder / "tree", folder / "build"
        self.files, self.count = [], 0

    def sources(self):
        listed = subprocess.run(["git", "ls-files", "-z", *ROOMS], cwd=self.tree, capture_output=True, check=True, text=True).stdout
        return [name for name in listed.split("\0") if name.endswith((".c", ".h")) and not LEFT_OUT.fullmatch(name)]

    def find(self):
        """All mutants of the tree, numbered from 1."""
        first = 1
        arguments = ["-std=c11", "-D_GNU_SOURCE", "-DCRADLE_ASSERTIONS=1", f"-I{self.tree}", f"-I{self.tree}/include",
                     *compiler_folders()]
        for name in self.sources():
            path = self.tree / name
            file = File(name, path.read_text(encoding="utf-8"), arguments, path)
            # Room for more, so that a change of one file does not compile all the others anew.
            first = (file.number(first) // NUMBERS_A_FILE + 1) * NUMBERS_A_FILE
            self.files.append(file)
        self.count = first
        return self

    def configure(self):
        """Writes the guarded files and sets the build up."""
        self.copy_tree()
        if not (self.copy / ".venv").exists() and (self.tree / ".venv").exists():
            (self.copy / ".venv").symlink_to(self.tree / ".venv")  # for the scripts among the tests
        for file in self.files:
            self.write(file.name, file.guarded(set()))
        self.write(str(HEADER), (self.tree / HEADER).read_text(encoding="utf-8"))
        defines = f"-DCRD_MUTANTS={(self.count // 4096 + 1) * 4096}"
        # A part of each program, the library's or not.
        chooser = self.copy / SOURCE.with_suffix(".o")
        subprocess.run(["cc", "-O1", "-fPIC", defines, "-include", self.copy / HEADER, "-c", self.copy / SOURCE, "-o", chooser], check=True)
        arguments = [f"-Dc_args=-w {defines} -include {self.copy / HEADER}", f"-Dc_link_args={chooser}"]
        if not (self.build / "build.ninja").exists():
            shutil.rmtree(self.build, ignore_errors=True)
            subprocess.run(["meson", "setup", self.build, self.copy, *OPTIONS, *arguments], check=True, stdout=subprocess.DEVNULL)
        else:
            subprocess.run(["meson", "setup", "--reconfigure", self.build, self.copy, *arguments], check=True, stdout=subprocess.DEVNULL)

    def make(self, programs, say):
        """Compiles the copy. If a line's guards do not compile, they are left out. Returns the mutants that remain."""
        without = {file.name: set() for file in self.files}
        for attempt in range(8):
            say(f"mutate: compiling, attempt {attempt + 1}")
            ran = subprocess.run(["ninja", "-C", self.build, "-j1", "-k0", *programs], capture_output=True, text=True)
            if ran.returncode == 0:
                break
            wrong = {(name, int(line)) for name, line in ERROR.findall(ran.stdout + ran.stderr)}
            new = {(name, line) for name, line in wrong if name in without and line not in without[name]}
            if not new:
                raise SystemExit(f"mutate: the tree does not compile:\n{ran.stdout[-3000:]}")
            for name, line in new:
                without[name].add(line)
            for file in self.files:
                if any(file.name == name for name, _ in new):
                    self.write(file.name, file.guarded(without[file.name]))
        else:
            raise SystemExit("mutate: guards that do not compile come again and again")
        return [mutant for file in self.files for mutant in file.mutants if mutant.line not in without[file.name]]

    def copy_tree(self):
        names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=self.tree,
                               capture_output=True, check=True).stdout.decode().split("\0")
        guarded = {file.name for file in self.files}
        for name in filter(None, names):
            source = self.tree / name
            if source.is_file() and name not in guarded:
                self.write(name, source.read_bytes(), source.stat().st_mode)

    def write(self, name, content, mode=0o644):
        target, content = self.copy / name, content.encode() if isinstance(content, str) else content
        if not (target.exists() and target.read_bytes() == content):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(mode)


def compiler_folders():
    """libclang's package has no headers of the compiler's own; those of a clang or gcc that is installed serve."""
    for compiler in "clang", os.environ.get("CC", "gcc"):
        if shutil.which(compiler):
            folder = subprocess.run([compiler, "-print-file-name=include"], capture_output=True, text=True).stdout.strip()
            if Path(folder).is_dir():
                return ["-isystem", folder]
    return []
