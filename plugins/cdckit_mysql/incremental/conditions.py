"""Conditions of signals: SQL that is written by others, taken apart and written anew before a server sees it.

A condition is one boolean expression of a table's columns. What a blocking snapshot takes besides is a SELECT of that
table alone. Neither can name another table, call a function that waits or has an effect, or set a variable: who may
write signals reads no more than the events show.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NoReturn

from cdckit_mysql.ddl import DdlError, Flavor, Kind, Token, tokenize
from cdckit_mysql.incremental.condition_words import BEFORE_PARENTHESES, FUNCTIONS, OPERATORS, RESERVED, WORDS
from cdckit_mysql.server.facts import quoted
from cdckit_mysql.table import TableId

_LONGEST = 100_000
_NAMED_BY_TWO = 3
"""A column's name may follow those of its database and its table."""


def is_statement(condition: str) -> bool:
    """Whether it is a SELECT, which blocking snapshots take instead of a condition, as in Debezium."""
    return condition.lstrip()[:6].upper() == "SELECT"


@dataclass(frozen=True, slots=True)
class Askable:
    """What a condition may ask for.

    Attributes:
        table: the table whose rows are chosen.
        columns: the names of those of its columns that it may ask for.
        hidden: the names of the others.
    """

    table: TableId
    columns: Collection[str]
    hidden: Collection[str] = ()


def checked_condition(text: str, askable: Askable) -> str:
    """The condition, which is one boolean expression, written anew.

    Raises:
        ValueError: it is something else; the message names the word.
    """
    reader = _Reader(text, askable)
    made = reader.expression(())
    reader.end()
    return made


def checked_statement(text: str, askable: Askable) -> str:
    """A SELECT of columns of the table, with WHERE, ORDER BY and LIMIT, written anew; as `checked_condition`."""
    reader = _Reader(text, askable)
    reader.expect("SELECT")
    chosen = reader.columns()
    reader.expect("FROM")
    parts = ["SELECT", chosen, "FROM", reader.table()]
    if reader.accept("WHERE"):
        parts += ["WHERE", reader.expression(("ORDER", "LIMIT", ";"))]
    if reader.accept("ORDER"):
        reader.expect("BY")
        parts += ["ORDER BY", reader.order()]
    if reader.accept("LIMIT"):
        parts += ["LIMIT", reader.limit()]
    reader.accept(";")
    reader.end()
    return " ".join(parts)


