"""What is written to a log from now on: of a file by its name, as tail -F, or of standard input."""

import codecs
import os
import select

# So much is read at once.
READ_MOST = 4 << 20
# The first bytes of a log hold its time and process, so they tell one log from the next in the same file.
HEAD_BYTES = 256


class FileTail:
    """The file need not exist yet. It may be emptied and written again, or replaced by another."""

    has_ended = False

    def __init__(self, path):
        self.path = path
        self.file = None
        self.head = b""
        self.position = 0

    def read(self):
        """(whether another log begins here, the next bytes)."""
        if self.file is None:
            return False, self._opened()
        self.file.seek(self.position)
        data = self.file.read(READ_MOST)
        if self._is_another():  # asked after reading, so that no bytes of another log are taken for this one's
            self.close()
            return True, self._opened()
        return False, self._taken(data)

    def close(self):
        if self.file is not None:
            self.file.close()
        self.file, self.head, self.position = None, b"", 0

    def _opened(self):
        try:
            self.file = open(self.path, "rb", buffering=0)
        except FileNotFoundError:
            return b""
        return self._taken(self.file.read(READ_MOST))

    def _taken(self, data):
        self.head += data[: HEAD_BYTES - len(self.head)]
        self.position += len(data)
        return data

    def _is_another(self):
        mine = os.fstat(self.file.fileno())
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            return False  # renamed or removed: until there is a new file, this one is the log
        if (mine.st_dev, mine.st_ino) != (named.st_dev, named.st_ino):
            return True
        self.file.seek(0)
        return self.file.read(len(self.head)) != self.head


class PipeTail:
    """Standard input, up to its end."""

    def __init__(self):
        self.has_ended = False

    def read(self):
        if self.has_ended or not select.select([0], [], [], 0)[0]:
            return False, b""
        data = os.read(0, READ_MOST)
        self.has_ended = not data
        return False, data

    def close(self):
        pass


class Lines:
    """Bytes into whole lines. What comes after the last end of a line waits for its rest."""

    def __init__(self):
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.rest = ""

    def add(self, data):
        *lines, self.rest = (self.rest + self.decoder.decode(data)).split("\n")
        return [line.removesuffix("\r") for line in lines]
