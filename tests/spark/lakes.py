"""A database whose tables Spark's workers read, and its driver writes into a lake."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from delta_sink import shop
from spark.conftest import FAST_JVM
from testkit.running import Pipeline


@dataclass(frozen=True)
class SparkShop(shop.Shop):
    """One database and its lake."""

    def pipeline(self, sink: dict[str, Any] | None = None, **source: Any) -> Pipeline:
        """The pipeline to the lake, on Spark."""
        made = super().pipeline(sink, **source)
        spark = {"spark.master": "local[2]", **FAST_JVM}
        return replace(made, others={**made.others, "runner": "spark", "spark": spark})

    def deliver(self, sink: dict[str, Any] | None = None) -> None:  # type: ignore[override]
        """Runs up to the log's end, in the shared session."""
        SparkRunner(load_pipeline(self.pipeline(sink).written())).run(once=True)

    @property
    def direct(self) -> shop.Shop:
        """The same pipeline on the other runner."""
        given = (self.server, self.name, self.folder, self.mode, self.format, self.sink, self.catalog)
        return shop.Shop(*given)
