"""Compares mirrored tables with the tables of a live server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from testkit.servers.mysql_family import SQLServer

Rows = list[tuple[Any, ...]]


def mirrored(session: SparkSession, lake: Path, topic: str) -> Rows:
    """The rows of a mirror, without its position, sorted."""
    frame = session.read.format("delta").load(str(lake / topic)).drop("__position")
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def at_source(server: SQLServer, table: str) -> Rows:
    """The rows of a table, sorted."""
    return sorted(server.execute(f"select * from {table}"), key=repr)
