"""Folders as Spark finds them: on this machine or elsewhere."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession


def local_path(session: SparkSession, path: str) -> str | None:
    """A folder's path on this machine; None where Spark finds it elsewhere."""
    files, place = hadoop_path(session, path)
    if files.getUri().getScheme() != "file":
        return None
    return str(files.makeQualified(place).toUri().getPath())


def hadoop_path(session: SparkSession, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path as Hadoop's."""
    jvm = session.sparkContext._jvm
    assert jvm is not None
    place = jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(session.sparkContext._jsc.hadoopConfiguration()), place
