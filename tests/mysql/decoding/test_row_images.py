"""Row images that do not hold every column, columns that are left out, patterns of nulls, wide tables."""

from __future__ import annotations

import random

import pytest

from cdckit.errors import DecodeError
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.rows import RowDecoder
from cdckit_mysql.values import ValueOptions, column_value
from mysql.decoding.reading import Reading, changes_of

PLACEHOLDER = "__debezium_unavailable_value"
TABLE = (
    "CREATE TABLE t (id INT PRIMARY KEY, n INT, text VARCHAR(20), blb BLOB, e ENUM('x','y'), j JSON, d DATE NOT NULL,"
    " INDEX (n))"
)
ROW = {"id": 1, "n": 2, "text": "a", "blb": b"b", "e": "x", "j": "{}", "d": 19_000}
INSERT = "INSERT INTO t VALUES (1, 2, 'a', 'b', 'x', '{}', '2022-01-08')"


def test_minimal_images(reading: Reading) -> None:
    reading.execute(TABLE, INSERT)
    changes = reading.written(
        "SET binlog_row_image = MINIMAL",
        "INSERT INTO t (id, n, d) VALUES (2, 3, '2022-01-09')",
        "UPDATE t SET text = 'c' WHERE id = 1",
        "UPDATE t SET id = 9, e = NULL WHERE id = 1",
        "DELETE FROM t WHERE id = 9",
        options=ValueOptions(complete_images=False),
    )
    nothing = {"n": None, "text": PLACEHOLDER, "blb": PLACEHOLDER.encode(), "e": None, "j": PLACEHOLDER, "d": None}
    (_, _, _, inserted), (_, _, *first), (_, _, *second), (_, _, deleted, _) = changes
    assert inserted is not None
    assert {name: inserted[name] for name in ("id", "n", "d")} == {"id": 2, "n": 3, "d": 19_001}
    assert first == [{"id": 1, **nothing}, {"id": 1, **nothing, "text": "c"}]
    assert second == [{"id": 1, **nothing}, {"id": 9, **nothing}]
    assert deleted == {"id": 9, **nothing}


def test_images_without_blobs(reading: Reading) -> None:
    reading.execute(TABLE, INSERT)
    changes = reading.written(
        "SET binlog_row_image = NOBLOB", "UPDATE t SET n = 7", "UPDATE t SET blb = 'new'", "DELETE FROM t"
    )
    (_, _, before, after), (_, _, _, changed), (_, _, deleted, _) = changes
    kept = {name: ROW[name] for name in ("id", "n", "text", "e", "d")}
    assert before is not None
    assert {name: before[name] for name in kept} == kept
    assert before["blb"] == PLACEHOLDER.encode()
    assert after == {**before, "n": 7}
    assert changed == {**after, "blb": b"new"}
    assert deleted == {**after, "n": 7}


def test_columns_that_may_be_missing_are_optional(reading: Reading) -> None:
    reading.execute(TABLE)
    table = reading.tables()["t"]
    by_name = {v.column.name: v.schema for v in reading.values(table, ValueOptions(complete_images=False))}
    assert by_name["d"].optional
    assert by_name["id"].optional
    complete = {v.column.name: v.schema for v in reading.values(table, ValueOptions())}
    assert not complete["d"].optional


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
def test_columns_are_left_out(reading: Reading, image: str) -> None:
    reading.execute(TABLE, INSERT)
    start = reading.position()
    reading.execute(f"SET binlog_row_image = {image}", "UPDATE t SET text = 'cc', d = '2022-01-10'", "DELETE FROM t")
    values = reading.values(reading.tables()["t"], ValueOptions())
    kept = [value if value.column.name in {"id", "text", "d"} else None for value in values]
    events = [event for event in reading.events(start) if isinstance(event, RowsEvent)]
    (_, _, before, after), (_, _, deleted, _) = (change for event in events for change in changes_of(event, kept))
    assert after == {"id": 1, "text": "cc", "d": 19_002}
    assert before is not None
    assert list(before) == ["id", "text", "d"]
    assert deleted is not None
    assert deleted["id"] == 1


