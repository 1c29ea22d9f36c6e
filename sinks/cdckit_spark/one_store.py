"""Whether Spark and delta-rs find the same object store by one URL: each is told by options of its own."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from deltalake.fs import DeltaStorageHandler
from py4j.protocol import Py4JJavaError
from pyarrow.fs import FileType
from pyspark.sql import SparkSession

from cdckit import ConfigError
from cdckit_spark.folders import hadoop_path
from cdckit_spark.reasons import reason

log = logging.getLogger("cdckit.spark")


def require_one_store(session: SparkSession, place: str, storage: Mapping[str, str]) -> None:
    """Has Spark put an empty object beside the tables, which delta-rs has to see then.

    Args:
        session: Spark's.
        place: the URL that all tables are below.
        storage: how delta-rs reaches it.

    Raises:
        ConfigError: it does not: tables would be in two places.
        DeltaError, OSError, Py4JJavaError: the store is not reached by one of them, or Spark may not write there.
    """
    name = f".cdckit-{uuid4().hex}"
    files, path = hadoop_path(session, f"{place.rstrip('/')}/{name}")
    files.create(path, True).close()
    try:
        (found,) = DeltaStorageHandler(place, dict(storage)).get_file_info([name])
    finally:
        _remove(files, path)
    if found.type != FileType.File:
        raise ConfigError(
            f"sink.storage.options: what Spark has put into {place} is not found by these: they name another "
            "store than the settings of Hadoop among the pipeline's 'spark' do, such as spark.hadoop.fs.s3a.endpoint",
            number="CDC2402",
        )


def _remove(files: Any, path: Any) -> None:
    """Takes the object away, which nobody needs; who may write may not be one who may delete."""
    try:
        files.delete(path, False)
    except Py4JJavaError as error:
        log.warning("the empty object %s cannot be removed, and stays: %s", path, reason(error))
