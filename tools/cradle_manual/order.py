"""Where a reader finds things: the order of the reference, its headers by what they are for, and what helps the search. The order
of the pages is that of docs/pages.md.
"""

# Words that a reader looks for and a page does not use.
KEYWORDS = {
    "docs/debugging-a-missing-root.md": "crash, segfault, SIGSEGV, dangling, pointer, stale, use-after-free, corrupted",
    "docs/concepts.md": "local, loop, protect, tutorial, guide",
    "docs/building.md": "install, link, compile, CMake, pkg-config, header, single-file",
    "docs/failures.md": "exception, error, abort, assert, OOM",
    "docs/order-of-death.md": "weakref, destructor, cleanup",
    "docs/why.md": "comparison, alternative, versus, choose",
    "docs/cookbook.md": "recipe, example",
    "docs/glossary.md": "definition, term",
    "docs/faq.md": "question",
    "docs/tuning.md": "latency, slow, faster, performance, memory",
}
# Pages that hold every word, and answer no question.
NOT_SEARCHED = {"CHANGELOG.md", "docs/pages.md", "index.md"}

HEADERS = [
    ("A heap and its objects", ["heap", "mutator", "options", "object", "base", "cradle"]),
    ("Allocating, rooting, storing", ["typed", "roots", "barrier", "new"]),
    ("Life and death of objects", ["weak", "weak_set", "finalizer", "identity", "pin", "handle", "image"]),
    ("Strings, lists, maps and symbols", ["kit"]),
    ("Running and watching", ["runtime", "control", "statistics", "event", "inspect", "sample"]),
]
