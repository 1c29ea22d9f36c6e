"""Incremental snapshots of tables whose key changes on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mysql.signalling import SIGNALS, Signalled
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.one_server

Sql = Callable[[str], None]

ROWS = [(number, f"{99 - number}", 5) for number in range(100)]


@pytest.fixture
def begun(db_server: SQLServer, database: str, sql: Sql, tmp_path: Path) -> Iterator[Signalled]:
    """A capture that has read a part of table `t`."""
    sql(SIGNALS)
    sql("CREATE TABLE t (id INT NOT NULL, word VARCHAR(20) NOT NULL, v INT NOT NULL, PRIMARY KEY (id)) CHARSET utf8mb4")
    sql(f"INSERT INTO t VALUES {', '.join(map(str, ROWS))}")
    capture = Signalled(db_server, database, tmp_path / "state")
    capture.once()
    capture.signal(data_collections=[f"{database}.t"])
    capture.follow(until=lambda: len(capture.reads()) >= 20)
    yield capture


def _read_behind(capture: Signalled) -> list[tuple[object, ...]]:
    """The rows that come from here on, by the column of numbers."""
    before = len(capture.reads())
    capture.once()
    assert capture.told()[-1] == ("Incremental", "COMPLETED")
    return [(int(number), *rest) for number, *rest in capture.reads()[before:]]


ALTERATIONS = {
    "more columns": ("DROP PRIMARY KEY, ADD PRIMARY KEY (id, word)", "id, word VARCHAR"),
    "another column": ("DROP PRIMARY KEY, ADD PRIMARY KEY (word)", "word VARCHAR"),
    "another type": ("MODIFY id VARCHAR(10) NOT NULL", "id VARCHAR"),
}


@pytest.mark.parametrize("alteration", ALTERATIONS)
def test_another_key_begins_the_table_anew(
    begun: Signalled, sql: Sql, caplog: pytest.LogCaptureFixture, alteration: str
) -> None:
    change, told = ALTERATIONS[alteration]
    sql(f"ALTER TABLE t {change}; UPDATE t SET v = 5;")
    caplog.set_level("INFO", "cdckit.snapshot")
    assert sorted(_read_behind(begun)) == ROWS
    assert f"{begun.database}.t has the key {told}" in caplog.text


def test_an_older_state_tells_by_the_number_of_values(begun: Signalled, sql: Sql) -> None:
    assert begun.offset is not None
    begun.offset["cdckit_incremental"].pop("columns")
    sql("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (word, id)")
    assert sorted(_read_behind(begun)) == ROWS


def test_a_surrogate_key_that_is_still_there_is_gone_by(begun: Signalled, sql: Sql) -> None:
    begun.signal("stop-snapshot")
    begun.once()
    begun.signal(data_collections=[f"{begun.database}.t"], surrogate_key="word")
    read = len(begun.reads())
    begun.follow(until=lambda: len(begun.reads()) > read)
    sql("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (v, id)")
    _read_behind(begun)
    assert sorted(begun.reads()[read:]) == ROWS


@pytest.mark.parametrize(
    "change", ["MODIFY id BIGINT NOT NULL", "MODIFY word VARCHAR(300) NOT NULL, ADD UNIQUE (v, id)"]
)
def test_the_same_key_goes_on(begun: Signalled, sql: Sql, change: str) -> None:
    sql(f"ALTER TABLE t {change}")
    _read_behind(begun)
    assert sorted(begun.reads()) == ROWS


def test_a_key_of_text_goes_on_after_restarts(begun: Signalled, sql: Sql) -> None:
    """Begun anew by the changed key, it is not begun anew by those."""
    sql("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (word, id)")
    before, runs = len(begun.reads()), 0
    while ("Incremental", "COMPLETED") not in begun.told():
        runs += 1
        begun.once(most=5)
    assert runs > 2
    assert sorted(begun.reads()[before:]) == ROWS
