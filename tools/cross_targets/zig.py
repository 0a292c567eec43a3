"""macOS and FreeBSD: zig's C compiler, which has their headers and knows their libraries, from the Python package ziglang."""

from .target import Target

PACKAGE = "ziglang==0.17.1"


def with_zig(name, what, triple, system, cpu, why, **more):
    # zig checks for undefined behaviour unless it optimises. cmocka.h defines uintptr_t itself, wrongly for FreeBSD on Arm, unless
    # a macro says that the system's headers define it. (Apple's headers take _UINTPTR_T for their own, and would not define it.)
    return Target(name, what, system, cpu, ["zig", "cc", "-target", triple], flags=["-fno-sanitize=undefined", "-D_UINTPTR_T_DEFINED"], unrun=why,
                  **more)


NO_MAC = "there is no emulator of macOS, and its programs run on no other system"
NO_BSD = "a FreeBSD system would be needed, or a virtual machine with one"
TARGETS = [
    with_zig("macos-arm64", "macOS on Apple's processors, pages of 16 KiB: compiled and linked only", "aarch64-macos", "darwin", "aarch64",
             NO_MAC),
    with_zig("macos-x86_64", "macOS on Intel's: compiled and linked only", "x86_64-macos", "darwin", "x86_64", NO_MAC,
             in_quick=False),
    with_zig("freebsd-x86_64", "FreeBSD 14: compiled and linked only", "x86_64-freebsd", "freebsd", "x86_64", NO_BSD),
    with_zig("freebsd-arm64", "FreeBSD 14 on 64-bit Arm: compiled and linked only", "aarch64-freebsd", "freebsd", "aarch64", NO_BSD,
             in_quick=False),
]
