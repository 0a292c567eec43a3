"""What tools/cross can build for, a list of targets from each module."""

from . import linux, musl, windows, zig

TARGETS = [*linux.TARGETS, *musl.TARGETS, *zig.TARGETS, *windows.TARGETS]
