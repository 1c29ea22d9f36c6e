"""What decides what a statement means, besides its text: the server's kind, its character sets, the session."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntFlag, StrEnum
from functools import lru_cache
from typing import Any, NamedTuple


class Flavor(StrEnum):
    """The two lines of servers; their grammars and defaults differ."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


class SqlMode(IntFlag):
    """The bits of `sql_mode` that change how DDL is read, or what it does to rows.

    The numbers are those of the status variable Q_SQL_MODE_CODE in a QUERY event, the same on both servers, but for
    EMPTY_STRING_IS_NULL, which is MariaDB's alone; other bits may be set and mean nothing here.
    """

    NONE = 0
    REAL_AS_FLOAT = 1 << 0
    ANSI_QUOTES = 1 << 2
    ORACLE = 1 << 9
    NO_AUTO_VALUE_ON_ZERO = 1 << 19
    NO_BACKSLASH_ESCAPES = 1 << 20
    STRICT_TRANS_TABLES = 1 << 21
    STRICT_ALL_TABLES = 1 << 22
    EMPTY_STRING_IS_NULL = 1 << 32


@dataclass(frozen=True, slots=True)
class DdlSession:
    """The variables of the session that ran a statement, from the QUERY event's status variables.

    Attributes:
        sql_mode: Q_SQL_MODE_CODE.
        collation_server: third number of Q_CHARSET_CODE, as a name; what a new database gets.
        default_collations: for a character set a session may set another default collation: MySQL's
            `default_collation_for_utf8mb4`, MariaDB's `character_set_collations`.
        explicit_defaults_for_timestamp: when off, TIMESTAMP columns are NOT NULL and get defaults unless the
            statement says otherwise.
        time_zone: the session's, or None where the event does not tell.
        now: when the statement began, or None where that is not known.
        shown: the statement is what a server shows of a table: there NOT NULL stands wherever it holds, and
            AUTO_INCREMENT does not imply it.
    """

    sql_mode: SqlMode = SqlMode.NONE
    collation_server: str | None = None
    default_collations: Mapping[str, str] = field(default_factory=dict)
    explicit_defaults_for_timestamp: bool = True
    time_zone: str | None = None
    now: datetime | None = None
    shown: bool = False

    @property
    def strict(self) -> bool:
        """Whether values that do not fit are errors."""
        return bool(self.sql_mode & (SqlMode.STRICT_TRANS_TABLES | SqlMode.STRICT_ALL_TABLES))


SHOWN = DdlSession(shown=True)
"""The session of statements that a server shows."""


# -- character sets and collations: which belongs to which, and what a server takes when none is named


class Collation(NamedTuple):
    """A collation and the character set it orders."""

    charset: str
    name: str


class Charset(NamedTuple):
    """What a server knows of a character set: its default collation and the most bytes a character takes."""

    collation: str
    max_bytes: int


BINARY = Collation("binary", "binary")

_COMMON = {
    "armscii8": Charset("armscii8_general_ci", 1),
    "ascii": Charset("ascii_general_ci", 1),
    "big5": Charset("big5_chinese_ci", 2),
    "binary": Charset("binary", 1),
    "cp1250": Charset("cp1250_general_ci", 1),
    "cp1251": Charset("cp1251_general_ci", 1),
    "cp1256": Charset("cp1256_general_ci", 1),
    "cp1257": Charset("cp1257_general_ci", 1),
    "cp850": Charset("cp850_general_ci", 1),
    "cp852": Charset("cp852_general_ci", 1),
    "cp866": Charset("cp866_general_ci", 1),
    "cp932": Charset("cp932_japanese_ci", 2),
    "dec8": Charset("dec8_swedish_ci", 1),
    "eucjpms": Charset("eucjpms_japanese_ci", 3),
    "euckr": Charset("euckr_korean_ci", 2),
    "gb18030": Charset("gb18030_chinese_ci", 4),
    "gb2312": Charset("gb2312_chinese_ci", 2),
    "gbk": Charset("gbk_chinese_ci", 2),
    "geostd8": Charset("geostd8_general_ci", 1),
    "greek": Charset("greek_general_ci", 1),
    "hebrew": Charset("hebrew_general_ci", 1),
    "hp8": Charset("hp8_english_ci", 1),
    "keybcs2": Charset("keybcs2_general_ci", 1),
    "koi8r": Charset("koi8r_general_ci", 1),
    "koi8u": Charset("koi8u_general_ci", 1),
    "latin1": Charset("latin1_swedish_ci", 1),
    "latin2": Charset("latin2_general_ci", 1),
    "latin5": Charset("latin5_turkish_ci", 1),
    "latin7": Charset("latin7_general_ci", 1),
    "macce": Charset("macce_general_ci", 1),
    "macroman": Charset("macroman_general_ci", 1),
    "sjis": Charset("sjis_japanese_ci", 2),
    "swe7": Charset("swe7_swedish_ci", 1),
    "tis620": Charset("tis620_thai_ci", 1),
    "ucs2": Charset("ucs2_general_ci", 2),
    "ujis": Charset("ujis_japanese_ci", 3),
    "utf16": Charset("utf16_general_ci", 4),
    "utf16le": Charset("utf16le_general_ci", 4),
    "utf32": Charset("utf32_general_ci", 4),
    "utf8mb3": Charset("utf8mb3_general_ci", 3),
}
_UTF8MB4 = {
    Flavor.MYSQL: Charset("utf8mb4_0900_ai_ci", 4),
    Flavor.MARIADB: Charset("utf8mb4_general_ci", 4),
}


