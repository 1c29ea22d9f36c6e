"""Values of every type: what the log gives is what a snapshot gives, and what the server shows."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from cdckit.api.hookspecs import ColumnConverter
from cdckit.api.schema import BOOLEAN
from cdckit.errors import DecodeError
from cdckit_mysql.values import ValueOptions
from mysql.decoding.reading import Reading


def test_negative_times_with_fractions(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (a TIME(1), b TIME(2), c TIME(3), d TIME(4), e TIME(5), f TIME(6), g TIME)")
    [row] = reading.inserted(
        "INSERT INTO t VALUES ('-00:00:00.1', '-00:00:01.99', '-838:59:58.999', '-01:00:00.0001', '-00:59:59.99999',"
        " '-00:00:00.000001', '-00:00:01')"
    )
    assert list(row.values()) == [
        -100_000,
        -1_990_000,
        -3_020_398_999_000,
        -3_600_000_100,
        -3_599_999_990,
        -1,
        -1_000_000,
    ]


def days(year: int, month: int, day: int) -> int:
    return (date(year, month, day) - date(1970, 1, 1)).days


def test_year_zero_and_two_digit_years(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT, y YEAR, d DATE, dt DATETIME(3))")
    insert = "INSERT INTO t VALUES (1, 0, '0069-01-02', '0070-01-02 00:00:00'), (2, 1901, '0100-01-01', '0099-12-31')"
    first, second = reading.inserted(insert)
    assert first == {"id": 1, "y": 1900, "d": days(2069, 1, 2), "dt": 86_400_000}
    assert second == {"id": 2, "y": 1901, "d": days(100, 1, 1), "dt": days(1999, 12, 31) * 86_400_000}
    table = reading.tables()["t"]
    assert reading.selected(table) == [first, second]
    plain = reading.selected(table, ValueOptions(time_adjuster=False))
    assert [row["d"] for row in plain] == [days(69, 1, 2), days(100, 1, 1)]
    assert [row["dt"] for row in plain] == [days(70, 1, 2) * 86_400_000, days(99, 12, 31) * 86_400_000]


def test_times_in_the_formats_of_old_servers(mariadb_reading: Reading) -> None:
    digits = range(7)
    columns = ", ".join(f"ts{n} TIMESTAMP({n}) NULL, dt{n} DATETIME({n}), t{n} TIME({n})" for n in digits)
    mariadb_reading.server.execute("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        mariadb_reading.execute(f"CREATE TABLE old ({columns})")
    finally:
        mariadb_reading.server.execute("SET GLOBAL mysql56_temporal_format = ON")
    mariadb_reading.execute(f"CREATE TABLE new ({columns})")
    moments = [
        ("2038-01-19 03:14:07.123456", "9999-12-31 23:59:59.987654", "838:59:58.999999"),
        ("1970-01-01 00:00:01", "1000-01-01 00:00:00.000001", "-838:59:58.999999"),
        ("2020-02-29 12:34:56.5", "2020-02-29 12:34:56.5", "-00:00:00.100001"),
        ("0000-00-00 00:00:00", "2018-00-01 00:00:00", "00:00:00"),
    ]
    rows = ", ".join("(" + ", ".join(f"'{value}'" for _ in digits for value in moment) + ")" for moment in moments)
    for mode in ("adaptive_time_microseconds", "isostring"):
        options = ValueOptions(time_mode=mode)
        old = mariadb_reading.inserted(f"INSERT INTO old VALUES {rows}", options=options)
        assert old == mariadb_reading.inserted(f"INSERT INTO new VALUES {rows}", options=options)
        assert old[2]["ts2"] == "2020-02-29T12:34:56.50Z"


def test_dates_that_do_not_exist(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (d DATE, dt DATETIME(6))")
    start = reading.position()
    reading.execute(
        "SET sql_mode = 'ALLOW_INVALID_DATES'", "INSERT INTO t VALUES ('2023-02-31', '2023-04-31 01:02:03.5')"
    )
    events = reading.events(start)
    with pytest.raises(DecodeError, match="2023-02-31 is no date"):
        reading.changes(events)
    lenient = ValueOptions(invalid_dates="epoch")
    [(_, _, _, row)] = reading.changes(events, lenient)
    assert row is not None
    assert row["d"] == 0
    assert reading.selected(reading.tables()["t"], lenient) == [row]


def test_trailing_zero_bytes_of_binary(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (a BINARY(4), b BINARY(255), c VARBINARY(4), d CHAR(4))")
    insert = "INSERT INTO t VALUES (X'0102', X'', X'0100', 'a '), (X'00000000', X'01', X'00', '')"
    first, second = reading.inserted(insert)
    assert first == {"a": b"\1\2\0\0", "b": bytes(255), "c": b"\1\0", "d": "a"}
    assert second == {"a": bytes(4), "b": b"\1" + bytes(254), "c": b"\0", "d": ""}
    assert reading.selected(reading.tables()["t"]) == [first, second]


def test_labels_with_signs(reading: Reading) -> None:
    """Commas are escaped in the log's events and not in the snapshot's, as Debezium does."""
    reading.execute("CREATE TABLE t (e ENUM('a,b', 'it''s', 'back\\\\slash', ''), s SET('x y', 'é'))")
    rows = reading.inserted("INSERT INTO t VALUES (1, 3), (2, 2), (3, 0), (4, 1), ('none such', 1)")
    assert [row["e"] for row in rows] == ["a\\,b", "it's", "back\\slash", "", ""]
    assert [row["s"] for row in rows] == ["x y,é", "é", "", "x y", "x y"]
    assert [row["e"] for row in reading.selected(reading.tables()["t"])] == ["a,b", "it's", "back\\slash", "", ""]


def test_sets_of_up_to_64_labels(reading: Reading) -> None:
    sizes = (1, 8, 9, 16, 17, 24, 25, 32, 33, 64)
    columns = ", ".join(f"s{n} SET({', '.join(repr(f'l{i}') for i in range(n))})" for n in sizes)
    reading.execute(f"CREATE TABLE t ({columns})")
    values = [(0,) * len(sizes), tuple((1 << n) - 1 for n in sizes), tuple(1 << n - 1 for n in sizes)]
    rows = reading.inserted(*(f"INSERT INTO t VALUES {value}" for value in values))
    assert [list(row.values()) for row in rows] == [
        [",".join(f"l{i}" for i in range(n) if bits >> i & 1) for n, bits in zip(sizes, row, strict=True)]
        for row in values
    ]


def test_enum_of_more_than_255_labels(reading: Reading) -> None:
    reading.execute(f"CREATE TABLE t (e ENUM({', '.join(repr(f'label {i}') for i in range(1, 700))}))")
    rows = reading.inserted("INSERT INTO t VALUES (1), (255), (256), (699)")
    assert [row["e"] for row in rows] == ["label 1", "label 255", "label 256", "label 699"]


def test_floats_have_their_shortest_digits_in_the_log(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (f FLOAT, d DOUBLE)")
    numbers = [0.1, 1 / 3, 16777216.0, 1e-40, 3.402823e38, -2.5, 0.0, 123456.79]
    rows = reading.inserted(f"INSERT INTO t VALUES {', '.join(f'({n!r}, {n!r})' for n in numbers)}")
    for number, row in zip(numbers, rows, strict=True):
        stored = struct.unpack("<f", struct.pack("<f", number))[0]
        assert struct.pack("<f", row["f"]) == struct.pack("<f", stored)
        assert len(repr(row["f"])) <= len(repr(stored))
        assert row["d"] == number


def test_vectors(mysql_reading: Reading) -> None:
    mysql_reading.execute("CREATE TABLE t (id INT, v VECTOR(3), w VECTOR)")
    insert = "INSERT INTO t VALUES (1, STRING_TO_VECTOR('[0.1, -2, 3e5]'), STRING_TO_VECTOR('[1]')), (2, NULL, NULL)"
    rows = mysql_reading.inserted(insert)
    assert rows == [{"id": 1, "v": [0.1, -2.0, 300000.0], "w": [1.0]}, {"id": 2, "v": None, "w": None}]
    table = mysql_reading.tables()["t"]
    assert mysql_reading.selected(table) == rows
    schema = mysql_reading.values(table, ValueOptions())[1].schema
    assert (schema.type, schema.name, schema.version) == ("array", "io.debezium.data.FloatVector", 1)
    assert schema.items is not None
    assert schema.items.type == "float32"


def test_uuids_and_addresses_of_mariadb(mariadb_reading: Reading) -> None:
    mariadb_reading.execute("CREATE TABLE t (u UUID, a INET4, b INET6 NOT NULL DEFAULT '::1')")
    rows = mariadb_reading.inserted(
        "INSERT INTO t VALUES ('123e4567-e89b-12d3-a456-426655440000', '10.0.0.0', '2001:db8::ff00:0:0'),"
        " ('00000000-0000-0000-0000-000000000000', '0.0.0.0', '::'),"
        " ('6ccd780c-baba-1026-9564-5b8c656024db', '255.1.2.3', '::ffff:192.0.2.0'), (NULL, NULL, DEFAULT)"
    )
    assert rows == [
        {"u": "123e4567-e89b-12d3-a456-426655440000", "a": "10.0.0.0", "b": "2001:db8::ff00:0:0"},
        {"u": "00000000-0000-0000-0000-000000000000", "a": "0.0.0.0", "b": "::"},
        {"u": "6ccd780c-baba-1026-9564-5b8c656024db", "a": "255.1.2.3", "b": "::ffff:192.0.2.0"},
        {"u": None, "a": None, "b": "::1"},
    ]
    table = mariadb_reading.tables()["t"]
    assert mariadb_reading.selected(table) == rows
    values = mariadb_reading.values(table, ValueOptions())
    assert [value.schema.name for value in values] == ["io.debezium.data.Uuid", None, None]
    assert values[2].schema.default == "::1"


def test_geometries_of_every_type(reading: Reading) -> None:
    kinds = {
        "POINT": "POINT(1 2)", "LINESTRING": "LINESTRING(0 0,1 1)", "POLYGON": "POLYGON((0 0,1 0,1 1,0 0))",
        "MULTIPOINT": "MULTIPOINT(0 0,1 1)", "MULTILINESTRING": "MULTILINESTRING((0 0,1 1))",
        "MULTIPOLYGON": "MULTIPOLYGON(((0 0,1 0,1 1,0 0)))", "GEOMETRYCOLLECTION": "GEOMETRYCOLLECTION(POINT(1 2))",
        "GEOMETRY": "POINT(5 6)",
    }  # fmt: skip
    reading.execute(f"CREATE TABLE t ({', '.join(f'c_{kind.lower()} {kind}' for kind in kinds)})")
    [row] = reading.inserted(f"INSERT INTO t VALUES ({', '.join(f'ST_GeomFromText({v!r})' for v in kinds.values())})")
    shown = reading.server.execute(
        f"SELECT {', '.join(f'ST_AsWKB(c_{kind.lower()})' for kind in kinds)} FROM {reading.database}.t"
    )
    assert tuple(value["wkb"] for value in row.values()) == shown[0]
    assert (row["c_point"]["x"], row["c_point"]["y"]) == (1.0, 2.0)


def test_invisible_generated_and_dropped_columns(reading: Reading) -> None:
    reading.execute(
        "CREATE TABLE t (a INT, b INT INVISIBLE, c INT AS (a + 1) STORED, d INT AS (a + 2) VIRTUAL, gone INT, e INT)",
        "ALTER TABLE t DROP COLUMN gone",
    )
    assert reading.inserted("INSERT INTO t (a, b, e) VALUES (1, 2, 9)") == [{"a": 1, "b": 2, "c": 2, "d": 3, "e": 9}]


def test_rows_longer_than_a_packet(reading: Reading) -> None:
    """A row of more than 16 MB takes several packets, in the log and in a result."""
    reading.server.execute("SET GLOBAL max_allowed_packet = 67108864")
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY, a LONGBLOB, b LONGTEXT)")
    size = 17 * 1024 * 1024
    insert = f"INSERT INTO t VALUES (1, REPEAT('a', {size}), REPEAT('b', {size})), (2, 'x', 'y')"
    rows = reading.inserted(insert)
    assert [(row["id"], len(row["a"]), len(row["b"])) for row in rows] == [(1, size, size), (2, 1, 1)]
    assert rows[0]["a"] == b"a" * size
    assert reading.selected(reading.tables()["t"]) == rows


def test_user_converters(reading: Reading) -> None:
    class ToBoolean(ColumnConverter):
        def convert(self, value: Any) -> Any:
            return bool(value)

    options = ValueOptions(
        converter=lambda _table, column, _schema: ToBoolean(BOOLEAN) if column.base_type == "TINYINT" else None
    )
    reading.execute("CREATE TABLE t (a TINYINT(1) NOT NULL DEFAULT 1, b TINYINT, c INT)")
    rows = reading.inserted("INSERT INTO t VALUES (0, 5, 6), (DEFAULT, NULL, NULL)", options=options)
    assert rows == [{"a": False, "b": True, "c": 6}, {"a": True, "b": None, "c": None}]
    table = reading.tables()["t"]
    assert reading.selected(table, options) == rows
    first, second, _ = reading.values(table, options)
    assert (first.schema.type, first.schema.optional, first.schema.default) == ("boolean", False, True)
    assert (second.schema.type, second.schema.optional) == ("boolean", True)


def test_comments_in_schemas(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (a INT COMMENT 'what it is', b INT)")
    table = reading.tables()["t"]
    options = ValueOptions(comments=True, propagates_type=lambda _table, _column: True)
    first, second = reading.values(table, options)
    comment = "__debezium.source.column.comment"
    assert (first.schema.doc, second.schema.doc) == ("what it is", None)
    assert reading.values(table, replace(options, event_format="1.9"))[0].schema.doc is None
    assert (first.schema.parameters or {})[comment] == "what it is"
    assert comment not in (second.schema.parameters or {})
    assert comment not in (reading.values(table, replace(options, comments=False))[0].schema.parameters or {})
