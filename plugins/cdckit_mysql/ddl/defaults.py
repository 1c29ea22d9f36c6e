"""Reads what follows DEFAULT and turns it into the value that the column will hold.

https://dev.mysql.com/doc/refman/en/data-type-defaults.html
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from cdckit_mysql.ddl.cursor import Cursor
from cdckit_mysql.ddl.errors import DdlError
from cdckit_mysql.ddl.lexer import Kind
from cdckit_mysql.ddl.session import Flavor
from cdckit_mysql.ddl.temporal import TIME_TYPES, canonical_time
from cdckit_mysql.values.charset import text_decoder

NOW = frozenset({"CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP"})
"""The names of the current time that a column may have as its default and ON UPDATE."""
BYTE_TYPES = frozenset({"BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"})
_WHOLE_TYPES = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR"})
_NUMBER_TYPES = _WHOLE_TYPES | {"FLOAT", "DOUBLE", "DECIMAL"}


_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Default:
    """A default as the statement has it.

    Attributes:
        text: of a string its characters, of a number its digits with the sign, of an expression its text; None is
            NULL.
        raw: of hexadecimal and bit literals, and of strings with the introducer `_binary`, the bytes.
        quoted: `text` is of a string.
        expression: `text` is evaluated by the server for each row.
    """

    text: str | None = None
    raw: bytes | None = None
    quoted: bool = False
    expression: bool = False


def read_default(cursor: Cursor) -> Default:
    """Read a default: a literal, the current time, an expression in parentheses or, on MariaDB, a function call."""
    token = cursor.token
    if token.kind is Kind.SYMBOL:
        return _read_symbol(cursor)
    if token.kind is Kind.STRING:
        return Default(cursor.string(), quoted=True)
    if token.kind is Kind.NUMBER:
        return Default(cursor.advance().value)
    if token.kind is Kind.HEX:
        return Default(raw=bytes.fromhex(_even(cursor.advance().value)))
    if token.kind is Kind.BIT:
        return Default(raw=_bit_bytes(cursor.advance().value))
    return _read_word(cursor)


def _read_symbol(cursor: Cursor) -> Default:
    if cursor.at("("):
        return _read_parentheses(cursor)
    sign = cursor.accept_any("-", "+")
    if sign is None:
        raise cursor.error("expected a default value")
    literal = read_default(cursor)
    if literal.text is None or literal.expression:
        raise cursor.error("expected a number")
    return Default(literal.text if sign == "+" else f"-{literal.text}")


def _read_parentheses(cursor: Cursor) -> Default:
    """Read an expression; MariaDB takes a literal in parentheses for the literal."""
    start = cursor.mark()
    if cursor.flavor is Flavor.MARIADB:
        cursor.expect("(")
        with suppress(DdlError):  # such as (-a): the sign of a column, not of a number
            literal = read_default(cursor)
            if cursor.accept(")") and not literal.expression:
                return literal
        cursor.reset(start)
    return Default(cursor.skip_parentheses(), expression=True)


def _read_word(cursor: Cursor) -> Default:
    key = cursor.token.key
    introduced = cursor.ahead(1).kind
    if key == "NULL":
        cursor.advance()
        return Default()
    if key in ("TRUE", "FALSE"):
        cursor.advance()
        return Default("1" if key == "TRUE" else "0")
    if key in NOW:
        return Default(read_now(cursor), expression=True)
    if key in ("DATE", "TIME", "TIMESTAMP", "N") and introduced is Kind.STRING:
        cursor.advance()
        return Default(cursor.string(), quoted=True)
    if key.startswith("_") and introduced in (Kind.STRING, Kind.HEX, Kind.BIT):
        return _read_introduced(cursor)
    return _read_call(cursor)


def _read_introduced(cursor: Cursor) -> Default:
    """Read a literal whose character set is named: its bytes are to be taken as that set's."""
    charset = cursor.charsets.charset(cursor.advance().value[1:])
    literal = read_default(cursor)
    raw = literal.raw if literal.raw is not None else (literal.text or "").encode("utf-8", "surrogateescape")
    if charset == "binary":
        return Default(raw=raw)
    return Default(text_decoder(charset)(raw), quoted=True)


