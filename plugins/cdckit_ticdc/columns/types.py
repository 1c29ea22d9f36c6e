"""Types of columns as MySQL and TiDB write them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

_TYPE = re.compile(
    r"\s*+([a-z]\w*+(?:\s++(?:precision|varying|unsigned|signed|zerofill)\b)*+)\s*+(?:\((.*)\))?\s*+((?:\w++\s*+)*+)",
    re.S | re.I,
)
_LABEL = re.compile(r"'((?:[^']|'')*+)'")
_SIGNS = frozenset({"unsigned", "signed", "zerofill"})
_SAME = {
    "integer": "int",
    "numeric": "decimal",
    "dec": "decimal",
    "fixed": "decimal",
    "real": "double",
    "double precision": "double",
    "character": "char",
    "character varying": "varchar",
    "var_string": "varchar",
    "tidbvectorfloat32": "vector",
}
BINARY = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
"""Types whose values are bytes."""
TEXT = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
"""Types whose values are texts."""
INTEGERS = frozenset({"tinyint", "smallint", "mediumint", "int", "bigint"})
_IMPLIED: dict[str, tuple[int, int | None]] = {
    "bit": (1, None),
    "decimal": (10, 0),
    "time": (0, None),
    "datetime": (0, None),
    "timestamp": (0, None),
}
"""Length and scale of a declaration which gives none (MySQL's reference manual, "Data Types")."""


@dataclass(frozen=True, slots=True)
class MySqlType:
    """A column's type, as far as it is known.

    Attributes:
        name: in small letters, such as `bigint`.
        unsigned: whether it is UNSIGNED.
        length: precision of a number, digits of a second's fraction, or bits; None: not known.
        scale: digits after the point; None: not known.
        labels: those of an ENUM or SET; None: not known.
    """

    name: str
    unsigned: bool = False
    length: int | None = None
    scale: int | None = None
    labels: tuple[str, ...] | None = None

    @property
    def declared(self) -> MySqlType:
        """The type that a declaration without length means."""
        implied = _IMPLIED.get(self.name)
        if implied is None or self.length is not None:
            return self if self.scale is not None or self.name != "decimal" else replace(self, scale=0)
        return replace(self, length=implied[0], scale=implied[1])


def parse_type(text: str) -> MySqlType:
    """The type that `text` names, such as `bigint(20) unsigned` or `enum('a','b')`; what it lacks is not known.

    Raises:
        ValueError: it is no type.
    """
    found = _TYPE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no type of a column")
    words, inside, after = found[1].lower(), found[2], found[3].lower()
    unsigned = "unsigned" in f"{words} {after}".split()
    words = " ".join(word for word in words.split() if word not in _SIGNS)
    if words in {"bool", "boolean"}:
        return MySqlType("tinyint", length=1)
    name = _SAME.get(words, words)
    if inside is None:
        return MySqlType(name, unsigned)
    if name in {"enum", "set"}:
        return MySqlType(name, labels=tuple(label.replace("''", "'") for label in _LABEL.findall(inside)))
    numbers = [int(part) for part in inside.split(",")]
    return MySqlType(name, unsigned, numbers[0], numbers[1] if len(numbers) > 1 else None)
