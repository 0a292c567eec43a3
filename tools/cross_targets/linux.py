"""Other processors under Linux: Debian's cross compilers, and qemu's user emulation."""

from .target import PROGRAMS, Target


# These look at what the kernel did in ways that user emulation answers otherwise, or not.
ASK_THE_KERNEL = dict.fromkeys(
    ("arenas", "closed", "faults", "fork", "hardware", "memory", "more_rights", "outgrow", "pages", "pages-faults", "pages-mincore",
     "supply"),
    "unit tests that ask the kernel what user emulation does not know")
# Each test under stress takes a minute and more there.
SLOW = ("one-build", "long", "stressed", "two-builds")
# Unit tests that take a second or less there.
HANDFUL = ("base", "rounds", "spans", "types")
# qemu keeps a record of each page that is reserved, which took 17 GiB and minutes in a test of many heaps: they get less to reserve.
ADDRESSES = "8G"

# In the child of a fork, qemu 7.2 ends with a failed assertion of its own when a thread is made, or when there was one.
NO_FORKS = ["-DFORKS_ARE_TRIED=0", "-DCHILDREN_MAKE_THREADS=0"]


def emulated(name, what, machine, **more):
    triplet = f"{machine}-linux-gnu"
    return Target(name, what, "linux", machine, [f"{triplet}-gcc"],
                  packages=["qemu-user", f"gcc-{triplet.replace('_', '-')}", f"libc6-dev-{PACKAGED[machine]}-cross"],
                  programs=[f"{triplet}-gcc", f"qemu-{machine}"], flags=[*NO_FORKS, "-fasynchronous-unwind-tables"],  # for backtrace, which riscv64 would not have without -g
                 
                  wrapper=[f"qemu-{machine}", "-R", ADDRESSES, "-L", f"/usr/{triplet}"],
                  tests=PROGRAMS, quick=HANDFUL, left_out=ASK_THE_KERNEL, suites_left_out=SLOW, slowness=15, **more)


PACKAGED = {"aarch64": "arm64", "riscv64": "riscv64"}
# qemu 7.2 gives pages of another size to programs for aarch64 alone: those for riscv64 see 4 KiB whatever is asked.
TARGETS = [
    emulated("aarch64", "64-bit Arm, glibc, under qemu; pages of 4, 16 and 64 KiB", "aarch64", sizes=(16384, 65536)),
    emulated("riscv64", "64-bit RISC-V, glibc, under qemu; pages of 4 KiB", "riscv64"),
]
