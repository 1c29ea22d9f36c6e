"""A replica takes over while tables are to be read again: the log comes first, though its files have lower numbers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from delta_sink.shop import Shop
from testkit.topology import Topology, topology

TABLES = """
CREATE TABLE t (id INT PRIMARY KEY, v INT, w INT); INSERT INTO t VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
CREATE TABLE other (id INT PRIMARY KEY, v INT); INSERT INTO other VALUES (1, 1), (2, 2);
"""
CHANGES = """
DELETE FROM t WHERE id = 1; UPDATE t SET v = 20 WHERE id = 2;
UPDATE other SET v = 10 WHERE id = 1; ALTER TABLE other RENAME COLUMN v TO w; UPDATE other SET w = 20 WHERE id = 2;
ALTER TABLE t DROP COLUMN v; INSERT INTO t VALUES (4, 4);
"""


@pytest.fixture(scope="module")
def three() -> Iterator[Topology]:
    """Servers of which the primary's log has the highest number."""
    with topology() as made:
        made.primary.run_sql("FLUSH LOGS;" * 5)
        yield made


def test_tables_are_read_again_behind_a_failover(three: Topology, unique_name: str, tmp_path: Path) -> None:
    shop = Shop(three.primary, unique_name, tmp_path)
    shop.make(TABLES)
    shop.deliver()
    shop.run(CHANGES)
    _ask(shop, "t")
    three.wait_for_replicas()
    behind = replace(shop, server=three.replicas[0])
    behind.deliver()
    behind.assert_equal(["t", "other"])


def _ask(shop: Shop, table: str) -> None:
    named = f"{shop.name}.{table}"
    command = [sys.executable, "-m", "cdckit", "resnapshot", str(shop.pipeline().written()), "--table", named]
    subprocess.run(command, check=True)
