"""Collections of MongoDB as tables of a lake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from bson import Binary, Decimal128, Int64, ObjectId, json_util
from pymongo.database import Database
from pyspark.sql import DataFrame, SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from cdckit.errors import ConfigError, SinkError
from cdckit.tables.documents import parse_columns
from cdckit_spark import inference
from cdckit_spark.config import LakeConfig
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

Document = dict[str, Any]
Documents = Database[Document]
BOUGHT = datetime(2024, 2, 29, 23, 59, 59, 123000, tzinfo=UTC)
TYPED: Document = {
    "_id": 1, "name": "ünï", "n": 7, "big": Int64(2**53 + 1), "price": Decimal128("12.50"), "ratio": 0.5, "on": True,
    "bought": BOUGHT, "raw": Binary(b"\x00\xff"), "address": {"city": "Bern", "geo": {"lat": 46.9}},
    "tags": ["a", 1], "ref": ObjectId("65f0c0ffee65f0c0ffee65f0"),
}  # fmt: skip
FIELDS = ("name", "n", "turn")
COLUMNS = (
    "name string, n int, big bigint, price decimal(10,3), ratio double, on boolean, bought timestamp, raw binary, "
    "address.city string, address.geo json, tags json, ref string"
)


@pytest.fixture
def shop(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Documents]:
    """An empty database, dropped after the test."""
    with mongo.client() as client:
        yield client[unique_name]
        client.drop_database(unique_name)


def test_a_mirror_holds_the_documents_of_the_collection_and_their_fields(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path, nightly: bool
) -> None:
    shop.people.insert_many([{"_id": n, "name": f"n{n}", "n": n} for n in range(300)])
    shop.people.insert_one({**TYPED, "_id": ObjectId()})
    for turn in range(3 if nightly else 2):
        if turn:
            _change(shop, turn)
        _run(mongo, shop, tmp_path, mode="mirror", columns="inferred")
        rows = _table(session, shop, tmp_path).collect()
        held = {json_util.loads(row.id): json_util.loads(row.document) for row in rows}
        assert held == {document["_id"]: document for document in shop.people.find()}
        for row in (row.asDict() for row in rows):
            document = held[json_util.loads(row["id"])]
            assert [row.get(name) for name in FIELDS] == [document.get(name) for name in FIELDS]


def _change(shop: Documents, turn: int) -> None:
    """An update is followed by the document's end, so that looking it up finds nothing."""
    shop.people.update_many({"n": {"$lt": 50}}, {"$set": {"turn": turn}, "$unset": {"name": ""}})
    shop.people.delete_many({"n": {"$lt": 10 * turn}})
    shop.people.replace_one({"_id": 60}, {"other": [turn]})
    shop.people.insert_one({"_id": f"new {turn}"})


