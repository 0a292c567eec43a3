"""The tests that mutants must get past, quick ones first, and how one is run."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

# Programs that take seconds at most and touch no setting of the machine: unit tests, then heaps against the models.
UNITS = (
    "adapt", "arena_memory", "arenas", "backtrace", "barrier", "base", "beside", "budget", "bulk",
    "callbacks", "closed", "compact", "control", "corruption", "death", "dump", "encodings", "environment",
    "ephemeron", "events", "every_function", "faults", "finalizer", "fork", "gc_off", "handle",
    "hardware", "histogram", "identity", "inspect", "instruments", "kit", "kit_map", "leaks", "log", "log_files",
    "log_forks", "major", "mark", "mark_beside", "marker", "memory", "memory-faults",
    "misuse", "more_rights", "no_room", "objects", "old", "out_of_memory", "outgrow", "pacing", "pages",
    "pages-faults", "pin", "places", "profile_text", "promote", "roots", "rounds", "sample",
    "second-core", "show", "spans", "start", "starved", "state", "statistics", "structures", "supply", "threads",
    "typed", "typed-checked", "types", "verifier", "verifier_lists", "watching", "watermark", "weak",
    "weak_set", "words")
# Scripts that run such programs and read what they write.
SCRIPTS = ("cradle-heap", "list-options", "profile", "report")
MODEL = ["--seed", "3", "--ops", "4000", "--nursery", "8192", "--verify", "1"]
# Short, with and without finalizers, increments, stress and quarantine.
SHORT = (["--seed", "5", "--ops", "1500", "--nursery", "5000", "--stress", "3", "--quarantine", "2"],
         ["--seed", "6", "--ops", "2500", "--nursery", "16384"],
         ["--seed", "7", "--ops", "1500", "--nursery", "8192", "--stress", "1", "--verify", "1"],
         ["--seed", "9", "--ops", "4000", "--nursery", "4096"],
         ["--seed", "11", "--ops", "3000", "--nursery", "4096", "--stress", "11"])
BESIDE = ["--threads", "1", "--ops", "10000"]
# By the name of the test: the arguments that it gets in place of its own.
MODELS = {"model": (MODEL, *SHORT[:2]), "model-small": (MODEL, *SHORT), "fuzz-corpus-small": (None,),
          "memory-faults": (["--quick"],),
          "model-beside": (BESIDE,), "model-beside-small": (BESIDE,), "fuzz-beside-small": (None,),
          "second-model": (["--seed", "1", "--runs", "6"],),
          "second-model-small": (["--seed", "101", "--runs", "6"], ["--seed", "201", "--runs", "3"])}
# A test may use so many times the processor time that it takes unchanged and so many seconds besides; by the clock, on a machine
# that has other work, as many times more.
SLACK, SLACK_S, CLOCK, CLOCK_S = 5, 0.4, 8, 20
DATA_MAX_BYTES = 6 << 30
NOBODY = 65534


class Test:
    def __init__(self, name, command, environment, folder):
        self.name, self.command, self.folder = name, command, folder
        self.environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), **environment}
        self.seconds = 0.0  # of the processor, unchanged
        self.reached = b""  # by mutant: 1 when the test comes to its guard

    def programs(self, build):
        """What it runs of the build, relative to it."""
        inside = (os.path.relpath(word, build) for word in self.command if word.startswith("/"))
        return [name for name in inside if not name.startswith("..")]

    def limit(self):
        """In the child. A changed collector may write where it likes: as root it does so with no rights but nobody's."""
        seconds = SLACK * self.seconds + SLACK_S if self.seconds else 120
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 2, int(seconds) + 2))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_DATA, (DATA_MAX_BYTES, DATA_MAX_BYTES))
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # goes on in the program, and ends it

    def passes(self, settings):
        """Whether it passes, and its processor time."""
        begin = children_s()
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(self.command, env={**self.environment, **settings}, stdout=output, stderr=output,
                                       stdin=subprocess.DEVNULL, cwd=self.folder, preexec_fn=self.limit, start_new_session=True)
            try:
                status = process.wait(CLOCK_S + CLOCK * SLACK * self.seconds)
            except subprocess.TimeoutExpired:
                status = None
            try:
                os.killpg(process.pid, signal.SIGKILL)  # what it forked goes with it
            except ProcessLookupError:
                pass
            if status is None:
                process.wait()
            if status == 125:
                sys.exit("mutate: the file of what is reached cannot be written")
        return status == 0, children_s() - begin


def children_s():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def known_tests(build, folder):
    told = subprocess.run(["meson", "introspect", "--tests", build], capture_output=True, text=True, check=True).stdout
    entries = {entry["name"]: entry for entry in json.loads(told)}
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    # Meson runs tests in the build, and names its programs from there.
    commands = {name: [str(build / word) if word.startswith(("tests/", "tools/", "examples/")) else word for word in entry["cmd"]]
                for name, entry in entries.items()}
    tests = [Test(name, commands[name], entries[name]["env"], folder) for name in UNITS + SCRIPTS if name in entries]
    for name, ways in MODELS.items():
        for number, arguments in enumerate(ways):
            command = commands[name] if arguments is None else [commands[name][0], *arguments]
            tests.append(Test(f"{name}-{number + 1}", command, entries[name]["env"], folder))
    return tests


def measure(tests, build, folder, count, say):
    """How long each test takes without a mutant, and which guards it reaches; remembered as long as the program stays the same."""
    kept_at = folder / "reached.json"
    kept = json.loads(kept_at.read_text()) if kept_at.exists() else {}
    for number, test in enumerate(tests, 1):
        files = [build / name for name in test.programs(build)]
        content = b"".join(path.read_bytes() for path in files if path.is_file()) + " ".join(test.command).encode()
        digest = hashlib.sha256(content).hexdigest()
        map_at = folder / f"reached-{test.name}"
        if kept.get(test.name, {}).get("digest") != digest or not map_at.exists():
            say(f"mutate: test {number} of {len(tests)}, unchanged: {test.name}")
            map_at.unlink(missing_ok=True)
            map_at.touch()
            map_at.chmod(0o666)
            passed, seconds = test.passes({"MUTANTS_REACHED": str(map_at)})
            if not passed:
                print(f"mutate: {test.name} fails without any change, and is left out", flush=True)
                seconds = -1
            kept[test.name] = {"digest": digest, "seconds": seconds}
            kept_at.write_text(json.dumps(kept))
        test.seconds = kept[test.name]["seconds"]
        test.reached = map_at.read_bytes().ljust(count, b"\0")
    return [test for test in tests if test.seconds >= 0]
