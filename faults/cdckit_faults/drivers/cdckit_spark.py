"""cdckit's pipelines from MySQL to a file, on a cluster of Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from cdckit_faults.drivers.cdckit import Cdckit
from cdckit_faults.drivers.driver import Refusal

_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class CdckitSpark(Cdckit):
    """A batch whose task was lost is read again; its process is Spark's driver."""

    lane: ClassVar[str] = "spark"
    repeats_in_run: ClassVar[bool] = True
    patience: ClassVar[float] = 300.0
    refusals: ClassVar[Mapping[str, Refusal]] = {}

    def runner(self) -> Mapping[str, Any]:
        """Two executors of one core each."""
        spark = {
            "master": self.systems.master,
            "spark.driver.host": self.systems.host,
            "spark.driver.bindAddress": self.systems.host,
            "spark.driver.extraJavaOptions": _JVM,
            "spark.executor.extraJavaOptions": _JVM,
            "spark.executor.cores": "1",
            "spark.executor.memory": "640m",
            "spark.sql.codegen.wholeStage": "false",
        }
        return {"runner": "spark", "spark": spark}
