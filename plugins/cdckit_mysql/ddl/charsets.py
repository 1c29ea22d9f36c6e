"""Character sets and collations: which belongs to which, and what a server takes when none is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from cdckit_mysql.ddl.session import Flavor

if TYPE_CHECKING:
    from pymysql.connections import Connection


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
_CODECS = {
    "ascii": "ascii",
    "big5": "big5hkscs",
    "cp1250": "cp1250",
    "cp1251": "cp1251",
    "cp1256": "cp1256",
    "cp1257": "cp1257",
    "cp850": "cp850",
    "cp852": "cp852",
    "cp866": "cp866",
    "cp932": "cp932",
    "eucjpms": "euc_jp",
    "euckr": "euc_kr",
    "gb18030": "gb18030",
    "gb2312": "gb2312",
    "gbk": "gbk",
    "greek": "iso8859_7",
    "hebrew": "iso8859_8",
    "koi8r": "koi8_r",
    "koi8u": "koi8_u",
    "latin2": "iso8859_2",
    "latin5": "iso8859_9",
    "latin7": "iso8859_13",
    "macce": "mac_latin2",
    "macroman": "mac_roman",
    "sjis": "shift_jis",
    "tis620": "tis_620",
    "ucs2": "utf_16_be",
    "ujis": "euc_jp",
    "utf16": "utf_16_be",
    "utf16le": "utf_16_le",
    "utf32": "utf_32_be",
}


@dataclass(frozen=True, slots=True)
class Charsets:
    """The character sets of a server.

    Attributes:
        known: by name, without regard to case.
        server: what a database gets that names none, if the session does not say.
        utf8: which character set the name `utf8` stands for.
    """

    known: Mapping[str, Charset]
    server: Collation
    utf8: str = "utf8mb3"

    @classmethod
    def of(cls, flavor: Flavor) -> Charsets:
        """Return those of a recent server of that kind with its own defaults."""
        utf8mb4 = _UTF8MB4[flavor]
        return cls({**_COMMON, "utf8mb4": utf8mb4}, Collation("utf8mb4", utf8mb4.collation))

    @classmethod
    def load(cls, connection: Connection[Any]) -> Charsets:
        """Ask a server for its character sets.

        Args:
            connection: an open PyMySQL connection.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT CHARACTER_SET_NAME, DEFAULT_COLLATE_NAME, MAXLEN FROM information_schema.CHARACTER_SETS"
            )
            known = {_text(name): Charset(_text(collation), size) for name, collation, size in cursor.fetchall()}
            cursor.execute("SELECT @@character_set_server, @@collation_server")
            server = Collation(*map(_text, cursor.fetchone() or BINARY))
        return cls(known, server, "utf8mb3" if "utf8mb3" in known else "utf8")

    def charset(self, name: str) -> str:
        """Return the server's own name of a character set."""
        folded = name.lower()
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


def codec(charset: str) -> str:
    """Return Python's name for the encoding of a character set.

    Bytes that latin1 and the sets without a codec of their own hold are kept as they are.
    """
    return "utf-8" if charset.startswith("utf8") else _CODECS.get(charset, "latin-1")


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
