"""The tables that are written to while processes of Spark are killed, and what has come of them in the lake."""

from __future__ import annotations

import os
import random
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.spark import SparkRunner
from histories.on_spark import Changelog, Mirror
from histories.rows import at_source, columns_of, difference, keys_of
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.writers import TABLES


def random_seed() -> int:
    """A new one, or the one that is asked for; printed, so that it can be."""
    seed = int(os.environ.get("CDCKIT_SEED") or random.SystemRandom().getrandbits(32))
    print(f"CDCKIT_SEED={seed}")
    return seed


def shop_source(server: MySQLServer, name: str) -> dict[str, Any]:
    """The options of a source that captures the writers' tables, which are made."""
    server.run_sql(f"CREATE DATABASE {name}; USE {name}; {TABLES}")
    create_reader(server)
    return source_of(server, name, topic_prefix=name, include_schema_changes=False)


def deliver(pipeline: Pipeline) -> None:
    """Has it deliver all that there is now, in the shared session."""
    SparkRunner(load_pipeline(pipeline.written(), runner="spark")).run(once=True)


def assert_equal(session: SparkSession, server: MySQLServer, name: str, folder: Path, mode: str) -> None:
    """A mirror has the source's rows; a changelog has each change once, and the newest of each key come to the rows."""
    tables = columns_of(server, name)
    if mode == "mirror":
        found = Mirror(session, folder, name, name).rows(tables)
    else:
        found = Changelog(session, folder, name, name, partial(keys_of, server, name)).rows(tables)
    assert found.keys() == tables.keys() == {"accounts", "parts", "bulk"}
    for table, types in tables.items():
        assert not difference(types, at_source(server, name, table, types), found[table])
