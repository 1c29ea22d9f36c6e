"""Documents of MongoDB whose `_id` is written in another type: for the server 4, 4.0 and Decimal128 4 are one `_id`."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from bson import Decimal128, Int64, json_util
from deltalake import DeltaTable
from pymongo.collection import Collection

from delta_sink.documents import source_of
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_one_that_is_replaced_has_no_second_row(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack, mode: str
) -> None:
    source = source_of(mongo, unique_name)
    sink = {"type": "delta", "mode": mode, "path": str(tmp_path / "lake")}
    pipeline = Pipeline(tmp_path, source, sink, {"name": "p"})
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        a = client[unique_name]["a"]
        a.insert_many([{"_id": 4, "v": 1}, {"_id": {"n": 1}, "v": 1}, {"_id": 5, "v": 1}, {"_id": 6, "v": 1}])
        _deliver(pipeline)
        a.replace_one({"_id": 4}, {"_id": 4.0, "v": 2})
        a.update_one({"_id": {"n": 1}}, [{"$replaceWith": {"_id": {"n": 1.0}, "v": 2}}])
        a.delete_one({"_id": 5})
        a.insert_one({"_id": 5.0, "v": 2})
        a.insert_one({"_id": -0.0, "v": 1})
        _deliver(pipeline)
        assert _rows(tmp_path / "lake" / f"p.{unique_name}.a", mode) == _documents(a)
        a.replace_one({"_id": 4}, {"_id": Decimal128("4"), "v": 3})
        a.replace_one({"_id": 0}, {"_id": Int64(0), "v": 2})
        a.update_one({"_id": 5}, {"$set": {"v": 3}})
        a.replace_one({"_id": 6}, {"v": 2})
        a.delete_one({"_id": {"n": 1}})
        _deliver(pipeline)
        assert _rows(tmp_path / "lake" / f"p.{unique_name}.a", mode) == _documents(a)


def _deliver(pipeline: Pipeline) -> None:
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.stderr


def _documents(collection: Collection[dict[str, Any]]) -> list[str]:
    return sorted(json_util.dumps(one) for one in collection.find())


def _rows(path: Path, mode: str) -> list[str]:
    """The documents of the table, each of which is under its own key."""
    rows = DeltaTable(path).to_pyarrow_table().to_pylist()
    present = [row for row in rows if mode == "mirror" or row["__end_position"] is None]
    documents = {row["id"]: json_util.loads(row["document"]) for row in present}
    assert len(documents) == len(present)
    return sorted(json_util.dumps(one) for one in documents.values())
