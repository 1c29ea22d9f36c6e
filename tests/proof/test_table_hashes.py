"""What Spark's workers make of a table's rows, here without Spark, against what this process makes of them."""

from __future__ import annotations

import pickle
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import Row

from cdckit.api.held import Hashing, ImageHashes
from cdckit.engine.chain import make_chain
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.proof.beside import Beside
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.hashing import hash_of
from cdckit.engine.proof.rounds import Found, Round
from cdckit.tables.hashed_images import unpacked
from cdckit_spark.config import LakeConfig
from cdckit_spark.reading import DeltaImages
from cdckit_spark.table_hashes import TableHashes
from proof.shop import change, deliver, fill
from proof.test_lakes import table_of, to_lake
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.parametrize("db_server", ["mysql"], indirect=True)


class HashedHere(DeltaImages):
    """Does what a task does, with all that goes there sent."""

    def hashes(self, topic: str) -> bool:
        return True

    def hashed(self, topics: Collection[str], hashing: Hashing) -> Iterator[ImageHashes]:
        for topic in topics:
            emptied = {} if self._mirror else self._emptied(topic)
            made = TableHashes(topic, self.maker(), hashing, self._mirror, emptied)
            work: TableHashes = pickle.loads(pickle.dumps(made))
            for packet in work.made(self._scan(topic, self._names(topic))):
                yield from (unpacked(Row(**row)) for row in packet.to_pylist())


def found(pipeline: ResolvedPipeline, folder: Path, images: DeltaImages, keys: Collection[bytes]) -> Found:
    plain, topic = Entries(hash_of("xxh3")), f"p.{pipeline.source.config.database_include_list}.orders"  # type: ignore[attr-defined]
    placed = Entries(hash_of("xxh3"), positioned=images.by_position)
    placed.share(plain)
    wanted = {plain.key(topic, key) for key in keys}
    with Beside(pipeline, (), folder / "source", lambda: False) as beside:
        chain = make_chain(pipeline.transforms)
        parts = (beside, chain, images, plain, placed, wanted, folder, lambda: False, lambda _: None)
        return Round(*parts).run(lambda *_: None)


@pytest.mark.parametrize("keys", [(), (b'{"id":3}', b'{"id":50}', b'{"id":4}')])
@pytest.mark.parametrize("kind", ["mirror", "changelog"])
def test_both_find_the_same(
    db_server: SQLServer, database: str, tmp_path: Path, kind: str, keys: Collection[bytes]
) -> None:
    fill(db_server, database, 120)
    fill(db_server, database, 9, "others")
    pipeline = to_lake(db_server, database, tmp_path, kind)
    deliver(pipeline)
    change(db_server, database)
    db_server.run_sql(f"TRUNCATE {database}.others; INSERT INTO {database}.others (id) VALUES (2)")
    deliver(pipeline)
    table = DeltaTable(table_of(pipeline, database))
    table.delete("id = 4")
    table.update(predicate="id = 5", updates={"name": "'forged'"})
    config = LakeConfig(path=str(tmp_path / "lake"), mode=kind)  # type: ignore[arg-type]
    resolved, lake = load_pipeline(pipeline.written()), str(tmp_path / "lake")
    mine = found(resolved, tmp_path / "a", DeltaImages(config, lake), keys)
    theirs = found(resolved, tmp_path / "b", HashedHere(config, lake), keys)
    assert theirs.rows == mine.rows == {f"p.{database}.orders": 118, f"p.{database}.others": 1}
    assert theirs.differing == mine.differing
    assert [one.fault for one in mine.differing[f"p.{database}.orders"].values()].count("missing") == 1
    assert [*mine.differing] == [f"p.{database}.orders"]
    assert theirs.sink == mine.sink
    assert len(mine.sink) == (len(keys) - 1 if kind == "changelog" else len(keys) - 2) * bool(keys)
