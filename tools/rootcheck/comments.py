"""The comments with which a program speaks to cradle-rootcheck, each with a reason:

    // cradle-rootcheck: ok REASON                on the line of a finding or the one before it: accepts it
    // cradle-rootcheck: never-collects REASON    where a pointer to functions, or a typedef of such pointers, is declared
"""

import re

from . import syntax

COMMENT = re.compile(r"(?://|/\*)\s*cradle-rootcheck:\s*(\S*)\s*(.*?)\s*(?:\*/)?\s*$")
OK, NEVER_COLLECTS = "ok", "never-collects"
WORDS = (OK, NEVER_COLLECTS)


class Comment:
    def __init__(self, word, reason):
        self.word, self.reason = word, reason
        self.used = False


class Comments:
    """The comments of the files read."""

    def __init__(self):
        self.files = {}

    def of(self, name):
        if name not in self.files:
            lines = syntax.contents(name).decode("utf-8", "replace").splitlines()
            found = ((number, COMMENT.search(text)) for number, text in enumerate(lines, 1) if "cradle-rootcheck" in text)
            self.files[name] = {number: Comment(match.group(1), match.group(2)) for number, match in found if match}
        return self.files[name]

    def says(self, word, name, line):
        """Whether the line or the one before it has such a comment, with its reason."""
        comments = self.of(name)
        for place in (line, line - 1):
            comment = comments.get(place)
            if comment is not None and comment.word == word and comment.reason:
                comment.used = True
                return True
        return False

    def mistakes(self, names):
        """(name, line, text) of comments that cannot be understood or have no effect."""
        for name in names:
            for line, comment in self.of(name).items():
                if comment.word not in WORDS:
                    yield name, line, f"'{comment.word}': only {' and '.join(repr(word) for word in WORDS)} are known"
                elif not comment.reason:
                    yield name, line, f"the reason is missing: // cradle-rootcheck: {comment.word} REASON"
                elif not comment.used and comment.word == OK:
                    yield name, line, "nothing is found here: the comment can go"
                elif not comment.used:
                    yield name, line, "no pointer to functions that is called is declared here: the comment can go"
