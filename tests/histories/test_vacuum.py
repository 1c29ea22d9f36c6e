"""What removes older versions of tables in histories removes them, and what is not there by then is not missed."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from random import Random

import pytest

from histories.lakes import DeltaMirror, IcebergMirror, Tables
from histories.on_spark import Mirror
from histories.playing import Play
from histories.steps import DELIVER, Step
from testkit.servers.mysql_family import SQLServer

STEPS = (
    Step("set up", ("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))",)),
    Step("first rows", ("INSERT INTO t VALUES (1, 'x'), (2, 'y')",)),
    Step(DELIVER),
    Step("rows", ("UPDATE t SET a = 'z' WHERE id = 2",)),
    Step(DELIVER),
)


@pytest.mark.parametrize(
    "kind", [DeltaMirror, IcebergMirror, pytest.param(Mirror, marks=[pytest.mark.spark, pytest.mark.nightly])]
)
def test_older_versions_are_gone(
    histories_server: SQLServer,
    unique_name: str,
    tmp_path: Path,
    kind: Callable[..., Tables],
    request: pytest.FixtureRequest,
    afterwards: ExitStack,
) -> None:
    histories_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(histories_server.execute, f"DROP DATABASE {unique_name}")
    lake = kind(*([request.getfixturevalue("session")] if kind is Mirror else []), tmp_path, unique_name, unique_name)
    play = Play(histories_server, unique_name, tmp_path, lake)
    play.all(STEPS)
    before = set(lake.folder.rglob("*.parquet"))
    orphan = next(iter(before)).with_name("part-00000-of-a-killed-writer-c000.snappy.parquet")
    orphan.write_bytes(b"")
    lake.disturb("vacuum", Random(1))
    play.deliver("nothing new")
    left = set(lake.folder.rglob("*.parquet"))
    assert before - left, "files of older versions"
    assert orphan not in left
    play.change(["UPDATE t SET a = 'u' WHERE id = 1", "INSERT INTO t VALUES (3, 'v')"])
    play.deliver("behind it")
    play.check("behind it")
