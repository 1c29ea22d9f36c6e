"""What is left of a table where a process was killed while it made it, or its metastore went away meanwhile."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from cdckit.tables.delta.files import OURS
from cdckit_spark.catalogs import new_table_path
from cdckit_spark.folders import hadoop_path

log = logging.getLogger("cdckit.spark")

_LOG = "_delta_log"
_FIRST = f"{0:020}.json"
"""The commit by which a table is made."""


def remove_unfinished(session: SparkSession, path: str, opened: float) -> None:
    """Takes away what there is of a table without a commit: Delta makes none there.

    Args:
        session: Spark's.
        path: the table's folder.
        opened: when this run's sink was, in seconds since 1970: data files that its workers have put there are needed.
    """
    files, place = hadoop_path(session, f"{path}/{_LOG}")
    if files.exists(place):
        if any(name.endswith(".json") for name in _names(files, place)):
            return
        files.delete(place, True)
    files, place = hadoop_path(session, path)
    for status in files.listStatus(place) if files.exists(place) else ():
        if str(status.getPath().getName()).endswith(OURS) and status.getModificationTime() < opened * 1000:
            files.delete(status.getPath(), False)


def remove_unknown(session: SparkSession, database: str, table: str, notes: Mapping[str, str]) -> None:
    """Takes away what lies in the folder of a table that the catalog does not know, and has never had a row.

    Delta commits a table before the catalog is told of it, and makes none in a folder that is not empty.

    Args:
        session: whose catalog it is.
        database: where the table is to be; nothing is taken away where Spark's own catalog has no such database.
        table: its name.
        notes: the properties by which it is known to be ours.
    """
    path = new_table_path(session, database, table)
    if path is None:
        return
    files, place = hadoop_path(session, path)
    if not files.exists(place) or set(_names(files, place)) - {_LOG}:
        return
    commits, at = hadoop_path(session, f"{path}/{_LOG}")
    found = [name for name in _names(commits, at) if name.endswith(".json")] if commits.exists(at) else []
    if found and (found != [_FIRST] or not _is_ours(session, f"{path}/{_LOG}/{_FIRST}", notes)):
        return
    log.info("the folder %s has a table that no catalog knows, without rows: it is made anew", path)
    files.delete(place, True)
    assert session._jvm is not None
    session._jvm.org.apache.spark.sql.delta.DeltaLog.invalidateCache(session._jsparkSession, place)


def _names(files: Any, place: Any) -> list[str]:
    return [str(status.getPath().getName()) for status in files.listStatus(place)]


def _is_ours(session: SparkSession, commit: str, notes: Mapping[str, str]) -> bool:
    """Whether a commit makes a table with these properties, and puts no file into it."""
    files, place = hadoop_path(session, commit)
    stream = files.open(place)
    try:
        actions = [json.loads(line) for line in bytes(stream.readAllBytes()).decode().splitlines()]
    finally:
        stream.close()
    properties: dict[str, str] = next(
        (action["metaData"]["configuration"] for action in actions if "metaData" in action), {}
    )
    return notes.items() <= properties.items() and not any("add" in action for action in actions)
