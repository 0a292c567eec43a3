"""Which files are read, and with which of a compiler's options."""

import json
import os
import shlex
from pathlib import Path

# Compiler options that parsing depends on; those that take a folder or file come first.
PLACES = ("-I", "-isystem", "-iquote", "-include")
WORDS = ("-D", "-U", "-std=")
DATABASE = "compile_commands.json"


class NoSources(Exception):
    """No sources can be read; the message is for the user."""


def chosen(build, paths, options):
    """[(file, options)]. build: a folder that the user names, or None; options: what stands after --, or None."""
    if options is not None:
        if not paths:
            raise NoSources("no file is named before --")
        return [(file, options) for file in c_files(paths)]
    folder = build if build is not None else next((place for place in (Path("build"), Path()) if (place / DATABASE).exists()), None)
    if folder is not None:
        return database_files(folder.resolve(), [path.resolve() for path in paths])
    if not paths:
        raise NoSources(f"neither build/{DATABASE} nor {DATABASE} is there, which Meson and CMake write; -p BUILD names another "
                        "folder, and \"cradle-rootcheck FOLDER -- -I INCLUDE\" needs none")
    return [(file, []) for file in c_files(paths)]


def hint(build, options):
    """What may help when a file does not compile."""
    if options is not None:
        return "the options after -- must let it compile: -I names folders of headers, -D macros, -std= the language"
    if build is None and not (Path("build") / DATABASE).exists() and not Path(DATABASE).exists():
        return f"there is no {DATABASE}; name the folders of headers: cradle-rootcheck PATH... -- -I INCLUDE -I CRADLE/include"
    return "the compile database says how it is compiled; it may be older than the file"


def c_files(paths):
    """The files named, and the C files in the folders named."""
    found = []
    for path in paths:
        files = sorted(path.rglob("*.c")) if path.is_dir() else [path]
        if not files:
            raise NoSources(f"{path}: no C file lies there")
        found += [file.resolve() for file in files]
    return list(dict.fromkeys(found))


def kept_options(words, directory):
    """The options of a command that runs in the directory, with paths made absolute."""
    kept = []
    words = iter(words)
    for word in words:
        option = next((option for option in PLACES + WORDS if word.startswith(option)), None)
        if option is None:
            continue
        value = word[len(option) :] or next(words, "")
        if option in PLACES and (option != "-include" or (directory / value).exists()):
            value = os.path.normpath(directory / value)
        kept += [option, value] if option in PLACES else [option + value]
    return kept


def database_files(build, wanted):
    """(file, options) of the compile database, each file once; wanted: paths, or none for all."""
    path = build / DATABASE
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise NoSources(f"{path}: {error.strerror}; -p wants a build folder that meson made") from error
    except ValueError as error:
        raise NoSources(f"{path}: not a compile database: {error}") from error
    found = {}
    for entry in entries:
        directory = Path(entry["directory"])
        file = (directory / entry["file"]).resolve()
        if file.suffix == ".c" and (not wanted or any(file == path or path in file.parents for path in wanted)):
            words = entry.get("arguments") or shlex.split(entry["command"])
            found.setdefault(file, kept_options(words, directory))
    for path in wanted:
        if not any(file == path or path in file.parents for file in found):
            raise NoSources(f"{path}: no C file of the compile database is or lies there; cradle-rootcheck PATH -- -I INCLUDE "
                            "reads it without")
    return sorted(found.items())
