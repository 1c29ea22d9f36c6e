"""Large transactions are read in parts, which tell together what one reader tells of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.source import Split
from cdckit_mysql.binlog import connection
from cdckit_mysql.binlog.connection import BinlogConnection
from cdckit_mysql.binlog.errors import LogEndedError
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.server import origin
from cdckit_mysql.streaming import opening, planning, rollback_filter
from cdckit_mysql.streaming.transaction_in_hand import TransactionInHand
from mysql.capture import Capture, changes, config_for, read_elsewhere
from mysql.conftest import NewCapture
from mysql.log_files import Files, archived
from mysql.test_log_files import shown
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]
PIECE = 3000
"""A transaction is cut into parts of so many bytes."""
KEPT = 1000
"""More than so many bytes of events are not sent with splits."""
TABLES = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(60), n INT); CREATE TABLE u LIKE t;"


def _rows(table: str, first: int, count: int) -> str:
    values = ",".join(f"({n}, '{'x' * (n % 60)}', {n})" for n in range(first, first + count))
    return f"INSERT INTO {table} VALUES {values};"


LARGE = (
    f"BEGIN; {_rows('t', 0, 1000)} {_rows('u', 0, 400)} UPDATE t SET v = 'changed' WHERE id < 500;"
    "UPDATE t JOIN u USING (id) SET t.n = -1, u.n = -2 WHERE id < 300; DELETE FROM u WHERE id % 3 = 0;"
    f"UPDATE t SET id = id + 10000 WHERE id > 800; SAVEPOINT s; {_rows('u', 5000, 300)} COMMIT;"
)
AROUND = (f"{_rows('t', 90000, 2)} {_rows('u', 90000, 2)}", f"{_rows('t', 91000, 2)} DELETE FROM t WHERE id = 91000;")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "LEAST_PIECE", PIECE)
    monkeypatch.setattr(planning, "KEPT_BYTES", KEPT)


def _planned(reading: Capture | Files, parallelism: int) -> Sequence[Split]:
    start = reading.offset()
    return reading.source.plan(start, reading.source.latest_offset(start), parallelism)


def _read(reading: Capture | Files, splits: Sequence[Split]) -> list[Record]:
    return [record for split in splits for record in read_elsewhere(reading.config, split)]


def _parts(splits: Sequence[Split]) -> int:
    """How many of them begin within a transaction."""
    return sum(split.payload.begun is not None for split in splits)


def _equal(reading: Capture | Files, parallelism: int = 9) -> list[Record]:
    """What the parts tell, which has to be what is told of the whole."""
    [whole] = _planned(reading, 1)
    assert not whole.payload.part
    splits = _planned(reading, parallelism)
    assert _parts(splits) >= parallelism - 3
    found, expected = _read(reading, splits), _read(reading, [whole])
    assert shown(found) == shown(expected)
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))
    return found


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "metadata": {"provide_transaction_metadata": True},
    "metadata, unchanged and deleted left out": {
        "provide_transaction_metadata": True,
        "skipped_operations": "d",
        "skip_messages_without_change": True,
        "column_include_list": r".*\.(id|v)",
    },
    "statements": {"include_query": True},
    "one table": {"provide_transaction_metadata": True, "table_include_list": r".*\.u"},
}


@pytest.mark.parametrize("spools", [True, False], ids=["kept", "asked for"])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_parts_tell_what_the_whole_does(streaming: NewCapture, sql: Sql, options: dict[str, Any], spools: bool) -> None:
    sql(TABLES)
    reading = streaming(spools=spools, **options)
    sql(AROUND[0] + LARGE + AROUND[1])
    found = _equal(reading)
    assert len(found) > 700
    if options.get("provide_transaction_metadata"):
        ends = [record.value.to_dict() for record in found if record.topic == "p.transaction"]  # type: ignore[union-attr]
        assert max(end["event_count"] or 0 for end in ends) > 700


@pytest.fixture
def checksums(db_server: SQLServer) -> Iterator[Callable[[str], object]]:
    """Sets whether events end in checksums."""
    yield lambda kind: db_server.execute(f"SET GLOBAL binlog_checksum = {kind}")
    db_server.execute("SET GLOBAL binlog_checksum = CRC32")


@pytest.mark.parametrize("spools", [True, False], ids=["kept", "asked for"])
@pytest.mark.parametrize("kinds", [("NONE", "CRC32"), ("CRC32", "NONE")], ids="then ".join)
def test_parts_with_and_without_checksums(
    streaming: NewCapture, sql: Sql, checksums: Callable[[str], object], kinds: tuple[str, str], spools: bool
) -> None:
    """Those of the log's files are what counts, whatever the server does by now."""
    sql(TABLES)
    checksums(kinds[0])
    reading = streaming(spools=spools, provide_transaction_metadata=True)
    sql(LARGE)
    checksums(kinds[1])
    sql(AROUND[1])
    _equal(reading)


