"""The options `column.truncate.*` and `column.mask.*`: which columns they mean, and what is done to those."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import itemgetter

from cdckit.connector.include_lists import Matcher
from cdckit_mysql.table import Column, TableId
from cdckit_mysql.values.mapping import ColumnMapping, Hash, Mask, Truncation, digest_name

OPTIONS = (r"column\.truncate\.to\..+", r"column\.mask\.with\..+", r"column\.mask\.hash\..+")
"""Regular expressions of their names."""


def _hash(version: str | None, algorithm: str, salt: str) -> Hash:
    return Hash(digest_name(algorithm), salt, serialized=not version)


_MAKERS: tuple[tuple[re.Pattern[str], Callable[..., ColumnMapping]], ...] = (
    (re.compile(r"column\.mask\.with\.(\d+)\.chars"), lambda length: Mask(int(length))),
    (re.compile(r"column\.mask\.hash\.(v2\.)?([^.]+)\.with\.salt\.(.+)"), _hash),
    (re.compile(r"column\.truncate\.to\.(\d+)\.chars"), lambda length: Truncation(int(length))),
)
"""In the order in which they take precedence: what is to be hidden is not shown in part."""


class ColumnMappings:
    """The options, each with its columns.

    Args:
        options: for each option's name its regular expressions of `database.table.column`.

    Raises:
        ValueError: a name or a value cannot be understood; the message keeps the salt to itself.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        rules = []
        for name, columns in options.items():
            try:
                rules.append(_rule(name, columns))
            except ValueError as error:
                raise ValueError(f"{_without_salt(name)}: {error}") from None
        self._rules = [(matches, mapping) for _, matches, mapping in sorted(rules, key=itemgetter(0))]

    def of(self, table: TableId, column: Column) -> ColumnMapping | None:
        """What is done to a column; the first of the options that means it decides."""
        if not self._rules:
            return None
        name = f"{table}.{column.name}"
        return next((mapping for matches, mapping in self._rules if matches(name)), None)


def _rule(name: str, columns: str) -> tuple[int, Matcher, ColumnMapping]:
    for rank, (pattern, make) in enumerate(_MAKERS):
        if found := pattern.fullmatch(name):
            return rank, Matcher(columns), make(*found.groups())
    raise ValueError(
        "should be column.truncate.to.LENGTH.chars, column.mask.with.LENGTH.chars, "
        "column.mask.hash.ALGORITHM.with.salt.SALT or column.mask.hash.v2.ALGORITHM.with.salt.SALT"
    )


def _without_salt(name: str) -> str:
    """The name for messages: the salt is a secret."""
    return re.sub(r"(column\.mask\.hash\.(v2\.)?[^.]+).*", r"\1.with.salt.…", name)
