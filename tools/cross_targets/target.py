"""A target of tools/cross: how its compiler is called, what it needs, and which tests run on it."""

from dataclasses import dataclass, field

# A handful that touches memory, pages, threads, files and each kind of collection.
HANDFUL = ("base", "handle", "major", "mark", "mark_beside", "promote", "roots", "rounds", "structures", "supply", "weak", "windows")
# Heaps against models, threads, and the sweeps of two small programs over nursery sizes.
PROGRAMS = ("model", "model-small", "second-model", "second-model-small", "second-model-stressed", "threads",
            "sweep-hundred_lines", "sweep-tiny_vm")
# The fuzz corpus opens hundreds of heaps, and qemu keeps a record of every page that was ever reserved: more than there is memory.
WHOLE = (*PROGRAMS, "fuzz-corpus", "fuzz-corpus-small")


@dataclass
class Target:
    name: str
    what: str
    system: str  # Meson's word, as is cpu
    cpu: str
    compiler: list  # the command; zig's begins with "zig"
    packages: list = field(default_factory=list)  # of Debian
    programs: list = field(default_factory=list)  # that are in the packages
    options: list = field(default_factory=list)  # of Meson
    flags: list = field(default_factory=list)  # of the compiler
    wrapper: list = field(default_factory=list)  # what runs a program; empty: it runs as it is
    unrun: str = ""  # why programs cannot be run here; empty: they can
    tests: tuple = WHOLE  # beside the unit tests
    in_quick: bool = True  # tools/cross --quick has it; not where another target differs little
    quick: tuple = HANDFUL  # the unit tests that it runs
    left_out: dict = field(default_factory=dict)  # unit tests, and why
    suites_left_out: tuple = ("one-build", "long")
    variables: dict = field(default_factory=dict)  # of the environment of programs; {folder} stands for the target's
    server: tuple = ()  # that the programs need: the command that ends it, and those that begin it
    slowness: int = 1  # how many times longer tests may take than natively
    sizes: tuple = ()  # of pages, in bytes: the tests are run again with each, by QEMU_PAGESIZE
