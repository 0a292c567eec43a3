#!/usr/bin/env python3
"""Profiles a program whose functions allocate known shares, and reads what cradle-report makes of it as speedscope would.

    test_profile.py PROGRAM [STACKVM SCHEME]       (tests/profiled_program, examples/stackvm, examples/scheme)

Sampling is by allocated bytes with a fixed seed, so every figure here is the same in each run.
"""

import collections
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

RATE = 2048
REPORT = next(parent / "tools" / "cradle-report" for parent in pathlib.Path(__file__).resolve().parents
              if (parent / "tools" / "cradle-report").exists())
TOLERANCE = 0.05


class Failure(Exception):
    pass


def check(condition, message):
    if not condition:
        raise Failure(message)


def run(program, mode, folder, file="profile", expect=0, rate=RATE, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment.update(CRADLE_PROFILE=str(folder / file), CRADLE_PROFILE_RATE=str(rate), **variables)
    result = subprocess.run([program, mode], capture_output=True, text=True, env=environment, timeout=200)
    check(result.returncode == expect, f"{mode} ended with {result.returncode}: {result.stderr}")
    return result


def converted(path):
    """The profile in speedscope's format."""
    made = path.with_name(path.name + ".speedscope")
    result = subprocess.run([sys.executable, REPORT, path, "--speedscope", made], capture_output=True, text=True)
    check(result.returncode == 0, f"cradle-report: {result.stderr}")
    with open(made, encoding="utf-8") as file:
        return json.load(file)


def profiles_of(data):
    """The profiles by name, each a list of (stack of names, weight)."""
    check(data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "the schema is missing")
    names = [frame["name"] for frame in data["shared"]["frames"]]
    profiles = {}
    for profile in data["profiles"]:
        check(profile["type"] == "sampled" and profile["unit"] == "bytes", "not a sampled profile in bytes")
        check(len(profile["samples"]) == len(profile["weights"]), "as many weights as samples")
        check(profile["startValue"] == 0 and profile["endValue"] == sum(profile["weights"]), "the end is the sum")
        stacks = [[names[i] for i in sample] for sample in profile["samples"]]
        check(len({tuple(stack) for stack in stacks}) == len(stacks), "a stack occurs once")
        profiles[profile["name"]] = list(zip(stacks, profile["weights"]))
    return profiles


def read(path):
    """The profiles of the file's one heap; and what else is said of it."""
    data = converted(path)
    profiles = profiles_of(data)
    check(list(profiles) == ["allocated", "survived", "died young"], f"the profiles are {list(profiles)}")
    return profiles, data


def by_function(profile):
    """Weights by the innermost function: the leaves are the type and the size."""
    sums = collections.Counter()
    for stack, weight in profile:
        sums[stack[-3]] += weight
    return sums


def total(profile):
    return sum(weight for _, weight in profile)


def check_shares(shares, profile, context):
    expected, found = sum(shares.values()), by_function(profile)
    check(set(found) == set(shares), f"{context}: the functions are {sorted(found)}")
    for function, size in shares.items():
        ratio = found[function] / total(profile) / (size / expected)
        check(abs(ratio - 1) <= TOLERANCE, f"{context}: {function} has {ratio:.3f} of its share")


# --- the tests: each gets the program and an empty folder ---

def shares_are_right(program, folder):
    for nursery in ("4K", "64K", "4M"):
        for stress in ({}, {"CRADLE_STRESS": "1,major=200"}):
            result = run(program, "shares", folder, CRADLE_GC_NURSERY=nursery, **stress)
            shares = json.loads(result.stdout)
            kept = shares.pop("kept")
            profiles, data = read(folder / "profile")
            context = f"nursery {nursery} {stress}"
            check_shares(shares, profiles["allocated"], context)
            allocated, facts = total(profiles["allocated"]), data["cradle"][0]
            check(abs(allocated - sum(shares.values())) <= 2 * RATE, f"{context}: {allocated} bytes in all")
            fates = total(profiles["survived"]) + total(profiles["died young"])
            check(fates + facts["unknown_fate_bytes"] == allocated, f"{context}: fates do not add up")
            check(facts["interval_bytes"] == RATE, f"{context}: {facts}")
            survived = by_function(profiles["survived"])
            ratio = survived["eval"] / kept
            check(abs(ratio - 1) <= TOLERANCE, f"{context}: {ratio:.3f} of what was kept survived")
            # Each object is dead before the next allocation, unless a collection comes in between.
            check(survived["parse"] <= shares["parse"] / 20, f"{context}: parse survived: {survived}")


def frames_say_where(program, folder):
    run(program, "shares", folder)
    profiles, data = read(folder / "profile")
    stacks = {tuple(stack) for stack, _ in profiles["allocated"]}
    check(("main", "parse", "pair", "24 bytes") in stacks, f"the stacks are {stacks}")
    check(("main", "eval", "bytes", "200 bytes") in stacks, f"the stacks are {stacks}")
    check(("main", "read_file", "bytes", "65537 to 131072 bytes") in stacks, f"the stacks are {stacks}")
    check(("main", "type 2", "48 bytes") in stacks, f"the stacks are {stacks}")
    frames = {frame["name"]: frame for frame in data["shared"]["frames"]}
    check(frames["parse"]["file"] == "program.vm" and frames["parse"]["line"] == ord("p"), "file and line")


def ids_and_names_agree(program, folder):
    run(program, "shares", folder, "names")
    run(program, "ids", folder, "ids")
    names, ids = read(folder / "names")[0], read(folder / "ids")[0]
    check(names == ids, "frames with ids make another profile than frames without")


def no_stack_tells_types(program, folder):
    run(program, "plain", folder)
    stacks = {tuple(stack) for stack, _ in read(folder / "profile")[0]["allocated"]}
    check(("pair", "24 bytes") in stacks and all(len(stack) == 2 for stack in stacks), f"the stacks are {stacks}")


def mutators_are_told_apart(program, folder):
    run(program, "threads", folder, rate=64)
    profiles, _ = read(folder / "profile")
    sums = collections.Counter()
    for stack, weight in profiles["allocated"]:
        check(stack[1:] == ["pair", "24 bytes"], f"the stack is {stack}")
        sums[stack[0]] += weight
    check(abs(sums["(worker 1)"] - 24000) <= 128 and abs(sums["(mutator 3)"] - 48000) <= 128 and len(sums) == 2, f"{sums}")
    text = subprocess.run([sys.executable, REPORT, folder / "profile"], capture_output=True, text=True).stdout
    check("%  by worker 1" in text and "%  by mutator 3" in text, text)
    run(program, "plain", folder, "one")
    check('"mutator"' not in (folder / "one").read_text(), "a heap with one mutator names it")


def deep_stacks_are_cut(program, folder):
    run(program, "deep", folder)
    for stack, _ in read(folder / "profile")[0]["allocated"]:
        check(stack == ["(outer frames left out)"] + ["deep"] * 128 + ["pair", "24 bytes"], f"the stack is {stack}")


def many_functions_are_kept_apart(program, folder):
    run(program, "many", folder)
    found = by_function(read(folder / "profile")[0]["allocated"])
    check(set(found) == {f"f{i}" for i in range(3000)}, f"{len(found)} functions of 3000")
    check(all(RATE <= weight <= 3 * RATE for weight in found.values()), "each has two intervals, give or take one")


def odd_names_are_json(program, folder):
    run(program, "odd-names", folder)
    names = {frame["name"] for frame in read(folder / "profile")[1]["shared"]["frames"]}
    check('quote " backslash \\ line\n tab\t bell\a' in names, f"the names are {names}")
    odd = "ä€ 😀 bad \xff \xc0\x80 \xed\xa0\x80 cut \xe2\x82"
    check(odd in names, f"the names are {names}")


def exit_writes(program, folder):
    result = run(program, "exit", folder)
    shares = json.loads(result.stdout)
    del shares["kept"]
    check_shares(shares, read(folder / "profile")[0]["allocated"], "exit")


def what_is_young_at_exit_has_no_fate(program, folder):
    run(program, "young", folder, CRADLE_GC_NURSERY="4M")
    profiles, data = read(folder / "profile")
    allocated = total(profiles["allocated"])
    check(abs(allocated - 24 * 1000) <= RATE, f"{allocated} bytes in all")
    check(profiles["survived"] == [] and profiles["died young"] == [], "a fate without a collection")
    check(data["cradle"][0]["unknown_fate_bytes"] == allocated, f"the fates of {allocated} bytes: {data['cradle']}")


def an_old_file_is_replaced(program, folder):
    (folder / "profile").write_text("x" * 1_000_000)
    run(program, "shares", folder)
    read(folder / "profile")


def abort_keeps_what_was_written(program, folder):
    run(program, "abort", folder, expect=-6, rate=64)
    check(total(read(folder / "profile")[0]["allocated"]) > 1_000_000, "the profile ends early")


def heaps_share_a_file(program, folder):
    run(program, "two-heaps", folder)
    profiles = profiles_of(converted(folder / "profile"))
    check(len(profiles) == 6, f"the profiles are {list(profiles)}")
    first, second = (profiles[name] for name in sorted(profiles) if name.endswith(": allocated"))
    check(first and all("other" not in stack for stack, _ in first), "the first heap has the second one's")
    check(second and all(stack[0] == "other" for stack, _ in second), "the second heap has the first one's")


def a_child_leaves_its_parents_file(program, folder):
    run(program, "fork", folder)
    check(all("child" not in stack for stack, _ in read(folder / "profile")[0]["allocated"]), "the child wrote")


def a_child_has_its_own_file(program, folder):
    run(program, "fork", folder, "p%d")
    files = list(folder.glob("p*[0-9]"))
    check(len(files) == 2, f"the files are {files}")
    functions = [{name for stack, _ in read(file)[0]["allocated"] for name in stack} for file in files]
    check(sum("child" in names for names in functions) == 1, "one of the files is the child's")


def a_child_does_not_wait_for_a_thread_that_it_has_not(program, folder):
    run(program, "fork-while-sampled", folder)
    run(program, "fork-while-sampled", folder, "p%d")
    check(len(list(folder.glob("p*[0-9]"))) == 1, "the child wrote a profile without samples of its own")


def a_child_waits_for_a_thread_of_its_own(program, folder):
    run(program, "fork-busy", folder, "p%d", rate=64)
    files = list(folder.glob("p*[0-9]"))
    check(len(files) == 21, f"there are {len(files)} files")
    for file in files:
        read(file)


def a_closed_standard_error_is_not_the_profile(program, folder):
    environment = {**os.environ, "CRADLE_PROFILE": str(folder / "profile"),
                   "CRADLE_LOG": str(folder / "missing" / "file")}  # which is reported
    result = subprocess.run([program, "shares"], stdout=subprocess.DEVNULL, env=environment, timeout=200,
                            preexec_fn=lambda: os.close(2))
    check(result.returncode == 0, f"the program ended with {result.returncode}")
    read(folder / "profile")


def bad_input_is_told(program, folder):
    cases = [
        ("shares", "absent/profile", {}, "No such file or directory; there will be no profile"),
        ("own-sampler", "profile", {}, "samples its allocations itself"),
        ("shares", "profile", {"RATE": "0"}, "CRADLE_PROFILE_RATE=0: not accepted; wants a size from 64 to 1T"),
        ("shares", "profile", {"RATE": "-1"}, "CRADLE_PROFILE_RATE=-1: not accepted"),
        ("shares", "profile", {"RATE": "2T"}, "CRADLE_PROFILE_RATE=2T: not accepted"),
    ]
    for mode, file, variables, words in cases:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
        environment["CRADLE_PROFILE"] = str(folder / file)
        if "RATE" in variables:
            environment["CRADLE_PROFILE_RATE"] = variables["RATE"]
        result = subprocess.run([program, mode], capture_output=True, text=True, env=environment, timeout=200)
        check(result.returncode == 0, f"{words}: the program ended with {result.returncode}: {result.stderr}")
        check(words in result.stderr and result.stderr.count("\n") == 1, f"standard error is {result.stderr!r}")


def a_full_disk_is_told(program, folder):
    if not pathlib.Path("/dev/full").exists():
        print("  left out: there is no /dev/full here")
        return
    result = run(program, "shares", pathlib.Path("/"), "dev/full")
    check("/dev/full: No space left on device; the profile stops" in result.stderr, result.stderr)


def a_reader_that_goes_is_told(program, folder):
    os.mkfifo(folder / "fifo")
    reader = os.open(folder / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment["CRADLE_PROFILE"] = str(folder / "fifo")
    # The program prints its shares just before it writes the rest of the profile. It waits for a line first, which comes when the
    # reader has gone.
    process = subprocess.Popen([program, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True, env=environment)
    process.stdout.readline()
    os.close(reader)
    _, said = process.communicate("\n", timeout=200)
    check(process.returncode == 0, f"the program ended with {process.returncode}")
    check("fifo: Broken pipe; the profile stops" in said, said)


def a_limit_on_files_is_told(program, folder):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CRADLE_")}
    environment["CRADLE_PROFILE"] = str(folder / "profile")
    result = subprocess.run([program, "shares"], capture_output=True, text=True, env=environment, timeout=200,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    check(result.returncode == 0, f"the program ended with {result.returncode}: {result.stderr}")
    check("File too large; the profile stops" in result.stderr, result.stderr)


SCRIPT = """fn keeper(n) { let kept = [nil]; for (let i = 0; i < n; i += 1) kept = [kept]; return kept; }
fn waster(n) { for (let i = 0; i < n; i += 1) [i]; return nil; }
fn outer() { waster(60000); return keeper(60000); }
let kept = outer();
"""


def the_stackvms_functions_are_frames(program, folder):
    """The profile also reports the types of the survivors: the objects that keeper made, and hardly any of those that
    waster made."""
    script = folder / "script.vm"
    script.write_text(SCRIPT)
    run(program, script, folder, CRADLE_GC_NURSERY="64K")
    profiles, data = read(folder / "profile")
    shares = collections.Counter()
    for name in ("allocated", "survived"):
        for stack, weight in profiles[name]:
            if stack[:2] == ["main", "outer"] and "array" in stack[3:4]:
                shares[name, stack[2]] += weight
    check(shares["allocated", "waster"] > 1e6, f"what the functions allocated is {shares}")
    check(shares["survived", "keeper"] > 0.9 * shares["allocated", "keeper"] > 1e6, f"what keeper kept is {shares}")
    check(shares["survived", "waster"] < 0.05 * shares["allocated", "waster"], f"what waster left is {shares}")
    frames = {frame["name"]: frame for frame in data["shared"]["frames"]}
    check(frames["keeper"]["file"] == str(script) and frames["keeper"]["line"] == 1, f"the frame is {frames['keeper']}")


SCHEME = """(define (keeper n) (let keep ((i 0) (kept '())) (if (= i n) kept (keep (+ i 1) (cons i kept)))))
(define (waster n)
  (do ((i 0 (+ i 1))) ((= i n)) (list i i)))
(define (outer) (guard (e (#t (waster 20000) (keeper 60000))) (deeper 50)))
(define (deeper n) (if (= n 0) (raise 'enough) (+ 1 (deeper (- n 1)))))
(define kept (outer))
(define (down n) (if (= n 0) (length (keeper 20000)) (+ 1 (down (- n 1)))))
(down 200)
(map (lambda (x) (let ((made (list x x))) (car made))) (keeper 10000))
"""


def the_schemes_procedures_are_frames(program, folder):
    """A function called in tail position has no caller on the stack, and a raise removes the frames that it passes."""
    script = folder / "script.scm"
    script.write_text(SCHEME)
    run(program, script, folder, CRADLE_GC_NURSERY="64K")
    profiles, data = read(folder / "profile")
    pairs = collections.Counter()
    for name in ("allocated", "survived"):
        for stack, weight in profiles[name]:
            if stack[-2] == "pair":
                pairs[name, *stack[:-2]] += weight
    kept, wasted = ("(top level)", "keep"), ("(top level)", "outer", "(do)")
    check(pairs["survived", *kept] > 0.9 * pairs["allocated", *kept] > 1e6, f"what keeper kept is {pairs}")
    check(pairs["survived", *wasted] < 0.05 * pairs["allocated", *wasted], f"what waster left is {pairs}")
    check(pairs["allocated", *wasted] > 5e5, f"what waster allocated is {pairs}")
    check(pairs["allocated", "(top level)", "(lambda)"] > 1e5, f"what the lambda expression allocated is {pairs}")
    deep = [stack for stack, _ in profiles["allocated"] if stack[0] == "(outer frames left out)"]
    check(any(stack[1:-2] == ["down"] * 127 + ["keep"] for stack in deep), f"the deep stacks are {deep}")
    frames = {frame["name"]: frame for frame in data["shared"]["frames"]}
    check(frames["outer"]["file"] == str(script) and frames["outer"]["line"] == 4, f"the frame is {frames['outer']}")


TESTS = [
    shares_are_right, frames_say_where, ids_and_names_agree, no_stack_tells_types, deep_stacks_are_cut,
    mutators_are_told_apart,
    many_functions_are_kept_apart, odd_names_are_json, exit_writes, what_is_young_at_exit_has_no_fate,
    an_old_file_is_replaced, abort_keeps_what_was_written, heaps_share_a_file, a_child_leaves_its_parents_file,
    a_child_has_its_own_file, a_child_does_not_wait_for_a_thread_that_it_has_not, a_child_waits_for_a_thread_of_its_own,
    a_closed_standard_error_is_not_the_profile, bad_input_is_told, a_full_disk_is_told,
    a_reader_that_goes_is_told, a_limit_on_files_is_told,
]


def main():
    failed = 0
    machines = {the_stackvms_functions_are_frames: sys.argv[2], the_schemes_procedures_are_frames: sys.argv[3]} if len(sys.argv) > 2 else {}
    for test in TESTS + list(machines):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(machines.get(test, sys.argv[1]), pathlib.Path(folder))
                print(f"ok   {test.__name__}")
            except (Failure, OSError, ValueError, KeyError) as failure:
                failed += 1
                print(f"FAIL {test.__name__}: {failure}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
