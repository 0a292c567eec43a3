"""musl in place of glibc, on the machine itself: Debian's musl-gcc."""

from .target import Target


def with_musl(name, what, **more):
    return Target(name, what, "linux", "x86_64", ["musl-gcc"], packages=["musl-tools"], programs=["musl-gcc"], slowness=2, quick=(), **more)


TARGETS = [
    with_musl("musl", "x86-64 with musl"),
    with_musl("musl-static", "the same, linked statically", in_quick=False, options=["-Ddefault_library=static", "-Dc_link_args=-static"]),
]