def test_parts_of_compressed_rows(streaming: NewCapture, db_server: SQLServer, sql: Sql) -> None:
    """MariaDB compresses each event by itself."""
    if not isinstance(db_server, MariaDBServer):
        pytest.skip("MySQL compresses transactions, not events")
    sql(TABLES)
    reading = streaming(provide_transaction_metadata=True)
    db_server.execute("SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10")
    try:
        sql(LARGE)
    finally:
        db_server.execute("SET GLOBAL log_bin_compress = OFF")
    _equal(reading, 4)


def test_a_compressed_transaction_stays_whole(streaming: NewCapture, db_server: SQLServer, sql: Sql) -> None:
    """It is one event."""
    if not isinstance(db_server, MySQLServer):
        pytest.skip("MariaDB compresses events, not transactions")
    sql(TABLES)
    reading = streaming(provide_transaction_metadata=True)
    sql(f"SET binlog_transaction_compression = ON; {LARGE} SET binlog_transaction_compression = OFF; {AROUND[1]}")
    splits = _planned(reading, 9)
    assert _parts(splits) == 0
    assert shown(_read(reading, splits)) == shown(_read(reading, _planned(reading, 1)))


def test_parts_of_a_prepared_transaction(streaming: NewCapture, sql: Sql, unique_name: str) -> None:
    sql(TABLES)
    reading = streaming(provide_transaction_metadata=True)
    large = LARGE.removeprefix("BEGIN;").removesuffix("COMMIT;").replace("SAVEPOINT s;", "")
    prepared = f"XA START '{unique_name}'; {large} XA END '{unique_name}'; XA PREPARE '{unique_name}';"
    sql(f"{prepared} XA COMMIT '{unique_name}'; {AROUND[0]}")  # another session may know of it only after this one ends
    _equal(reading)


def test_a_table_that_is_made_of_its_rows(streaming: NewCapture, sql: Sql) -> None:
    """Its definition is made within the transaction, and its rows are."""
    sql(TABLES + _rows("t", 0, 1500))
    reading = streaming(provide_transaction_metadata=True)
    sql(f"CREATE TABLE made (PRIMARY KEY (id)) AS SELECT * FROM t; {AROUND[1]}")
    found = _equal(reading, 5)
    assert sum(change[1] == "made" for change in changes([one for one in found if one.topic.endswith(".made")])) == 1500


