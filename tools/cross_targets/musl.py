"""musl in place of glibc, on the machine itself: Debian's musl-gcc."""

from .target import HANDFUL, Target

# The unit tests whose results depend on the C library: files, formatted text, the environment, signals, threads, forks, stacks, and
# its own use of memory.
ASK_LIBC = ("backtrace", "closed", "corruption", "dump", "environment", "faults", "fork", "hardware", "histogram", "inspect",
            "limits", "log", "log_files", "log_forks", "memory", "misuse", "more_rights", "no_room",
            "out_of_memory", "outgrow", "pages", "pages-faults", "profile_text", "show", "start", "starved", "state", "statistics", "words")


def with_musl(name, what, **more):
    return Target(name, what, "linux", "x86_64", ["musl-gcc"], packages=["musl-tools"], programs=["musl-gcc"], slowness=2, quick=HANDFUL + ASK_LIBC, **more)


TARGETS = [
    with_musl("musl", "x86-64 with musl"),
    with_musl("musl-static", "the same, linked statically", in_quick=False, options=["-Ddefault_library=static", "-Dc_link_args=-static"]),
]
