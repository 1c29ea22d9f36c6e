"""Random histories of MongoDB's collections into mirrors on Spark, through elections and rollbacks in mid-batch."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import ClassVar

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from histories.test_documents import Documents, document_text, failure_of
from histories.unreplicated import UnreplicatedCollections, three_members
from testkit.running import Pipeline
from testkit.servers.mongodb import MongoReplicaSet

__all__ = ["three_members"]


class MirroredCollections(UnreplicatedCollections):
    """Collections of which a lake has mirrors.

    Args:
        session: what reads the lake.
        replica_set: see `UnreplicatedCollections`, as are the others.
        database: which is not there yet.
        folder: of the pipeline's files.
        seed: of the history.
    """

    longest_wait: ClassVar[float] = 4.0

    def __init__(
        self, session: SparkSession, replica_set: MongoReplicaSet, database: str, folder: Path, seed: int
    ) -> None:
        super().__init__(replica_set, database, folder, seed)
        self._session = session

    def follow(self) -> None:
        """One run of the pipeline into the lake."""
        self.folder.mkdir(exist_ok=True)
        columns = "inferred" if self.seed % 2 else ""
        sink = {"type": "spark", "mode": "mirror", "path": str(self._lake), "document.columns": columns}
        rows = 40 if self.seed % 3 == 0 else 0
        pipeline = Pipeline(self.folder, {**self.source, "snapshot.batch.rows": rows}, sink)
        SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)

    def found(self) -> Documents:
        """The mirrors' rows."""
        found: Documents = {}
        for table in self._lake.glob("*/_delta_log"):
            for row in self._session.read.format("delta").load(str(table.parent)).select("id", "document").collect():
                found[table.parent.name, row.id] = document_text(row.document)
        return found

    @property
    def _lake(self) -> Path:
        return self.folder / "lake"


@pytest.mark.spark
@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(51, 71))
def test_the_mirrors_equal_the_collections(
    session: SparkSession,
    three_members: MongoReplicaSet,
    unique_name: str,
    tmp_path: Path,
    seed: int,
    afterwards: ExitStack,
) -> None:
    afterwards.callback(three_members.drop_database, unique_name)

    def new(name: str) -> MirroredCollections:
        return MirroredCollections(session, three_members, unique_name, tmp_path / name, seed)

    said = failure_of(new, elections=True)
    assert not said, said
