"""Values of every type, and what mysql-replication makes of those that it reads wrongly."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

ANYTHING = "SET sql_mode = ''"


class Case(NamedTuple):
    """A value that goes through the log.

    Attributes:
        kind: its column's type.
        literal: the value in SQL.
        servers: which servers have such a type.
    """

    kind: str
    literal: str
    servers: str = "mysql mariadb"


class Wrong(NamedTuple):
    """A value that mysql-replication reads wrongly.

    Attributes:
        case: the value.
        says: what the library makes of it.
        right: what the server's own SELECT says.
    """

    case: Case
    says: Any
    right: Any


class Refused(NamedTuple):
    """A value that ends the library's reading.

    Attributes:
        case: the value.
        error: what it raises.
    """

    case: Case
    error: str


def _text(charset: str, text: str) -> Case:
    return Case(f"VARCHAR(20) CHARACTER SET {charset}", f"'{text}'")


_SIXTY_FOUR = ", ".join(f"'l{number}'" for number in range(64))
_THREE_HUNDRED = ", ".join(f"'l{number}'" for number in range(300))

RIGHT = (
    Case("TINYINT", "-128"),
    Case("TINYINT UNSIGNED", "255"),
    Case("SMALLINT", "-32768"),
    Case("SMALLINT UNSIGNED", "65535"),
    Case("MEDIUMINT", "-8388608"),
    Case("MEDIUMINT UNSIGNED", "16777215"),
    Case("INT", "-2147483648"),
    Case("INT UNSIGNED ZEROFILL", "4294967295"),
    Case("INT INVISIBLE", "7"),
    Case("BIGINT", "-9223372036854775808"),
    Case("BIGINT UNSIGNED", "18446744073709551615"),
    Case("DECIMAL(65,30)", "-12345678901234567890123456789012345.123456789012345678901234567891"),
    Case("DECIMAL(5,2)", "-0.01"),
    Case("DECIMAL(10,0)", "-1"),
    Case("DECIMAL(9,9)", "-0.000000001"),
    Case("FLOAT", "0.1"),
    Case("DOUBLE", "-2.5e-308"),
    Case("BIT(1)", "b'1'"),
    Case("BIT(9)", "b'100000001'"),
    Case("BIT(64)", f"b'1{'0' * 62}1'"),
    Case("YEAR", "1901"),
    Case("YEAR", "2155"),
    Case("DATE", "'2024-02-29'"),
    Case("DATE", "'0001-01-01'"),
    Case("DATE", "'0000-00-00'"),
    Case("DATETIME", "'0000-00-00'"),
    Case("DATETIME", "'2024-01-00'"),
    Case("DATETIME(1)", "'2024-05-06 07:08:09.1'"),
    Case("DATETIME(5)", "'2024-05-06 07:08:09.12345'"),
    Case("DATETIME(6)", "'9999-12-31 23:59:59.999999'"),
    Case("TIMESTAMP(3) NULL", "'2024-05-06 07:08:09.012'"),
    Case("TIMESTAMP(6) NULL", "'2038-01-19 03:14:07.999999'"),
    Case("TIME", "'-00:00:01'"),
    Case("TIME", "'-838:59:59'"),
    Case("TIME(3)", "'-01:02:03.000'"),
    Case("TIME(6)", "'838:59:58.999999'"),
    Case("CHAR(7)", "'é '"),
    Case("CHAR(255) CHARACTER SET utf8mb4", "REPEAT('😀', 255)"),
    Case("VARCHAR(300)", "REPEAT('é', 300)"),
    Case("TINYTEXT", "''"),
    Case("LONGTEXT", "'x'"),
    _text("latin1", "é€"),
    _text("cp1251", "Жж"),
    _text("sjis", "日本"),
    _text("cp932", "日本①"),
    _text("macroman", "é"),
    _text("tis620", "กข"),
    _text("big5", "漢字"),
    _text("gb18030", "汉字😀")._replace(servers="mysql"),
    Case("BINARY(4)", "X'FF000001'"),
    Case("VARBINARY(4)", "X'0100'"),
    Case("VARBINARY(4)", "X'FF'"),
    Case("BLOB", "X'00FF00'"),
    Case("ENUM('a', 'é') CHARACTER SET utf8mb4", "'é'"),
    Case("ENUM('a', 'b')", "0"),
    Case(f"ENUM({_THREE_HUNDRED})", "'l299'"),
    Case("SET('a', 'é') CHARACTER SET utf8mb4", "'é,a'"),
    Case(f"SET({_SIXTY_FOUR})", "18446744073709551615"),
    Case("JSON", """'{"a": [1, -2, 1.5, true, null, "é"], "b": {}, "": 0}'"""),
    Case("JSON", "'[18446744073709551615, -9223372036854775808]'"),
    Case("JSON", "'null'"),
    Case("JSON", "JSON_ARRAY(REPEAT('x', 70000))"),
    Case("JSON", "CAST(CAST('-12.50' AS DECIMAL(8,2)) AS JSON)", "mysql"),
    Case("JSON", "CAST(CAST('2024-05-06 07:08:09.5' AS DATETIME(6)) AS JSON)", "mysql"),
    Case("POINT", "ST_GeomFromText('POINT(1 2)')"),
    Case("GEOMETRY", "ST_GeomFromText('LINESTRING(0 0,1 1)', 4326)"),
)
"""What both read as the server shows it, edges above all. Dates with a zero in them are null in all three forms."""

WRONG = (
    # The fraction of a negative time is a complement, too.
    Wrong(Case("TIME(1)", "'-00:00:00.1'"), timedelta(seconds=-0.9), timedelta(seconds=-0.1)),
    Wrong(Case("TIME(2)", "'-00:00:01.99'"), timedelta(seconds=-1.01), timedelta(seconds=-1.99)),
    Wrong(
        Case("TIME(3)", "'-838:59:58.999'"),
        -timedelta(hours=838, minutes=59, seconds=58, milliseconds=1),
        -timedelta(hours=838, minutes=59, seconds=58, milliseconds=999),
    ),
    Wrong(Case("TIME(6)", "'-00:00:00.000001'"), timedelta(microseconds=-999_999), timedelta(microseconds=-1)),
    # Python's character set of the same name is another one, in another byte order, or there is none.
    Wrong(Case("TEXT CHARACTER SET utf16", "'é日'"), "\ue900\ue565", "é日"),
    Wrong(_text("utf16", "é日😀"), "\ue900\ue565\u3dd8\u00de", "é日😀"),
    Wrong(_text("utf16le", "é日"), b"\xe9\x00\xe5e", "é日"),
    Wrong(_text("ucs2", "é日"), b"\x00\xe9e\xe5", "é日"),
    Wrong(_text("cp866", "Жⁿ"), "Ж№", "Жⁿ"),
    Wrong(_text("koi8u", "Їж•"), "Їж∙", "Їж•"),
    Wrong(_text("eucjpms", "日本"), b"\xc6\xfc\xcb\xdc", "日本"),
    Wrong(_text("swe7", "Åä"), b"]{", "Åä"),
    Wrong(_text("dec8", "é"), b"\xe9", "é"),
    Wrong(_text("hp8", "é"), b"\xc5", "é"),
    Wrong(_text("geostd8", "ა"), b"\xc0", "ა"),
    Wrong(_text("armscii8", "Աա"), b"\xb2\xb3", "Աա"),
    Wrong(_text("keybcs2", "Čď"), b"\x80\x83", "Čď"),
    # Labels are taken for UTF-8, and bytes that are none are left out.
    Wrong(Case("ENUM('a', 'é') CHARACTER SET latin1", "'é'"), "", "é"),
    Wrong(Case("SET('a', 'é') CHARACTER SET latin1", "'é,a'"), frozenset({"", "a"}), frozenset({"é", "a"})),
    Wrong(Case("SET('a', 'b')", "''"), None, frozenset()),
    Wrong(Case("YEAR", "0"), 1900, 0),
    # The log leaves out the zero bytes at the end of BINARY; no bytes at all are taken for text.
    Wrong(Case("BINARY(4)", "X'01020000'"), b"\1\2", b"\1\2\0\0"),
    Wrong(Case("BINARY(4)", "X'00000000'"), "", bytes(4)),
    Wrong(Case("VARBINARY(4)", "''"), "", b""),
    Wrong(Case("BLOB", "''"), "", b""),
    Wrong(Case("TIMESTAMP NULL", "'0000-00-00'", "mysql"), datetime(1970, 1, 1), None),
    Wrong(Case("JSON", "CAST(CAST('-01:02:03' AS TIME) AS JSON)", "mysql"), "01:02:03", "-01:02:03"),
    Wrong(Case("JSON", "CAST(CAST('2024-05-06' AS DATE) AS JSON)", "mysql"), "2024-05-06 00:00:00", "2024-05-06"),
    Wrong(Case("JSON", "CAST(X'00FF' AS JSON)", "mysql"), "\0", "AP8="),
    Wrong(
        Case("UUID", "'123e4567-e89b-12d3-a456-426655440000'", "mariadb"),
        bytes.fromhex("123e4567e89b12d3a456426655440000").rstrip(b"\0"),
        "123e4567-e89b-12d3-a456-426655440000",
    ),
    Wrong(Case("INET4", "'10.0.0.1'", "mariadb"), b"\x0a\0\0\1", "10.0.0.1"),
    Wrong(Case("INET6", "'::1'", "mariadb"), bytes(15) + b"\1", "::1"),
)
"""What it says without a word of doubt."""

REFUSED = (
    Refused(_text("utf32", "é日😀"), "'utf-32-le' codec can't decode"),
    Refused(Case("VARCHAR(20) CHARACTER SET latin1", "X'81'"), "'charmap' codec can't decode byte 0x81"),
    Refused(Case("VECTOR(2)", "STRING_TO_VECTOR('[0.5, -2]')", "mysql"), "0 is not a valid MetadataFieldType"),
    Refused(Case("VARCHAR(300) COMPRESSED", "REPEAT('ab', 100)", "mariadb"), "0 is not a valid MetadataFieldType"),
    Refused(Case("BLOB COMPRESSED", "REPEAT('b', 200)", "mariadb"), "0 is not a valid MetadataFieldType"),
)
"""What it cannot go on behind."""
