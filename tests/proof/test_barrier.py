"""A place at which a pipeline that runs and `cdc diff` agree, so that both sides are compared as they were there."""

from __future__ import annotations

from pathlib import Path

import pytest

from proof.shop import deliver, fill, proved, to_file
from proof.test_files import written
from proof.test_lakes import SINKS, to_lake
from testkit.servers.mysql_family import SQLServer

pytestmark = pytest.mark.timeout(900)


@pytest.mark.parametrize("kind", ["file", *SINKS])
@pytest.mark.parametrize("db_server", ["mysql", pytest.param("mariadb", marks=pytest.mark.nightly)], indirect=True)
def test_rows_that_never_stand_still_are_compared(
    db_server: SQLServer, database: str, tmp_path: Path, kind: str
) -> None:
    fill(db_server, database, 300)
    pipeline = (
        to_file(db_server, database, tmp_path) if kind == "file" else to_lake(db_server, database, tmp_path, kind)
    )
    pipeline.others["offset.flush.interval.ms"] = 100  # type: ignore[index]
    deliver(pipeline)
    with pipeline.running() as process, written(db_server, database) as statements:
        process.wait_for("starts on the runner")
        for _ in range(2):
            before = len(statements)
            orders = proved(pipeline)["orders"]
            assert (orders.outcome, orders.note, orders.differences) == ("equal", "", ())
            assert orders.exact
            assert len(statements) > before
