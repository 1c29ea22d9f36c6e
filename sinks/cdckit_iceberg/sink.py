"""The sink `iceberg`: Iceberg tables, written by pyiceberg in the runner's own process."""

from __future__ import annotations

from collections.abc import Sequence

import cdckit.tables.pyarrow_loaded  # noqa: F401 - before others load it
from cdckit import Finding, Images
from cdckit.tables.lake.faults import Faults
from cdckit.tables.lake.images import LakeImages
from cdckit.tables.lake.on_spark import LakeOnSpark
from cdckit.tables.lake.sink import LakeSink
from cdckit_iceberg.catalog import LakeCatalog
from cdckit_iceberg.checks import check_catalog
from cdckit_iceberg.config import IcebergConfig
from cdckit_iceberg.faults import KINDS, passes, refuses_rows
from cdckit_iceberg.target import IcebergTarget


class IcebergSink(LakeSink):
    """Keeps a changelog or a mirror of every table."""

    def __init__(self, config: IcebergConfig) -> None:
        super().__init__(config)
        self._options = config
        self._catalog = LakeCatalog(config)
        self.faults = Faults(KINDS, passes, refuses_rows, self._catalog.said, self._catalog.shows)

    @classmethod
    def check(cls, config: IcebergConfig) -> Sequence[Finding]:
        """Looks whether the catalog answers, and has the namespace."""
        return [check_catalog(config)]

    def _target(self, topic: str) -> IcebergTarget:
        return IcebergTarget(self._catalog, topic)

    def images(self) -> Images:
        """What reads the tables back, which `open` is not needed for."""
        return LakeImages(self._options, self._target, self.faults)


class IcebergOnSpark(LakeOnSpark):
    """The same tables where Spark's workers read and its driver writes."""

    def __init__(self, config: IcebergConfig) -> None:
        super().__init__(IcebergSink(config))
