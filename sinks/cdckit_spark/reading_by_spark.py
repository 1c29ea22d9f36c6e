"""Tables read back by Spark: in a catalog or elsewhere, of any form that it reads, by its own configuration.

Of a Delta table the version is read that has the last batch before a place, as its log tells; where that does not
tell, and of parquet files, what there is now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

import pyarrow as pa
from deltalake.exceptions import DeltaError
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, functions as f

from cdckit import ConfigError, Hashing, ImageHashes, SinkError
from cdckit.tables.arrow_compute import pyarrow_type
from cdckit.tables.emptied import Place
from cdckit.tables.hashed_images import COLUMNS, unpacked
from cdckit.tables.lake.arrow_types import arrow_type
from cdckit.tables.layout import POSITION
from cdckit.tables.streams import arrow_stream, rows_of
from cdckit.tables.target import quoted
from cdckit.tables.workers import Workers
from cdckit_spark.commits import NOT_THERE, notes_of, version_before
from cdckit_spark.config import LakeConfig
from cdckit_spark.names import map_in_arrow
from cdckit_spark.reading import DeltaImages, place_here, require_told_columns, unread_features
from cdckit_spark.reasons import reason
from cdckit_spark.table_hashes import TableHashes
from cdckit_spark.targets import DeltaTarget, ParquetTarget

Part = TypeVar("Part")


def images_by_workers(config: LakeConfig, workers: Workers, *, always: bool) -> SparkImages:
    """What reads the tables of a sink, with Spark where this process cannot.

    Args:
        config: the sink's options.
        workers: Spark's workers, started for the first table that needs them.
        always: whether all tables do.

    Raises:
        ConfigError: it is not known which columns tables have.
    """
    require_told_columns(config)
    place = None
    if not always:
        with suppress(ConfigError):
            place = place_here(config)
    return SparkImages(config, workers, place)


class SparkImages(DeltaImages):
    """Of the tables of the sink `spark`.

    Args:
        config: the sink's options.
        workers: Spark's workers.
        place: the tables' folder or URL, where this process may read them; None: Spark reads all.
    """

    def __init__(self, config: LakeConfig, workers: Workers, place: str | None) -> None:
        super().__init__(config, place or "")
        self._options = config
        self._workers = workers
        self._light = place is not None
        self._frames: dict[str, DataFrame] = {}

    def hashes(self, topic: str) -> bool:
        """Whether Spark reads its table."""
        return topic in self._frames

    def _schema(self, topic: str) -> pa.Schema | None:
        self._frames.pop(topic, None)
        if self._is_light(topic):
            return super()._schema(topic)
        try:
            frame = self._read(topic)
        except (PySparkException, Py4JJavaError) as error:
            raise SinkError(f"table of topic {topic}: {reason(error)}; nothing can be compared") from error
        if frame is None:
            return None
        self._frames[topic] = frame
        return _schema_of(frame)

    def _is_light(self, topic: str) -> bool:
        """Whether this process can read a topic's table, or sees that there is none."""
        if not self._light:
            return False
        try:
            table = self._table(topic)
            return table is None or not unread_features(table)
        except DeltaError:  # of a form that delta-rs does not know
            return False

    def _unread(self, topic: str) -> str | None:
        return None

    def _read(self, topic: str) -> DataFrame | None:
        """The table as Spark reads it; None: there is none, or was none."""
        session = self._workers.session
        if self._options.format == "parquet":
            folder = ParquetTarget(session, self._options, topic)
            self.passing.add(topic)
            return folder.read() if folder.exists() else None
        table = DeltaTarget(session, self._options, topic)
        if not table.exists():
            return None
        version = self._version(table)
        return None if version == NOT_THERE else table.read(version)

    def _version(self, table: DeltaTarget) -> int:
        """The version that is read."""
        newest, at = table.newest(), self._barrier
        if at is None:
            return newest
        noted = notes_of(table.session, table.folder)
        found = version_before(noted, newest, at.application, at.batch)
        if found is None:
            self.passing.add(table.topic)
            return newest
        self.passing.discard(table.topic)
        return found

    def _scan(self, topic: str, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if topic not in self._frames:
            yield from super()._scan(topic, names)
            return
        rows = self._frames[topic].select(*map(quoted, names))
        for packet in self._workers.fetched(map_in_arrow(rows, _streams, "rows binary")):
            yield from rows_of(bytes(packet.rows))

    def hashed(self, topics: Collection[str], hashing: Hashing) -> Iterator[ImageHashes]:
        """Read, and hashed, by Spark's workers."""
        return self._of_topics(topics, lambda topic: self._hashed(topic, hashing))

    def _hashed(self, topic: str, hashing: Hashing) -> Iterator[ImageHashes]:
        plain = self._mirror and not hashing.wanted
        names = self._columns[topic] if plain else self._names(topic)
        emptied = {} if self._mirror else self._emptied(topic)
        work = TableHashes(topic, self.maker(), hashing, self._mirror, emptied)
        packets = map_in_arrow(self._frames[topic].select(*map(quoted, names)), work.made, COLUMNS)
        yield from map(unpacked, self._workers.fetched(packets))

    def _emptied(self, topic: str) -> dict[Place, str]:
        if topic not in self._frames:
            return super()._emptied(topic)
        telling = self._frames[topic].where("__op = 't'").groupBy("__db", "__table")
        return {(row[0], row[1]): row[2] for row in telling.agg(f.max(quoted(POSITION))).collect()}

    def _of_topics(self, topics: Collection[str], read: Callable[[str], Iterator[Part]]) -> Iterator[Part]:
        try:
            yield from super()._of_topics(topics, read)
        except (PySparkException, Py4JJavaError) as error:
            said = f"tables of topics {', '.join(topics)}: {reason(error)}; nothing can be compared"
            raise SinkError(said) from error


def _schema_of(frame: DataFrame) -> pa.Schema:
    """Its columns as Arrow has them, but those of types that no source has."""
    columns = []
    for column in frame.schema:
        with suppress(ValueError):
            columns.append((column.name, pyarrow_type(arrow_type(column.dataType.simpleString()))))
    return pa.schema(columns)


def _streams(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows as packets; in the workers."""
    for rows in batches:
        yield pa.RecordBatch.from_pydict({"rows": pa.array([arrow_stream(rows)], pa.binary())})
