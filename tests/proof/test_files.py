"""`cdc diff` against the file sink: planted faults are all found, and none where there is none."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cdckit.errors import ConfigError
from proof.planting import plant
from proof.shop import change, deliver, fill, proved, to_file
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.timeout(3600)


@pytest.mark.parametrize("db_server", ["mysql", "mariadb"], indirect=True)
def test_planted_faults_are_all_found_and_nothing_else(
    db_server: SQLServer, database: str, tmp_path: Path, nightly: bool, request: pytest.FixtureRequest
) -> None:
    series, faults = (10, 100) if nightly else (1, 24)
    first = request.config.getoption("--first-seed")
    fill(db_server, database, 1000 if nightly else 300)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    change(db_server, database)
    deliver(pipeline)
    clean = proved(pipeline)["orders"]
    assert (clean.outcome, clean.differences[:3]) == ("equal", ())
    sound = pipeline.output.read_text()
    for seed in range(first, first + series):
        text, planted = plant(sound, faults, seed)
        pipeline.output.write_text(text)
        found = proved(pipeline)["orders"]
        shown = {json.loads(one.key)["id"]: one for one in found.differences}
        assert sorted(shown) == sorted(planted), {key: planted[key] for key in planted.keys() - shown.keys()}
        assert found.outcome == "unequal"
        assert found.missing + found.extra + found.changed == len(planted)
        columns = {planted[key]: one.columns for key, one in shown.items() if one.fault == "changed"}
        assert columns["noisy"] == ("ratio",)
        assert columns["truncated"] == ("name",)
        assert columns["wrong_zone"] == ("placed",)


@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
def test_nothing_is_found_while_both_move(db_server: SQLServer, database: str, tmp_path: Path, nightly: bool) -> None:
    runs = 200 if nightly else 2
    fill(db_server, database, 300)
    pipeline = to_file(db_server, database, tmp_path)
    with pipeline.running() as process, written(db_server, database) as statements:
        process.wait_until(lambda: pipeline.offset() is not None)
        for number in range(1, runs + 1):
            before = len(statements)
            print(f"run {number}, {before} statements so far", flush=True)
            found = proved(pipeline)["orders"]
            assert (found.outcome, found.note, found.differences) == ("equal", "", ())
            assert len(statements) > before, "nothing was written meanwhile"


@contextmanager
def written(server: SQLServer, database: str) -> Iterator[list[str]]:
    """Changes the table all the time: some rows over and over, and others that come and go."""
    done: list[str] = []
    ended = threading.Event()

    def write() -> None:
        with server.connect(database=database) as connection, connection.cursor() as cursor:
            number = 0
            while not ended.is_set():
                number += 1
                for statement in (
                    f"update orders set name = 'hot {number}' where id = {number % 5 + 1}",
                    f"replace into orders (id, name, ratio) values ({1000 + number % 40}, 'new', {number} / 3)",
                    f"delete from orders where id = {1000 + (number * 7) % 40}",
                    f"update orders set id = id + 5000 where id = {11 + number % 200}",
                ):
                    cursor.execute(statement)
                    done.append(statement)
                ended.wait(0.03)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield done
    finally:
        ended.set()
        writer.join()


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_faults_are_found_while_both_move(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    fill(db_server, database, 300)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    text, planted = plant(pipeline.output.read_text(), 16, 7)
    pipeline.output.write_text(text)
    still = {key for key in planted if key > 220}  # others are changed, which mends them
    with pipeline.running() as process, written(db_server, database):
        process.wait_for("starts on the runner")
        found = proved(pipeline)["orders"]
    shown = {json.loads(one.key)["id"] for one in found.differences}
    assert found.outcome == "unequal"
    assert still <= shown


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_tables_that_cannot_be_compared_are_never_called_equal(
    db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    db_server.run_sql(f"USE {database}; CREATE TABLE unkeyed (a INT); INSERT INTO unkeyed VALUES (1)")
    fill(db_server, database, 5)
    db_server.execute(f"create table {database}.empty (id int primary key)")
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    found = proved(pipeline)
    assert {name: table.outcome for name, table in found.items()} == {
        "empty": "equal", "orders": "equal", "unkeyed": "undecided",
    }  # fmt: skip
    assert "no key" in found["unkeyed"].note
    db_server.execute(f"insert into {database}.orders (id) values (6)")
    behind = proved(pipeline)["orders"]
    assert (behind.outcome, "does not run" in behind.note) == ("undecided", True)


CHAINS = {
    "the transforms leave out records of it (deletes)": {
        "type": "ScriptFilter", "language": "jsr223.groovy", "condition": "value.op != 'd'",
    },
    "the transforms leave out some of its rows": {
        "type": "ScriptFilter", "language": "jsr223.groovy", "condition": "value.after == null || value.after.id != 3",
    },
    "choose the topic by the event": {"type": "TimestampRouter", "timestamp.format": "yyyyMMdd"},
}  # fmt: skip


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_chains_that_cannot_be_compared_say_why(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    fill(db_server, database, 5)
    for number, (why, step) in enumerate(CHAINS.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        pipeline = to_file(db_server, database, folder)
        pipeline.others["transforms"] = [step]  # type: ignore[index]
        deliver(pipeline)
        found = proved(pipeline)["orders"]
        assert (found.outcome, why in found.note) == ("undecided", True), found.note


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_flattened_masked_and_routed_rows_are_compared_as_they_arrive(
    db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    for table in ("orders_1", "orders_2", "other"):
        fill(db_server, database, 20, table)
        db_server.execute(f"update {database}.{table} set id = id + 1000 where '{table}' = 'orders_2'")
    pipeline = to_file(db_server, database, tmp_path, **{"column.mask.hash.SHA-256.with.salt.s": f"{database}.*.name"})
    pipeline.others["transforms"] = [  # type: ignore[index]
        {"type": "ByLogicalTableRouter", "topic.regex": "(.*)orders_.", "topic.replacement": "$1orders"},
        {
            "type": "ExtractNewRecordState",
            "add.fields": "op,source.ts_ms,source.snapshot,source.file",
            "delete.tombstone.handling.mode": "rewrite",
        },
    ]
    deliver(pipeline)
    change(db_server, database, "orders_1")
    deliver(pipeline)
    found = proved(pipeline, tables=(f"{database}.orders_1",))
    [both] = found.values()
    assert both.table == f"{database}.orders_1, {database}.orders_2"
    assert (both.outcome, both.rows) == ("equal", 40)
    told = "__op, __source_file, __source_snapshot, __source_ts_ms"
    assert f"not compared, as they tell of the event: {told}" in both.note
    pipeline.output.write_text(pipeline.output.read_text().replace('"kind":"b"', '"kind":"a"', 1))
    [both] = proved(pipeline, tables=(f"{database}.orders_1",), hash="blake2b").values()
    assert (both.outcome, both.changed) == ("unequal", 1)


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_a_key_that_tells_of_the_table_alone_tells_no_row_from_another(
    db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    strategy = "io.debezium.schema.DefaultRegexTopicNamingStrategy"
    naming = {"topic.naming.strategy": strategy, "topic.regex": "(.*)_.", "topic.replacement": "$1"}
    pipeline = to_file(db_server, database, tmp_path, **naming)
    for table in ("orders_1", "orders_2"):
        db_server.execute(f"create table {database}.{table} (n int)")
        db_server.execute(f"insert into {database}.{table} values (1), (2)")
    deliver(pipeline)
    [both] = proved(pipeline).values()
    assert (both.outcome, "it has no key" in both.note) == ("undecided", True), both


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_rows_that_nobody_was_told_are_gone_are_extra_and_it_is_said_why(
    db_server: SQLServer, database: str, tmp_path: Path
) -> None:
    fill(db_server, database, 3)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    db_server.execute(f"truncate table {database}.orders")
    deliver(pipeline)
    orders = proved(pipeline)["orders"]
    assert (orders.outcome, orders.extra) == ("unequal", 3)
    assert "TRUNCATE is left out (skipped.operations: t, the default)" in orders.note


@pytest.mark.parametrize("db_server", ["mysql"], indirect=True)
def test_names_of_tables_that_are_not_captured_are_refused(db_server: SQLServer, database: str, tmp_path: Path) -> None:
    fill(db_server, database, 1)
    pipeline = to_file(db_server, database, tmp_path)
    with pytest.raises(ConfigError, match="did you mean"):
        proved(pipeline, tables=(f"{database}.order",))
