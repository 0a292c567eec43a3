#!/usr/bin/env python3
"""Checks that every file which states the version states the same: version.py ROOT"""

import re
import sys
from pathlib import Path

NUMBER = r"(\d+\.\d+\.\d+)"
STATED = {
    "meson.build": rf"^  version: '{NUMBER}'",
    "packaging/vcpkg/vcpkg.json": rf'"version": "{NUMBER}"',
    "packaging/debian/changelog": rf"^cradle \({NUMBER}-",
}


def main():
    root = Path(sys.argv[1])
    header = (root / "include/cradle/base.h").read_text(encoding="utf-8")
    parts = [re.search(rf"#define CRADLE_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH")]
    found = {"include/cradle/base.h": ".".join(parts)}
    for name, pattern in STATED.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        found[name] = match[1] if match else "none"
    series = re.match(r"(0\.\d+|[1-9]\d*)", found["meson.build"])[1]
    asked = re.search(r"find_package\(Cradle ([\d.]+) ", (root / "docs/building.md").read_text(encoding="utf-8"))[1]
    faults = [f"{name} states the version {version}, meson.build {found['meson.build']}"
              for name, version in found.items() if version != found["meson.build"]]
    faults += [f"docs/building.md asks CMake for Cradle {asked}, the series is {series}"] if asked != series else []
    print("\n".join(faults) or f"version {found['meson.build']} in {len(found)} files")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
