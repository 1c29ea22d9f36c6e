"""What writes the checkpoints of queries."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cdckit.engine.spark.checkpoints import WRITER, writing_to
from cdckit.engine.spark.hadoop import HadoopFolder

pytestmark = pytest.mark.spark


def test_local_checkpoints_are_written_by_renaming(session: SparkSession, tmp_path: Path) -> None:
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    (source / "a.txt").write_text("a")
    with writing_to(session, checkpoint):
        writer = session.conf.get(WRITER)
        query = (
            session.readStream.text(str(source))
            .writeStream.format("noop")
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
    assert writer is not None
    assert writer.endswith("FileSystemBasedCheckpointFileManager")
    assert session.conf.get(WRITER, None) is None
    query.awaitTermination()
    assert (checkpoint / "commits" / "0").exists()


def test_others_are_left_to_spark(session: SparkSession, tmp_path: Path) -> None:
    with writing_to(session, HadoopFolder(session, f"file://{tmp_path}")):
        assert session.conf.get(WRITER, None) is None


def test_what_the_user_has_set_stays(session: SparkSession, tmp_path: Path) -> None:
    session.conf.set(WRITER, "of.the.User")
    try:
        with writing_to(session, tmp_path):
            assert session.conf.get(WRITER) == "of.the.User"
        assert session.conf.get(WRITER) == "of.the.User"
    finally:
        session.conf.unset(WRITER)
