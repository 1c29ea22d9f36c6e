"""Whether Spark and delta-rs find the same object store by one URL: each is told by options of its own."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileType
from pyspark.sql import SparkSession

from cdckit import ConfigError
from cdckit_spark.folders import hadoop_path


def require_one_store(session: SparkSession, place: str, storage: Mapping[str, str]) -> None:
    """Has Spark put an empty object beside the tables, which delta-rs has to see then.

    Args:
        session: Spark's.
        place: the URL that all tables are below.
        storage: how delta-rs reaches it.

    Raises:
        ConfigError: it does not: tables would be in two places.
        DeltaError, OSError, Py4JJavaError: the store is not reached by one of them.
    """
    name = f".cdckit-{uuid4().hex}"
    files, path = hadoop_path(session, f"{place}/{name}")
    files.create(path, True).close()
    try:
        (found,) = DeltaStorageHandler(place, dict(storage)).get_file_info([name])
    finally:
        files.delete(path, False)
    if found.type != FileType.File:
        raise ConfigError(
            f"sink.storage.options: what Spark has put into {place} is not found by these: they name another "
            "store than the settings of Hadoop among the pipeline's 'spark' do, such as spark.hadoop.fs.s3a.endpoint",
            number="CDC2402",
        )