def read_now(cursor: Cursor) -> str:
    """Read a name of the current time and return it as `CURRENT_TIMESTAMP` with its digits."""
    if cursor.accept_any(*NOW) is None:
        raise cursor.error("expected CURRENT_TIMESTAMP")
    if not cursor.accept("(") or cursor.accept(")"):
        return "CURRENT_TIMESTAMP"
    digits = cursor.number()
    cursor.expect(")")
    return f"CURRENT_TIMESTAMP({digits})" if digits else "CURRENT_TIMESTAMP"


def _read_call(cursor: Cursor) -> Default:
    """Read MariaDB's expressions that need no parentheses: a column, a function call, NEXT VALUE FOR."""
    start = cursor.token.start
    if cursor.accept("NEXT", "VALUE", "FOR") or cursor.accept("PREVIOUS", "VALUE", "FOR"):
        cursor.table_id()
    else:
        cursor.column_name()
        if cursor.at("("):
            cursor.skip_parentheses()
    return Default(cursor.text_since(start), expression=True)


def value_for(default: Default, type_name: str, scale: int | None, charset: str | None, flavor: Flavor) -> str | None:
    """Return the text of a literal default as the value of a column.

    Args:
        default: what was read.
        type_name: the column's type without sign.
        scale: of the column.
        charset: the column's character set, None if it is no text.
        flavor: the server's kind.
    """
    if type_name == "BIT":
        return _bit_text(default)
    if type_name in BYTE_TYPES:
        return _byte_text(default)
    if type_name in _NUMBER_TYPES:
        return _number_text(default, type_name, scale)
    text = default.text if default.raw is None else text_decoder(charset)(default.raw)
    if text is None:
        return None
    if type_name in TIME_TYPES:
        return canonical_time(text, type_name, flavor)
    return text.rstrip(" ") if type_name == "CHAR" else text


def _bit_text(default: Default) -> str | None:
    """Return the binary digits of a BIT column's default; a string's bytes count as they are."""
    raw = (
        default.text.encode("utf-8", "surrogateescape") if default.text is not None and default.quoted else default.raw
    )
    if raw is not None:
        return f"{int.from_bytes(raw, 'big'):b}"
    return None if default.text is None else f"{int(_rounded(default.text, 0)):b}"


def _byte_text(default: Default) -> str | None:
    """Return the default of a column of bytes, each as one character."""
    if default.raw is not None:
        return default.raw.decode("latin-1")
    return None if default.text is None else default.text.encode("utf-8", "surrogateescape").decode("latin-1")


def _number_text(default: Default, type_name: str, scale: int | None) -> str | None:
    """Return a number without the digits that the column has no room for."""
    if default.raw is not None:
        return str(int.from_bytes(default.raw, "big"))
    if default.text is None:
        return None
    text = default.text.strip().removeprefix("+")
    places = 0 if type_name in _WHOLE_TYPES else scale
    if places is None:
        return text if _NUMBER.fullmatch(text) else _leading_number(text)
    return text if _is_plain(text, places) else _rounded(text, places)


def _rounded(text: str, places: int) -> str:
    return f"{Decimal(_leading_number(text)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP):f}"


def _leading_number(text: str) -> str:
    """Return the number that a text begins with, which is what the server takes when it is not strict, or 0."""
    found = _NUMBER.match(text)
    return found.group() if found else "0"


def _is_plain(text: str, places: int) -> bool:
    """Whether a number is written without an exponent and with no more digits after the point than allowed."""
    whole, _, fraction = text.removeprefix("-").partition(".")
    return whole.isdigit() and (fraction.isdigit() or not fraction) and len(fraction) <= places


def _even(digits: str) -> str:
    return digits if len(digits) % 2 == 0 else f"0{digits}"


def _bit_bytes(digits: str) -> bytes:
    return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")
