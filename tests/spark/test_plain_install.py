"""A plain `pip install '.[all]'`, without the lock file: what it resolves to runs Spark with Delta tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from deltalake import DeltaTable

from testkit.running import create_reader, source_of
from testkit.servers.mysql import MySQLServer

pytestmark = [pytest.mark.spark, pytest.mark.nightly, pytest.mark.timeout(1800)]

PROJECT = Path(__file__).parents[2]


def _run(command: list[str | Path], folder: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYSPARK_PYTHON")}
    ended = subprocess.run(command, check=False, cwd=folder, env=variables, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_it_keeps_a_delta_table(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> None:
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}; USE {unique_name}; CREATE TABLE t (id INT PRIMARY KEY)")
    mysql_server.execute(f"INSERT INTO {unique_name}.t VALUES (1), (2), (3)")
    create_reader(mysql_server)
    _run([sys.executable, "-m", "venv", tmp_path / "venv"], tmp_path)
    binaries = tmp_path / "venv" / "bin"
    _run([binaries / "python", "-m", "pip", "install", "--quiet", f"{PROJECT}[all]"], tmp_path)
    pipeline = {
        "runner": "spark",
        "source": source_of(mysql_server, unique_name),
        "sink": {"type": "spark", "mode": "mirror", "path": str(tmp_path / "lake")},
        "spark": {"master": "local[2]"},
    }
    (tmp_path / "shop.yaml").write_text(yaml.safe_dump(pipeline))
    _run([binaries / "cdc", "run", "shop.yaml", "--once"], tmp_path)
    rows = DeltaTable(str(tmp_path / "lake" / f"p.{unique_name}.t")).to_pyarrow_table().column("id").to_pylist()
    assert sorted(rows) == [1, 2, 3]
