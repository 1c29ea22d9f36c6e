"""Debezium, Kafka and Spark beside cdckit, with few rows: that both arrive, and that it is seen where one does not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import debezium

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly
@pytest.mark.spark
@pytest.mark.timeout(1200)
@pytest.mark.skipif(debezium.libraries() is None, reason="needs Debezium's wheel")
def test_both_ways_lead_to_the_same_rows() -> None:
    command = [sys.executable, "-m", "benchmarks.lake", "--rows", "2000", "--changes", "1000", "--sink", "delta"]
    shown = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in shown.splitlines() if line[:1] == "|"]
    loads = [(load, count, way) for load, count, way, *_ in rows[2:]]
    ways = ("Debezium, Kafka, Spark", "cdckit, sink delta")
    counts = {"snapshot": "2,000", "backlog": "1,000", "one row": "1"}
    assert loads == [(load, count, way) for load, count in counts.items() for way in ways]
    assert all(float(row[3]) > 0 and float(row[4]) > 0 for row in rows[2:])
    # 1,000 changes are ten statements: 700 rows change, 200 come and 100 go; and one comes.
    assert "2,101 rows, their checksums' sum" in shown
