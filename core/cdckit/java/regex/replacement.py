r"""Java's replacement strings: `$1`, `${name}` and `\` before a character to be taken as it is."""

from __future__ import annotations

import re

from cdckit.java.regex.bounded import Found, UserPattern
from cdckit.java.regex.error import JavaRegexError

_DIGITS = re.compile("[0-9]+")
_NAME = re.compile(r"\{([a-zA-Z][a-zA-Z0-9]*)\}")


class Replacement:
    """A replacement string read for one pattern; called with a match, it gives the text to put there.

    As `java.util.regex.Matcher.appendReplacement` has it: `$12` means group 12 where the pattern has so many, else
    group 1 followed by `2`; a group that took no part gives nothing.

    Raises:
        JavaRegexError: it names a group that the pattern does not have, or ends in the middle of a reference.
    """

    def __init__(self, template: str, pattern: UserPattern) -> None:
        self._template = template
        self._pattern = pattern
        self._parts: list[str | int] = []
        at = 0
        while at < len(template):
            at = self._read(at)

    def __call__(self, match: Found) -> str:
        """The text that stands in the match's place."""
        return "".join(part if isinstance(part, str) else (match[part] or "") for part in self._parts)

    def _read(self, at: int) -> int:
        """Takes the part at `at`; says where the next one begins."""
        char = self._template[at]
        if char == "$":
            return self._read_reference(at + 1)
        if char != "\\":
            self._parts.append(char)
            return at + 1
        if at + 1 == len(self._template):
            raise JavaRegexError(r"a replacement cannot end with '\'; write '\\' for a backslash")
        self._parts.append(self._template[at + 1])
        return at + 2

    def _read_reference(self, at: int) -> int:
        if named := _NAME.match(self._template, at):
            if named[1] not in self._pattern.groupindex:
                raise JavaRegexError(f"the regex has no group called '{named[1]}'")
            self._parts.append(self._pattern.groupindex[named[1]])
            return named.end()
        digits = _DIGITS.match(self._template, at)
        if digits is None:
            raise JavaRegexError(r"'$' must be followed by a group's number or '{name}'; write '\$' for a dollar sign")
        end = at + 1
        while end < digits.end() and int(self._template[at : end + 1]) <= self._pattern.groups:
            end += 1
        group = int(self._template[at:end])
        if group > self._pattern.groups:
            raise JavaRegexError(f"the regex has no group {group}")
        self._parts.append(group)
        return end
