"""The rows of a source read by Spark's workers, of a pipeline that runs on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from cdckit.api.held import Hashing, ImageHashes, Images
from cdckit.api.source import Split
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import is_on
from cdckit.engine.proof.load import MaxLoad
from cdckit.engine.proof.split_hashes import SplitHashes
from cdckit.engine.spark.failures import behind
from cdckit.engine.spark.parallelism import parallelism_of
from cdckit.errors import SourceError
from cdckit.tables.hashed_images import COLUMNS, unpacked
from cdckit.tables.row_images import first_line
from cdckit.tables.workers import Workers

_SPLITS = 4
"""So many splits there are for each that may be read at the same time: some are larger than others."""
_SMALL_SPLITS = 200
"""So many there are at least where the server's load is looked at between two of them."""


class SourceReaders:
    """Reads the rows of a source by Spark's workers.

    Args:
        workers: the workers.
        load: how much of the source all of them may take together.
    """

    def __init__(self, workers: Workers, load: MaxLoad) -> None:
        self._workers = workers
        self._load = load

    @property
    def splits(self) -> int:
        """About how many splits there should be."""
        wanted = _SPLITS * self._at_once
        return max(wanted, _SMALL_SPLITS) if self._load.figures else wanted

    @property
    def _at_once(self) -> int:
        """How many tasks there may be at the same time."""
        return parallelism_of(self._workers.session)

    def read(
        self,
        pipeline: ResolvedPipeline,
        splits: Sequence[Split],
        images: Images,
        hashing: Hashing,
        tables: frozenset[str],
    ) -> Iterator[ImageHashes]:
        """The hashes of all rows, whichever worker has read them.

        Args:
            pipeline: whose source is read, with the options of this reading.
            splits: the parts of the rows.
            images: what is shown of each table by now.
            hashing: how images are hashed.
            tables: the tables of which something is shown.

        Raises:
            CdcError: a split cannot be read.
            StoppedError: it was to end.
        """
        maker = images.maker()
        assert maker is not None
        tasks = self._tasks(len(splits))
        groups = [tuple(splits[number::tasks]) for number in range(tasks)]
        work = SplitHashes(pipeline, groups, maker, hashing, self._share(tasks), tables)
        numbers = self._workers.session.range(0, tasks, 1, max(1, tasks))
        try:
            yield from map(unpacked, self._workers.fetched(numbers.mapInArrow(work.made, COLUMNS)))
        except (PySparkException, Py4JJavaError) as error:
            found = behind(error)
            raise found or SourceError(f"Spark's workers cannot read the source: {first_line(error)}") from error

    def _tasks(self, splits: int) -> int:
        """How many tasks read: where the load counts, no more than may run at the same time."""
        return splits if self._load.rows is None else min(splits, self._at_once)

    def _share(self, tasks: int) -> MaxLoad:
        """What one of some tasks may take; of one that runs twice, as speculation has it, half of that."""
        if self._load.rows is None:
            return self._load
        settings = self._workers.session.sparkContext.getConf()
        attempts = 2 if is_on(settings.get("spark.speculation", "false")) else 1
        return replace(self._load, rows=max(1, self._load.rows // (max(1, tasks) * attempts)))
