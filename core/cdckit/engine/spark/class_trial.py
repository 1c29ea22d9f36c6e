"""A run of Spark without a pipeline, whose JVM keeps the classes that it has loaded in an archive when it ends."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pyspark import SparkContext, StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from cdckit.engine.spark.class_archive import END_SECONDS, QUIET, archive_folder, fits_options, keep_archive
from cdckit.engine.spark.delta import delta_settings
from cdckit.engine.spark.session import JAVA_OPTIONS, start_session
from cdckit.errors import CdcError, ConfigError

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("cdckit.runner")

_FORMAT = "cdckit_trial"
_ROWS = 100


def archive_classes() -> Path:
    """Makes the archive that sessions on this machine use from their next start on; gives its path.

    Raises:
        ConfigError: Spark does not start, or the archive can stand nowhere.
        CdcError: Java ended without having written it.
    """
    partial = _place()
    try:
        write_archive(partial, delta=_has_delta())
        return keep_archive(partial)
    finally:
        partial.unlink(missing_ok=True)


def _place() -> Path:
    """Where Java is to write, beside the archives that are used."""
    try:
        folder = archive_folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:
        raise ConfigError(
            f"the archive can be kept nowhere: {error}; set XDG_CACHE_HOME to a folder of yours"
        ) from error
    if not fits_options(folder):
        raise ConfigError(f"{folder}: Java takes no archive from such a path; set XDG_CACHE_HOME to another one")
    return folder / f"{os.getpid()}.partial"


def write_archive(archive: Path, *, delta: bool, java_options: str = "") -> None:
    """Starts Spark, has it do what pipelines do, and has its JVM keep the classes that it has loaded.

    Args:
        archive: the file, which Java writes as it ends.
        delta: whether pipelines write Delta tables; Spark fetches the jars where they are not there yet.
        java_options: further options of the JVM.

    Raises:
        ConfigError: Spark does not start.
        CdcError: Java ended without having written it.
    """
    options = f'{java_options} "-XX:ArchiveClassesAtExit={archive}" {QUIET}'.lstrip()
    session = start_session("classes", {"spark.master": "local[2]", JAVA_OPTIONS: options}, delta=delta)
    with TemporaryDirectory(prefix="cdckit-classes-") as folder:
        try:
            _stream(session, Path(folder))
            if delta:
                _merge(session, Path(folder) / "table")
        except PySparkException as error:  # what has been loaded by then is worth keeping
            log.warning("the archive lacks classes: %s", str(error).strip().partition("\n")[0])
        session.stop()
        _end_java(archive)


def _has_delta() -> bool:
    """Whether Delta's jars are on this machine."""
    with suppress(ConfigError):
        return "spark.jars" in delta_settings({})
    return False


def _stream(session: SparkSession, folder: Path) -> None:
    """What the query of a pipeline is: a Python data source, and batches that are gathered, kept and looked at."""
    session.dataSource.register(_Trial)
    stream = session.readStream.format(_FORMAT).load().writeStream.foreachBatch(_look_at)
    stream = stream.option("checkpointLocation", str(folder / "checkpoint"))
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination()


def _look_at(frame: DataFrame, _: int) -> None:
    kept = frame.persist(StorageLevel.MEMORY_AND_DISK)
    kept.groupBy("id").count().sort("id").collect()
    kept.mapInArrow(_same, "id long, name string").repartition(2, "id").collect()
    kept.unpersist()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def _merge(session: SparkSession, table: Path) -> None:
    """What a mirror is."""
    rows = session.range(_ROWS).selectExpr("id", "cast(id as string) as name")
    rows.write.format("delta").save(str(table))
    rows.createOrReplaceTempView("changed")
    session.sql(
        f"MERGE INTO delta.`{table}` AS t USING changed AS s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )


def _end_java(archive: Path) -> None:
    """Has Java write the archive and end.

    Raises:
        CdcError: there is none then.
    """
    gateway = SparkContext._gateway
    assert gateway is not None
    process: subprocess.Popen[bytes] = gateway.proc
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    assert process.stdin is not None
    process.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        if process.wait(END_SECONDS) == 0 and archive.exists():
            return
    process.kill()
    raise CdcError("Java ended without an archive of its classes; is there room for 200 MB?")


class _Trial(DataSource):
    """Some rows."""

    @classmethod
    def name(cls) -> str:
        return _FORMAT

    def schema(self) -> str:
        return "id long, name string"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _TrialReader()


class _TrialReader(DataSourceStreamReader):
    def initialOffset(self) -> Mapping[str, int]:  # type: ignore[override]
        return {"batch": 0}

    def latestOffset(self, *_: Any) -> Mapping[str, int]:  # type: ignore[override]
        return {"batch": 1}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> Sequence[InputPartition]:
        return [InputPartition(number) for number in range(2)] if start != end else []

    def read(self, partition: InputPartition) -> Iterator[tuple[int, str]]:
        return ((number, str(partition.value)) for number in range(_ROWS))
