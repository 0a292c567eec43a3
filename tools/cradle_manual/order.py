"""The order of the reference: its headers by what a reader looks for. The order of the pages is that of docs/README.md."""

HEADERS = [
    ("A heap and its objects", ["heap", "mutator", "options", "object", "base", "cradle"]),
    ("Allocating, rooting, storing", ["typed", "roots", "barrier", "new", "items"]),
    ("Life and death of objects", ["weak", "weak_set", "finalizer", "identity", "pin", "handle", "prebuilt"]),
    ("Strings, lists, maps and symbols", ["kit"]),
    ("Running and watching", ["runtime", "control", "statistics", "pauses", "event", "inspect", "sample", "profile", "backtrace"]),
]
