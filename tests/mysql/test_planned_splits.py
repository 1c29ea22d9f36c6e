"""What the planner of ranges takes from the server, and what its splits carry."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from struct import pack
from typing import Any
from zlib import crc32

import pytest

from cdckit.api.record import Record
from cdckit.api.source import Split
from cdckit.errors import DecodeError
from cdckit_mysql.binlog.place import HEADER
from cdckit_mysql.offsets import LogOffset
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.streaming import planning, range_scan
from cdckit_mysql.streaming.spool import SpoolFile, spooled_spans
from mysql.capture import Capture, changes, read_elsewhere
from mysql.conftest import NewCapture
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]
MANY = 5000
SOME = range_scan.FEW_TABLES + 1
SPLIT_BYTES = 50_000


def _planned(reading: Capture, parallelism: int = 1) -> Sequence[Split]:
    start = reading.offset()
    return reading.source.plan(start, reading.source.latest_offset(start), parallelism)


def _define(reading: Capture, database: str, like: str, others: int) -> None:
    """Makes the pipeline know many captured tables."""
    at = LogOffset.from_json(reading.offset()).position
    history = SchemaHistory(reading.state)
    tables = history.tables_at(at)
    [model] = [table for table in tables if (table.database, table.name) == (database, like)]
    for number in range(others):
        tables.put(replace(model, name=f"other_{number}"))
    history.start(at, tables)


def test_a_split_carries_the_definitions_that_it_names(streaming: NewCapture, sql: Sql, database: str) -> None:
    columns = ", ".join(f"column_{number} VARCHAR(20)" for number in range(20))
    sql(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}); CREATE TABLE u (id INT PRIMARY KEY, {columns});")
    reading = streaming()
    _define(reading, database, "t", MANY)
    sql("INSERT INTO t (id) VALUES (1); INSERT INTO u (id) VALUES (2);")
    [split] = _planned(reading)
    assert len(pickle.dumps(split)) < SPLIT_BYTES
    assert sorted(table.name for table in split.payload.tables) == ["t", "u"]
    assert [change[3][0] for change in changes(read_elsewhere(reading.config, split))] == [1, 2]


def test_a_compressed_transaction_names_its_tables(
    streaming: NewCapture, db_server: SQLServer, sql: Sql, database: str
) -> None:
    if "MariaDB" in type(db_server).__name__:
        pytest.skip("MariaDB compresses events, not transactions")
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming()
    _define(reading, database, "t", SOME)
    sql("SET binlog_transaction_compression = ON; BEGIN; INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); COMMIT;")
    [split] = _planned(reading)
    assert [table.name for table in split.payload.tables] == ["t"]
    assert [change[3][0] for change in changes(read_elsewhere(reading.config, split))] == [1, 2]


def test_statements_within_a_split(streaming: NewCapture, sql: Sql, database: str) -> None:
    """Definitions that statements look at are carried as well, though no row of theirs comes before."""
    sql("CREATE TABLE model (id INT PRIMARY KEY, v INT); CREATE TABLE a (id INT PRIMARY KEY, w INT);")
    sql("CREATE TABLE b (id INT PRIMARY KEY, x INT); CREATE TABLE gone (id INT PRIMARY KEY);")
    reading = streaming(include_schema_changes=True, skipped_operations="none")
    _define(reading, database, "gone", SOME)
    sql("CREATE TABLE made LIKE model; INSERT INTO made VALUES (1, 1);")
    sql("RENAME TABLE a TO c, b TO a; INSERT INTO a (id, x) VALUES (2, 2); INSERT INTO c (id, w) VALUES (3, 3);")
    sql("ALTER TABLE model ADD y INT FIRST; INSERT INTO model VALUES (4, 4, 4); CREATE INDEX i ON c (w);")
    sql("TRUNCATE TABLE c; DROP TABLE gone;")
    sql(f"ALTER DATABASE {database} CHARACTER SET latin1; CREATE TABLE text (t VARCHAR(5), id INT PRIMARY KEY);")
    sql("INSERT INTO text VALUES ('ä', 5);")
    expected = _shown(_whole(reading))
    [split] = _planned(reading)
    assert not [table for table in split.payload.tables if table.name.startswith("other_")]
    found = read_elsewhere(reading.config, split)
    assert _shown(found) == expected
    rows = [change for change in changes([one for one in found if one.topic != "p"]) if change[0] in "ct"]
    assert rows == [
        ("c", "made", None, (1, 1)),
        ("c", "a", None, (2, 2)),
        ("c", "c", None, (3, 3)),
        ("c", "model", None, (4, 4, 4)),
        ("t", "c", None, None),
        ("c", "text", None, ("ä", 5)),
    ]


def _whole(reading: Capture) -> list[Record]:
    """The same range as the process reads it that holds the state, with all definitions."""
    start = reading.offset()
    [split] = reading.source.plan(start, None)
    [split] = reading.source.bounded(split, reading.source.latest_offset(start))
    return [record for batch in reading.source.read(split) for record in batch.records]


def _shown(records: Sequence[Record]) -> list[Any]:
    return [(record.topic, record.position, record.key and record.key.to_dict()) for record in records]  # type: ignore[union-attr]


def _sent(server: SQLServer) -> int:
    """How many bytes the server has sent to all of its clients."""
    return int(server.execute("SHOW GLOBAL STATUS LIKE 'Bytes_sent'")[0][1])


def _write_much(sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT);")
    sql("".join("INSERT INTO t (v) VALUES (REPEAT('x', 100000));" for _ in range(200)))


def test_the_log_leaves_the_server_once(streaming: NewCapture, db_server: SQLServer, sql: Sql) -> None:
    """As the Spark runner drives it: a backlog is cut, each batch is planned, and its splits are read elsewhere."""
    reading = streaming(spools=True)
    _write_much(sql)
    start = at = reading.offset()
    end = reading.source.latest_offset(at)
    size = reading.source.lag_bytes(start)
    assert size is not None
    before, found, rounds = _sent(db_server), 0, 0
    while at != end:
        stop = reading.source.cut(at, end, 4 << 20)
        splits = reading.source.plan(at, stop, 2)
        found += sum(len(read_elsewhere(reading.config, split)) for split in splits)
        at, rounds = stop, rounds + 1
    assert (found, rounds > 3) == (200, True)
    assert _sent(db_server) - before <= 1.1 * size


def test_what_is_spooled_goes_with_its_batch(streaming: NewCapture, sql: Sql, tmp_path: Path) -> None:
    reading = streaming(spools=True)
    _write_much(sql)
    at = reading.offset()
    end = reading.source.latest_offset(at)
    kept = 0
    while at != end:
        stop = reading.source.cut(at, end, 4 << 20)
        splits = reading.source.plan(at, stop, 2)
        [*files] = {split.payload.spooled.path for split in splits}
        assert len(files) == 1
        assert all(Path(file).stat().st_mode & 0o077 == 0 for file in files)
        assert len(list((tmp_path / "state" / "spool").iterdir())) <= 2, "this batch's, and the next one's"
        at, kept = stop, kept + 1
    assert kept > 3
    reading.close()
    assert not (tmp_path / "state" / "spool").exists()


@pytest.mark.parametrize("harm", ["removed", "cut off"])
def test_who_does_not_find_the_file_asks_the_server(
    streaming: NewCapture, sql: Sql, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "KEPT_BYTES", 0)
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming(spools=True)
    sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
    [split] = _planned(reading)
    file = Path(split.payload.spooled.path)
    if harm == "removed":
        file.unlink()
    else:
        with file.open("r+b") as opened:
            opened.truncate(split.payload.spooled.size // 2)
    assert [change[3] for change in changes(read_elsewhere(reading.config, split))] == [(1,), (2,)]


def test_without_room_the_server_is_asked(
    streaming: NewCapture, sql: Sql, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(planning, "KEPT_BYTES", 0)
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming(spools=True)
    (tmp_path / "state" / "spool").write_text("no folder")
    sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2);")
    [split] = _planned(reading)
    assert split.payload.spooled is None
    assert [change[3] for change in changes(read_elsewhere(reading.config, split))] == [(1,), (2,)]
    assert "read twice" in caplog.text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_disk_that_fills_up() -> None:
    file = SpoolFile.__new__(SpoolFile)
    file.path, file.whole, file._file = Path("/nonexistent/x.events"), True, Path("/dev/full").open("wb", 0)  # noqa: SIM115
    file.write(b"an event")
    file.write(b"another")
    assert not file.whole
    file.finish()


def test_a_batch_is_planned_again_after_its_planner_died(
    streaming: NewCapture, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "KEPT_BYTES", 0)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
    sql("CREATE TABLE u (id INT PRIMARY KEY, v INT);")
    first = streaming(spools=True)
    sql("".join(f"INSERT INTO t VALUES ({n}, {n}); ALTER TABLE u ADD c{n} INT;" for n in range(20)))
    start = first.offset()
    end = first.source.latest_offset(start)
    stop = first.source.cut(start, end, 3000)
    once = [read_elsewhere(first.config, split) for split in first.source.plan(start, stop, 2)]
    again = streaming(spools=True)  # its look ahead is lost with the first one
    twice = [read_elsewhere(again.config, split) for split in again.source.plan(start, stop, 2)]
    assert [_shown(part) for part in once] == [_shown(part) for part in twice]
    rest = [read_elsewhere(again.config, split) for split in again.source.plan(stop, end, 2)]
    found = [change[3][0] for part in (*twice, *rest) for change in changes(part)]
    assert found == list(range(20))


def _event(code: int, body: bytes) -> bytes:
    """An event without a checksum."""
    return HEADER.pack(1, code, 1, 19 + len(body), 0, 0) + body


@pytest.mark.parametrize("size", [10, (1 << 20) - 19, (3 << 20) + 7], ids=["small", "a part's", "larger than a part"])
def test_events_come_out_of_a_file_as_they_were(tmp_path: Path, size: int) -> None:
    events = [_event(30, bytes([number]) * (size + number)) for number in range(5)]
    path = tmp_path / "x"
    path.write_bytes(b"before" + b"".join(events) + b"behind")
    with path.open("rb") as file:
        file.seek(6)
        parts = spooled_spans(file, sum(map(len, events)), checksums=False)
        assert [data[at:end] for part in parts for data, at, end in part] == events


@pytest.mark.parametrize("harm", ["a bit", "the end", "a size"])
def test_a_file_that_is_damaged(tmp_path: Path, harm: str) -> None:
    data = bytearray(b"".join(_summed(_event(30, b"x" * 100)) for _ in range(3)))
    if harm == "a bit":
        data[150] ^= 4
    elif harm == "the end":
        del data[-50:]
    else:
        data[9:13] = pack("<I", 3)
    path = tmp_path / "x"
    path.write_bytes(data)
    with path.open("rb") as file, pytest.raises(DecodeError, match="damaged"):
        list(spooled_spans(file, 3 * 123, checksums=True))


def _summed(event: bytes) -> bytes:
    """An event with its checksum."""
    whole = event[:9] + pack("<I", len(event) + 4) + event[13:]
    return whole + pack("<I", crc32(whole))
