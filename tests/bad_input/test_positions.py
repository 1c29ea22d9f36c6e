"""Places in the log that the server no longer has."""

from __future__ import annotations

from pathlib import Path

import pytest

from bad_input.conftest import BEFORE, DATABASE, rows
from testkit.running import Pipeline, source_of, to_file
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import SQLServer


def _forget_log(server: SQLServer) -> None:
    """Throws the log away, with changes in it that no pipeline has read."""
    server.run_sql("INSERT INTO t VALUES (3, 'c'); DELETE FROM t WHERE id = 1;", database=DATABASE)
    server.execute("RESET MASTER" if isinstance(server, MariaDBServer) else "RESET BINARY LOGS AND GTIDS")
    server.execute("INSERT INTO t VALUES (4, 'd')", database=DATABASE)


def test_a_lost_position_is_told_with_what_to_do(server: SQLServer, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(server, DATABASE))
    assert pipeline.run("--once").code == 0
    saved = pipeline.offset()
    _forget_log(server)
    for arguments in (["--once"], []):
        ended = pipeline.run(*arguments)
        assert ended.code == 3, ended.stderr
        assert "changes are lost; snapshot.mode=when_needed takes a new snapshot" in ended.errors
    assert rows(pipeline) == BEFORE
    assert pipeline.offset() == saved


@pytest.mark.unequal("a deletion was lost with the log")
def test_a_lost_position_is_a_new_snapshot_when_needed(server: SQLServer, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(server, DATABASE, snapshot_mode="when_needed"))
    assert pipeline.run("--once").code == 0
    _forget_log(server)
    ended = pipeline.run("--once")
    assert ended.code == 0
    assert "a new snapshot is taken (snapshot.mode=when_needed)" in ended.stderr
    server.execute("INSERT INTO t VALUES (5, 'e')", database=DATABASE)
    assert pipeline.run("--once").code == 0
    again = [("r", None, (2, "b")), ("r", None, (3, "c")), ("r", None, (4, "d")), ("c", None, (5, "e"))]
    assert rows(pipeline) == BEFORE + again
    assert _positions(pipeline) == sorted(set(_positions(pipeline)))


def test_a_log_that_is_purged_under_a_pipeline_that_is_away_is_told(server: SQLServer, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(server, DATABASE))
    assert pipeline.run("--once").code == 0
    server.run_sql("FLUSH LOGS; INSERT INTO t VALUES (3, 'c'); FLUSH LOGS;", database=DATABASE)
    server.purge_logs()
    ended = pipeline.run("--once")
    assert ended.code == 3
    assert "snapshot.mode=when_needed" in ended.errors
    assert rows(pipeline) == BEFORE


def _positions(pipeline: Pipeline) -> list[str]:
    return [
        header["value"]
        for event in pipeline.events()
        for header in event["headers"]
        if header["key"] == "__cdckit.position"
    ]
