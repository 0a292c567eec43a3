#!/usr/bin/env python3
"""Checks that tools/setup, quickstart, check and manual fall short in a line without a network, and work in a tree that cannot be
written.

    test_offline.py TOOLS

TOOLS is the folder tools/. Each runs in a tree of its own. An address that refuses connections stands in for a missing network, and a
Meson that only makes folders for Meson.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(sys.argv[1]).resolve()
COPIED = ["check", "manual", "place.sh", "python-tools.txt", "quickstart", "setup", "testlog.py"]
NOBODY = 65534
MESON = """#!/bin/sh
case $1 in
--version) echo 1 ;;
setup) mkdir -p "$2/bench" && echo 'echo allocated' >"$2/bench/allocate-a-lot" && chmod +x "$2/bench/allocate-a-lot" ;;
test) mkdir -p "$3/meson-logs" && echo '{"name": "cradle:unit / base", "result": "OK", "returncode": 0}' >"$3/meson-logs/testlog.json" ;;
esac
"""
# What tools/setup runs besides the things that it looks for.
COMMANDS = ["awk", "basename", "cat", "cksum", "cmp", "cp", "cut", "dirname", "env", "grep", "id", "mkdir", "mktemp", "python3", "rm", "sed", "sh",
            "sort", "tail", "tr"]

NEEDED = ["gcc", "ninja", "pkg-config"]


class Tree(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.addCleanup(subprocess.run, ["chmod", "-R", "u+w", held.name], check=False)
        self.folder = pathlib.Path(held.name)
        self.folder.chmod(0o755)
        self.tree, self.bin, self.cache = (self.folder / name for name in ("tree", "bin", "cache"))
        for folder in (self.tree / "tools", self.bin, self.cache):
            folder.mkdir(parents=True)
        self.cache.chmod(0o777)
        for name in COPIED:
            shutil.copy(TOOLS / name, self.tree / "tools" / name)

    def command(self, name, text):
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def run_tool(self, *words, path="/usr/bin:/bin", cache=None, **others):
        surroundings = {"PATH": f"{self.bin}:{path}", "HOME": str(self.folder), "XDG_CACHE_HOME": str(cache or self.cache),
                        "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
        done = subprocess.run([self.tree / "tools" / words[0], *words[1:]], capture_output=True, text=True, timeout=200,
                              env=surroundings, check=False, **others)
        said = done.stdout + done.stderr
        self.assertNotRegex(said, r"Traceback|ERROR:|WARNING:|Permission denied|Read-only file system", said)
        return done.returncode, said.rstrip().splitlines()


class WithoutNetwork(Tree):
    def setUp(self):
        super().setUp()
        self.command("apt-get", "#!/bin/sh\necho 'E: Failed to fetch a page of addresses' >&2\nexit 100\n")
        self.command("sudo", "#!/bin/sh\nexit 1\n")

    @unittest.skipUnless(shutil.which("cc") and not subprocess.run(["/usr/bin/python3", "-c", "import ensurepip"], check=False).returncode,
                         "the distribution's Python has no ensurepip, or there is no compiler")
    def test_the_python_tools_are_missed_in_a_line(self):
        status, lines = self.run_tool("setup", "manual")
        self.assertEqual(status, 0)
        self.assertLessEqual(len(lines), 3, lines)
        self.assertRegex(lines[-1], "^Goes on without: python-tools .* try again with a network")
        self.assertFalse((self.tree / ".setup-unavailable").exists(), "the next run would not try again")
        status, lines = self.run_tool("manual")
        self.assertEqual(status, 1)
        self.assertRegex(lines[-1], r"^The manual needs the Python packages of tools/python-tools.txt in .venv: .* with a network")

    def only(self, names):
        """Makes these the only programs that are found."""
        for name in names:
            os.symlink(shutil.which(name, path="/usr/bin:/bin"), self.bin / name)

    @unittest.skipUnless(os.getuid() == 0 and all(map(shutil.which, NEEDED)) and not subprocess.run(["pkg-config", "cmocka"], check=False).returncode,
                         "only root tries apt-get, and what the build needs must be there")
    def test_what_is_optional_is_missed_in_a_line_and_tried_again(self):
        self.only([*COMMANDS, *NEEDED])
        self.command("meson", MESON)
        status, lines = self.run_tool("setup", "quickstart", path="/nowhere")
        self.assertEqual(status, 0)
        self.assertLessEqual(len(lines), 4, lines)
        self.assertRegex(lines[-1], r"^Goes on without: .*lua5.4 .* try again with a network\.$")
        self.assertFalse((self.tree / ".setup-unavailable").exists(), "the next run would not try again")

    def test_what_is_needed_is_missed_in_a_line(self):
        self.only(COMMANDS)
        status, lines = self.run_tool("setup", "quickstart", path="/nowhere")
        self.assertEqual(status, 1)
        self.assertLessEqual(len(lines), 4, lines)
        self.assertRegex(lines[-1], r"^Cradle cannot be built without: .*meson \(the build\)")
        if os.getuid() == 0:
            self.assertTrue(lines[-1].endswith("try again with a network."), lines)
        else:
            self.assertRegex("\n".join(lines[-2:]), "Install|apt-get install")


class ReadOnly(Tree):
    def setUp(self):
        super().setUp()
        self.command("meson", MESON)
        for name in ("gcc", "clang"):
            self.command(name, "#!/bin/sh\n")
        setup = self.tree / "tools" / "setup"
        setup.write_text("#!/bin/sh\n")
        self.others = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.getuid() == 0 else {}
        subprocess.run(["chmod", "-R", "a-w", self.tree], check=True)

    def test_quickstart_and_check_build_in_the_cache(self):
        for words, built in ((["quickstart"], "build/bench/allocate-a-lot"), (["check"], "build-check/clang/meson-logs/testlog.json")):
            status, lines = self.run_tool(*words, **self.others)
            self.assertEqual(status, 0, lines)
            self.assertRegex(lines[0], rf"^{self.tree} cannot be written: this goes to {self.cache}/cradle/tree-\d+/$")
            self.assertEqual(len(list(self.cache.glob(f"cradle/tree-*/{built}"))), 1, lines)
            self.assertEqual(lines[-1], "allocated" if words == ["quickstart"] else "3 passed, 0 failed, 0 skipped")

    def test_without_any_place_it_says_what_to_do(self):
        self.cache.chmod(0o555)
        for tool in ("quickstart", "check", "manual"):
            status, lines = self.run_tool(tool, **self.others)
            self.assertEqual((status, len(lines)), (1, 1), lines)
            self.assertRegex(lines[0], "cannot be written, and neither can .*: set XDG_CACHE_HOME to a folder that can be")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
