#!/usr/bin/env python3
"""Checks that some test makes the collector print each of its messages about misuse.

    misuse_messages.py SOURCES PROGRAM...

Reads the words of the messages from the sources in the folder. The words are the literals that reach crd_misuse in one
of these ways:

    as an argument of crd_misuse, or of a function that passes a `const char *` parameter on to it (except a parameter
        called "what", which names the public function)
    as an argument of crd_text_add and crd_text_format, where crd_misuse gets the text's buffer
    as the result of a function, or the value of a variable, that is passed on to it

The conversions of a format are left out: the words before, between and after them count separately.

Runs the test programs, which write each message that they got to the file that MISUSE_LOG names, and prints the words
that no message had. Exits with 1 if there are any.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MISUSE = r"crd_v?misuse\w*"
STRING = r'"(?:\\.|[^"\\])*"'
LITERAL = re.compile(STRING)
# Adjacent literals, and the macros that end a conversion.
JOINED = re.compile(rf"{STRING}(?:\s*(?:{STRING}|PRI\w+))*")
ASSIGNED = re.compile(rf'\b(\w+) = ((?:{STRING}|[^";])*);')
RETURN = re.compile(rf'\breturn ((?:{STRING}|[^";])*);')
CONVERSION = re.compile(r"%[-+#0]*(?:\*|\d+)?(?:\.(?:\*|\d+)?)?(?:hh?|ll?|[jztL])?(?:[diouxXeEfFgGaAcsp]|PRI\w+)")
FUNCTION = re.compile(r"^((?:[\w*]+(?:\([^(){};]*\))?[ \t*]+)+\**(\w+)\([^;{]*?\)[^;{]*)\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
ESCAPES = {"n": "\n", "t": "\t"}


class Function:
    """A function: its definition begins in the first column and ends with a brace in the first column."""

    def __init__(self, head, name, body):
        self.name, self.body = name, body
        self.is_static = bool(re.search(r"\bstatic\b", head))
        self.returns_words = re.search(rf"const char \*{name}\(", head) is not None
        self.parameters = set(re.findall(r"const char \*(\w+)\b(?!\()", head)) - {"what"}

    def reaching(self, sinks):
        """What makes a message: the arguments of the sinks, of crd_text_* where a sink gets a text, and what is
        assigned to them."""
        found = [arguments for sink in sinks for arguments in arguments_of(self.body, sink)]
        if any(re.search(r"(?:\.|->)buffer\b", arguments) for arguments in found):
            found += arguments_of(self.body, r"crd_text_(?:add|v?format)\w*")
            found += re.findall(r'\.buffer = ("[^"]*")', self.body)
        return list(dict.fromkeys(found + self.assigned_to(found)))

    def assigned_to(self, code):
        return [value for variable, value in ASSIGNED.findall(self.body) if any(mentions(piece, variable) for piece in code)]

    def returned(self):
        found = RETURN.findall(self.body)
        return found + self.assigned_to(found)

    def is_sink(self, sinks):
        return any(mentions(arguments, parameter) for arguments in self.reaching(sinks) for parameter in self.parameters)

    def answers(self, sinks, is_source):
        """The names of functions whose result gets into a message, or into the result of another such function."""
        for piece in self.reaching(sinks) + (self.returned() if is_source else []):
            yield from re.findall(r"\b(\w+)\(", LITERAL.sub("", piece))


def mentions(code, name):
    return re.search(rf"\b{name}\b", LITERAL.sub("", code)) is not None


def functions(text):
    return [Function(*match.groups()) for match in FUNCTION.finditer(text)]


def arguments_of(body, name):
    """The text between the parentheses of each call."""
    for match in re.finditer(rf"\b{name}\(", body):
        depth, at = 1, match.end()
        while depth and at < len(body):
            literal = LITERAL.match(body, at)
            if literal:
                at = literal.end()
                continue
            depth += {"(": 1, ")": -1}.get(body[at], 0)
            at += 1
        yield body[match.end() : at - 1]


def literals(code):
    """The literals of a piece of code; adjacent ones are joined."""
    for joined in JOINED.finditer(code):
        yield re.sub(rf"{STRING}|\s+", lambda part: part[0].strip()[1:-1], joined[0])


def words_in(code):
    """The fixed words of a message: the literals of a piece of code without their conversions."""
    for literal in literals(code):
        for words in CONVERSION.split(literal.replace("%%", "\0")):
            yield re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[1]), words.replace("\0", "%"))


def closure(files, begin, grow):
    """{file: names}: starts with begin and repeats grow(file, function, names); a static name counts only in its own
    file."""
    names = {file: set(begin) for file in files}
    is_growing = True
    while is_growing:
        is_growing = False
        for file, members in files.items():
            local = {function.name for function in members if function.is_static}
            for function in members:
                for name in set(grow(file, function, names[file])) - names[file]:
                    is_growing = True
                    for place in [names[file]] if name in local else names.values():
                        place.add(name)
    return names


def words_of(texts):
    """(file, words) of each message of a program, which is {file: text}."""
    files = {file: functions(text) for file, text in texts.items()}
    give_words = {function.name for members in files.values() for function in members if function.returns_words}
    sinks = closure(files, {MISUSE}, lambda file, function, known: [function.name] if function.is_sink(known) else [])
    answers = closure(files, (), lambda file, function, known:
                      give_words & set(function.answers(sinks[file], function.name in known)))
    for file, members in files.items():
        for function in members:
            code = function.reaching(sinks[file]) + (function.returned() if function.name in answers[file] else [])
            for piece in code:
                yield from ((file, words) for words in words_in(piece) if re.search(r"\w", words))


# --- the self-test ---

HELPERS = """
static CRADLE_COLD _Noreturn void entry_misuse(cradle_heap *heap, const char *what, const char *why) {
  crd_misuse(heap, "%s: %s", what, why);
}
"""
# Each: sources, and the words that are to be found in them.
PLANTED = [
    ('static void f(int a) {\n  if (a) crd_misuse(h, "one "\n     "two");\n  x("three");\n}\n', ["one two"]),
    ('void g(void) {\n  crd_text_add(&text, "a)(");\n  crd_misuse(heap, text.buffer);\n}\n', ["a)("]),
    ('void g(void) {\n  crd_text_add(&text, "lost");\n  return crd_fail(error, text.buffer);\n}\n', []),
    ('static void f(heap *h, const char *why) {\n  crd_misuse(h, why);\n}\nvoid g(void) {\n  f(h, "handed on");\n}\n', ["handed on"]),
    # formats
    ('void f(void) {\n  crd_misuse(h, "%s: no queue %u; they are 1 to %zu", what, n, m);\n}\n', [": no queue ", "; they are 1 to "]),
    ('void f(void) {\n  crd_misuse(h, "at %#" PRIx64 " of %" PRIu64 " bytes", a, b);\n}\n', ["at ", " of ", " bytes"]),
    ('void f(void) {\n  crd_misuse(h, "needs %" PRIu64, a);\n}\n', ["needs "]),
    ('void f(void) {\n  crd_misuse(h, "%-8.*s of %5.1f %% or \\"%c\\"" " at %p!", 1, s, d, c, p);\n}\n',
     [" of ", ' % or "', '" at ']),
    ('void f(void) {\n  crd_misuse(h, "handle %s", open ? "was freed" : "is none");\n}\n', ["handle ", "was freed", "is none"]),
    ('void f(void) {\n  crd_text_format(&text, "a %s", x);\n  crd_text_format(&text, "b");\n  crd_misuse(h, "%s", text.buffer);\n}\n',
     ["a ", "b"]),
    ('void f(void) {\n  crd_text_format(text, "a %s", x);\n  crd_misuse(h, "%s", text->buffer);\n}\n', ["a "]),
    ('bool f(void) {\n  return crd_fail(error, "not this: %zu", n);\n}\n', []),
    ('void f(void) {\n  const char *least = fixed ? "" : "at least ";\n  const char *other = "lost";\n  crd_misuse(h, "%s%zu", least, n);\n}\n',
     ["at least "]),
    # helpers
    ('void crd_misuse(heap *h, const char *format, ...) {\n  crd_vmisuse(h, format, a);\n}\nvoid g(void) {\n'
     '  crd_misuse(h, "once");\n}\n', ["once"]),
    (HELPERS + 'void g(void) {\n  entry_misuse(h, "cradle_pin", "it is NULL");\n}\n', ["cradle_pin", "it is NULL"]),
    (HELPERS + 'static void f(const char *what) {\n  entry_misuse(h, what, "no");\n}\nvoid g(void) {\n  f("cradle_pin");\n}\n', ["no"]),
    ('CRADLE_PRINTF(1, 2) static void f(const char *format, ...) {\n  va_start(a, format);\n  crd_text_vformat(&text, format, a);\n'
     '  crd_misuse(h, "%s", text.buffer);\n}\nvoid g(void) {\n  f("no type %u", 1);\n}\n', ["no type "]),
    (HELPERS + 'static const char *state_words(int s) {\n  return s ? "walks" : other(s);\n}\nstatic const char *other(int s) {\n'
     '  return "sleeps";\n}\nvoid g(void) {\n  entry_misuse(h, what, state_words(1));\n}\n', ["walks", "sleeps"]),
    ('static const char *fault(int s) {\n  return "bad";\n}\nstatic const char *first(int s) {\n  const char *f = fault(s);\n'
     '  return f;\n}\nvoid g(void) {\n  const char *found = first(1);\n  if (found) crd_misuse(h, "%s", found);\n}\n', ["bad"]),
    (HELPERS + 'static const char *fault(int s) {\n  return s ? "left " "with "\n    "longjmp; so" : NULL;\n}\nvoid g(void) {\n'
     '  entry_misuse(h, what, fault(1));\n}\n', ["left with longjmp; so"]),
    ('static const char *fault(int s) {\n  return "bad";\n}\nbool g(void) {\n  return crd_fail(error, "%s", fault(1));\n}\n', []),
]


def self_test():
    for text, expected in PLANTED:
        found = [words for _, words in words_of({"file.c": text})]
        assert sorted(found) == sorted(expected), f"{text}\nexpected {expected}, found {found}"
    helper = HELPERS.replace("static ", "").replace("entry_misuse", "crd_entry_misuse")
    user = 'void g(void) {\n  crd_entry_misuse(h, "", "elsewhere");\n}\n'
    assert list(words_of({"a.c": user, "b.c": helper})) == [("a.c", "elsewhere")]
    assert list(words_of({"a.c": user.replace("crd_", ""), "b.c": HELPERS})) == []


def main():
    self_test()
    sources, programs = Path(sys.argv[1]), sys.argv[2:]
    paths = sorted(sources.rglob("*.[ch]"))
    wanted = list(words_of({str(path.relative_to(sources)): path.read_text(encoding="utf-8") for path in paths}))
    met = ""
    with tempfile.NamedTemporaryFile("r", encoding="utf-8") as log:
        for program in programs:
            ran = subprocess.run([program], env={**os.environ, "MISUSE_LOG": log.name}, capture_output=True, text=True,
                                 errors="replace", timeout=240)
            met += ran.stderr
            if ran.returncode != 0:
                print(f"{program} ended with {ran.returncode}:\n{ran.stderr}{ran.stdout[-2000:]}")
                return 1
        met += log.read()
    missing = [(name, words) for name, words in wanted if words not in met]
    for name, words in missing:
        print(f'{name}: no test meets "{words}"')
    print(f"{len(wanted)} messages and parts of them, {len(missing)} not met")
    return 1 if missing or len(wanted) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