def test_more_patterns_of_nulls_than_have_functions(reading: Reading) -> None:
    columns = [f"c{number}" for number in range(9)]
    reading.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {', '.join(f'{name} VARCHAR(9)' for name in columns)})")
    expected = [
        {"id": number, **{name: None if number >> bit & 1 else f"{name}-{number}" for bit, name in enumerate(columns)}}
        for number in range(512)
    ]
    rows = ", ".join(
        "(" + ", ".join("NULL" if value is None else repr(value) for value in row.values()) + ")" for row in expected
    )
    assert reading.inserted(f"INSERT INTO t VALUES {rows}") == expected
    assert reading.selected(reading.tables()["t"], tail="ORDER BY id") == expected


@pytest.mark.parametrize("width", [1, 7, 8, 16, 17, 31, 64, 65, 300])
def test_tables_of_any_width(reading: Reading, width: int) -> None:
    columns = [f"c{number}" for number in range(width)]
    reading.execute(f"CREATE TABLE t ({', '.join(f'{name} SMALLINT' for name in columns)})")
    rng = random.Random(width)
    expected = [{name: rng.choice([None, rng.randint(-30_000, 30_000)]) for name in columns} for _ in range(20)]
    rows = ", ".join(
        "(" + ", ".join("NULL" if value is None else str(value) for value in row.values()) + ")" for row in expected
    )
    changes = reading.written(f"INSERT INTO t VALUES {rows}", "UPDATE t SET c0 = 1", "DELETE FROM t")
    assert [after for _, kind, _, after in changes if kind == "write"] == expected
    assert [before for _, kind, before, _ in changes if kind == "delete"] == [{**row, "c0": 1} for row in expected]


def test_a_definition_that_does_not_fit(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1, 2, 3)", "ALTER TABLE t MODIFY b VARCHAR(10)")
    [event] = [event for event in reading.events(start) if isinstance(event, RowsEvent)]
    values = reading.values(reading.tables()["t"], ValueOptions())
    with pytest.raises(DecodeError, match=rf"{reading.database}\.t: column b is VARCHAR .* type 3"):
        RowDecoder(event.table, values)
    with pytest.raises(DecodeError, match="3 columns, the definition 2"):
        RowDecoder(event.table, values[:2])


@pytest.mark.parametrize("specialised", [64, 0])
def test_null_in_a_key_is_damage(reading: Reading, monkeypatch: pytest.MonkeyPatch, specialised: int) -> None:
    """Also where rows have so many patterns of nulls that one reader asks for each column."""
    monkeypatch.setattr("cdckit_mysql.rows.row_reader._SPECIALISED", specialised)
    reading.execute("CREATE TABLE t (a INT, b INT, id INT PRIMARY KEY)")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (NULL, 2, 3)")
    [event] = [event for event in reading.events(start) if isinstance(event, RowsEvent)]
    table = reading.tables()["t"]
    values = [column_value(one, ValueOptions(), table.id, in_key=one.name == "id") for one in table.columns]
    decoder = RowDecoder(event.table, values)
    assert decoder.write_rows(event) == [(None, 2, 3)]
    image = event.data[event.data_start : event.data_end]
    damaged = bytes([image[0] | 4]) + image[1:-4]
    event.data, event.data_start, event.data_end = damaged, 0, len(damaged)
    with pytest.raises(DecodeError, match=rf"{reading.database}\.t: .*{event.start}: column id of the key is NULL"):
        decoder.write_rows(event)


def test_damaged_rows_are_errors(reading: Reading) -> None:
    reading.execute("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('x'), v VARCHAR(9))")
    start = reading.position()
    reading.execute("INSERT INTO t VALUES (1, 'x', 'abc')")
    [event] = [event for event in reading.events(start) if isinstance(event, RowsEvent)]
    decoder = RowDecoder(event.table, reading.values(reading.tables()["t"], ValueOptions()))
    image = event.data[event.data_start : event.data_end]
    for damaged in (image[:-1], image + b"\0", image[:5] + b"\x07" + image[6:], image[:1] + b"\x01"):
        event.data, event.data_start, event.data_end = damaged, 0, len(damaged)
        with pytest.raises(DecodeError, match=rf"{reading.database}\.t: .*{event.start}"):
            decoder.write_rows(event)
