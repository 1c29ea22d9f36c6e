"""Splits a statement into tokens and walks over them; the reading functions of this package share the walk.

Comments vanish. Version comments are read or passed over as the server that ran the statement did:
https://dev.mysql.com/doc/refman/en/comments.html, https://mariadb.com/kb/en/comment-syntax/.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import NamedTuple, TypeVar

from cdckit import DecodeError
from cdckit_mysql.ddl.session import Charsets, DdlSession, Flavor, SqlMode
from cdckit_mysql.table import TableId

_EXCERPT = 200


class DdlError(DecodeError):
    """A statement which may change a table's definition, and cannot be read or does not fit the known tables.

    Args:
        problem: what is wrong, without the statement.
        sql: the whole statement.
        offset: where in the statement reading stopped, in characters.

    Attributes:
        problem: as given.
        sql: as given.
        offset: as given.
    """

    number = "CDC5105"

    def __init__(self, problem: str, sql: str, offset: int = 0) -> None:
        super().__init__(
            f"DDL statement: {problem}, at character {offset}: {_excerpt(sql, offset)!r}. "
            "If the statement does not concern a captured table, schema.history.internal.skip.unparseable.ddl=true "
            "passes over it; else start with a new state folder, which reads the definitions anew."
        )
        self.problem = problem
        self.sql = sql
        self.offset = offset


def _excerpt(sql: str, offset: int) -> str:
    """Return the statement, or when it is long its beginning and what surrounds the offset."""
    if len(sql) <= _EXCERPT:
        return sql
    start = max(0, offset - _EXCERPT // 2)
    head = "" if start == 0 else sql[:40] + " … "
    tail = "" if start + _EXCERPT >= len(sql) else " …"
    return head + sql[start : start + _EXCERPT] + tail


# -- tokens


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted identifier"
    STRING = "string"
    NUMBER = "number"
    HEX = "hexadecimal literal"
    BIT = "bit literal"
    SYMBOL = "symbol"
    END = "end"


class Token(NamedTuple):
    """One token.

    Attributes:
        kind: what it is.
        key: the keyword in upper case or the symbol, by which grammar rules know it; empty for all others.
        value: identifiers and strings unquoted, digits of hexadecimal and bit literals, else the text itself.
        start: offset of its first character in the statement.
        end: offset after its last.
    """

    kind: Kind
    key: str
    value: str
    start: int
    end: int


# `--` begins a comment only before a blank or the end (https://dev.mysql.com/doc/refman/en/ansi-diff-comments.html).
# A name may begin with a digit, so that what looks like a number and goes on with a letter is one: `0xfz`, `1e5_`
# (https://dev.mysql.com/doc/refman/en/identifiers.html).
_PATTERN = r"""[ \t\n\v\f\r]* (?:
  (?P<comment> --(?=[\x00-\x20\x7f]|\Z)[^\n]* | \#[^\n]* | /\*(?!M?!)(?s:.*?)\*/ )
| (?P<open> /\*(?P<maria>M?)!(?P<version>\d{{5,6}}(?!\d)|) )
| (?P<close> \*/ )
| (?P<hex> 0x[0-9a-fA-F]+(?![\w$]) | [xX]'[0-9a-fA-F]*' )
| (?P<bit> 0b[01]+(?![\w$]) | [bB]'[01]*' )
| (?P<number> (?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?(?![\w$\u0080-\U0010ffff]) )
| (?P<word> [0-9A-Za-z_$\u0080-\U0010ffff]+ )
| (?P<quoted> {quoted} )
| (?P<string> {string} )
| (?P<symbol> [^ \t\n\v\f\r] )
)"""
# `\%` and `\_` keep their backslash, for LIKE (https://dev.mysql.com/doc/refman/en/string-literals.html).
_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


@cache
def _pattern(ansi_quotes: bool, escapes: bool) -> re.Pattern[str]:
    def delimited(quote: str) -> str:
        return (
            rf"{quote}(?:[^{quote}\\]|\\(?s:.)|{quote}{quote})*{quote}"
            if escapes
            else rf"{quote}(?:[^{quote}]|{quote}{quote})*{quote}"
        )

    quoted, string = r"`(?:[^`]|``)*`", delimited("'")
    if ansi_quotes:
        quoted += r'|"(?:[^"]|"")*"'
    else:
        string += "|" + delimited('"')
    return re.compile(_PATTERN.format(quoted=quoted, string=string), re.VERBOSE)


def tokenize(sql: str, flavor: Flavor, version: int = 0, sql_mode: SqlMode = SqlMode.NONE) -> list[Token]:
    """Return the tokens of a statement, the last one of kind END.

    Args:
        sql: the text; bytes that its character set does not know may stand in it as surrogate escapes.
        flavor: whose grammar.
        version: the server's, as 90704 for 9.7.4; 0 reads every version comment.
        sql_mode: the session's.

    Raises:
        DdlError: a quote or a comment is not closed.
    """
    escapes = SqlMode.NO_BACKSLASH_ESCAPES not in sql_mode
    scanner = _pattern(SqlMode.ANSI_QUOTES in sql_mode, escapes).match
    tokens: list[Token] = []
    at = 0
    while match := scanner(sql, at):
        group, at = match.lastgroup, match.end()
        assert group is not None
        if group == "word":
            word = match[group]
            tokens.append(Token(Kind.WORD, word.upper(), word, match.start(group), at))
        elif group == "symbol":
            tokens.append(_symbol(sql, match.start(group)))
        elif group == "open":
            if not _applies(match, flavor, version):
                at = _after_comment(sql, match.start(group))
        elif group not in ("comment", "close"):
            tokens.append(_literal(group, match[group], match.start(group), at, escapes))
    tokens.append(Token(Kind.END, "", "", len(sql), len(sql)))
    return tokens


def _symbol(sql: str, start: int) -> Token:
    character = sql[start]
    if character in "'\"`" or sql.startswith("/*", start):
        raise DdlError("a quote or comment is not closed", sql, start)
    return Token(Kind.SYMBOL, character, character, start, start + 1)


def _literal(group: str, text: str, start: int, end: int, escapes: bool) -> Token:
    if group == "number":
        return Token(Kind.NUMBER, "", text, start, end)
    if group == "string":
        return Token(Kind.STRING, "", _unquote(text, escapes), start, end)
    if group == "quoted":
        return Token(Kind.QUOTED, "", text[1:-1].replace(text[0] * 2, text[0]), start, end)
    digits = text[2:].rstrip("'")
    return Token(Kind.HEX if group == "hex" else Kind.BIT, "", digits, start, end)


def _unquote(text: str, escapes: bool) -> str:
    quote, inner = text[0], text[1:-1]
    if quote in inner:
        inner = inner.replace(quote * 2, quote) if not escapes else _undouble(inner, quote)
    if escapes and "\\" in inner:
        inner = _ESCAPE.sub(lambda match: _ESCAPES.get(match[1], match[1]), inner)
    return inner


def _undouble(inner: str, quote: str) -> str:
    r"""Halve doubled quotes, but for those which a backslash escapes: in `'\'''` the first one."""
    return re.sub(rf"(\\.)|{quote}{quote}", lambda match: match[1] or quote, inner, flags=re.DOTALL)


def _applies(match: re.Match[str], flavor: Flavor, version: int) -> bool:
    """Whether the server reads what stands in a version comment."""
    wanted = int(match["version"] or 0)
    if flavor is Flavor.MYSQL:
        return not match["maria"] and (version == 0 or wanted <= version)
    # what is meant for MySQL from 5.7 on is not what MariaDB has (https://mariadb.com/kb/en/comment-syntax/)
    if not match["maria"] and 50700 <= wanted <= 99999:
        return False
    return version == 0 or wanted <= version


def _after_comment(sql: str, start: int) -> int:
    """Return the offset after a version comment that is passed over, with the comments nested in it."""
    depth, at = 0, start
    for match in re.compile(r"/\*|\*/").finditer(sql, start):
        depth += 1 if match.group() == "/*" else -1
        at = match.end()
        if depth == 0:
            return at
    raise DdlError("a comment is not closed", sql, start)


# -- the walk

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

    def skip_variables(self) -> None:
        """Read what MariaDB sets for one statement, `SET STATEMENT … FOR`, if it comes next.

        https://mariadb.com/kb/en/set-statement/

        Raises:
            DdlError: no FOR ends it.
        """
        if self.accept("SET", "STATEMENT"):
            self.skip_to("FOR", ";")
            self.expect("FOR")
