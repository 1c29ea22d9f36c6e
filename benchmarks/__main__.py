"""Measures everything and prints the table: `python -m benchmarks [--scale 0.1] [--only direct]`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import click

from benchmarks import debezium, latency, report, throughput
from benchmarks.pipelines import PASSWORD, USER
from servers.mysql import MySQLServer


@click.command()
@click.option("--scale", default=1.0, help="Multiplies the number of rows.")
@click.option("--peer/--no-peer", default=True, help="Measure Debezium too, where its wheel is installed.")
def main(scale: float, peer: bool) -> None:
    """Measures cdckit, and Debezium beside it where its wheel is installed."""
    folder = Path(tempfile.mkdtemp(prefix="cdckit-bench-"))
    no_schemas = (("converter.schemas.enable", "false"),)
    systems = [throughput.cdckit("cdckit", no_schemas), throughput.cdckit("cdckit, schemas")]
    if peer and debezium.installed():
        systems.append(debezium.system("Debezium", no_schemas))
    try:
        with MySQLServer().start(binlog_rows_query_log_events=False) as server:
            server.create_user(USER, PASSWORD)
            found = list(throughput.measure(server, systems, folder, scale))
            delays = latency.measure(server, folder / "latency")
        report.show(found, delays)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