@dataclass(frozen=True, slots=True)
class Charsets:
    """The character sets of a server.

    Attributes:
        known: by name, without regard to case.
        server: what a database gets that names none, if the session does not say.
        utf8: which character set the name `utf8` stands for.
        collations: by number, as QUERY events name them.
    """

    known: Mapping[str, Charset]
    server: Collation
    utf8: str = "utf8mb3"
    collations: Mapping[int, Collation] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        # Every split of the log carries them, and a server knows hundreds of collations.
        lines = "\n".join(f"{number} {found.charset} {found.name}" for number, found in self.collations.items())
        return _unpacked, (dict(self.known), self.server, self.utf8, zlib.compress(lines.encode()))

    @classmethod
    def of(cls, flavor: Flavor) -> Charsets:
        """Return those of a recent server of that kind with its own defaults."""
        utf8mb4 = _UTF8MB4[flavor]
        return cls({**_COMMON, "utf8mb4": utf8mb4}, Collation("utf8mb4", utf8mb4.collation))

    def charset(self, name: str) -> str:
        """Return the server's own name of a character set."""
        folded = (
            name.lower()
        )  # utf8 is a name of utf8mb3 as yet: https://dev.mysql.com/doc/refman/en/charset-unicode-utf8.html
        return self.utf8 if folded in ("utf8", "utf8mb3") else folded

    def collation(self, name: str, charset: str | None = None) -> Collation:
        """Return a collation by name.

        Args:
            name: as a statement has it.
            charset: of the column, for the collations of MariaDB that serve several (`uca1400_ai_ci`).
        """
        folded = name.lower()
        if folded == "binary":
            return BINARY
        prefix, _, rest = folded.partition("_")
        if prefix == "uca1400":
            charset = charset or self.server.charset
            return Collation(charset, f"{charset}_{folded}")
        owner = self.charset(prefix)
        return Collation(owner, f"{owner}_{rest}")

    def default(self, charset: str, overrides: Mapping[str, str]) -> Collation:
        """Return what a character set is ordered by when no collation is named.

        Args:
            charset: its name.
            overrides: the session's own defaults by character set.
        """
        name = self.charset(charset)
        collation = overrides.get(name)
        if collation is None:
            collation = self.known[name].collation if name in self.known else f"{name}_general_ci"
        return Collation(name, collation)

    def binary_order(self, charset: str) -> Collation:
        """Return the collation of a character set that compares codes."""
        name = self.charset(charset)
        return BINARY if name == "binary" else Collation(name, f"{name}_bin")

    def max_bytes(self, charset: str) -> int:
        """Return how many bytes a character takes at the most."""
        known = self.known.get(self.charset(charset))
        return known.max_bytes if known else 1


def _unpacked(known: Mapping[str, Charset], server: Collation, utf8: str, collations: bytes) -> Charsets:
    return Charsets(known, server, utf8, _unpacked_collations(collations))


@lru_cache(maxsize=8)
def _unpacked_collations(packed: bytes) -> Mapping[int, Collation]:
    lines = (line.split(" ", 2) for line in zlib.decompress(packed).decode().splitlines())
    return {int(number): Collation(charset, name) for number, charset, name in lines}
