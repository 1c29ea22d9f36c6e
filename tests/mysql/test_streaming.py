"""The log read from live servers: batches, restarts, definitions that change, connections that break."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from cdckit.api.batch import Batch
from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.errors import DecodeError, SourceError
from cdckit_mysql.streaming import planning, rollback_filter as committed
from mysql.capture import Capture, changes, read_elsewhere
from mysql.conftest import NewCapture
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer

Sql = Callable[[str], None]


def _inserts(first: int, last: int) -> str:
    values = ",".join(f"({number}, 'v{number}')" for number in range(first, last))
    return f"INSERT INTO t VALUES {values};"


def _take(batches: Iterator[Batch], records: int) -> list[Record]:
    """Reads until there are so many records."""
    found: list[Record] = []
    while len(found) < records:
        found += next(batches).records
    return found


def _restarting(new: Callable[[], Capture], enough: Callable[[list[Record]], bool]) -> list[Record]:
    """Reads one batch with records at a time, each with a source of its own that goes on from the kept offset."""
    found: list[Record] = []
    while not enough(found):
        reading = new()
        with reading.following() as batches:
            batch = next(batch for batch in batches if batch.records)
        reading.keep(batch.offset)
        found += batch.records
    return found


def _value(record: Record) -> dict[str, Any]:
    assert isinstance(record.value, Struct)
    return record.value.to_dict()


def test_a_restart_within_a_transaction_repeats_nothing_that_was_kept(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    streaming()
    sql("BEGIN;" + "".join(_inserts(n, n + 50) for n in range(0, 1000, 50)) + "UPDATE t SET v = 'x'; COMMIT;")
    sql(_inserts(1000, 1001))
    found = _restarting(lambda: streaming(max_batch_size=100), lambda records: len(records) >= 2001)
    assert [change[3][0] for change in changes(found)] == [*range(1000), *range(1000), 1000]
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))


def test_transaction_metadata_goes_on_after_a_restart(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    streaming()
    sql("BEGIN;" + "".join(_inserts(n, n + 10) for n in range(0, 100, 10)) + "COMMIT;")
    found = _restarting(
        lambda: streaming(max_batch_size=10, provide_transaction_metadata=True),
        lambda records: bool(records) and _value(records[-1]).get("status") == "END",
    )
    begin, *rows, end = [_value(record) for record in found]
    assert (begin["status"], end["event_count"], len(rows)) == ("BEGIN", 100, 100)
    assert [row["transaction"]["total_order"] for row in rows] == list(range(1, 101))
    assert {row["transaction"]["id"] for row in rows} == {begin["id"]} == {end["id"]}


def test_rows_are_read_with_the_definition_at_their_place(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    streaming()
    sql(
        "INSERT INTO t VALUES (1, 'a'); ALTER TABLE t ADD n INT FIRST; INSERT INTO t VALUES (7, 2, 'b');"
        "ALTER TABLE t DROP v, RENAME COLUMN n TO m; INSERT INTO t VALUES (8, 3);"
        "RENAME TABLE t TO u; INSERT INTO u VALUES (9, 4); DROP TABLE u;"
        "CREATE TABLE t (x VARCHAR(3)); INSERT INTO t VALUES ('new');"
    )
    reading = streaming()
    assert changes(reading.once()) == [
        ("c", "t", None, (1, "a")),
        ("c", "t", None, (7, 2, "b")),
        ("c", "t", None, (8, 3)),
        ("c", "u", None, (9, 4)),
        ("c", "t", None, ("new",)),
    ]
    assert [facts["tables"] for facts in reading.heard.of("schema_changed")] != []


def test_definitions_are_those_of_the_offset_when_reading_is_repeated(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    reading = streaming()
    before = reading.offset()
    sql("INSERT INTO t VALUES (1, 'a'); ALTER TABLE t ADD n INT FIRST; INSERT INTO t VALUES (7, 2, 'b');")
    first = changes(reading.once())
    reading.keep(before)
    assert changes(streaming().once()) == first == [("c", "t", None, (1, "a")), ("c", "t", None, (7, 2, "b"))]


def test_a_lost_connection_is_opened_anew_and_nothing_is_lost(
    streaming: NewCapture, sql: Sql, db_server: SQLServer, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    found: list[Record] = []
    with streaming(max_batch_size=7).following() as batches:
        for number in range(0, 60, 20):
            sql("BEGIN;" + _inserts(number, number + 10) + _inserts(number + 10, number + 20) + "COMMIT;")
            found += _take(batches, 5)
            db_server.end_log_readers()
        found += _take(batches, 60 - len(found))
    assert [change[3][0] for change in changes(found)] == list(range(60))
    assert "trying again" in caplog.text


def test_a_server_that_was_lost_is_not_asked_for_its_logs_end(
    streaming: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    """It may be silent, and would be waited for before the first attempt."""
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming()
    with reading.following() as batches:
        assert reading.source.lag_bytes(next(batches).offset or {}) is not None
        lost = _lost(reading, batches, db_server)
        assert reading.source.lag_bytes(lost.offset or {}) is None


def test_a_table_that_is_made_while_the_connection_is_lost_is_the_logs_to_tell(
    streaming: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    """It is none that was not captured before, whose definition the server alone could tell."""
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming(schema_history_internal_store_only_captured_tables_ddl=True)
    with reading.following() as batches:
        _lost(reading, batches, db_server)
        sql("CREATE TABLE IF NOT EXISTS fresh (id INT PRIMARY KEY); INSERT INTO fresh VALUES (1);")
        sql("ALTER TABLE fresh ADD v INT; INSERT INTO fresh VALUES (2, 3);")
        found = changes(_take(batches, 2))
    assert found == [("c", "fresh", None, (1,)), ("c", "fresh", None, (2, 3))]


def _lost(reading: Capture, batches: Iterator[Batch], server: SQLServer) -> Batch:
    """Lets the connection break; gives the last batch before it is opened anew."""
    batch = next(batches)
    while reading.heard.of("connection")[-1]["connected"]:
        server.end_log_readers()  # again, where the server had not begun to send
        batch = next(batches)
    return batch


def test_reconnecting_ends_when_it_was_tried_often_enough(
    streaming: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming(errors_max_retries=2)
    with reading.following() as batches:
        next(batches)
        object.__setattr__(reading.config, "database_port", 1)  # no other connection can be made
        with pytest.raises(SourceError, match="gave up after 2"):
            _lost(reading, batches, db_server)
            for _ in batches:
                pass


def test_a_change_logged_as_a_statement_is_refused(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE DATABASE IF NOT EXISTS elsewhere_db;")
    sql("CREATE TABLE IF NOT EXISTS elsewhere_db.t (id INT);")
    reading = streaming()
    sql("SET binlog_format = 'STATEMENT'; INSERT INTO elsewhere_db.t VALUES (1);")
    assert reading.once() == []
    sql("SET binlog_format = 'STATEMENT'; INSERT INTO t VALUES (1);")
    with pytest.raises(DecodeError, match="logged as a statement"):
        streaming().once()


def test_missing_columns_of_a_minimal_row_image_are_marked(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20), n INT); INSERT INTO t VALUES (1, 'a', 5), (2, 'b', 6);")
    reading = streaming()
    sql("SET binlog_row_image = 'MINIMAL'; UPDATE t SET n = 7 WHERE id = 1; DELETE FROM t WHERE id = 2;")
    absent = "__debezium_unavailable_value"
    found = changes(reading.once())
    assert found[0] == ("u", "t", (1, absent, None), (1, absent, 7))
    assert found[1] == ("d", "t", (2, absent, None), None)


def test_columns_that_a_session_leaves_out_are_optional_in_those_events(
    streaming: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) NOT NULL, n INT NOT NULL, d DECIMAL(5,2) NOT NULL);")
    reading = streaming()
    sql("INSERT INTO t VALUES (1, 'a', 5, 1);")
    sql("SET binlog_row_image = 'MINIMAL'; UPDATE t SET n = 7; DELETE FROM t;")
    inserted, updated, deleted, _tombstone = reading.once()
    absent = "__debezium_unavailable_value"
    assert changes([updated, deleted]) == [
        ("u", "t", (1, absent, None, None), (1, absent, 7, None)), ("d", "t", (1, absent, None, None), None),
    ]  # fmt: skip
    optional = [_optional_columns(record) for record in (inserted, updated, deleted)]
    assert optional == [[], ["id", "n", "d"], ["id", "n", "d"]]
    assert caplog.text.count(".t: the log lacks columns of changed rows (v,d), since a session set") == 1


def _optional_columns(record: Record) -> list[str]:
    assert isinstance(record.value, Struct)
    row = record.value.schema.field("after").schema
    return [field.name for field in row.fields if field.schema.optional]


def test_columns_that_a_server_may_leave_out_are_optional(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, v VARCHAR(20) NOT NULL);")
    try:
        sql("SET GLOBAL binlog_row_image = 'MINIMAL'")
        reading = streaming()
        sql("SET binlog_row_image = 'MINIMAL'; INSERT INTO t VALUES (1, 2, 'a');")
        record = reading.once()[0]
    finally:
        sql("SET GLOBAL binlog_row_image = 'FULL'")
    assert isinstance(record.key, Struct)
    assert isinstance(record.value, Struct)
    assert not record.key.schema.field("id").schema.optional
    row = record.value.schema.field("after").schema
    assert {field.name: field.schema.optional for field in row.fields} == {"id": True, "n": True, "v": False}


def test_rows_of_an_unknown_table_stop_the_pipeline_or_are_left_out(
    streaming: NewCapture, sql: Sql, caplog: pytest.LogCaptureFixture
) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    start = streaming().offset()
    sql("SET sql_log_bin = 0; CREATE TABLE hidden (id INT PRIMARY KEY); SET sql_log_bin = 1;")
    sql("INSERT INTO hidden VALUES (1), (2); INSERT INTO t VALUES (3);")
    with pytest.raises(DecodeError, match=r"hidden.*knows no such table"):
        streaming().once()
    reading = streaming(inconsistent_schema_handling_mode="skip")
    reading.keep(start)
    assert changes(reading.once()) == [("c", "t", None, (3,))]
    assert "hidden" in caplog.text


def test_a_definition_that_was_changed_unseen_is_told(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming()
    sql("SET sql_log_bin = 0; ALTER TABLE t ADD n INT; SET sql_log_bin = 1; INSERT INTO t VALUES (1, 2);")
    with pytest.raises(DecodeError, match="the log has 2 columns, the tracked definition 1"):
        reading.once()


def test_columns_keys_and_operations_are_chosen(streaming: NewCapture, sql: Sql, database: str) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, secret VARCHAR(20), v INT);")
    streaming()
    sql(
        "INSERT INTO t VALUES (1, 'x', 2); UPDATE t SET secret = 'y'; UPDATE t SET v = 3; DELETE FROM t;"
        "TRUNCATE TABLE t;"
    )
    reading = streaming(
        column_exclude_list=f"{database}.t.secret",
        message_key_columns=f"{database}.t:v,id",
        skipped_operations="d",
        skip_messages_without_change=True,
    )
    found = reading.once()
    shown = [change for change in changes(found) if change[0] != "tombstone"]
    assert shown == [
        ("c", "t", None, (1, 2)),
        ("d", "t", (1, 2), None),
        ("c", "t", None, (1, 3)),
        ("t", "t", None, None),
    ]
    keys = [record.key and record.key.values for record in found]  # type: ignore[union-attr]
    assert keys == [(2, 1), (2, 1), (2, 1), (3, 1), None]


@pytest.mark.parametrize(("skipped", "operations"), [("u", "cd"), ("c,d", "dcu"), ("c,u,d", ""), ("none", "cdcud")])
def test_a_changed_key_is_an_update(streaming: NewCapture, sql: Sql, skipped: str, operations: str) -> None:
    """It makes a delete and a create, which `skipped.operations` knows as `u`."""
    sql("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
    streaming()
    sql("INSERT INTO t VALUES (1, 1); UPDATE t SET id = 2; UPDATE t SET v = 2; DELETE FROM t;")
    found = changes(streaming(skipped_operations=skipped).once())
    assert "".join(op for op, *_ in found if op != "tombstone") == operations


def test_a_dropped_table_leaves_the_others_alone(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE gone (id INT PRIMARY KEY);")
    with streaming().following() as batches:
        sql("INSERT INTO gone VALUES (1); DROP TABLE gone; INSERT INTO t VALUES (2);")
        assert changes(_take(batches, 2)) == [("c", "gone", None, (1,)), ("c", "t", None, (2,))]


def test_heartbeats_are_sent_while_nothing_happens(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    with streaming(heartbeat_interval_ms=1).following() as batches:
        found = _take(batches, 2)
    assert {record.topic for record in found} == {"__debezium-heartbeat.p"}
    assert {record.key.values for record in found if record.key} == {("p",)}  # type: ignore[union-attr]


def test_connections_that_are_lost_do_not_put_heartbeats_off(
    streaming: NewCapture, sql: Sql, db_server: SQLServer
) -> None:
    """None of them is as old as a heartbeat's interval."""
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    deadline = time.monotonic() + 60
    with streaming(heartbeat_interval_ms=2000).following() as batches:
        while not next(batches).records:
            assert time.monotonic() < deadline
            db_server.end_log_readers()


