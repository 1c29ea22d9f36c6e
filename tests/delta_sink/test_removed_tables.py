"""Tables that somebody removes while their pipeline goes on: they are missed, and read again where that is asked."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cdckit.engine.state.made_tables import HISTORY
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.tables.context import TableContext
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.direct import BegunBatch
from cdckit.tables.made_tables import MadeTable, MadeTables, TablesGoneError
from cdckit_delta.config import DeltaConfig
from cdckit_delta.sink import DeltaSink
from delta_sink.dying import WRITES, die
from delta_sink.removing import (
    ONE_MORE,
    ROWS,
    assert_missed,
    command,
    forget_tables,
    missed,
    missed_while_it_runs,
    read_again,
    remove,
)
from delta_sink.shop import Shop
from spark.test_encoder import event

DEFERRED = {"mirror.apply.interval.ms": 2_147_483_647}


MODES = [
    ("mirror", "delta"),
    pytest.param(("history", "delta"), marks=pytest.mark.nightly),
    pytest.param(("changelog", "delta"), marks=pytest.mark.nightly),
    ("mirror", "iceberg"),
]
FORMATS = [("mirror", "delta"), pytest.param(("mirror", "iceberg"), marks=pytest.mark.nightly)]


@pytest.fixture
def lake(shop: Shop, request: pytest.FixtureRequest) -> Shop:
    """Tables of a mode and a format."""
    mode, form = request.param
    return replace(shop, mode=mode, format=form)


@pytest.mark.parametrize("lake", MODES, indirect=True)
def test_it_ends_the_pipeline_until_it_is_read_again(lake: Shop) -> None:
    lake.run(ROWS)
    lake.deliver()
    remove(lake, "t")
    lake.deliver()  # nothing has changed
    lake.run(ONE_MORE)
    missed(lake, "t")
    missed(lake, "t")
    read_again(lake, "t")
    lake.deliver()
    lake.run("UPDATE t SET v = 30 WHERE id = 3; DELETE FROM t WHERE id = 1")
    lake.deliver()
    lake.assert_equal(["t"])
    remove(lake, "t")
    lake.run(ONE_MORE)
    missed(lake, "t")
    read_again(lake, "t")
    lake.deliver()


@pytest.mark.parametrize("lake", FORMATS, indirect=True)
def test_it_is_missed_while_the_pipeline_runs(lake: Shop) -> None:
    missed_while_it_runs(lake, lambda: remove(lake, "t"))


def test_what_is_told_from_the_begin_is_not_missed(shop: Shop) -> None:
    """Of tables that are emptied, dropped or made at the source all rows come from there on."""
    shop.run("CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b LIKE a; CREATE TABLE c LIKE a")
    shop.run("INSERT INTO a VALUES (1), (2); INSERT INTO b SELECT * FROM a")
    shop.deliver()
    for table in "ab":
        remove(shop, table)
    shop.run("TRUNCATE a; DROP TABLE b")
    shop.deliver()
    assert not shop.lake.names()
    shop.run("INSERT INTO a VALUES (3), (4); CREATE TABLE b (id INT PRIMARY KEY); INSERT INTO b VALUES (5), (6)")
    shop.run("INSERT INTO c VALUES (7), (8)")
    shop.deliver()
    shop.assert_equal("abc")
    for table in "abc":
        remove(shop, table)
    shop.run("UPDATE a SET id = 30 WHERE id = 3; DELETE FROM b WHERE id = 5")
    missed(shop, "a", "b")
    read_again(shop, *"abc")
    shop.deliver()
    shop.assert_equal("abc")


def test_a_table_without_rows_is_read_again(shop: Shop) -> None:
    """Nothing is made of it, and its next rows are all."""
    shop.run(ROWS)
    shop.deliver()
    remove(shop, "t")
    shop.run("DELETE FROM t")
    missed(shop, "t")
    read_again(shop, "t")
    shop.deliver()
    shop.run("INSERT INTO t VALUES (7, 7)")
    shop.deliver()
    shop.assert_equal(["t"])


def test_changes_that_waited_beside_it_go_with_it(shop: Shop) -> None:
    shop = shop.with_sink("mirror", DEFERRED)
    shop.run(ROWS)
    shop.deliver()
    shop.run(ONE_MORE)
    shop.deliver()
    remove(shop, "t")
    shop.run("INSERT INTO t VALUES (4, 4)")
    missed(shop, "t")
    shop.run("DELETE FROM t WHERE id = 2")
    read_again(shop, "t")
    shop.deliver()
    shop.run("INSERT INTO t VALUES (5, 5)")
    shop.deliver()
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.run("INSERT INTO t VALUES (6, 6)")
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.assert_equal(["t"])


def test_each_source_of_a_shared_table_is_named(shop: Shop) -> None:
    router = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.s_\d", "topic.replacement": "$1.s"}
    pipeline = shop.pipeline()
    pipeline = replace(pipeline, others={**pipeline.others, "transforms": [router]})
    shop.run("CREATE TABLE s_1 (id INT PRIMARY KEY); CREATE TABLE s_2 LIKE s_1")
    shop.run("INSERT INTO s_1 VALUES (1), (2); INSERT INTO s_2 VALUES (1), (2)")
    assert pipeline.run("--once").code == 0
    remove(shop, "s")
    shop.run("INSERT INTO s_1 VALUES (3)")
    assert_missed(shop, pipeline.run("--once"), "s_1", "s_2")
    read_again(shop, "s_1")
    ended = pipeline.run("--once")
    assert_missed(shop, ended, "s_2")
    assert f"--table {shop.name}.s_1" not in ended.stderr
    read_again(shop, "s_2")
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.stderr


def test_flattened_rows(shop: Shop) -> None:
    """They do not say which table they come from, and where nothing has told it their schema's name does."""
    pipeline = shop.pipeline()
    pipeline = replace(pipeline, others={**pipeline.others, "transforms": [{"type": "ExtractNewRecordState"}]})
    shop.run(ROWS)
    assert pipeline.run("--once").code == 0
    remove(shop, "t")
    shop.run(ONE_MORE)
    assert_missed(shop, pipeline.run("--once"), "t")
    read_again(shop, "t")
    assert pipeline.run("--once").code == 0
    shop.assert_equal(["t"])
    forget_tables(shop)
    shop.run(ONE_MORE)
    assert pipeline.run("--once").code == 0
    remove(shop, "t")
    shop.run(ONE_MORE)
    assert_missed(shop, pipeline.run("--once"))
    read_again(shop, "t")
    assert pipeline.run("--once").code == 0
    shop.assert_equal(["t"])


