#!/usr/bin/env python3
"""Makes packages as docs/packages.md says, of the tree as it lies here, and uses them: packages.py conan|vcpkg|debian

conan     the archive and the shared library, each with the recipe's own test package
vcpkg     runs the port with tests/consumers/vcpkg.cmake in vcpkg's place, and the tutorial's machine with what it installs
debian    the packages, and the tutorial's machine with what is in them

Exits with 77 where this cannot be done here; a line says why.
"""

import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from release import checkout, unpacked
from run import BUILDING, ROOT, SKIPPED, Failure, check_vm, documented_command, empty, expect, fresh, only, run
from snippets import text_of

PACKAGING = ROOT / "packaging"


def sources(work):
    """The archive of the sources, as it is published."""
    run([checkout(empty(work / "tree")) / "tools" / "release", "--without-manual", work / "release"])
    return only(work.glob("release/cradle-*[0-9].tar.xz"), "archive of the sources")


def version_of(archive):
    return re.search(r"cradle-([\d.]+)\.tar", archive.name)[1]


def conan(work):
    archive = sources(work)
    recipe = Path(shutil.copytree(PACKAGING / "conan", work / "recipe"))
    sums = dict(reversed(line.split()) for line in (archive.parent / "SHA256SUMS").read_text().splitlines())
    data = recipe / "conandata.yml"
    data.write_text(data.read_text().replace("URL", archive.parent.as_uri()).replace("SHA256", sums[archive.name]))
    environment = {**os.environ, "CONAN_HOME": str(work / "home")}
    run(["conan", "profile", "detect"], env=environment)
    for shared in (False, True):
        words = ["conan", "create", recipe, "--version", version_of(archive), "-o", f"cradle/*:shared={shared}"]
        made = run(words, env=environment)
        expect(f"Cradle {version_of(archive)}" in made, "the test package was not run")
        built = "so" if shared else "a"
        expect(list((work / "home").rglob(f"lib/libcradle.{built}")), f"no libcradle.{built}")


def vcpkg(work):
    archive, prefix = sources(work), work / "prefix"
    values = {"ARCHIVE": archive, "PORTFILE": PACKAGING / "vcpkg" / "portfile.cmake", "PREFIX": prefix, "WORK": work / "build",
              "VERSION": version_of(archive)}
    run(["cmake", *(f"-D{name}={value}" for name, value in values.items()), "-P", ROOT / "tests" / "consumers" / "vcpkg.cmake"])
    made = {path.name for path in prefix.rglob("*") if path.is_file() and "include" not in path.parts}
    expect(made == {"libcradle.a", "CradleConfig.cmake", "CradleConfigVersion.cmake", "copyright"}, f"installed: {sorted(made)}")
    user = fresh(work / "user")
    (user / "CMakeLists.txt").write_text(text_of(BUILDING, "cmake"))
    run(["cmake", "-G", "Ninja", "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}"])
    run(["cmake", "--build", user / "build"])
    check_vm(user / "build" / "vm")


def debian(work):
    archive = sources(work)
    folder = unpacked(archive.parent, "", empty(work / "debian"))
    shutil.copy(archive, folder.with_name(f"cradle_{version_of(archive)}.orig.tar.xz"))
    shutil.copytree(folder / "packaging" / "debian", folder / "debian")
    run(["dpkg-buildpackage", "-us", "-uc"], cwd=folder, env={**os.environ, "DEB_BUILD_OPTIONS": "parallel=2"})
    root = work / "root"
    for package in ("libcradle1", "libcradle-dev", "cradle-tools"):
        run(["dpkg-deb", "-x", only(folder.parent.glob(f"{package}_*.deb"), package), root])
    pc = only(root.rglob("cradle.pc"), "cradle.pc")
    libraries = pc.parent.parent
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(pc.parent), "PKG_CONFIG_SYSROOT_DIR": str(root),
                   "LD_LIBRARY_PATH": str(libraries)}
    asked = ["pkg-config", "--keep-system-cflags", "--keep-system-libs", "--cflags", "--libs", "cradle"]
    flags = run(asked, env=environment).strip()
    vm = fresh(work / "vm")
    run(shlex.split(documented_command("pkg-config").replace("$(pkg-config --cflags --libs cradle)", flags)), cwd=vm)
    check_vm(vm / "vm", environment)
    for tool in ("cradle-heap", "cradle-report", "cradle-rootcheck"):
        expect(run([root / "usr" / "bin" / tool, "--version"]) == f"{tool} {version_of(archive)}\n", tool)
        expect((root / "usr" / "share" / "man" / "man1" / f"{tool}.1.gz").exists(), f"no man page of {tool}")


KINDS = {"conan": (conan, ["conan", "cmake"]), "vcpkg": (vcpkg, ["cmake", "ninja"]),
         "debian": (debian, ["dpkg-buildpackage", "dh", "pkg-config"])}


def main():
    make, programs = KINDS[sys.argv[1]]
    missing = [program for program in ["git", "meson", *programs] if shutil.which(program) is None]
    if missing or not (ROOT / ".git").exists():
        print(f"not installed: {', '.join(missing)}" if missing else "this tree is no git checkout, of which alone archives are made")
        return SKIPPED
    try:
        with tempfile.TemporaryDirectory(prefix="cradle-") as work:
            make(Path(work).resolve())
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
