"""Registers the sink `iceberg`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink that keeps Iceberg tables, written by one process: the direct runner's, or Spark's driver."""
    return [
        Registration(
            name="iceberg",
            factory="cdckit_iceberg.sink:IcebergSink",
            config="cdckit_iceberg.config:IcebergConfig",
            summary="keeps Iceberg tables without Spark: every change, or a mirror of the source's tables",
            extra="iceberg",
            requires=("arro3", "pyiceberg", "pyarrow"),
            on_spark="cdckit_iceberg.sink:IcebergOnSpark",
        )
    ]
