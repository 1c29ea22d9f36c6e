"""Tables in whose place somebody puts others, and changes that somebody removes while they wait beside a mirror."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import DeltaTable

from cdckit.engine.state.made_tables import HISTORY, tables_in
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.tables.lake.deferred import SUFFIX
from delta_sink.dying import WRITES, die
from delta_sink.removing import (
    ONE_MORE,
    ROWS,
    assert_missed,
    command,
    missed,
    missed_while_it_runs,
    read_again,
    remove,
    replace_by_another,
)
from delta_sink.shop import Shop
from delta_sink.test_removed_tables import DEFERRED
from histories.lakes import IcebergTables

_HARMLESS: list[Callable[[DeltaTable], object]] = [
    lambda table: table.optimize.compact(),
    lambda table: table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False),
    lambda table: table.alter.set_table_properties({"delta.checkpointInterval": "2"}),
    lambda table: table.create_checkpoint(),
    lambda table: table.restore(table.version() - 1),
]
MORE = "UPDATE t SET v = 30 WHERE id = 3; DELETE FROM t WHERE id = 1"


@pytest.fixture
def lake(shop: Shop, request: pytest.FixtureRequest) -> Shop:
    """Tables of a mode and a format."""
    mode, form = request.param
    return replace(shop, mode=mode, format=form)


@pytest.mark.parametrize(
    "lake",
    [
        ("mirror", "delta"),
        pytest.param(("history", "delta"), marks=pytest.mark.nightly),
        ("changelog", "delta"),
        ("mirror", "iceberg"),
        pytest.param(("changelog", "iceberg"), marks=pytest.mark.nightly),
    ],
    indirect=True,
)
def test_another_one_ends_the_pipeline_until_it_is_read_again(lake: Shop) -> None:
    lake.run(ROWS)
    lake.deliver()
    replace_by_another(lake, "t")
    lake.deliver()  # nothing has changed
    lake.run(ONE_MORE)
    for _ in range(2):
        ended = lake.pipeline().run("--once")
        assert_missed(lake, ended, "t")
        assert "with another one in its place" in ended.stderr
    read_again(lake, "t")
    lake.deliver()
    lake.run(MORE)
    lake.deliver()
    lake.assert_equal(["t"])


@pytest.mark.parametrize(
    ("lake", "versions"),
    [
        (("changelog", "delta"), 50),
        pytest.param(("changelog", "delta"), 1, marks=pytest.mark.nightly),
        pytest.param(("mirror", "delta"), 1, marks=pytest.mark.nightly),
        (("mirror", "iceberg"), 1),
    ],
    indirect=["lake"],
)
def test_it_is_seen_while_the_pipeline_runs(lake: Shop, versions: int) -> None:
    """Also where its log has a version of the number that is written next."""
    missed_while_it_runs(lake, lambda: replace_by_another(lake, "t", versions))


def test_what_users_do_to_a_table_leaves_it_the_same(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver()
    for change in _HARMLESS:
        change(DeltaTable(shop.table("t")))
        shop.run(ONE_MORE)
        shop.deliver()
    shop.run("ALTER TABLE t ADD COLUMN w INT; UPDATE t SET w = 1; ALTER TABLE t MODIFY v BIGINT; TRUNCATE t")
    shop.run("INSERT INTO t VALUES (9, 9, 1)")
    shop.deliver()
    shop.run("ALTER TABLE t MODIFY v TEXT; INSERT INTO t VALUES (10, 'x', 1)")
    read_again(shop, "t")
    shop.deliver()
    shop.run("UPDATE t SET v = 'y' WHERE id = 9")
    shop.deliver()
    shop.assert_equal(["t"])


def test_one_that_the_pipeline_has_made_anew_is_its_own(shop: Shop) -> None:
    """Also where it was killed before it could remember that."""
    shop.run(ROWS)
    shop.deliver()
    remove(shop, "t")
    read_again(shop, "t")
    die(shop.pipeline(), WRITES, 0)
    shop.run(ONE_MORE)
    shop.deliver()
    shop.assert_equal(["t"])
    replace_by_another(shop, "t")
    shop.run(ONE_MORE)
    missed(shop, "t")


def test_offsets_keep_goes_on_with_it(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver()
    replace_by_another(shop, "t")
    shop.run(ONE_MORE)
    missed(shop, "t")
    command(shop, "offsets", "keep")
    shop.deliver()
    shop.run(ONE_MORE)
    shop.deliver()
    assert shop.unequal() == {"t"}
    read_again(shop, "t")
    shop.deliver()


def test_a_state_of_an_earlier_version_begins_to_remember(shop: Shop) -> None:
    shop.run(ROWS)
    shop.deliver()
    with closing(SqliteStateStore(shop.pipeline().state)) as state:
        [(place, entry)] = state.read_history(HISTORY)
        identity = entry.pop("id")
        state.replace_history(HISTORY, [type(next(iter(state.read_history(HISTORY))))(place, entry)])
    shop.run(ONE_MORE)
    shop.deliver()
    with closing(SqliteStateStore(shop.pipeline().state)) as state:
        [(_, entry)] = state.read_history(HISTORY)
    assert entry["id"] == identity
    replace_by_another(shop, "t")
    shop.run(ONE_MORE)
    missed(shop, "t")
    read_again(shop, "t")
    shop.deliver()


# -- changes that wait beside a mirror


def _changes(shop: Shop) -> Path:
    return shop.table(f"t{SUFFIX}")


def _of_iceberg(lake: IcebergTables) -> tuple[str, ...]:
    *namespace, name = lake.table("t").name()
    return (*namespace, f"{name}__changes")


def _remove_changes(shop: Shop) -> None:
    if isinstance(shop.lake, IcebergTables):
        shop.lake.catalog.drop_table(_of_iceberg(shop.lake))
    else:
        shutil.rmtree(_changes(shop))


@pytest.mark.parametrize("form", ["delta", pytest.param("iceberg", marks=pytest.mark.nightly)])
def test_changes_that_waited_are_missed(shop: Shop, form: str) -> None:
    shop = replace(shop, sink=DEFERRED, format=form)
    shop.run(ROWS)
    shop.deliver()
    shop.run(ONE_MORE)
    shop.deliver()
    _remove_changes(shop)
    shop.deliver()  # nothing has changed
    shop.run("INSERT INTO t VALUES (4, 4)")
    missed(shop, "t")
    ended = shop.pipeline({"mirror.apply.interval.ms": 0}).run("--once")
    assert_missed(shop, ended, "t")
    assert "changes: is gone" in ended.stderr
    read_again(shop, "t")
    shop.deliver()
    shop.run("INSERT INTO t VALUES (5, 5)")
    shop.deliver()
    shop.run("INSERT INTO t VALUES (6, 6)")
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.assert_equal(["t"])
    _remove_changes(shop)  # none wait
    shop.run(MORE)
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.assert_equal(["t"])
    shop.run(ONE_MORE)
    shop.deliver()
    shop.run("INSERT INTO t VALUES (7, 7)")
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.assert_equal(["t"])


@pytest.mark.parametrize("interval", [2_147_483_647, 1])
def test_they_are_missed_while_the_pipeline_runs(shop: Shop, interval: int) -> None:
    """Only where some wait."""
    shop = shop.with_sink("mirror", {"mirror.apply.interval.ms": interval})
    shop.run(ROWS)
    shop.deliver()
    with shop.pipeline().running() as process:
        shop.run(ONE_MORE)
        process.wait_until(lambda: _waiting(shop) == (interval > 1), "changes beside it, or none any more")
        shutil.rmtree(_changes(shop))
        shop.run("INSERT INTO t VALUES (4, 4)")
        if interval > 1:
            assert_missed(shop, process.ended(), "t")
            read_again(shop, "t")
        else:
            process.wait_until(lambda: not shop.unequal(), "what comes later")
            assert process.stop().code == 0
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.run(MORE)
    shop.deliver({"mirror.apply.interval.ms": 0})
    shop.assert_equal(["t"])


def _waiting(shop: Shop) -> bool | None:
    """Whether there are changes; None where none have come yet."""
    if not DeltaTable.is_deltatable(str(_changes(shop))):
        return None
    table = DeltaTable(_changes(shop))
    return bool(table.to_pyarrow_table().num_rows) if table.version() >= 2 else None


def test_remembering_many_costs_little(tmp_path: Path) -> None:
    """Of 5,000 tables."""
    with closing(SqliteStateStore(tmp_path)) as state:
        state.save_offset({"at": 1})
        made = tables_in(state)
        for number in range(5000):
            table = f"inventory.table_{number:05}"
            made.wrote(f"shop.{table}", {table}, (), before=False, there=True, identity=f"{number:036}")
        made.save()
    assert (tmp_path / "state.db").stat().st_size < 1 << 20


@pytest.mark.nightly
def test_those_of_iceberg_are_missed_while_the_pipeline_runs(shop: Shop) -> None:
    shop = replace(shop, sink=DEFERRED, format="iceberg")
    lake = shop.lake
    assert isinstance(lake, IcebergTables)
    shop.run(ROWS)
    shop.deliver()
    with shop.pipeline().running() as process:
        shop.run(ONE_MORE)
        process.wait_until(lambda: _has_rows(lake), "changes beside it")
        _remove_changes(shop)
        shop.run("INSERT INTO t VALUES (4, 4)")
        assert_missed(shop, process.ended(), "t")
    read_again(shop, "t")
    shop.deliver()
    shop.assert_equal(["t"])


def _has_rows(lake: IcebergTables) -> bool:
    catalog, name = lake.catalog, _of_iceberg(lake)
    return catalog.table_exists(name) and catalog.load_table(name).current_snapshot() is not None
