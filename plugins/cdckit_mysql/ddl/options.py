"""Reads the options of tables and databases: of interest are the character set, the collation and the comment."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.ddl.charsets import Charsets, Collation
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.session import DdlSession
from cdckit_mysql.ddl.types import read_charset_name

_ALONE = (("START", "TRANSACTION"), ("STORAGE", "DISK"), ("STORAGE", "MEMORY"), ("STORAGE", "DEFAULT"))
_TWO_WORDS = (("DATA", "DIRECTORY"), ("INDEX", "DIRECTORY"))
_WITH_VALUE = frozenset(
    {
        "ALGORITHM",
        "AUTOEXTEND_SIZE",
        "AUTO_INCREMENT",
        "AVG_ROW_LENGTH",
        "CHECKSUM",
        "COMPRESSION",
        "CONNECTION",
        "DELAY_KEY_WRITE",
        "ENCRYPTION",
        "ENGINE",
        "ENGINE_ATTRIBUTE",
        "INSERT_METHOD",
        "KEY_BLOCK_SIZE",
        "LOCK",
        "MAX_ROWS",
        "MIN_ROWS",
        "NODEGROUP",
        "PACK_KEYS",
        "PAGE_CHECKSUM",
        "PASSWORD",
        "ROW_FORMAT",
        "SECONDARY_ENGINE",
        "SECONDARY_ENGINE_ATTRIBUTE",
        "SEQUENCE",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
        "TABLESPACE",
        "TABLE_CHECKSUM",
        "TRANSACTIONAL",
        "TYPE",
        "UNION",
    }
)
"""Options whose value may follow without an equals sign; those which a storage engine defines have one."""


@dataclass(slots=True)
class Options:
    """The options given.

    Attributes:
        charset: `CHARACTER SET`; an empty string for `DEFAULT`.
        collation: `COLLATE`.
        comment: `COMMENT`.
        system_versioned: `WITH SYSTEM VERSIONING`.
    """

    charset: str | None = None
    collation: str | None = None
    comment: str | None = None
    system_versioned: bool = False

    @property
    def names_collation(self) -> bool:
        """Whether a character set or a collation is given."""
        return self.charset is not None or self.collation is not None

    def settle(self, inherited: Collation, charsets: Charsets, session: DdlSession) -> Collation:
        """Return the default collation that follows.

        Args:
            inherited: what holds without an option: that of the database, for a database the server's.
            charsets: the server's.
            session: of the statement.
        """
        if self.collation is not None:
            return charsets.collation(self.collation, self.charset or inherited.charset)
        if self.charset:
            return charsets.default(self.charset, session.default_collations)
        return inherited


def read_collation_option(cursor: Cursor, options: Options) -> bool:
    """Read `[DEFAULT] CHARACTER SET [=] name` or `[DEFAULT] COLLATE [=] name` if one stands here."""
    lead = 1 if cursor.at("DEFAULT") else 0
    key, following = cursor.ahead(lead).key, cursor.ahead(lead + 1).key
    two_words = key in ("CHARACTER", "CHAR") and following == "SET"
    if not two_words and key not in ("CHARSET", "COLLATE"):
        return False
    for _ in range(lead + 1 + two_words):
        cursor.advance()
    cursor.accept("=")
    if key == "COLLATE":
        options.collation = read_charset_name(cursor)
    else:
        options.charset = "" if cursor.accept("DEFAULT") else read_charset_name(cursor)
    return True


def read_table_option(cursor: Cursor, options: Options) -> bool:
    """Read one option of a table if a name stands here; those that change nothing here are passed over."""
    if read_collation_option(cursor, options):
        return True
    if cursor.accept("COMMENT"):
        cursor.accept("=")
        options.comment = cursor.string()
        return True
    if cursor.accept("WITH", "SYSTEM", "VERSIONING"):
        options.system_versioned = True
        return True
    return _skip_option(cursor)


def _skip_option(cursor: Cursor) -> bool:
    """Read `name [=] value`, where a name may be two words and a value a list; False if it is none."""
    if any(cursor.accept(*words) for words in _ALONE):
        return True
    if not any(cursor.accept(*words) for words in _TWO_WORDS):
        if not (cursor.at_any(*_WITH_VALUE) or (cursor.at_name() and cursor.ahead(1).key == "=")):
            return False
        cursor.advance()
    cursor.accept("=")
    if cursor.at("("):
        cursor.skip_parentheses()
    else:
        cursor.accept("-")
        cursor.advance()
    return True
