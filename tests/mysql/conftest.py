"""Captures on live servers, ended with the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mysql.capture import Capture, config_for
from testkit.servers.mysql_family import SQLServer

NewCapture = Callable[..., Capture]


@pytest.fixture
def capture(db_server: SQLServer, database: str, tmp_path: Path) -> Iterator[NewCapture]:
    """Makes captures of the test's own database; a second one goes on with the state of the first."""
    made: list[Capture] = []

    def new(*, spools: bool = False, **options: Any) -> Capture:
        for other in made:
            other.close()
        config = config_for(db_server, **{"database_include_list": database, **options})
        made.append(Capture(config, tmp_path / "state", spools=spools))
        return made[-1]

    yield new
    for each in made:
        each.close()


@pytest.fixture
def streaming(capture: NewCapture) -> NewCapture:
    """Captures that begin where the log stands at the first one, without rows of a snapshot."""

    def new(**options: Any) -> Capture:
        made = capture(snapshot_mode="no_data", **options)
        if made.state.load_offset() is None:
            made.once()
        return made

    return new


@pytest.fixture
def sql(db_server: SQLServer, database: str) -> Callable[[str], None]:
    """Runs a script in the test's own database."""
    return lambda script: db_server.run_sql(script, database=database)
