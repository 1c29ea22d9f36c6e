"""Tables by the sink `delta`: a row that the chain or the table does not take is kept by itself, and replayed."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pymongo.database import Database

from mongodb.conftest import own_database
from quarantine.conftest import CAST, UNWRAP, Cdc, Shop
from testkit.running import Pipeline, create_reader
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SIGNAL_PRIVILEGES

__all__ = ["own_database"]


@pytest.fixture
def lake(shop: Shop, tmp_path: Path) -> Shop:
    """The pipeline into tables, which keeps what its chain fails on."""
    return _to_tables(shop, tmp_path, "changelog")


def _to_tables(shop: Shop, folder: Path, mode: str, **options: Any) -> Shop:
    sink = {"type": "delta", "mode": mode, "path": str(folder / "lake")}
    others = {name: value for name, value in shop.pipeline.others.items() if name != "serializer"}
    return replace(shop, pipeline=replace(shop.pipeline, sink=sink, others=others)).given(**options)


def _rows(shop: Shop, table: str = "orders") -> list[tuple[int, Any]]:
    place = Path(str(shop.pipeline.sink["path"])) / f"p.{shop.database}.{table}"
    place = place if place.exists() else next(Path(str(shop.pipeline.sink["path"])).rglob(f"*{table}"))
    rows = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["amount"]) for row in rows if not row.get("__deleted"))


@pytest.mark.parametrize("begin", ["snapshot", "log"])
def test_what_a_transform_fails_on_is_kept_and_the_rest_goes_on(lake: Shop, begin: str) -> None:
    if begin == "log":
        lake.insert(_9="9")
        assert lake.run().code == 0
    lake.insert(_1="10", _2="x", _3="30")
    for _ in range(2):
        ended = lake.run()
        assert ended.code == 0, ended.stderr
    others = [(9, 9)] if begin == "log" else []
    assert _rows(lake) == [(1, 10), (3, 30), *others]
    assert [(kept["stage"], kept["by"]) for kept in lake.kept()] == [("transform", "number")]
    assert lake.cdc("replay")[0] == 6
    lake.run_sql("UPDATE orders SET amount = '5' WHERE id = 3")
    assert len(lake.kept()) == 1
    mask = {"type": "MaskField$Value", "fields": "amount", "replacement": "77"}
    mended = lake.given(transforms=[UNWRAP, mask, CAST])
    code, _, said = mended.cdc("replay")
    assert code == 0, said
    assert (2, 77) in _rows(lake)
    assert lake.kept() == []
    assert lake.run().code == 0
    assert Counter(_rows(lake)) == Counter([(1, 10), (2, 77), (3, 30), (3, 5), *others])


def test_a_row_that_is_replayed_has_the_types_that_its_source_knows(lake: Shop) -> None:
    """A BIGINT UNSIGNED is a negative number in events."""
    lake.run_sql("ALTER TABLE orders ADD u BIGINT UNSIGNED", "INSERT INTO orders VALUES (1, '1', 1)")
    assert lake.run().code == 0
    lake.run_sql(f"INSERT INTO orders VALUES (2, 'x', {2**64 - 1}), (3, '3', {2**63})")
    assert lake.run().code == 0
    lenient = {"type": "ReplaceField$Value", "name": "number", "exclude": "amount"}
    code, _, said = lake.given(transforms=[UNWRAP, lenient]).cdc("replay")
    assert code == 0, said
    place = next(Path(str(lake.pipeline.sink["path"])).rglob("*.orders"))
    rows = DeltaTable(str(place)).to_pyarrow_table().to_pylist()
    assert {row["id"]: row["u"] for row in rows} == {1: 1, 2: 2**64 - 1, 3: 2**63}


def test_a_row_for_which_the_chain_has_another_type_by_now_stays(lake: Shop) -> None:
    """It is from before the table's newest definition, which has judged the types; a wider column takes it."""
    lake.insert(_1="1", _2="x")
    assert lake.run().code == 0
    lake.run_sql("ALTER TABLE orders ADD c INT", "INSERT INTO orders VALUES (3, '3', 3)")
    assert lake.run().code == 0
    code, _, said = lake.given(transforms=[UNWRAP]).cdc("replay")
    assert code == 6
    assert "column 'amount' is int, and the chain makes string now" in said and "Cast" in said
    assert [kept["stage"] for kept in lake.kept()] == ["write"]
    mask = {"type": "MaskField$Value", "fields": "amount", "replacement": "7"}
    narrow = {**CAST, "spec": "amount:int16"}
    code, _, said = lake.given(transforms=[UNWRAP, mask, narrow]).cdc("replay")
    assert code == 0, said
    assert _rows(lake) == [(1, 1), (2, 7), (3, 3)]


