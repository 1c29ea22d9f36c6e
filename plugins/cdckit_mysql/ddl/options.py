"""Reads the options of tables and databases: of interest are the character set, the collation and the comment."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit_mysql.ddl.charsets import Charsets, Collation
from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.session import DdlSession
from cdckit_mysql.ddl.types import read_charset_name

_TWO_WORDS = (
    ("DATA", "DIRECTORY"),
    ("INDEX", "DIRECTORY"),
    ("START", "TRANSACTION"),
    ("STORAGE", "DISK"),
    ("STORAGE", "MEMORY"),
    ("STORAGE", "DEFAULT"),
)
_ALONE = (("START", "TRANSACTION"), ("STORAGE", "DISK"), ("STORAGE", "MEMORY"), ("STORAGE", "DEFAULT"))


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
    if not cursor.at_name():
        return False
    _skip_option(cursor)
    return True


def _skip_option(cursor: Cursor) -> None:
    """Read `name [=] value`, where a name may be two words and a value a list."""
    two_words = any(cursor.at(*words) for words in _TWO_WORDS)
    alone = any(cursor.at(*words) for words in _ALONE)
    cursor.advance()
    if two_words:
        cursor.advance()
    if alone:
        return
    cursor.accept("=")
    if cursor.at("("):
        cursor.skip_parentheses()
    else:
        cursor.accept("-")
        cursor.advance()
