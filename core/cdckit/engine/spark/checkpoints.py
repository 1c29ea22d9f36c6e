"""Where the checkpoints of a pipeline are, if not in its folder, and how Spark writes those that are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.hadoop import HadoopFolder
from cdckit.engine.state.spark_checkpoint import Folder, location

WRITER = "spark.sql.streaming.checkpointFileManagerClass"
"""Spark's setting of what writes checkpoints."""

_PACKAGE = "org.apache.spark.sql.execution.streaming"
_BY_RENAMING = "FileSystemBasedCheckpointFileManager"
_WRITERS = (f"{_PACKAGE}.checkpointing.{_BY_RENAMING}", f"{_PACKAGE}.{_BY_RENAMING}")
"""Since Spark 4.1, and before."""


def checkpoints_of(pipeline: ResolvedPipeline, session: SparkSession) -> HadoopFolder | None:
    """The folder; None where they are in the pipeline's."""
    place = pipeline.checkpoint
    if place is None:
        return None
    url = place if ":" in place else location(Path(place))
    return HadoopFolder(session, url) / pipeline.name


@contextmanager
def writing_to(session: SparkSession, checkpoint: Folder) -> Iterator[None]:
    """Has queries that are started meanwhile write a local checkpoint without a process for each look at a file.

    Hadoop's newer interface, which Spark takes by default, starts `readlink` 16 times a batch where it has no native
    library, and PySpark brings none; the older one renames files just so. What the user has set stays.
    """
    writer = _by_renaming(session) if isinstance(checkpoint, Path) else None
    if writer is None or session.conf.get(WRITER, None) is not None:
        yield
        return
    session.conf.set(WRITER, writer)
    try:
        yield
    finally:
        session.conf.unset(WRITER)


def _by_renaming(session: SparkSession) -> str | None:
    jvm = session._jvm
    assert jvm is not None
    classes = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    for name in _WRITERS:
        try:
            classes.loadClass(name)
        except Py4JError:
            continue
        return name
    return None