class _Reader:
    """Walks over the tokens of what a signal holds.

    Strings are read as in MySQL's default mode; one with a backslash, which means something else in other modes, is
    refused.
    """

    def __init__(self, text: str, askable: Askable) -> None:
        self._table = askable.table
        self._columns = {name.lower() for name in askable.columns}
        self._hidden = {name.upper() for name in askable.hidden}
        if len(text) > _LONGEST:
            raise ValueError(f"it is longer than {_LONGEST} characters")
        try:
            self._tokens = tokenize(text, Flavor.MYSQL)
        except DdlError as error:
            raise ValueError(error.problem) from error
        self._text = text
        self._at = 0

    # -- tokens

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    @property
    def _following(self) -> str:
        """The keyword or symbol behind the token."""
        return self._tokens[min(self._at + 1, len(self._tokens) - 1)].key

    def _take(self) -> Token:
        token = self._token
        self._at += token.kind is not Kind.END
        return token

    def accept(self, key: str) -> bool:
        """Reads a keyword or symbol if it comes next."""
        found = self._token.key == key
        self._at += found
        return found

    def expect(self, key: str) -> None:
        """Reads a keyword or symbol."""
        if not self.accept(key):
            self._refuse(f"{key} should stand")

    def end(self) -> None:
        """Refuses what is left behind the condition."""
        if self._token.kind is not Kind.END:
            self._refuse("the end should be")

    def _refuse(self, problem: str) -> NoReturn:
        token = self._token
        found = "it ends" if token.kind is Kind.END else f"'{self._text[token.start : token.end][:60]}' stands"
        raise ValueError(f"{problem} where {found}")

    # -- parts of a SELECT

    def columns(self) -> str:
        """`*`, or names of columns."""
        if self.accept("*"):
            return "*"
        found = [self._column()]
        while self.accept(","):
            found.append(self._column())
        return ", ".join(found)

    def table(self) -> str:
        """The table, with its other name if it is given one."""
        names = [self._name()]
        if self.accept("."):
            names.append(self._name())
        if [name.lower() for name in names] != [name.lower() for name in self._table][-len(names) :]:
            raise ValueError(f"it reads {'.'.join(names)}, and was asked for with {self._table}")
        given = self.accept("AS") or (self._token.kind is Kind.QUOTED or self._token.key not in RESERVED | {"", ";"})
        return f"{quoted(*self._table)} AS {quoted(self._name())}" if given else quoted(*self._table)

    def order(self) -> str:
        """Columns by which to order."""
        found = []
        while True:
            column = self._column()
            found.append(f"{column} DESC" if self.accept("DESC") else column)
            self.accept("ASC")
            if not self.accept(","):
                return ", ".join(found)

    def limit(self) -> str:
        """How many rows, and from which one on."""
        first = self._number()
        if self.accept(","):
            return f"{first}, {self._number()}"
        return f"{first} OFFSET {self._number()}" if self.accept("OFFSET") else first

    def _number(self) -> str:
        if self._token.kind is not Kind.NUMBER or not self._token.value.isdecimal():
            self._refuse("a number should stand")
        return self._take().value

    def _name(self) -> str:
        if self._token.kind is not Kind.QUOTED and (self._token.kind is not Kind.WORD or self._token.key in RESERVED):
            self._refuse("a name should stand")
        return self._take().value

    def _column(self) -> str:
        """A column's name, which those of its table and its database may precede."""
        start, names = self._at, [self._name()]
        while self.accept("."):
            names.append(self._name())
        if len(names) > _NAMED_BY_TWO or names[-1].lower() not in self._columns or self._token.key == "(":
            self._at = start
            self._refuse(f"no column of {self._table} whose values the events show, and no word of conditions,")
        return quoted(*names)

    # -- expressions

    def expression(self, ends: Collection[str]) -> str:
        """An expression up to one of the keywords or symbols outside of parentheses, or to the end."""
        parts: list[str] = []
        depth, before = 0, self._token
        while self._token.kind is not Kind.END and (depth or self._token.key not in ends):
            token = self._token
            depth += {"(": 1, ")": -1}.get(token.key, 0)
            if depth < 0:
                self._refuse("no parenthesis is open")
            parts += [" " if self._apart(before, token) else "", self._part()]
            before = self._tokens[self._at - 1]
        if depth or not parts:
            self._refuse("a parenthesis should be closed" if depth else "a condition should stand")
        return "".join(parts).strip()

    @staticmethod
    def _apart(before: Token, token: Token) -> bool:
        """Whether a blank is to stand between two tokens: operators of several signs are told from others by it."""
        together = before.end == token.start and Kind.SYMBOL in (before.kind, token.kind)
        return not together or (before.key == "-" and token.key == "-")

    def _part(self) -> str:
        token = self._token
        if token.kind is Kind.WORD:
            return self._word()
        if token.kind is Kind.QUOTED:
            return self._column()
        if token.kind is Kind.STRING:
            return self._string()
        if token.kind is Kind.SYMBOL and token.key not in OPERATORS:
            self._refuse("nothing of conditions")
        self._take()
        return self._text[token.start : token.end]

    def _word(self) -> str:
        key, following = self._token.key, self._following
        if following == "(" and key not in BEFORE_PARENTHESES | FUNCTIONS:
            self._refuse("no function of conditions")
        if following == "(" or (key in WORDS - self._hidden and following != "."):
            return self._take().value
        if self._at and self._tokens[self._at - 1].key in ("COLLATE", "USING"):
            return self._charset()
        if key.startswith("_") and self._tokens[self._at + 1].kind in (Kind.STRING, Kind.HEX, Kind.BIT):
            return self._charset()
        return self._column()

    def _charset(self) -> str:
        """The name of a character set or collation."""
        if not (self._token.value.isascii() and self._token.value.replace("_", "").isalnum()):
            self._refuse("no character set or collation")
        return self._take().value

    def _string(self) -> str:
        token = self._token
        if "\\" in self._text[token.start : token.end]:
            self._refuse("a string without backslashes should stand")
        self._take()
        return "'" + token.value.replace("'", "''") + "'"
