"""What the user asks to skip is left out, counted and logged; without that, the pipeline stops with the position."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from cdckit.api.hookspecs import ColumnConverter, ColumnDescription, hookimpl
from cdckit.api.plugins import plugin_manager
from cdckit.api.schema import STRING
from cdckit.errors import DecodeError
from mysql.capture import Capture, changes
from mysql.conftest import NewCapture

Sql = Callable[[str], None]
INVALID = "SET sql_mode = 'ALLOW_INVALID_DATES'; "
PLACE = r"[\w.-]+\.\d{6}:\d+"


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What has been warned of since the last call."""
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    caplog.clear()
    return told


def rows(made: Capture) -> list[tuple[Any, ...] | None]:
    """The rows that the next run shows."""
    return [change[3] for change in changes(made.once())]


def test_a_value_that_does_not_fit_stops_the_pipeline(capture: NewCapture, sql: Sql, database: str) -> None:
    sql(INVALID + "CREATE TABLE t (id INT PRIMARY KEY, a DATE)")
    made = capture()
    made.once()
    sql(INVALID + "INSERT INTO t VALUES (1, '2021-02-31')")
    with pytest.raises(DecodeError, match=rf"^{PLACE}: rows of {database}\.t cannot be decoded: .*2021-02-31"):
        made.once()
    with pytest.raises(DecodeError, match="2021-02-31"):
        capture(snapshot_mode="always").once()


@pytest.mark.parametrize(("mode", "logged"), [("skip", 1), ("warn", 2)])
def test_values_that_do_not_fit_are_left_out(
    mode: str, logged: int, capture: NewCapture, sql: Sql, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql(INVALID + "CREATE TABLE t (id INT PRIMARY KEY, a DATE, b DATETIME(6) NOT NULL, c VARCHAR(9))")
    insert = (
        INVALID + "INSERT INTO t VALUES ({}, '2021-02-31', '2021-02-03', 'x'), ({}, '2021-02-28', '2021-02-30', 'y')"
    )
    sql(insert.format(1, 2))
    made = capture(event_converting_failure_handling_mode=mode)
    caplog.set_level(logging.WARNING, "cdckit.mysql")
    day, moment = 18686, 1612310400000000
    assert rows(made) == [(1, None, moment, "x"), (2, day, 0, "y")]
    assert [line.partition(" cannot")[0] for line in warnings(caplog)] == [
        f"snapshot: a value of {database}.t.{column}" for column in "ab"
    ]
    made = capture(event_converting_failure_handling_mode=mode)
    sql(insert.format(3, 4) + "; DELETE FROM t WHERE id = 3")
    found = [change[1:] for change in changes(made.once()) if change[0] != "tombstone"]
    assert found == [
        ("t", None, (3, None, moment, "x")),
        ("t", None, (4, day, 0, "y")),
        ("t", (3, None, moment, "x"), None),
    ]
    told = warnings(caplog)
    assert len([line for line in told if f"{database}.t.a cannot be shown" in line]) == logged
    assert re.match(rf"{PLACE}: a value of {database}\.t\.a cannot be shown and is left out, 1 so far", told[0])


class _Failing:
    """A plugin whose converter does not know what to do with `bad`."""

    class Fails(ColumnConverter):
        def convert(self, value: str) -> str:
            return {"good": "GOOD"}[value]

    @hookimpl
    def cdckit_converter_types(self) -> Sequence[str]:
        return ["Fails"]

    @hookimpl
    def cdckit_converter(
        self, type_name: str, options: dict[str, str], column: ColumnDescription
    ) -> ColumnConverter | None:
        return self.Fails(STRING) if type_name == "Fails" and column.name == "v" else None


@pytest.fixture
def failing() -> Iterator[None]:
    plugin = _Failing()
    plugin_manager().register(plugin)
    yield
    plugin_manager().unregister(plugin)


@pytest.mark.usefixtures("failing")
def test_a_converter_that_fails_is_named_or_its_value_left_out(capture: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'good')")
    own = {"converters": "f", "f.type": "Fails"}
    made = capture(**own)
    assert rows(made) == [(1, "GOOD")]
    sql("INSERT INTO t VALUES (2, 'bad')")
    with pytest.raises(DecodeError, match=rf"{database}\.t.*the converter of column v: KeyError: 'bad'"):
        made.once()
    assert rows(capture(**own, event_converting_failure_handling_mode="skip")) == [(2, None)]


def test_a_table_whose_definition_does_not_fit_the_log(
    capture: NewCapture, sql: Sql, database: str, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)")
    made = capture()
    made.once()
    sql("SET sql_log_bin = 0; ALTER TABLE t ADD COLUMN v INT")
    sql("INSERT INTO t VALUES (1, 1); INSERT INTO u VALUES (1); INSERT INTO t VALUES (2, 2)")
    with pytest.raises(
        DecodeError, match=rf"{PLACE}: rows of {database}\.t .*inconsistent\.schema\.handling\.mode=warn"
    ):
        made.once()
    made = capture(event_deserialization_failure_handling_mode="skip")
    with pytest.raises(DecodeError, match="2 columns, the tracked definition 1"):
        made.once()
    caplog.set_level(logging.WARNING, "cdckit.mysql")
    assert rows(capture(inconsistent_schema_handling_mode="skip")) == [(1,)]
    [told] = [line for line in warnings(caplog) if "left out" in line]
    assert re.match(rf"{PLACE}: rows of {database}\.t cannot be decoded: .*; left out, 1 so far of this table", told)
