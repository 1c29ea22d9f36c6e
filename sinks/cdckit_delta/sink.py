"""The sink `delta`: Delta tables in a lake, written by delta-rs in the runner's own process."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import Finding, Images
from cdckit.tables.allocators import load_arrow
from cdckit.tables.delta.passing import ERRORS, passes, reason, refuses_rows
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.on_spark import LakeOnSpark
from cdckit.tables.lake.sink import LakeSink
from cdckit_delta.checks import check_place
from cdckit_delta.config import DeltaConfig


class DeltaSink(LakeSink):
    """Keeps a changelog, a mirror or a history of every table."""

    faults = Faults(ERRORS, passes, refuses_rows, reason)

    def __init__(self, config: DeltaConfig) -> None:
        super().__init__(config)
        self._options = config

    @classmethod
    def check(cls, config: DeltaConfig) -> Sequence[Finding]:
        """Looks whether the tables' folder can be made where it is on this machine."""
        return [check_place(config)]

    def _target(self, topic: str) -> DeltaTarget:
        return DeltaTarget(self._options.place, self._options.storage, topic, self._options.placing)

    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""
        load_arrow()
        from cdckit.tables.lake.images import LakeImages  # noqa: PLC0415 - who only writes needs no pyarrow

        return LakeImages(self._options, self._target, self.faults)


class DeltaOnSpark(LakeOnSpark):
    """The same tables where Spark's workers read and its driver writes."""

    def __init__(self, config: DeltaConfig) -> None:
        super().__init__(DeltaSink(config))