@pytest.mark.parametrize("spools", [True, False], ids=["kept", "asked for"])
@pytest.mark.parametrize("in_memory", [rollback_filter.IN_MEMORY, 100])
def test_what_is_rolled_back_is_in_no_part(
    streaming: NewCapture, sql: Sql, spools: bool, in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB's log has it (a temporary table is not rolled back), and only the whole transaction tells."""
    monkeypatch.setattr(rollback_filter, "IN_MEMORY", in_memory)
    sql(TABLES)
    reading = streaming(spools=spools)
    gone = f"SAVEPOINT a; CREATE TEMPORARY TABLE x (id INT); {_rows('u', 20000, 300)} ROLLBACK TO a;"
    sql(AROUND[0] + LARGE.replace("SAVEPOINT s;", gone) + AROUND[1] + "DELETE FROM t; DELETE FROM u;" + LARGE)
    splits = _planned(reading, 9)
    assert _parts(splits) > 2, "those without such rows are cut"
    found = _read(reading, splits)
    assert shown(found) == shown(_read(reading, _planned(reading, 1)))
    assert not [change for change in changes(found) if change[0] == "c" and 20000 <= change[3][0] < 20300]


def test_parts_of_files(db_server: SQLServer, sql: Sql, database: str, tmp_path: Path) -> None:
    db_server.execute("FLUSH BINARY LOGS")
    [*_, (name, *_)] = db_server.execute("SHOW BINARY LOGS")
    sql(TABLES + AROUND[0] + LARGE + AROUND[1])
    folder = archived(db_server, tmp_path / "archive")
    options = {"database_include_list": database, "provide_transaction_metadata": True, "binlog_files_start": name}
    reading = Files(db_server, tmp_path / "state", folder / "*", **options)
    try:
        _equal(reading)
    finally:
        reading.close()


def test_places_beyond_four_bytes(
    streaming: NewCapture, db_server: SQLServer, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server of MySQL's is asked for them by another command, one of MariaDB's by transactions."""
    monkeypatch.setattr(connection, "FAR", 0)
    monkeypatch.setattr(opening, "FAR", 0)
    sql(TABLES)
    reading = streaming()
    sql(AROUND[0] + LARGE + AROUND[1])
    if isinstance(db_server, MySQLServer):
        _equal(reading)
    else:
        monkeypatch.setattr(origin, "FAR", 0)
        [split, *_] = splits = _planned(reading, 9)
        assert _parts(splits) == 0
        assert len(read_elsewhere(reading.config, split)) > 100


def test_places_that_no_reader_can_be_sent_to(streaming: NewCapture, sql: Sql, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that asks MariaDB for a log has four bytes for a place: a transaction is not cut behind that."""
    sql(TABLES)
    reading = streaming()
    at = reading.offset()
    farthest = int(at["pos"]) + 80_000
    monkeypatch.setattr(type(reading.source._origin), "farthest", farthest)
    sql(LARGE)
    splits = _planned(reading, 30)
    begun = [split.start["pos"] for split in splits if split.payload.begun is not None]
    assert begun
    assert max(begun) < farthest
    assert shown(_read(reading, splits)) == shown(_read(reading, _planned(reading, 1)))


def test_where_reselected_columns_and_metadata_are_told_it_stays_whole(streaming: NewCapture, sql: Sql) -> None:
    """Events would have to be made twice, and rows asked for twice."""
    sql(TABLES)
    options = {
        "post_processors": "again",
        "again.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
        "again.reselect.columns.include.list": r".*\.t:v",
    }
    reading = streaming(provide_transaction_metadata=True, **options)
    sql(LARGE)
    splits = _planned(reading, 9)
    assert _parts(splits) == 0


def test_a_transaction_of_any_size_has_some_hundred_parts() -> None:
    """What a planner keeps of each must not grow with it."""
    hand, mb = TransactionInHand(mariadb=True), 1 << 20
    hand.begins((b"", 0, 0), 4, 0)
    part = cuts = 0
    for at in range(0, 1 << 40, 16 * mb):
        if hand.large(at, part, mb):
            part, cuts = 0, cuts + 1
        part += 16 * mb
    assert 64 < cuts < 1000


def test_batches_end_between_transactions(streaming: NewCapture, sql: Sql) -> None:
    sql(TABLES)
    reading = streaming(spools=True)
    sql(AROUND[0] + LARGE + AROUND[1])
    start = reading.offset()
    end = reading.source.latest_offset(start)
    ends = []
    while start != end:
        start = reading.source.cut(start, end, 5000)
        ends.append(start)
        assert "event" not in start
    assert len(ends) == 2


def test_a_part_whose_connection_ends_is_asked_for_again(
    streaming: NewCapture, db_server: SQLServer, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What came before stays as it is, and the attempt after it tells all of the part."""
    sql(TABLES)
    reading = streaming()
    sql(LARGE)
    splits = _planned(reading, 5)
    [*_, part] = [split for split in splits if split.payload.begun is not None]
    expected = shown(read_elsewhere(reading.config, part))
    packets, calls = BinlogConnection.packets, count()

    def ending(self: BinlogConnection, timeout: float) -> Sequence[Span]:
        if next(calls):
            self.ended = True
            return []
        spans = packets(self, timeout)
        return spans[: len(spans) // 2]

    monkeypatch.setattr(BinlogConnection, "packets", ending)
    with pytest.raises(LogEndedError, match="log ended before"):
        read_elsewhere(reading.config, part)
    monkeypatch.setattr(BinlogConnection, "packets", packets)
    assert shown(read_elsewhere(reading.config, part)) == expected


def test_without_identifiers_and_lengths(mysql56_server: SQLServer, unique_name: str, tmp_path: Path) -> None:
    """MySQL 5.6 does not tell how large a transaction is: with metadata it stays whole."""
    mysql56_server.run_sql(f"CREATE DATABASE {unique_name}")
    mysql56_server.run_sql(TABLES, database=unique_name)
    for number, (metadata, cut) in enumerate([(False, True), (True, False)]):
        given = {"database_include_list": unique_name, "snapshot_mode": "no_data", "database_ssl_mode": "disabled"}
        config = config_for(mysql56_server, provide_transaction_metadata=metadata, **given)
        with Capture(config, tmp_path / f"state-{number}").closing() as reading:
            reading.once()
            mysql56_server.run_sql(LARGE + "DELETE FROM t; DELETE FROM u;", database=unique_name)
            splits = _planned(reading, 9)
            assert (_parts(splits) > 3) is cut
            assert shown(_read(reading, splits)) == shown(_read(reading, _planned(reading, 1)))
    mysql56_server.run_sql(f"DROP DATABASE {unique_name}")
