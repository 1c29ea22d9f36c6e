"""Updates that carry only what changed in a JSON document."""

from __future__ import annotations

import json

import pytest

from cdckit.api.hookspecs import ColumnConverter
from cdckit.api.schema import STRING
from cdckit.errors import DecodeError
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.values import ValueOptions
from cdckit_mysql.values.json_diff import apply_diffs
from mysql.decoding.reading import Reading

PARTIAL = "SET binlog_row_value_options = PARTIAL_JSON"
DOCUMENT = {"a": 1, "deep": {"list": [1, 2, {"x": "y"}], "name": "n" * 60}, "text": "t" * 60, "zz": [True, None]}


@pytest.fixture
def documents(mysql_reading: Reading) -> Reading:
    """A table with one row of documents."""
    text = json.dumps(DOCUMENT)
    mysql_reading.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, j JSON, n INT, k JSON)", f"INSERT INTO t VALUES (1, '{text}', 5, '{text}')"
    )
    return mysql_reading


def partial(reading: Reading, *updates: str) -> list[tuple[dict[str, object], dict[str, object]]]:
    """The documents before and after of updates; each must have been logged in part."""
    start = reading.position()
    reading.execute(PARTIAL, *updates)
    events = reading.events(start)
    assert all(event.partial for event in events if isinstance(event, RowsEvent) and event.change == "update")
    pairs = []
    for _, _, before, after in reading.changes(events):
        assert before is not None
        assert after is not None
        pairs.append((before, after))
    return pairs


def test_all_changes_of_a_document_are_applied(documents: Reading) -> None:
    [(before, after)] = partial(
        documents,
        "UPDATE t SET j = JSON_REMOVE(JSON_SET(JSON_REPLACE(j, '$.a', 2, '$.deep.list[2].x', 'z'),"
        " '$.deep.new', JSON_OBJECT('q', 1.5)), '$.text', '$.deep.list[0]')",
    )
    expected = {"a": 2, "deep": {"list": [2, {"x": "z"}], "name": "n" * 60, "new": {"q": 1.5}}, "zz": [True, None]}
    assert json.loads(str(before["j"])) == DOCUMENT
    assert json.loads(str(after["j"])) == expected
    assert after["k"] == before["k"]


def test_the_text_is_that_of_a_whole_document(documents: Reading) -> None:
    change = "UPDATE t SET j = JSON_SET(j, '$.bb', 'é\\n', '$.deep.\"odd key\"', 1e10), k = JSON_REMOVE(k, '$.zz[0]')"
    [(_, in_part)] = partial(documents, change)
    [(_, _, _, whole)] = documents.written("SET binlog_row_value_options = ''", "UPDATE t SET n = 6")
    assert whole is not None
    assert in_part == {**whole, "n": 5}


def test_several_columns_rows_and_nulls(documents: Reading) -> None:
    documents.execute(
        "INSERT INTO t SELECT 2, NULL, 6, k FROM t", "INSERT INTO t SELECT 3, k, 7, NULL FROM t WHERE id = 1"
    )
    pairs = partial(documents, "UPDATE t SET n = n + 1, j = JSON_SET(j, '$.a', id), k = JSON_SET(k, '$.a', -id)")
    after = {row["id"]: row for _, row in pairs}
    assert [json.loads(str(after[1][name]))["a"] for name in ("j", "k")] == [1, -1]
    assert after[2]["j"] is None
    assert json.loads(str(after[2]["k"]))["a"] == -2
    assert json.loads(str(after[3]["j"]))["a"] == 3
    assert after[3]["k"] is None
    assert [after[number]["n"] for number in (1, 2, 3)] == [6, 7, 8]


def test_values_of_the_servers_own_types(documents: Reading) -> None:
    [(_, after)] = partial(
        documents,
        "UPDATE t SET j = JSON_SET(j, '$.a', CAST('2024-05-06 07:08:09.5' AS DATETIME(6)), '$.deep.list[1]',"
        " CAST(-12.50 AS DECIMAL(8,2)), '$.zz[0]', CAST('-01:02:03' AS TIME))",
    )
    text = str(after["j"])
    assert '"a":"2024-05-06 07:08:09.5"' in text
    assert '"list":[1,-12.50,' in text
    assert '"zz":["-01:02:03",null]' in text


def test_without_the_document_before_the_value_is_unavailable(documents: Reading) -> None:
    start = documents.position()
    documents.execute(PARTIAL, "SET binlog_row_image = MINIMAL", "UPDATE t SET j = JSON_SET(j, '$.a', 9), n = 8")
    [(_, _, before, after)] = documents.changes(documents.events(start))
    assert before == {"id": 1, "j": "__debezium_unavailable_value", "n": None, "k": "__debezium_unavailable_value"}
    assert after == {**before, "n": 8}


def test_a_document_left_out_and_one_with_a_converter(documents: Reading) -> None:
    class Length(ColumnConverter):
        def convert(self, value: str) -> str:
            return str(len(value))

    def converter(_table: object, column: object, _schema: object) -> ColumnConverter | None:
        return Length(STRING) if getattr(column, "name", "") == "k" else None

    start = documents.position()
    documents.execute(PARTIAL, "UPDATE t SET j = JSON_SET(j, '$.a', 9), k = JSON_SET(k, '$.a', 77)")
    [(_, _, before, after)] = documents.changes(documents.events(start), ValueOptions(converter=converter))
    assert before is not None
    assert after is not None
    assert int(after["k"]) == int(before["k"]) + 1


def test_changes_that_do_not_fit_are_errors() -> None:
    removal = bytes([2, 3]) + b"$.x"
    with pytest.raises(DecodeError, match=r"\$\.x does not fit"):
        apply_diffs({"y": 1}, removal)
    with pytest.raises(DecodeError, match="operation 7"):
        apply_diffs({"y": 1}, bytes([7, 3]) + b"$.x")
    with pytest.raises(DecodeError, match="no JSON path"):
        apply_diffs({"y": 1}, bytes([2, 3]) + b"x.y")
