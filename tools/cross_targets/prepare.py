"""What a target needs before Meson can begin: its compiler, and cmocka compiled with it."""

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from .zig import PACKAGE as ZIG_PACKAGE

TREE = Path(__file__).resolve().parents[2]
CMOCKA_SETTINGS = """#define HAVE_ASSERT_H 1
#define HAVE_CLOCK_GETTIME_REALTIME 1
#define HAVE_INTTYPES_H 1
#define HAVE_IO_H 0
#define HAVE_SETJMP_H 1
#define HAVE_SIGNAL_H 1
#define HAVE_STDARG_H 1
#define HAVE_STDDEF_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDIO_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_STRINGS_H 1
#define HAVE_STRSIGNAL 1
#define HAVE_STRUCT_TIMESPEC 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_TIME_H 1
#define HAVE_UNISTD_H 1
#define _UINTPTR_T_DEFINED 1
"""
# cmocka's own words for Windows do the rest.
CMOCKA_ON_WINDOWS = "".join(f"#define HAVE_{name} 1\n" for name in (
    "INTTYPES_H", "IO_H", "MALLOC_H", "STDINT_H", "STRINGS_H", "SNPRINTF", "VSNPRINTF", "GCC_THREAD_LOCAL_STORAGE"))


class Lacking(Exception):
    """The machine cannot build for the target; the words say why."""


def call(command, **more):
    print("+ " + shlex.join(map(str, command)), flush=True)
    return subprocess.run([str(word) for word in command], check=True, **more)


def install(target):
    """Debian's packages of the target, where its programs are not there."""
    if all(shutil.which(program) for program in target.programs):
        return
    words = "install " + " ".join(target.packages)
    if shutil.which("apt-get") is None:
        raise Lacking(f"it needs {', '.join(target.programs)}: on Debian {words}")
    apt = [*([] if os.geteuid() == 0 else ["sudo", "-n"]), "apt-get", "-qq"]
    quietly = {"env": {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    try:
        call([*apt, "update"], **quietly)
        call([*apt, "install", "-y", "--no-install-recommends", *target.packages], **quietly)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Lacking(f"its packages could not be installed ({words})") from error


def python_of_zig():
    """The Python of .venv, with zig in it."""
    python = TREE / ".venv" / "bin" / "python"
    if not python.exists():
        call([sys.executable, "-m", "venv", TREE / ".venv"])
    if subprocess.run([python, "-c", "import ziglang"], capture_output=True).returncode != 0:
        try:
            call([python, "-m", "pip", "-q", "--disable-pip-version-check", "install", ZIG_PACKAGE])
        except subprocess.CalledProcessError as error:
            raise Lacking(f"zig's C compiler could not be installed (pip install {ZIG_PACKAGE})") from error
    return python


# Meson 1.0 asks which linker there is, and does not know zig's. So the script answers with the name of one that takes the
# same options. Zig leaves an empty a.o in the current folder when it is asked for its version, so the script changes to its own.
ZIG_SCRIPT = """#!/bin/sh
for argument; do
  case $argument in
  -Wl,--version) echo "LLD 0.0 (zig's)" && exit ;;
  -Wl,-v) echo "{linker} 0.0" >&2 && exit ;;
  --version) cd "$(dirname "$0")" ;;
  esac
done
exec {command} "$@"
"""


def compiler_of(target, folder):
    """The command, and that of ar."""
    if target.compiler[0] != "zig":
        return target.compiler, ["ar"] if target.compiler[0] == "musl-gcc" else [target.compiler[0].replace("-gcc", "-gcc-ar")]
    python = str(python_of_zig())
    script = folder / "zig-cc"
    script.write_text(ZIG_SCRIPT.format(command=shlex.join([python, "-m", "ziglang", *target.compiler[1:]]),
                                        linker="ld64.lld" if target.system == "darwin" else "ld.lld"), encoding="utf-8")
    script.chmod(0o755)
    return [str(script)], [python, "-m", "ziglang", "ar"]


# Of the oldest version that the build accepts, and of Debian 12: what was tried.
CMOCKA_VERSION = "1.1.5"


def cmocka_sources(folder):
    """Debian's source package of cmocka, fetched by apt without a change to the machine."""
    sources = unpacked_cmocka(folder)
    if sources.name != f"cmocka-{CMOCKA_VERSION}":
        print(f"note: {sources.name} is used; cmocka {CMOCKA_VERSION} was tried")
    return sources


def unpacked_cmocka(folder):
    there = [path for path in folder.glob("cmocka-*") if path.is_dir()]
    if there:
        return there[0]
    if shutil.which("apt-get") is None:
        raise Lacking(f"cmocka's sources are needed: put them into {folder}/cmocka-VERSION")
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    told = []
    for place in [Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]:
        text = place.read_text(encoding="utf-8") if place.is_file() else ""
        if "debian" in text and place.suffix in (".list", ".sources"):
            name = folder / f"from-{place.name}"
            lines = [line.replace("deb ", "deb-src ", 1) if line.startswith("deb ") else line for line in text.splitlines()]
            name.write_text("\n".join("Types: deb-src" if line.startswith("Types:") else line for line in lines) + "\n", encoding="utf-8")
            told.append(name)
    parts = folder / "sources.d"
    shutil.rmtree(parts, ignore_errors=True)
    parts.mkdir()
    for name in told:
        name.rename(parts / name.name)
    apt = ["apt-get", "-qq", "-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}", "-o", f"Dir::State::Lists={folder}/lists"]
    try:
        call([*apt, "update"])
        call([*apt, "source", "--download-only", "cmocka"], cwd=folder)
    except subprocess.CalledProcessError as error:
        raise Lacking(f"cmocka's sources could not be fetched: put them into {folder}/cmocka-VERSION") from error
    call(["tar", "-xf", next(folder.glob("cmocka_*.orig.tar.*[xg]z")), "-C", folder])
    return next(path for path in folder.glob("cmocka-*") if path.is_dir())


def cmocka(target, compiler, ar, folder, sources):
    """Compiles cmocka for the target; returns the folder that pkg-config looks into."""
    prefix = folder / "cmocka"
    found = prefix / "lib" / "pkgconfig"
    if (found / "cmocka.pc").exists():
        return found
    found.mkdir(parents=True, exist_ok=True)
    (prefix / "config.h").write_text(CMOCKA_ON_WINDOWS if target.system == "windows" else CMOCKA_SETTINGS, encoding="utf-8")
    call([*compiler, *target.flags, "-O2", "-w", "-DHAVE_CONFIG_H", f"-I{prefix}", f"-I{sources}/include", "-c", sources / "src" / "cmocka.c",
          "-o", prefix / "cmocka.o"])
    call([*ar, "rcs", prefix / "lib" / "libcmocka.a", prefix / "cmocka.o"])
    (found / "cmocka.pc").write_text(f"Name: cmocka\nDescription: unit tests\nVersion: {sources.name.removeprefix('cmocka-')}\n"
                                     f"Libs: -L{prefix}/lib -lcmocka\nCflags: -isystem {sources}/include\n", encoding="utf-8")
    return found