def test_a_document_that_does_not_fit_its_columns_is_kept(
    mongo: MongoReplicaSet, own_database: Database[dict[str, Any]], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own_database.create_collection("a")
    source = {
        "type": "mongodb",
        "topic.prefix": "t",
        "mongodb.connection.string": mongo.uri,
        "database.include.list": own_database.name,
    }
    sink = {"type": "delta", "mode": "changelog", "path": str(tmp_path / "lake"), "document.columns": "n int"}
    cdc = Cdc(Pipeline(tmp_path, source, sink, {"errors.tolerance": "quarantine"}), capfd)
    assert cdc("run", "--once")[0] == 0
    own_database.a.insert_many([{"_id": 1, "n": 1}, {"_id": 2, "n": "two"}, {"_id": 3, "n": 3}])
    code, _, said = cdc("run", "--once")
    assert code == 0, said
    (kept,) = cdc.kept()
    assert (kept["stage"], kept["by"], "field n is no int" in kept["reason"]) == ("write", "delta", True), kept
    place = next((tmp_path / "lake").rglob("*.a"))

    assert DeltaTable(str(place)).to_pyarrow_table().num_rows == 2
    assert cdc("replay")[0] == 6
    sink["document.columns"] = "n string"
    _, _, said = cdc("replay")
    assert "column 'n' became string" in said


def test_a_mirror_takes_part_where_later_changes_wait(shop: Shop, tmp_path: Path) -> None:
    passes = _to_tables(shop, tmp_path, "mirror")
    code, _, errors = passes.cdc("run", "--once")
    assert (code, "the mirrors of 'delta' would not be equal" in errors) == (2, True)
    waits = passes.given(quarantine_later_changes="wait")
    waits.insert(_1="1", _2="2")
    assert waits.run().code == 0
    waits.run_sql("UPDATE orders SET amount = 'x' WHERE id = 1", "UPDATE orders SET amount = '7' WHERE id = 1")
    waits.run_sql("UPDATE orders SET amount = '3' WHERE id = 2")
    ended = waits.run()
    assert ended.code == 0, ended.stderr
    assert _rows(waits) == [(1, 1), (2, 3)]
    assert [kept["stage"] for kept in waits.kept()] == ["transform", "wait"]
    lenient = {"type": "ReplaceField$Value", "name": "number", "include": "id"}
    assert lenient["name"] == CAST["name"]
    waits.cdc("quarantine", "drop", str(waits.kept()[0]["number"]))
    code, _, said = waits.cdc("replay")
    assert code == 0, said
    assert _rows(waits) == [(1, 7), (2, 3)]
    waits.run_sql("UPDATE orders SET amount = '8' WHERE id = 1")
    assert waits.run().code == 0
    assert _rows(waits) == [(1, 8), (2, 3)]


def test_killed_at_any_instant_every_row_is_in_the_table_or_kept(lake: Shop) -> None:
    shop = lake.given(offset_flush_interval_ms=20)
    assert shop.run().code == 0
    for start in range(0, 600, 300):
        for at in range(start, start + 300, 50):
            rows = ", ".join(f"({n}, '{'x' if n % 40 == 7 else n}')" for n in range(at, at + 50))
            shop.run_sql(f"INSERT INTO orders VALUES {rows}")
        before = shop.pipeline.offset()
        with shop.pipeline.running() as process:
            process.wait_until(lambda before=before: shop.pipeline.offset() != before)  # type: ignore[misc]
            time.sleep(random.uniform(0, 0.1))
            process.kill()
    ended = shop.run()
    assert ended.code == 0, ended.stderr
    bad = {number for number in range(600) if number % 40 == 7}
    assert Counter(shop.kept_ids()) == Counter(bad)
    assert [number for number, _ in _rows(shop)] == sorted(set(range(600)) - bad)


@pytest.mark.parametrize("mode", ["changelog", "mirror"])
def test_rows_that_break_a_constraint_of_the_table_are_kept(shop: Shop, tmp_path: Path, mode: str) -> None:
    lake = _to_tables(shop, tmp_path, mode, quarantine_later_changes="wait", transforms=[UNWRAP, CAST])
    lake.insert(_1000="1")
    assert lake.run().code == 0
    place = next((tmp_path / "lake").rglob("*.orders"))
    DeltaTable(str(place)).alter.add_constraint({"positive": "amount > 0"})
    amounts = {number: "-5" if number in (17, 58) else str(number) for number in range(1, 80)}
    lake.insert(**{f"_{number}": amount for number, amount in amounts.items()})
    lake.run_sql("UPDATE orders SET amount = '7' WHERE id = 17", "UPDATE orders SET amount = '8' WHERE id = 18")
    ended = lake.run()
    assert ended.code == 0, ended.stderr
    kept = [(kept["stage"], kept["by"]) for kept in lake.kept()]
    assert Counter(kept) == {("write", "delta"): 2, ("wait", ""): 1}, ended.stderr
    assert "failed validation check" in lake.kept()[0]["reason"]
    assert Counter(lake.kept_ids()) == {17: 2, 58: 1}
    expected = {(number, number) for number in amounts if number not in (17, 58)} | {(1000, 1)}
    found = Counter(_rows(lake))
    assert set(found) == (expected | {(18, 8)} if mode == "changelog" else expected - {(18, 18)} | {(18, 8)})
    assert set(found.values()) == {1}
    assert lake.cdc("replay")[0] == 6
    DeltaTable(str(place)).alter.drop_constraint("positive")
    code, _, said = lake.cdc("replay")
    assert code == 0, said
    assert (58, -5) in _rows(lake)
    assert (17, 7) in _rows(lake)


def test_rows_of_a_table_whose_topic_was_routed_are_found_too(shop: Shop, tmp_path: Path) -> None:
    route = {"type": "RegexRouter", "regex": ".*orders", "replacement": "elsewhere"}
    lake = _to_tables(shop, tmp_path, "changelog", transforms=[UNWRAP, CAST, route])
    lake.insert(_1000="1")
    assert lake.run().code == 0
    place = str(tmp_path / "lake" / "elsewhere")
    DeltaTable(place).alter.add_constraint({"positive": "amount > 0"})
    lake.insert(_1="1", _2="-2", _3="3")
    ended = lake.run()
    assert ended.code == 0, ended.stderr
    assert [(kept["stage"], kept["by"]) for kept in lake.kept()] == [("write", "delta")]
    assert sorted(row["id"] for row in DeltaTable(place).to_pyarrow_table().to_pylist()) == [1, 3, 1000]


def test_of_rows_that_are_read_again_those_that_a_table_refuses_are_kept_once(shop: Shop, tmp_path: Path) -> None:
    signals = f"{shop.database}.signals"
    shop.run_sql("CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))")
    create_reader(shop.server, *CAPTURE_PRIVILEGES, *SIGNAL_PRIVILEGES)
    lake = _to_tables(shop, tmp_path, "changelog", transforms=[UNWRAP, CAST])
    source = {
        **lake.pipeline.source,
        "signal.data.collection": signals,
        "table.include.list": f"{shop.database}.orders",
    }
    lake = replace(lake, pipeline=replace(lake.pipeline, source=source))
    lake.insert(_1="1", _2="2", _3="3", _4="4")
    assert lake.run().code == 0
    DeltaTable(str(next((tmp_path / "lake").rglob("*.orders")))).alter.add_constraint({"small": "amount < 5"})
    shop.run_sql("SET sql_log_bin = 0", "INSERT INTO orders VALUES (0, '7'), (5, '5'), (6, '6')")
    data = json.dumps({"data-collections": [f"{shop.database}.orders"]})
    shop.run_sql(f"INSERT INTO signals VALUES ('1', 'execute-snapshot', '{data}')")
    ended = lake.run()
    assert ended.code == 0, ended.stderr
    assert Counter(lake.kept_ids()) == {0: 1, 5: 1, 6: 1}
    assert {number for number, _ in _rows(lake)} == {1, 2, 3, 4}
