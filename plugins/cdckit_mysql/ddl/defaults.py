"""Reads what follows DEFAULT and turns it into what new rows will hold, and older ones if the column is added.

https://dev.mysql.com/doc/refman/en/data-type-defaults.html
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import ROUND_HALF_UP, Decimal
from zoneinfo import ZoneInfo

from cdckit_mysql.ddl.lexer import Cursor, DdlError, Kind
from cdckit_mysql.ddl.session import DdlSession, Flavor, SqlMode
from cdckit_mysql.table import Column
from cdckit_mysql.values.charset import text_decoder
from cdckit_mysql.values.defaults import implicit_default

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
        return _read_string(cursor)
    if token.kind is Kind.NUMBER:
        return Default(cursor.advance().value)
    if token.kind is Kind.HEX:
        return Default(raw=bytes.fromhex(_even(cursor.advance().value)))
    if token.kind is Kind.BIT:
        return Default(raw=_bit_bytes(cursor.advance().value))
    return _read_word(cursor)


def _read_string(cursor: Cursor) -> Default:
    """Read a string; an empty one may be NULL: https://mariadb.com/kb/en/sql-mode/, EMPTY_STRING_IS_NULL."""
    text = cursor.string()
    empty_is_null = cursor.flavor is Flavor.MARIADB and SqlMode.EMPTY_STRING_IS_NULL in cursor.session.sql_mode
    return Default() if empty_is_null and not text else Default(text, quoted=True)


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
    return text.rstrip(" ") if type_name == "CHAR" else text  # https://dev.mysql.com/doc/refman/en/char.html


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
    # 0x1 is 0x01; only X'…' needs pairs of digits: https://dev.mysql.com/doc/refman/en/hexadecimal-literals.html
    return digits if len(digits) % 2 == 0 else f"0{digits}"


def _bit_bytes(digits: str) -> bytes:
    return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")


# -- dates and times in the loose forms that the servers take, brought to the one that they print
# https://dev.mysql.com/doc/refman/en/date-and-time-literals.html

_CANONICAL = {
    "DATE": re.compile(r"\d{4}-\d\d-\d\d"),
    "TIME": re.compile(r"-?\d{2,3}:\d\d:\d\d(?:\.\d+)?"),
    "DATETIME": re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?"),
}
_CANONICAL["TIMESTAMP"] = _CANONICAL["DATETIME"]
TIME_TYPES = frozenset(_CANONICAL)
_TIME = re.compile(r"(-?)(?:(\d+)[ ]+)?(\d+)(?::(\d+)(?::(\d+))?)?(?:\.(\d*))?")
_DATE = r"\d+[^\w\s]\d+[^\w\s]\d+"
_HOURS = r"\d+(?:[^\w\s]\d+){0,2}(?:\.\d*)?"
_IN_DIGITS = r"(?:\d\d)?\d{6}T?\d{6}(?:\.\d*)?"
_MOMENT = {
    Flavor.MYSQL: re.compile(rf"(?=.{{12}}){_DATE}\s+{_HOURS}|{_IN_DIGITS}"),
    Flavor.MARIADB: re.compile(rf"{_DATE}(?:T|\s+){_HOURS}|{_IN_DIGITS}"),
}
"""A date and a time, of which a TIME takes the time; to MySQL a shorter one, or one with a `T` between, is a number."""
_DIGITS = re.compile(r"(\d+(?:T\d+)?)(?:\.(\d+))?")
_PIVOT = 70
"""Years of two digits from here on are of the last century: https://dev.mysql.com/doc/refman/en/two-digit-years.html."""
_DIGITS_OF_DATE = 8
_DIGITS_OF_DATETIME = 14
_DATE_AND_BLANK = 11
"""So many characters stand before the time of a moment."""


def canonical_time(text: str, type_name: str, flavor: Flavor) -> str:
    """Return a literal as the server prints it: `2018-02-03`, `-01:02:03.4`, `2018-02-03 04:05:06`.

    Args:
        text: of a string or number literal; what is no date or time is returned as it is.
        type_name: `DATE`, `TIME`, `DATETIME` or `TIMESTAMP`.
        flavor: the server's kind.
    """
    text = text.strip()
    if _CANONICAL[type_name].fullmatch(text) or not any(character.isdigit() for character in text):
        return text
    if type_name != "TIME":
        return _date(text, with_time=type_name != "DATE")
    return _date(text, with_time=True)[_DATE_AND_BLANK:] if _MOMENT[flavor].fullmatch(text) else _time(text)


