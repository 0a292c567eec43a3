"""Names that a program chose, in a log, a dump or its memory, as the tools print them. A name may hold any bytes and be of any length."""


def shown(text, most=200):
    """The text, fit for a terminal: what cannot be printed as an escape, and a long one cut."""
    text = str(text)
    end = "..." if len(text) > most else ""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[:most]) + end
