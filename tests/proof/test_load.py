"""`cdc diff --max-load`: a server that is busy is left alone."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cdckit.cli.main import call
from cdckit.engine.proof.load import MaxLoad
from cdckit.errors import ConfigError
from proof.shop import deliver, fill, to_file
from testkit.servers.mysql_family import SQLServer

_WAITERS = 6


def test_limits_are_read() -> None:
    assert MaxLoad.parsed("2000") == MaxLoad(2000)
    assert MaxLoad.parsed("Threads_running=25, 100") == MaxLoad(100, {"Threads_running": 25})
    for text in ("", "0", "many", "=5", "Threads_running=", "Threads running=5", "a=1,,b=2"):
        with pytest.raises(ConfigError, match="--max-load"):
            MaxLoad.parsed(text)


@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
def test_no_part_is_read_while_the_server_is_busy(
    db_server: SQLServer, database: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    fill(db_server, database, 50)
    pipeline = to_file(db_server, database, tmp_path)
    deliver(pipeline)
    file = str(pipeline.written())
    log = tmp_path / "diff.log"
    command = [sys.executable, "-m", "cdckit", "diff", file, "--max-load", f"threads_running={_WAITERS}"]
    held = db_server.connect()
    threads = [threading.Thread(target=_wait_for_lock, args=(db_server,)) for _ in range(_WAITERS)]
    with held.cursor() as cursor, log.open("wb") as stderr:
        cursor.execute("select get_lock('busy', 0)")
        for thread in threads:
            thread.start()
        _until(lambda: int(str(db_server.execute("show global status like 'Threads_running'")[0][1])) > _WAITERS)
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr) as process:
            _until(lambda: b"waiting while the source is busy: threads_running is" in log.read_bytes())
            assert process.poll() is None
            held.close()
            assert process.wait(120) == 0
    for thread in threads:
        thread.join()
    assert call(["diff", file, "--max-load", "Threads_walking=3"]) == 2
    assert "no figure 'Threads_walking'" in capfd.readouterr().err


def _wait_for_lock(server: SQLServer) -> None:
    with server.connect() as connection, connection.cursor() as cursor:
        cursor.execute("select get_lock('busy', 300)")
        cursor.execute("select release_lock('busy')")


def _until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.1)
