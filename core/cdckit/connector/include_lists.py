"""Names chosen by include and exclude lists of regular expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from cdckit.api.checks import Unmatched
from cdckit.api.lists import patterns, split_names
from cdckit.api.plugin_config import did_you_mean
from cdckit.java.regex import compile_java, split_patterns


class Matcher:
    """A list of regular expressions, one of which must match a whole name, whatever its case.

    Args:
        text: the list.
        option: whose value it is, for messages.
    """

    def __init__(self, text: str, option: str = "") -> None:
        self._patterns = patterns(text, option)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def __call__(self, name: str) -> bool:
        """Whether one of them matches."""
        return any(pattern.fullmatch(name) for pattern in self._patterns)

    def rank(self, name: str) -> int:
        """The place in the list of the first that matches; behind the last where none does."""
        matching = (place for place, pattern in enumerate(self._patterns) if pattern.fullmatch(name))
        return next(matching, len(self._patterns))


class Choice:
    """An include list or an exclude list.

    Args:
        include: the one.
        exclude: the other.
        options: what their options' names begin with, for messages: `table`.
    """

    def __init__(self, include: str, exclude: str, options: str = "") -> None:
        self._include = Matcher(include, f"{options}.include.list" if options else "")
        self._exclude = Matcher(exclude, f"{options}.exclude.list" if options else "")

    def __bool__(self) -> bool:
        return bool(self._include) or bool(self._exclude)

    def rank(self, name: str) -> int:
        """A chosen name's place by the order of the include list."""
        return self._include.rank(name)

    def __call__(self, *names: str) -> bool:
        """Whether what has these names is chosen: one of them is included, or none excluded."""
        return any(map(self._include, names)) if self._include else not any(map(self._exclude, names))


def unmatched(text: str, names: Collection[str], option: str, *, literal: bool = False) -> Iterator[Unmatched]:
    """The entries of an include list that match nothing.

    Args:
        text: the list.
        names: what there is.
        option: whose value it is.
        literal: whether it holds names, and not regular expressions.
    """
    for entry in split_names(text) if literal else split_patterns(text):
        if entry in names:
            continue
        if literal or not any(map(compile_java(entry, ignore_case=True, option=option).fullmatch, names)):
            near = did_you_mean(entry.replace("\\", ""), names)
            yield Unmatched(option, f"'{entry}' matches nothing that there is{near}")
