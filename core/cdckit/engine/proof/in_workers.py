"""What Spark's workers read for a proof, of a pipeline that runs on Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from cdckit.api.held import Images
from cdckit.api.sink import Sink, TableSink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_sink
from cdckit.engine.proof.load import MaxLoad
from cdckit.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cdckit.engine.proof.source_readers import SourceReaders
    from cdckit.tables.sink import SparkTableSink
    from cdckit.tables.workers import Workers

# Who needs no worker need not have Arrow, nor Spark.

SparkUse = Literal["never", "needed", "always"]
"""Whether workers read nothing, the tables that this process cannot read, or all rows of both sides."""


class InWorkers:
    """What the workers of one pipeline read, by its own settings of Spark; they are started once they are needed.

    Args:
        pipeline: the pipeline.
        use: whether they read.
        load: how much of the source all of them may take together.
        stopping: once true, what they do is broken off.
        tell: is told what is being done.
    """

    def __init__(
        self,
        pipeline: ResolvedPipeline,
        use: SparkUse,
        load: MaxLoad,
        stopping: Callable[[], bool],
        tell: Callable[[str], None],
    ) -> None:
        self._pipeline = pipeline
        self._use = use
        self._load = load
        self._stopping = stopping
        self._tell = tell
        self._workers: Workers | None = None

    def require(self, sink: Sink | TableSink) -> None:
        """Looks whether they can read all that is to be compared, where they are to.

        Raises:
            ConfigError: they cannot.
        """
        if self._use != "always":
            return
        if self._pipeline.runner != "spark":
            raise ConfigError("--on-spark: needs 'runner: spark', by whose settings it reads", number="CDC2402")
        if (tables := _spark_tables(sink)) is None or not tables.read_by_workers:
            name = self._pipeline.sink.registration.name
            raise ConfigError(
                f"--on-spark: what the sink '{name}' has written is read by one process: leave it away",
                number="CDC2402",
            )

    def images(self, sink: TableSink) -> Images:
        """What reads the tables of a sink.

        Raises:
            ConfigError: they cannot be read back.
        """
        tables = _spark_tables(sink) if self._use != "never" and self._pipeline.runner == "spark" else None
        if tables is None or not tables.read_by_workers:
            return sink.images()
        return tables.images_on_spark(self._made(), always=self._use == "always")

    def readers(self) -> SourceReaders | None:
        """What reads the rows of the source; None: this process does."""
        if self._use != "always":
            return None
        from cdckit.engine.proof.source_readers import SourceReaders  # noqa: PLC0415 - as said above

        return SourceReaders(self._made(), self._load)

    def _made(self) -> Workers:
        from cdckit.tables.workers import Workers  # noqa: PLC0415 - as said above

        if self._workers is None:
            self._workers = Workers(self._start, self._stopping)
        return self._workers

    def _start(self) -> SparkSession:
        from cdckit.engine.spark.session import start_session  # noqa: PLC0415 - as said above

        self._tell("starting Spark")
        tables = _spark_tables(make_sink(self._pipeline))
        delta = tables is not None and tables.needs_delta
        return start_session(self._pipeline.name, self._pipeline.spark, delta=delta)


def _spark_tables(sink: Sink | TableSink) -> SparkTableSink | None:
    """The sink, where it keeps tables through Spark."""
    if isinstance(sink, Sink):
        return None
    from cdckit.tables.sink import SparkTableSink  # noqa: PLC0415 - as said above

    return sink if isinstance(sink, SparkTableSink) else None
