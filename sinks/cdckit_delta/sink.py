"""The sink `delta`: Delta tables in a lake, written by delta-rs in the runner's own process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cdckit import Finding, Images
from cdckit.tables.allocators import load_arrow
from cdckit.tables.delta.passing import ERRORS, passes, reason, refuses_rows
from cdckit.tables.delta.target import DeltaTarget
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.on_spark import LakeOnSpark
from cdckit.tables.lake.sink import LakeSink
from cdckit.tables.sink import RowEncoder
from cdckit_delta.checks import check_place
from cdckit_delta.config import DeltaConfig

if TYPE_CHECKING:
    from cdckit.tables.delta.data_files import DeltaFiles


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

    def files(self, topic: str, _columns: Sequence[str]) -> DeltaFiles:
        """The data files of a topic's table, which need not be there yet."""
        return self._target(topic).files

    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""
        load_arrow()
        from cdckit.tables.lake.images import LakeImages  # noqa: PLC0415 - who only writes needs no pyarrow

        return LakeImages(self._options, self._target, self.faults)


class DeltaOnSpark(LakeOnSpark):
    """The same tables where Spark's workers read, its driver makes the commits, and either writes the rows."""

    def __init__(self, config: DeltaConfig) -> None:
        self._delta = DeltaSink(config)
        super().__init__(self._delta)
        self._options = config

    def workers_write(self, *, beside_driver: bool) -> bool:
        """Whether workers put rows into data files, where they have many of a table.

        They do it where no table is to be looked at for it, and the driver finds the files. Those that a table then
        does not take as they are (`DeltaTarget.takes_files`) the driver reads, and writes their rows.

        Args:
            beside_driver: whether they have the folders of the driver's machine.
        """
        options = self._options
        found = beside_driver or "://" in options.place
        appends = options.mode == "changelog" and not options.placing.partition_by
        return bool(options.task_file_bytes) and appends and found

    def task_encoder(self, *, beside_driver: bool) -> RowEncoder:
        """Typed rows, sent to the driver or, where workers write, put into files."""
        encoder = self.encoder()
        if not self.workers_write(beside_driver=beside_driver):
            return encoder
        from cdckit.tables.lake.gathering import GatheringTableEncoder  # noqa: PLC0415 - it loads pyarrow

        return GatheringTableEncoder(encoder, self._delta.files, DeltaSink.faults, self._options.task_file_bytes)
