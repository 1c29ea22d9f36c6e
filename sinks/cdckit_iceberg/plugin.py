"""Registers the sink `iceberg`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink that keeps Iceberg tables in the runner's own process."""
    return [
        Registration(
            name="iceberg",
            factory="cdckit_iceberg.sink:IcebergSink",
            config="cdckit_iceberg.config:IcebergConfig",
            summary="keeps Iceberg tables without Spark: every change, or a mirror of the source's tables",
            extra="iceberg",
            requires=("pyiceberg", "pyarrow"),
        )
    ]
