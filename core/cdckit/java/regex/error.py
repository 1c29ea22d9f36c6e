"""What is wrong with a pattern or a replacement."""

from __future__ import annotations


class JavaRegexError(ValueError):
    """A pattern or replacement string that Java refuses, or that cannot be said in Python's dialect.

    It is a ValueError so that a config model tells it with the option's name.
    """
