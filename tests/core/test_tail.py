"""The tail of a pipeline on Spark in a direct process: what needs no JVM, and what is refused."""

from __future__ import annotations

from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from crash.proof import assert_each_once
from crash.targets import FileTarget
from testkit.journal import Journal
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql import MySQLServer
from testkit.writers import TABLES, ShopWriter

OPTIONS: dict[str, Any] = {
    "runner": "spark",
    "tail": "direct",
    "tail.max.lag.ms": 600_000,  # however busy the machine is, the direct process is not behind
    "serializer": {"schemas.enable": False},
}


def test_what_is_small_needs_no_jvm(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    """A small snapshot and the changes behind it are the direct process's; nothing has started Spark."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; {TABLES}")
    afterwards.callback(mysql_server.execute, f"DROP DATABASE {unique_name}")
    create_reader(mysql_server)
    target, journal = FileTarget(tmp_path), Journal()
    source = source_of(mysql_server, unique_name, topic_prefix=unique_name)
    pipeline = Pipeline(tmp_path, source, target.sink, OPTIONS)
    writer = ShopWriter(mysql_server, unique_name, journal, 1, accounts=100)
    known = journal.lengths()
    with pipeline.running() as process:
        process.wait_until(lambda: target.size() > 0)
        with writer:
            before = target.size()
            process.wait_until(lambda: target.size() > before)
        ended = process.stop()
    assert ended.code == 0, ended.stderr
    last = pipeline.run("--once")
    assert (last.code, "Spark" in ended.stderr + last.stderr) == (0, False), ended.stderr + last.stderr
    assert_each_once(target.delivered(), journal, defaultdict(int, known))


@pytest.mark.parametrize(
    ("sink", "others", "said"),
    [
        ({"type": "file", "path": "out"}, {"checkpoint": "elsewhere"}, "'checkpoint': take that away"),
        ({"type": "file", "path": "out"}, {"ledger": True}, "set 'ledger: false'"),
        ({"type": "spark", "path": "lake", "format": "parquet"}, {}, "'sink.format: parquet'"),
        ({"type": "spark", "path": "s3a://lake/shop"}, {}, "name a folder of this machine in 'sink.path'"),
        ({"type": "spark", "database": "shop"}, {}, "name a folder of this machine in 'sink.path'"),
        ({"type": "spark", "path": "lake", "document.columns": "inferred"}, {}, "declare the columns"),
    ],
)
def test_what_a_direct_process_cannot_go_on_with_is_refused(
    tmp_path: Path, sink: dict[str, Any], others: dict[str, Any], said: str
) -> None:
    source = {"type": "mysql", "topic.prefix": "p", "database.hostname": "nowhere", "database.user": "u"}
    ended = Pipeline(tmp_path, source, sink, {**OPTIONS, **others}).run()
    assert ended.code == 2
    assert "CDC2402: tail: 'direct'" in ended.stderr
    assert said in ended.errors


def test_signals_are_refused(tmp_path: Path) -> None:
    source = {"type": "mysql", "topic.prefix": "p", "database.hostname": "nowhere", "database.user": "u"}
    made = Pipeline(
        tmp_path, {**source, "signal.data.collection": "a.signals"}, {"type": "file", "path": "out"}, OPTIONS
    )
    ended = made.run()
    assert ended.code == 2
    assert "CDC2402: tail: 'direct' takes no signals" in ended.stderr
