"""A database whose changes are read and written as Spark's tasks and driver do it: in this process, without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cdckit.api.source import SourceContext
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.pipeline import make_sink, make_source
from cdckit.engine.spark.job import Job
from cdckit.engine.spark.worker import read_splits
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.tables.context import TableContext
from cdckit.tables.sink import Packet
from cdckit_delta.sink import DeltaOnSpark
from delta_sink.shop import Shop

_COLUMNS = ("topic", "layout", "position", "rows", "data", "mark")


@dataclass
class Tasks:
    """One run of a pipeline, from the beginning of the log on.

    Attributes:
        shop: the database, and the lake.
    """

    shop: Shop

    @contextmanager
    def open(self) -> Iterator[Tasks]:
        """Has it ready until the block ends."""
        made = self.shop.pipeline()
        self._pipeline = load_pipeline(replace(made, others={**made.others, "runner": "spark"}).written())
        self._source = make_source(self._pipeline)
        self._source.open(
            SourceContext(self._pipeline.name, state=SqliteStateStore(self.shop.folder / "tasks"), marks=True)
        )
        sink = make_sink(self._pipeline)
        assert isinstance(sink, DeltaOnSpark)
        self._sink, self._number = sink, 0
        sink.open(None, TableContext(self._pipeline.name, "g", marks=True))  # type: ignore[arg-type]
        self._at = self._source.initial_offset()
        try:
            yield self
        finally:
            sink.close()
            self._source.close()

    def deliver(self) -> int:
        """Delivers a batch up to the log's end, of as many tasks as it can be cut into; the number of rows."""
        end = self._source.latest_offset(self._at)
        job = Job(self._pipeline, "table rows", spools=True, marks=True)
        for split in self._source.plan(self._at, end, 3):
            for batch in read_splits(job, [split], 1):
                for row in zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True):
                    self._sink._sink.take(Packet(*row))
        self._at, self._number = end, self._number + 1
        return self._sink._committed(self._number)
