"""A pipeline whose state is elsewhere than in a folder, on both runners in turn."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from spark.shop import deliver
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql_family import SQLServer

Made = Callable[[dict[str, Any], dict[str, Any]], Pipeline]
"""Makes the pipeline of a source and a sink, whose folder is lost between runs."""


def assert_each_runner_goes_on(
    server: SQLServer,
    database: str,
    folder: Path,
    made: Made,
    afterwards: ExitStack,
    runners: Sequence[str] = ("direct", "spark", "direct"),
) -> None:
    """Each runner goes on where the one before stopped: Spark in the shared session, the other as a process.

    Args:
        server: of the source.
        database: is made for it.
        folder: of the sink's file.
        made: makes the pipeline.
        afterwards: drops the database.
        runners: in their order.
    """
    afterwards.callback(server.execute, f"DROP DATABASE IF EXISTS {database}")
    server.run_sql(f"CREATE DATABASE {database}; CREATE TABLE {database}.t (id INT PRIMARY KEY)")
    server.run_sql(f"INSERT INTO {database}.t VALUES (1)")
    create_reader(server)
    pipeline = made(source_of(server, database), {"type": "file", "path": str(folder / "out.jsonl")})
    for number, runner in enumerate(runners, 2):
        if runner == "spark":
            shutil.rmtree(pipeline.state, ignore_errors=True)
            deliver(replace(pipeline, others={**pipeline.others, "local.folder": str(pipeline.state)}))
        else:
            ended = pipeline.run("--once", "--runner", runner)
            assert ended.code == 0, ended.stderr
        server.execute(f"INSERT INTO {database}.t VALUES ({number})")
    assert [event["value"]["after"]["id"] for event in pipeline.events()] == [*range(1, len(runners) + 1)]
