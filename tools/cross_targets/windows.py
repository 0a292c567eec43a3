"""Windows: Debian's mingw-w64, and Wine."""

from .target import WHOLE, Target

# Wine's server is one process, and takes half a second for each program: what runs a program hundreds of times is left out.
SLOW = ("one-build", "long", "two-builds")
# Each collection looks at all pages, for which Wine reads /proc once a page.
READS_PAGES = {"control-stressed": "a unit test of minutes, since Wine asks /proc for each page"}
TARGETS = [
    Target("windows", "Windows on x86-64, under Wine", "windows", "x86_64", ["x86_64-w64-mingw32-gcc"],
           packages=["gcc-mingw-w64-x86-64", "wine"], programs=["x86_64-w64-mingw32-gcc", "wine"],
           # What gcc's own libraries hold goes into each program, which then runs on a Windows without them.
           options=["-Ddefault_library=static", "-Dc_link_args=-static"], wrapper=["wine"],
           # Debian's Wine ends its server with the last program, and the next program would start Windows and its services again.
           server=(["wineserver", "-k"], ["wineserver", "-p"], ["wine", "cmd", "/c", "exit"]),
           tests=(*WHOLE, "vms", "windows-fast-path"), left_out=READS_PAGES, suites_left_out=SLOW, slowness=10,
           variables={"WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml=", "WINEPREFIX": "{folder}/wine"}),
]
