"""Tables that somebody else commits to at the same time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyiceberg.exceptions import CommitFailedException

from delta_sink.shop import Shop
from iceberg_sink.test_tables import lake_of
from testkit.background import repeated

FAULT = "trying again in"


@pytest.mark.nightly
@pytest.mark.timeout(300)
def test_commits_that_another_came_before_are_tried_again(shop: Shop) -> None:
    """And nothing is there twice."""
    log = replace(shop, mode="changelog")
    log.run("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v INT); INSERT INTO t (v) VALUES (1), (2), (3)")
    pipeline = log.pipeline(errors_retry_delay_max_ms=200)
    assert pipeline.run("--once").code == 0

    def commit() -> None:
        table = lake_of(log).table("t")
        for number in range(20):
            try:
                with table.transaction() as change:
                    change.set_properties({"somebody.elses": str(number)})
            except CommitFailedException:
                table.refresh()

    with pipeline.running() as process, repeated(commit, 0):
        while FAULT not in process.log:
            log.run("INSERT INTO t (v) VALUES (1), (2); UPDATE t SET v = v + 1 WHERE id < 4")
        process.stop()
    log.deliver()
    log.assert_equal(["t"])
