"""Registers the sink `delta`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Registration, hookimpl


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    """The sink that keeps Delta tables, written by one process: the direct runner's, or Spark's driver."""
    return [
        Registration(
            name="delta",
            factory="cdckit_delta.sink:DeltaSink",
            config="cdckit_delta.config:DeltaConfig",
            summary="keeps Delta tables without Spark: every change, or a mirror of the source's tables",
            extra="delta",
            requires=("arro3", "deltalake", "pyarrow"),
            on_spark="cdckit_delta.sink:DeltaOnSpark",
        )
    ]
