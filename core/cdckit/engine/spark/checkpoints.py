"""Where the checkpoints of a pipeline are, if not in its folder."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.spark.hadoop import HadoopFolder
from cdckit.engine.state.spark_checkpoint import location


def checkpoints_of(pipeline: ResolvedPipeline, session: SparkSession) -> HadoopFolder | None:
    """The folder; None where they are in the pipeline's."""
    place = pipeline.checkpoint
    if place is None:
        return None
    url = place if ":" in place else location(Path(place))
    return HadoopFolder(session, url) / pipeline.name