def test_compressed_transactions_are_read(streaming: NewCapture, sql: Sql, db_server: SQLServer) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    streaming()
    if isinstance(db_server, MariaDBServer):
        db_server.execute("SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10")
    else:
        db_server.execute("SET GLOBAL binlog_transaction_compression = ON")
    try:
        sql("BEGIN;" + _inserts(0, 50) + _inserts(50, 100) + "UPDATE t SET v = 'xxxxxxxxxxxxxxxxxx'; COMMIT;")
    finally:
        off = "log_bin_compress" if isinstance(db_server, MariaDBServer) else "binlog_transaction_compression"
        db_server.execute(f"SET GLOBAL {off} = OFF")
    found = _restarting(lambda: streaming(max_batch_size=30), lambda records: len(records) >= 200)
    assert [change[3][0] for change in changes(found)] == [*range(100), *range(100)]
    positions = [record.position for record in found]
    assert positions == sorted(set(positions))


@pytest.mark.parametrize("in_memory", [committed.IN_MEMORY, 100])
def test_what_was_rolled_back_is_not_told(
    streaming: NewCapture, sql: Sql, in_memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MariaDB's log holds it: a temporary table is not rolled back."""
    monkeypatch.setattr(committed, "IN_MEMORY", in_memory)
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    start = streaming().offset()
    sql(
        "BEGIN; INSERT INTO t VALUES (1); SAVEPOINT `A b`; CREATE TEMPORARY TABLE x (id INT); SAVEPOINT other;"
        "INSERT INTO t VALUES (2); UPDATE t SET id = 3 WHERE id = 1; ROLLBACK TO `a B`;"
        "INSERT INTO t VALUES (4); SAVEPOINT `A b`; INSERT INTO t VALUES (5); ROLLBACK TO SAVEPOINT `A b`; COMMIT;"
        "BEGIN; INSERT INTO t VALUES (6); DROP TEMPORARY TABLE x; INSERT INTO t VALUES (7); ROLLBACK;"
        "INSERT INTO t VALUES (8); ALTER TABLE t ADD v INT; INSERT INTO t VALUES (9, 9);"
    )
    expected = [("c", "t", None, row) for row in ((1,), (4,), (8,), (9, 9))]
    assert changes(streaming().once()) == expected
    reading = streaming()
    reading.keep(start)
    assert [change for part in reading.parallel(2) for change in changes(part)] == expected


def test_prepared_transactions_are_told_once(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    reading = streaming()
    sql("XA START 'x'; INSERT INTO t VALUES (1, 'a'), (2, 'b'); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x';")
    sql("INSERT INTO t VALUES (3, 'c');")
    assert [change[3][0] for change in changes(reading.once())] == [1, 2, 3]
    assert streaming().once() == []


@pytest.mark.parametrize(
    ("kept_bytes", "spools"), [(1 << 20, False), (0, False), (0, True)], ids=["in the split", "asked for", "spooled"]
)
def test_pieces_give_what_the_whole_gives(
    streaming: NewCapture, sql: Sql, kept_bytes: int, spools: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "LEAST_PIECE", 2000)
    monkeypatch.setattr(planning, "KEPT_BYTES", kept_bytes)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    start = streaming().offset()
    sql("".join(_inserts(n, n + 25) for n in range(0, 500, 25)) + "ALTER TABLE t ADD m INT FIRST;")
    sql("".join(f"UPDATE t SET m = id WHERE id BETWEEN {n} AND {n + 24};" for n in range(0, 500, 25)))
    sql("FLUSH LOGS; UPDATE t SET id = id + 1000 WHERE id < 50; TRUNCATE TABLE t;")
    reading = streaming(skipped_operations="none", provide_transaction_metadata=True, spools=spools)
    parts = reading.parallel(5)
    assert len(parts) > 3
    positions = [[record.position for record in part] for part in parts]
    reading.keep(start)
    whole = streaming(skipped_operations="none", provide_transaction_metadata=True)
    with whole.following() as batches:
        expected = _take(batches, sum(len(part) for part in parts))
    assert [position for part in positions for position in part] == [record.position for record in expected]
    assert [_plain(record) for part in parts for record in part] == [_plain(record) for record in expected]


def _plain(record: Record) -> Any:
    """A record without the time at which it was read."""
    if not isinstance(record.value, Struct):
        return record.topic, record.key and record.key.to_dict(), None  # type: ignore[union-attr]
    value = {name: part for name, part in record.value.to_dict().items() if not name.startswith("ts_")}
    return record.topic, record.key and record.key.to_dict(), value  # type: ignore[union-attr]


@pytest.mark.parametrize("spools", [False, True], ids=["", "spooled"])
def test_a_cut_is_a_place_to_go_on_from(
    streaming: NewCapture, sql: Sql, spools: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planning, "KEPT_BYTES", 500)
    monkeypatch.setattr(planning, "CERTAIN_BYTES", 0)
    sql("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20));")
    reading = streaming(spools=spools)
    sql("".join(_inserts(n, n + 25) for n in range(0, 500, 25)))
    sql("ALTER TABLE t ADD w INT; UPDATE t SET w = 7 WHERE id = 499; ALTER TABLE t DROP v;")
    sql("".join(f"INSERT INTO t VALUES ({n}, {n});" for n in range(500, 1000)))
    found: list[Record] = []
    rounds = 0
    end = reading.source.latest_offset(reading.offset())
    while reading.offset() != end:
        stop = reading.source.cut(reading.offset(), end, 5000)
        for split in reading.source.plan(reading.offset(), stop, 2):
            found += read_elsewhere(reading.config, split)
        reading.keep(stop)
        rounds += 1
    created = [change[3] for change in changes(found) if change[0] == "c"]
    assert created == [*((n, f"v{n}") for n in range(500)), *((n, n) for n in range(500, 1000))]
    assert [change[2:] for change in changes(found) if change[0] == "u"] == [((499, "v499", None), (499, "v499", 7))]
    assert rounds > 3


def test_latest_offset_waits_for_news(streaming: NewCapture, sql: Sql) -> None:
    sql("CREATE TABLE t (id INT PRIMARY KEY);")
    reading = streaming()
    start = reading.source.latest_offset(reading.offset())
    assert reading.source.latest_offset(start, 0.1) == start
    writer = threading.Timer(0.2, lambda: sql("INSERT INTO t VALUES (1);"))
    writer.start()
    end = reading.source.latest_offset(start, 30)
    writer.join()
    assert end["pos"] > start["pos"]
    assert reading.source.lag_bytes(start) == end["pos"] - start["pos"]
