#!/usr/bin/env python3
"""Makes a version's archives twice, of the tree as it lies here, and uses them: release.py --cc CC

Both times must give the same bytes, in another folder, time zone and umask. A changed file must be refused. The
tutorial's machine is built in an empty folder of the sources, with the wrap file of docs/building.md, and of the two files
with the commands of their README; FetchContent of that page must get the sources; the manual must have its first page.
Exits with 77 where the tree is no git checkout. The manual is left out, with a word, where .venv lacks its packages.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from run import BUILDING, ROOT, SKIPPED, Failure, check_vm, commit_all, documented_project, expect, fresh, only, run, with_compiler
from snippets import blocks_of, text_of

SUMS = "SHA256SUMS"


def checkout(folder):
    """A repository with the files of this tree, those that are not committed yet, too."""
    words = ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\0"):
        path = ROOT / name
        if name and path.is_file() and not path.is_symlink():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, folder / name)
    commit_all(folder)
    return folder


def refuses_changes(tree):
    readme = tree / "README.md"
    before = readme.read_text(encoding="utf-8")
    readme.write_text(before + "More.\n", encoding="utf-8")
    done = subprocess.run([tree / "tools" / "release", tree / "none"], capture_output=True, text=True, check=False)
    is_refused = done.returncode == 1 and "the tree is not clean" in done.stderr and "README.md" in done.stderr
    expect(is_refused, f"a changed tree: {done.stderr}")
    expect(not (tree / "none").exists(), "archives are made of a changed tree")
    readme.write_text(before, encoding="utf-8")


def make_twice(tree, work):
    """The folder of the archives, of which a second making gives the same bytes."""
    packages = ROOT / ".venv"
    if packages.exists():
        (tree / ".venv").symlink_to(packages.resolve())
    words = [tree / "tools" / "release", *([] if packages.exists() else ["--without-manual"])]
    first, second = work / "first", work / "second" / "deeper"
    told = run([*words, first])
    run([*words, second], umask=0o077, env={**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C"})
    if not packages.exists():
        expect("manual was left out" in told, told)
        print("The manual is not tried: .venv is not there (tools/setup manual makes it)")
    for path in sorted(first.iterdir()):
        expect(path.read_bytes() == (second / path.name).read_bytes(), f"{path.name} differs when it is made again")
    run(["sha256sum", "--check", "--strict", SUMS], cwd=first)
    listed = {line.split()[1] for line in (first / SUMS).read_text().splitlines()}
    expect({path.name for path in first.iterdir()} == listed | {SUMS}, f"{SUMS} has {sorted(listed)}")
    return first


def unpacked(archives, ending, work):
    run(["tar", "-xf", only(archives.glob(f"cradle-*[0-9]{ending}.tar.xz"), f"archive {ending}"), "-C", work])
    return only(work.glob(f"cradle-*[0-9]{ending}"), f"folder {ending}")


def use_sources(folder, environment):
    run(["meson", "setup", "build", "-Doptimization=0"], cwd=folder, env=environment)
    run(["meson", "compile", "-C", "build", "tutorial-vm", "first-heap"], cwd=folder)
    check_vm(folder / "build" / "examples" / "tutorial-vm")
    log = run([folder / "build" / "examples" / "first-heap"], env={**environment, "CRADLE_LOG": "gc:-"})
    expect("minor" in log, "no collection")


def use_two_files(folder, work, compiler):
    """With the commands of their README."""
    vm = fresh(work / "vm")
    names = {path.name for path in folder.iterdir()}
    expect(names == {"LICENSE", "README", "cradle.c", "cradle.h", "cradle.hpp"}, f"the two files are {sorted(names)}")
    commands = [line.strip() for line in (folder / "README").read_text().splitlines() if line.startswith("    cc ")]
    folder.rename(vm / "cradle")
    expect(len(commands) == 2, f"commands: {commands}")
    for command in commands:
        run(with_compiler(command, compiler), cwd=vm)
    check_vm(vm / "vm")
    if shutil.which("g++") is not None:
        shutil.copy(ROOT / "examples" / "tutorial" / "vm.cpp", vm)
        [command] = [line.strip() for line in (vm / "cradle" / "README").read_text().splitlines() if line.startswith("    c++ ")]
        run(["g++", *shlex.split(command)[1:]], cwd=vm)
        check_vm(vm / "vm")


def with_archive(text, archives):
    """The text with the address and the checksum of the archive of the sources in it."""
    archive = only(archives.glob("cradle-*[0-9].tar.xz"), "archive of the sources")
    sums = dict(reversed(line.split()) for line in (archives / SUMS).read_text().splitlines())
    expect(f"URL/{archive.name}" in text and "CHECKSUM" in text, f"{BUILDING} names another archive than {archive.name}:\n{text}")
    return text.replace("URL/", f"{archives.as_uri()}/").replace("CHECKSUM", sums[archive.name])


def use_wrap_file(archives, work, environment):
    wrap = only((block.text for block in blocks_of(BUILDING) if block.words == ["ini", "archive"]), "block ini archive")
    folder = fresh(work / "wrapped")
    (folder / "meson.build").write_text(text_of(BUILDING, "meson"))
    (folder / "subprojects").mkdir()
    (folder / "subprojects" / "cradle.wrap").write_text(with_archive(wrap, archives))
    run(["meson", "setup", "-Doptimization=0", "--wrap-mode=forcefallback", "build"], cwd=folder, env=environment)
    run(["meson", "compile", "-C", "build", "vm"], cwd=folder)
    check_vm(folder / "build" / "vm")


def use_fetch_content(archives, work):
    """Without building, which the test cmake does."""
    folder = fresh(work / "fetched")
    (folder / "CMakeLists.txt").write_text(with_archive(documented_project("archive"), archives))
    if shutil.which("cmake") is None:
        print("cmake is not installed: FetchContent is not tried")
        return
    run(["cmake", "-G", "Ninja", "-S", folder, "-B", folder / "build"])
    expect("libcradle.a" in (folder / "build" / "build.ninja").read_text(), "FetchContent makes no library")


def release(compiler):
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        print("this tree is no git checkout, of which alone archives are made")
        return SKIPPED
    with tempfile.TemporaryDirectory(prefix="cradle-") as outside:
        work = Path(outside).resolve()
        tree = checkout(work / "tree")
        refuses_changes(tree)
        archives = make_twice(tree, work)
        environment = {**os.environ, "CC": shlex.join(compiler)}
        use_sources(unpacked(archives, "", work), environment)
        use_wrap_file(archives, work, environment)
        use_fetch_content(archives, work)
        use_two_files(unpacked(archives, "-two-files", work), work, compiler)
        if (tree / ".venv").exists():
            first_page = unpacked(archives, "-manual", work) / "index.html"
            expect("Cradle" in first_page.read_text(encoding="utf-8"), "no manual")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="cc")
    try:
        return release(shlex.split(parser.parse_args().cc))
    except Failure as failure:
        print(failure)
        return 1


if __name__ == "__main__":
    sys.exit(main())
