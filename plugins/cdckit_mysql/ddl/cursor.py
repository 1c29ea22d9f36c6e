"""Walks over the tokens of a statement; the reading functions of this package share it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cdckit_mysql.ddl.charsets import Charsets
from cdckit_mysql.ddl.errors import DdlError
from cdckit_mysql.ddl.lexer import Kind, Token, tokenize
from cdckit_mysql.ddl.session import DdlSession, Flavor
from cdckit_mysql.table import TableId

T = TypeVar("T")


def _stored(name: str) -> str:
    """A name as MySQL keeps it, in three bytes a character; MariaDB refuses those that need more."""
    return "".join("?" if one > "\uffff" else one for one in name)


class Cursor:
    """A place in a statement.

    Attributes:
        sql: the statement.
        flavor: the kind of server that ran it.
        session: the variables under which it ran.
        charsets: the server's character sets.
        database: the one that unqualified names belong to.
    """

    __slots__ = ("_at", "_tokens", "charsets", "database", "flavor", "session", "sql")

    def __init__(
        self,
        sql: str,
        flavor: Flavor,
        charsets: Charsets,
        *,
        version: int = 0,
        session: DdlSession | None = None,
        database: str = "",
    ) -> None:
        self.sql = sql
        self.flavor = flavor
        self.charsets = charsets
        self.session = session or DdlSession()
        self.database = database
        self._tokens = tokenize(sql, flavor, version, self.session.sql_mode)
        self._at = 0

    @property
    def token(self) -> Token:
        """The token to be read next."""
        return self._tokens[self._at]

    @property
    def done(self) -> bool:
        """Whether all tokens are read."""
        return self.token.kind is Kind.END

    def ahead(self, distance: int) -> Token:
        """Return a token after the next one, or the end."""
        return self._tokens[min(self._at + distance, len(self._tokens) - 1)]

    def mark(self) -> int:
        """Return this place, to come back to it with `reset`."""
        return self._at

    def reset(self, mark: int) -> None:
        """Go back to a place."""
        self._at = mark

    def advance(self) -> Token:
        """Read a token."""
        token = self._tokens[self._at]
        if token.kind is not Kind.END:
            self._at += 1
        return token

    def at(self, *keys: str) -> bool:
        """Whether these keywords or symbols come next, in this order."""
        return self._behind(keys) is not None

    def at_any(self, *keys: str) -> bool:
        """Whether one of these keywords or symbols comes next."""
        return self.token.key in keys

    def accept(self, *keys: str) -> bool:
        """Read these keywords or symbols if they come next, in this order."""
        behind = self._behind(keys)
        if behind is None:
            return False
        self._at = behind
        return True

    def _behind(self, keys: tuple[str, ...]) -> int | None:
        """Return the place behind these keys if they come next; the end's own key is never among them."""
        at = self._at
        for key in keys:
            if self._tokens[at].key != key:
                return None
            at += 1
        return at

    def accept_any(self, *keys: str) -> str | None:
        """Read one of these keywords or symbols and return it."""
        return self.advance().key if self.token.key in keys else None

    def expect(self, *keys: str) -> None:
        """Read these keywords or symbols.

        Raises:
            DdlError: something else stands there.
        """
        if not self.accept(*keys):
            raise self.error(f"expected {' '.join(keys)}")

    def error(self, problem: str, token: Token | None = None) -> DdlError:
        """Return an error that points at the next token, or at the given one."""
        return DdlError(problem, self.sql, (token or self.token).start)

    def text_since(self, start: int) -> str:
        """Return the statement's text from an offset to the end of the last token read."""
        return self.sql[start : self._tokens[self._at - 1].end]

    def identifier(self) -> str:
        """Read a name."""
        if self.token.kind not in (Kind.WORD, Kind.QUOTED):
            raise self.error("expected a name")
        name = self.advance().value
        return name if name.isascii() else _stored(name)

    def at_name(self) -> bool:
        """Whether a name or a keyword comes next."""
        return self.token.kind in (Kind.WORD, Kind.QUOTED)

    def table_id(self) -> TableId:
        """Read a table's name, which may name its database."""
        self.accept(".")
        first = self.identifier()
        if self.accept("."):
            return TableId(first, self.identifier())
        return TableId(self.database, first)

    def column_name(self) -> str:
        """Read a column's name, which may be preceded by those of its table and database."""
        name = self.identifier()
        while self.accept("."):
            name = self.identifier()
        return name

    def string(self) -> str:
        """Read a string literal; adjacent ones are one."""
        if self.token.kind is not Kind.STRING:
            raise self.error("expected a string")
        text = self.advance().value
        while self.token.kind is Kind.STRING:
            text += self.advance().value
        return text

    def number(self) -> int:
        """Read a whole number."""
        token = self.advance()
        if token.kind is not Kind.NUMBER:
            raise self.error("expected a number", token)
        return int(float(token.value)) if "." in token.value else int(token.value)

    def parenthesized(self, read: Callable[[], T]) -> list[T]:
        """Read a list in parentheses."""
        self.expect("(")
        items = [read()]
        while self.accept(","):
            items.append(read())
        self.expect(")")
        return items

    def skip_parentheses(self) -> str:
        """Read whatever stands in parentheses and return its text with them."""
        start, depth = self.token.start, 0
        self.expect("(")
        depth = 1
        while depth:
            token = self.advance()
            if token.kind is Kind.END:
                raise self.error("a parenthesis is not closed", token)
            depth += {"(": 1, ")": -1}.get(token.key, 0)
        return self.text_since(start)

    def skip_to(self, *keys: str) -> None:
        """Read on until one of these symbols or keywords stands outside of parentheses, or to the end."""
        while not self.done and not self.at_any(*keys):
            if self.at("("):
                self.skip_parentheses()
            else:
                self.advance()