def test_declared_columns_are_typed(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    shop.people.insert_many([TYPED, {"_id": 2, "address": "nowhere"}])
    _run(mongo, shop, tmp_path, columns=COLUMNS)
    table = _table(session, shop, tmp_path)
    first, second = table.orderBy("id").drop("__position", "__ts_ms", "__source_ts_ms").collect()
    assert first.asDict() | {"bought": BOUGHT} == {
        "id": "1", "name": "ünï", "n": 7, "big": 2**53 + 1, "price": Decimal("12.500"), "ratio": 0.5, "on": True,
        "bought": BOUGHT, "raw": bytearray(b"\x00\xff"), "address_city": "Bern", "address_geo": '{"lat":46.9}',
        "tags": '["a",1]', "ref": "65f0c0ffee65f0c0ffee65f0", "update_description": None,
        "__op": "r", "__deleted": False, "__db": shop.name, "__table": "people",
    }  # fmt: skip
    assert table.where("id = '1' and bought = timestamp '2024-02-29 23:59:59.123Z'").count() == 1
    assert {value for name, value in second.asDict().items() if not name.startswith("__")} == {"2", None}
    assert dict(table.dtypes)["bought"] == "timestamp"


def test_inferred_columns_are_typed_and_stay_as_they_are(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    """What does not fit a column, or finds no place for one, is in the document."""
    shop.people.insert_many([
        TYPED | {"_id": 1, "with space": 1, "mixed": 1, "deep": {"a": {"b": 2**40}}, "only": None},
        {"_id": Int64(2), "n": Int64(2**40), "ratio": float("nan"), "mixed": {"x": 1}, "id": 7, "document": 8},
    ])  # fmt: skip
    _run(mongo, shop, tmp_path, mode="mirror", columns="inferred")
    types = {
        "_id": "bigint", "name": "string", "n": "bigint", "big": "bigint", "price": "string", "ratio": "double",
        "on": "boolean", "bought": "timestamp", "raw": "binary", "address_city": "string", "address_geo_lat": "double",
        "tags": "string", "ref": "string", "with space": "bigint", "mixed": "string", "deep_a_b": "bigint",
    }  # fmt: skip
    found = dict(_table(session, shop, tmp_path).drop("id", "document", "__position").dtypes)
    assert found == types
    first, second = _table(session, shop, tmp_path).orderBy("id").collect()
    assert first.asDict() | {"bought": BOUGHT} == {
        "id": "1", "_id": 1, "name": "ünï", "n": 7, "big": 2**53 + 1, "price": "12.50", "ratio": 0.5, "on": True,
        "bought": BOUGHT, "raw": bytearray(b"\x00\xff"), "address_city": "Bern", "address_geo_lat": 46.9,
        "tags": '["a",1]', "ref": "65f0c0ffee65f0c0ffee65f0", "with space": 1, "mixed": "1", "deep_a_b": 2**40,
        "document": first.document, "__position": first["__position"],
    }  # fmt: skip
    assert (second["_id"], second.n, second.mixed, str(second.ratio)) == (2, 2**40, '{"x":1}', "nan")

    unlike = {"n": "seven", "address": "nowhere", "deep": {"a": 1, "c": 2}, "on": 1, "new": 9, "Name": "N"}
    unlike["paid"] = Decimal128("1.50")
    session.sql(f"ALTER TABLE delta.`{tmp_path / 'lake' / f't.{shop.name}.people'}` ADD COLUMNS (paid decimal(9,2))")
    shop.people.replace_one({"_id": 1}, unlike)
    shop.people.delete_one({"_id": 2})
    shop.people.insert_one({"_id": ObjectId("65f0c0ffee65f0c0ffee65f0"), "name": {"first": "x"}})
    _run(mongo, shop, tmp_path, mode="mirror", columns="inferred")
    table = _table(session, shop, tmp_path)
    assert dict(table.drop("id", "document", "__position").dtypes) == types | {
        "deep_c": "bigint", "new": "bigint", "paid": "decimal(9,2)",
    }  # fmt: skip
    told = {name: value for row in table.collect() for name, value in row.asDict().items() if value is not None}
    assert {name: told.get(name) for name in ("_id", "n", "on", "deep_a_b", "address_city")} == {
        "_id": 1, "n": None, "on": None, "deep_a_b": None, "address_city": None,
    }  # fmt: skip
    assert (told["new"], told["deep_c"], told["name"]) == (9, 2, '{"first":"x"}')
    assert told["paid"] == Decimal("1.50")
    held = [json_util.loads(row.document) for row in table.orderBy("id").collect()]
    assert held == list(shop.people.find().sort("_id"))


def test_fields_without_a_column_stay_in_the_document(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those beyond the limit do, and those whose name the table has with a type that no field becomes."""
    monkeypatch.setattr(inference, "MOST_COLUMNS", 3)
    _run(mongo, shop, tmp_path, columns="inferred")
    shop.people.insert_one({"_id": 1, "a": "x"})
    _run(mongo, shop, tmp_path, columns="inferred")
    place = tmp_path / "lake" / f"t.{shop.name}.people"
    session.sql(f"ALTER TABLE delta.`{place}` ADD COLUMNS (b array<int>, C bigint)")
    shop.people.insert_one({"_id": 2, "a": "y", "b": [1], "c": 3, "d": 4})
    shop.people.delete_one({"_id": 1})
    _run(mongo, shop, tmp_path, columns="inferred")
    table = _table(session, shop, tmp_path).orderBy("__position")
    assert [tuple(row) for row in table.select("__op", "id", "_id", "a", "b", "C").collect()] == [
        ("c", "1", 1, "x", None, None), ("c", "2", 2, "y", None, 3), ("d", "1", None, None, None, None),
    ]  # fmt: skip
    assert "d" not in table.columns
    assert json_util.loads(table.collect()[1].document) == {"_id": 2, "a": "y", "b": [1], "c": 3, "d": 4}


def test_a_changelog_tells_what_an_update_changed(
    session: SparkSession, mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    shop.people.insert_one({"_id": 1, "name": "a", "gone": 1})
    partly = {"capture.mode": "change_streams"}
    _run(mongo, shop, tmp_path, source=partly)
    shop.people.update_one({"_id": 1}, {"$set": {"name": "b"}, "$unset": {"gone": ""}})
    shop.people.delete_one({"_id": 1})
    _run(mongo, shop, tmp_path, source=partly)
    rows = _table(session, shop, tmp_path).orderBy("__position").collect()
    assert [(row["__op"], row.document) for row in rows] == [
        ("r", '{"_id": 1,"name": "a","gone": 1}'),
        ("u", None),
        ("d", None),
    ]
    update = json_util.loads(rows[1].update_description)
    assert (update["removedFields"], json_util.loads(update["updatedFields"])) == (["gone"], {"name": "b"})


def test_a_mirror_refuses_a_source_that_sends_only_changes(
    mongo: MongoReplicaSet, shop: Documents, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=r"source\.capture\.mode"):
        _run(mongo, shop, tmp_path, mode="mirror", source={"capture.mode": "change_streams"})


def test_a_value_of_another_type_stops_with_its_field(mongo: MongoReplicaSet, shop: Documents, tmp_path: Path) -> None:
    shop.people.insert_one({"_id": 1, "n": "seven"})
    with pytest.raises(SinkError, match='field n is no int: "seven"'):
        _run(mongo, shop, tmp_path, columns="n int")


def test_parquet_has_no_place_for_inferred_columns() -> None:
    with pytest.raises(ConfigError, match="inferred' needs 'format: delta'"):
        LakeConfig.load({"format": "parquet", "path": "x", "document.columns": "inferred"}, "sink")


def _run(
    mongo: MongoReplicaSet,
    shop: Documents,
    folder: Path,
    *,
    mode: str = "changelog",
    columns: str = "",
    source: Document | None = None,
) -> None:
    options = {
        "type": "mongodb",
        "topic.prefix": "t",
        "mongodb.connection.string": mongo.uri,
        "collection.include.list": f"{shop.name}.people",
        **(source or {}),
    }
    sink = {"type": "spark", "path": str(folder / "lake"), "mode": mode, "document.columns": columns}
    pipeline = Pipeline(folder, options, sink)
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def _table(session: SparkSession, shop: Documents, folder: Path) -> DataFrame:
    return session.read.format("delta").load(str(folder / "lake" / f"t.{shop.name}.people"))


@pytest.mark.parametrize("kind", ["boolean", "int", "bigint", "double", "timestamp", "binary", "decimal(5,2)"])
@pytest.mark.parametrize("value", [{"a": 1}, {}, {"$timestamp": {}}, {"$binary": {}}, {"$date": {}}, [1], [], "text"])
def test_a_value_of_another_type_is_one_whatever_it_is(kind: str, value: Any) -> None:
    [column] = parse_columns(f"f {kind}")
    with pytest.raises(ValueError, match=r"field f is no "):
        column.value_in({"f": value})