def test_what_is_not_remembered_is_not_missed(shop: Shop) -> None:
    """A state of an earlier version remembers nothing, and begins to; `cdc offsets keep` has everything forgotten."""
    shop.run(ROWS + "; CREATE TABLE still LIKE t; INSERT INTO still SELECT * FROM t")
    shop.deliver()
    forget_tables(shop)
    remove(shop, "t")
    shop.run(ONE_MORE)
    shop.deliver()
    assert shop.unequal() == {"t"}
    remove(shop, "t")
    shop.run(ONE_MORE)
    missed(shop, "t")
    command(shop, "offsets", "keep")
    shop.deliver()
    assert shop.unequal() == {"t"}
    remove(shop, "t")
    shop.run(ONE_MORE)
    missed(shop, "t")
    command(shop, "offsets", "reset")
    shop.deliver()
    assert not shop.unequal()


def test_a_table_is_remembered_once(shop: Shop, tmp_path: Path) -> None:
    """And gone on with where it is put back."""
    shop.run(ROWS)
    shop.deliver()
    shop.run(ONE_MORE)
    shop.deliver()
    with closing(SqliteStateStore(shop.pipeline().state)) as state:
        [(_, entry)] = state.read_history(HISTORY)
    identity = str(DeltaTable(shop.table("t")).metadata().id)[:18]
    assert entry == {"table": f"{shop.name}.t", "made": True, "id": identity}
    away = shop.table("t").rename(tmp_path / "away")
    shop.run(ONE_MORE)
    missed(shop, "t")
    away.rename(shop.table("t"))
    shop.deliver()
    shop.assert_equal(["t"])


def test_one_that_is_removed_behind_a_kill_lacks_nothing(shop: Shop) -> None:
    """Before it was remembered: its rows come again, and are all."""
    shop.run(ROWS)
    die(shop.pipeline(), WRITES, 0)
    remove(shop, "t")
    shop.deliver()
    shop.run("CREATE TABLE other LIKE t; INSERT INTO other SELECT * FROM t")
    die(shop.pipeline(), WRITES, 0, "other")
    remove(shop, "other")
    shop.run("INSERT INTO other VALUES (4, 4)")
    shop.deliver()
    shop.assert_equal(["t", "other"])


@pytest.mark.parametrize("mode", ["mirror", "changelog"])
def test_one_that_has_a_batch_is_known_where_nothing_of_it_comes_again(tmp_path: Path, mode: str) -> None:
    """Its writer was killed before that was remembered."""
    config = DeltaConfig.load({"path": str(tmp_path), "mode": mode}, "sink")[0]
    row = event("c", 1, "n").replace(position="p1")
    kept = list[MadeTable]()
    for made in (MadeTables(), MadeTables((), kept.extend)):
        sink = DeltaSink(config)
        sink.open(TableContext("p", "g", made=made))
        sink.begin("g", [BegunBatch(1, {"": "p1"})])
        sink.write([row], ())
        if sink.waiting:
            sink.commit(1)
        else:
            sink.saved()
        sink.close()
    assert [(one.topic, one.source) for one in kept] == [("t", "d.a")]


@pytest.mark.parametrize("begun", [[], [BegunBatch(1, {"": "p1"})]], ids=["written", "begun"])
def test_it_is_missed_where_it_goes_while_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: list[BegunBatch]
) -> None:
    """The folder is gone behind the look whether there is one."""
    config = DeltaConfig.load({"path": str(tmp_path)}, "sink")[0]
    row = event("c", 1, "n").replace(position="p1")
    exists = DeltaTarget.exists

    def exists_no_more(target: DeltaTarget) -> bool:
        there = exists(target)
        shutil.rmtree(target.path, ignore_errors=True)
        return there

    kept = list[MadeTable]()
    for number, made in enumerate((MadeTables((), kept.extend), MadeTables((MadeTable("t", "d.a"),), kept.extend)), 1):
        sink = DeltaSink(config)
        sink.open(TableContext("p", "g", made=made))
        if number == 1:
            sink.begin("g", [])
            sink.write([row], ())
            sink.commit(1)
        else:
            monkeypatch.setattr(DeltaTarget, "exists", exists_no_more)
            sink.begin("g", begun)
            sink.write([row], ())
            with pytest.raises(TablesGoneError, match="t: is gone"):
                sink.commit(2)
        sink.close()
