"""What Spark's workers make of the source's splits, here without Spark, against what this process makes of them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import Row

from cdckit.api.held import Hashing, ImageHashes, Images
from cdckit.api.source import Split
from cdckit.engine.chain import make_chain
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.proof.beside import Beside
from cdckit.engine.proof.entries import Entries
from cdckit.engine.proof.hashing import hash_of
from cdckit.engine.proof.load import FREE
from cdckit.engine.proof.rounds import Found, Round
from cdckit.engine.proof.source_readers import SourceReaders
from cdckit.engine.proof.split_hashes import SplitHashes
from cdckit.tables.hashed_images import unpacked
from cdckit.tables.sink import SparkTableSink
from cdckit_mysql.snapshot import chunk_plan
from proof.shop import change, deliver, fill
from proof.test_lakes import to_lake
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.parametrize("db_server", ["mysql"], indirect=True)


class Here(SourceReaders):
    """Does what a task does, with all that goes there sent."""

    splits = 4

    def __init__(self) -> None:
        self.groups = 0

    def read(
        self, pipeline: ResolvedPipeline, splits: Sequence[Split], images: Images, hashing: Hashing,
        tables: frozenset[str],
    ) -> Iterator[ImageHashes]:  # fmt: skip
        groups = [[split] for split in splits]
        self.groups = len(groups)
        maker = images.maker()
        assert maker is not None
        work = pickle.loads(pickle.dumps(SplitHashes(pipeline, groups, maker, hashing, FREE, tables)))
        for packet in work.made(iter([pa.RecordBatch.from_pydict({"id": list(range(self.groups))})])):
            yield from (unpacked(Row(**row)) for row in packet.to_pylist())


def found(pipeline: ResolvedPipeline, folder: Path, readers: SourceReaders | None, keys: Sequence[bytes]) -> Found:
    sink, plain = make_sink(pipeline), Entries(hash_of("xxh3"))
    assert not isinstance(sink, SparkTableSink)
    images = sink.images()  # type: ignore[union-attr]
    placed = Entries(hash_of("xxh3"), positioned=images.by_position)
    placed.share(plain)
    wanted = {plain.key("p.x", b"")} | {plain.key(topic_of(pipeline), key) for key in keys} if keys else set()
    chain = make_chain(pipeline.transforms)
    with Beside(pipeline, (), folder / "source", lambda: False) as beside:
        parts = (beside, chain, images, plain, placed, wanted, folder, lambda: False, lambda _: None, None, readers)
        return Round(*parts).run(lambda *_: None)


def topic_of(pipeline: ResolvedPipeline) -> str:
    return f"p.{pipeline.source.config.database_include_list}.orders"  # type: ignore[attr-defined]


@pytest.mark.parametrize("kind", ["mirror", "changelog"])
@pytest.mark.parametrize("keys", [(), (b'{"id":3}', b'{"id":70}')])
def test_both_find_the_same(
    db_server: SQLServer,
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    keys: Sequence[bytes],
) -> None:
    monkeypatch.setattr(chunk_plan, "CHUNK_ROWS", 20)
    fill(db_server, database, 120)
    fill(db_server, database, 7, "others")
    pipeline = to_lake(db_server, database, tmp_path, kind)
    deliver(pipeline)
    change(db_server, database)
    resolved, here = load_pipeline(pipeline.written()), Here()
    mine, theirs = found(resolved, tmp_path / "a", None, keys), found(resolved, tmp_path / "b", here, keys)
    assert here.groups > 3
    assert theirs.rows == mine.rows == {f"p.{database}.orders": 118, f"p.{database}.others": 7}
    assert theirs.differing == mine.differing
    assert len(mine.differing[f"p.{database}.orders"]) == 19
    assert theirs.sink == mine.sink
    assert {key: image[:3] for key, image in theirs.source.items()} == {
        key: image[:3] for key, image in mine.source.items()
    }
    assert len(theirs.source) == len(keys)
