"""What is left of a table where a process was killed while it made it, or its metastore went away meanwhile."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import SparkSession

from cdckit_spark.folders import hadoop_path

log = logging.getLogger("cdckit.spark")

_LOG = "_delta_log"
_FIRST = f"{0:020}.json"
"""The commit by which a table is made."""


def remove_unfinished(session: SparkSession, path: str) -> None:
    """Takes a log without a commit away: to Delta, it is a broken table."""
    files, place = hadoop_path(session, f"{path}/{_LOG}")
    if files.exists(place) and not any(name.endswith(".json") for name in _names(files, place)):
        files.delete(place, True)


def remove_unknown(session: SparkSession, names: Iterable[str], notes: Mapping[str, str]) -> None:
    """Takes away what lies in the folder of a table that the catalog does not know, and has never had a row.

    Delta commits a table before the catalog is told of it, and makes none in a folder that is not empty.

    Args:
        session: whose own catalog has the database.
        names: of the database and the table.
        notes: the properties by which it is known to be ours.
    """
    path = _folder(session, *names)
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


def _folder(session: SparkSession, database: str, table: str) -> str:
    """Where Spark's own catalog puts a new table."""
    jvm = session._jvm
    assert jvm is not None
    name = jvm.org.apache.spark.sql.catalyst.TableIdentifier(table, jvm.scala.Option.apply(database))
    return str(session._jsparkSession.sessionState().catalog().defaultTablePath(name).toString())


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