def _date(text: str, *, with_time: bool) -> str:
    digits = _DIGITS.fullmatch(text)
    numbers, fraction = (_cut(digits[1].replace("T", "")), digits[2]) if digits else (re.findall(r"\d+", text), None)
    year, month, day, hour, minute, second = (int(number) for number in [*numbers[:6], *"000000"][:6])
    if len(numbers[0]) <= 2 and (year or month or day):
        year += 1900 if year >= _PIVOT else 2000
    date = f"{year:04}-{month:02}-{day:02}"
    if not with_time:
        return date
    return f"{date} {hour:02}:{minute:02}:{second:02}" + _fraction(fraction or "".join(numbers[6:]))


def _fraction(digits: str) -> str:
    return f".{digits}" if digits else ""


def _cut(digits: str) -> list[str]:
    """Cut digits without separators: YYMMDD, YYYYMMDD, YYMMDDhhmmss or YYYYMMDDhhmmss, with zeros left out in front."""
    size = next(size for size in (6, _DIGITS_OF_DATE, 12, _DIGITS_OF_DATETIME, len(digits)) if len(digits) <= size)
    digits = digits.rjust(size, "0")
    year = 4 if len(digits) in (_DIGITS_OF_DATE, _DIGITS_OF_DATETIME) else 2
    return [digits[:year], *re.findall("..", digits[year:])]


def _time(text: str) -> str:
    found = _TIME.match(text)
    if found is None:
        return "00:00:00"
    sign, days, hours, minutes, seconds, fraction = found.groups()
    if minutes is None and days is None:
        digits = hours.rjust(6, "0")
        hours, minutes, seconds = digits[:-4], digits[-4:-2], digits[-2:]
    total = 24 * int(days or 0) + int(hours)
    return f"{sign}{total:02}:{int(minutes or 0):02}:{int(seconds or 0):02}{_fraction(fraction or '')}"


# -- what the rows of a table have in a column that ALTER TABLE adds to it

_NOW = re.compile(r"(current_timestamp|now|localtime|localtimestamp)\d*", re.IGNORECASE)
"""The time of the statement, without parentheses and blanks."""
_AROUND = str.maketrans("", "", "() \t\r\n")
_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d\d)")


def with_older(column: Column, session: DdlSession) -> Column:
    """A column that is added, with what the rows have in it that are there.

    Args:
        column: its definition.
        session: the variables of the session that added it.
    """
    if column.generated or column.auto_incremented:
        return replace(column, older_unknown=True)
    if column.default_is_expression:
        older = _now(column, session) if _NOW.fullmatch((column.default or "").translate(_AROUND)) else None
    elif column.has_default or column.optional:
        older = column.default
        if older is None:
            return column
        if column.base_type == "TIMESTAMP":
            older = _in_utc(older, _zone(session.time_zone))
    else:
        older = implicit_default(column)
    return replace(column, older=older, older_unknown=older is None)


def _now(column: Column, session: DdlSession) -> str | None:
    """When the statement began: in UTC for a TIMESTAMP, for others as the session's clock showed it."""
    zone = UTC if column.base_type == "TIMESTAMP" else _zone(session.time_zone)
    if session.now is None or zone is None or column.base_type not in ("TIMESTAMP", "DATETIME"):
        return None
    text = session.now.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S.%f")
    return text[: 20 + column.length] if column.length else text[:19]


def _in_utc(text: str, zone: tzinfo | None) -> str | None:
    """A TIMESTAMP's default, which a statement writes in the session's time zone."""
    if text.startswith("0000-00-00"):
        return text
    try:
        return None if zone is None else str(datetime.fromisoformat(text).replace(tzinfo=zone).astimezone(UTC))[:-6]
    except ValueError:
        return None


def _zone(name: str | None) -> tzinfo | None:
    """A session's time zone; None for the server's own (`SYSTEM`), which the log does not name."""
    if name is None or name == "SYSTEM":
        return None
    if offset := _OFFSET.fullmatch(name):
        size = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-size if offset[1] == "-" else size)
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):
        return None
