"""Splits a statement into tokens.

Comments vanish. Version comments are read or passed over as the server that ran the statement did:
https://dev.mysql.com/doc/refman/en/comments.html, https://mariadb.com/kb/en/comment-syntax/.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from typing import NamedTuple

from cdckit_mysql.ddl.errors import DdlError
from cdckit_mysql.ddl.session import Flavor, SqlMode


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
