"""Registers the sink `spark`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink that keeps tables in a lake."""
    return [
        Registration(
            name="spark",
            factory="cdckit_spark.sink:LakeSink",
            config="cdckit_spark.config:LakeConfig",
            summary="keeps Delta or parquet tables through Spark: every change, or a mirror of the source's tables",
            extra="spark",
            requires=("pyspark", "arro3", "pyarrow", "deltalake"),
        )
    ]
