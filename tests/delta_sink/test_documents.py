"""Collections of MongoDB in Delta tables without Spark."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bson import Decimal128
from deltalake import DeltaTable

from delta_sink.documents import source_of
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet


def test_a_mirror_equals_its_collections(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    source = source_of(mongo, unique_name)
    sink = {"type": "delta", "mode": "mirror", "path": str(tmp_path / "lake")}
    whole = Pipeline(tmp_path, source, sink, {"name": "whole"})
    declared = {**sink, "path": str(tmp_path / "declared"), "document.columns": "name string, n.x int, p decimal(10,2)"}
    (tmp_path / "other").mkdir()
    columns = Pipeline(tmp_path / "other", source, declared, {"name": "declared"})
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        a = client[unique_name]["a"]
        a.insert_many([{"_id": n, "name": f"n{n}", "n": {"x": n}, "p": Decimal128("1.50")} for n in range(50)])
        for pipeline in (whole, columns):
            assert pipeline.run("--once").code == 0
        a.update_many({"_id": {"$lt": 10}}, {"$set": {"name": "changed"}})
        a.delete_many({"_id": {"$gte": 40}})
        a.replace_one({"_id": 20}, {"q": [1, {"z": None}]})
        a.insert_one({"_id": 99, "name": "new"})
        for pipeline in (whole, columns):
            ended = pipeline.run("--once")
            assert ended.code == 0, ended.stderr
        documents = {str(one["_id"]): one for one in a.find()}
    found = {row["id"]: json.loads(row["document"]) for row in _rows(tmp_path / "lake" / f"p.{unique_name}.a")}
    assert {key: one.get("name") for key, one in found.items()} == {k: d.get("name") for k, d in documents.items()}
    assert found["20"] == {"_id": 20, "q": [1, {"z": None}]}
    rows = _rows(tmp_path / "declared" / f"p.{unique_name}.a")
    assert {row["id"]: (row["name"], row["n_x"]) for row in rows} == {
        key: (one.get("name"), one.get("n", {}).get("x")) for key, one in documents.items()
    }
    assert {str(row["p"]) for row in rows} == {"1.50", "None"}


def test_each_change_has_the_time_at_which_the_server_made_it(
    mongo: MongoReplicaSet, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    source = source_of(mongo, unique_name)
    pipelines = {}
    for mode in ("changelog", "history"):
        (tmp_path / mode).mkdir()
        sink = {"type": "delta", "mode": mode, "path": str(tmp_path / mode / "lake")}
        pipelines[mode] = Pipeline(tmp_path / mode, source, sink, {"name": mode})
    afterwards.callback(mongo.drop_database, unique_name)
    with mongo.client() as client:
        a = client[unique_name]["a"]
        a.insert_one({"_id": 0})
        for pipeline in pipelines.values():
            assert pipeline.run("--once").code == 0
        begun_ms = time.time_ns() // 1_000_000
        a.insert_one({"_id": 1})
        time.sleep(0.05)
        a.update_one({"_id": 1}, {"$set": {"x": 1}})
        for pipeline in pipelines.values():
            assert pipeline.run("--once").code == 0
    read_ms = time.time_ns() // 1_000_000
    log = sorted(_rows(tmp_path / "changelog" / "lake" / f"p.{unique_name}.a"), key=lambda row: str(row["__position"]))
    made, updated = (row for row in log if row["__op"] in ("c", "u"))
    assert begun_ms <= made["__source_ts_ms"] < updated["__source_ts_ms"] <= made["__ts_ms"] <= read_ms
    versions = [row for row in _rows(tmp_path / "history" / "lake" / f"p.{unique_name}.a") if row["id"] == "1"]
    begun = sorted(round(row["__valid_from"].timestamp() * 1000) for row in versions)
    assert begun == [made["__source_ts_ms"], updated["__source_ts_ms"]]


def _rows(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table().to_pylist()
    return found
