"""Tables read by DuckDB's own reader of Iceberg, which has nothing in common with pyiceberg."""

from __future__ import annotations

from importlib.metadata import files
from typing import Any

import duckdb
from pyiceberg.table import Table

from cdckit_iceberg.types import arrow_columns


def by_duckdb(table: Table, branch: str = "main") -> list[dict[str, Any]]:
    """All rows of a branch of a table, as its newest metadata tell, by the columns that its head was written with."""
    head = table.snapshot_by_name(branch)
    at = "" if branch == "main" or head is None else f", snapshot_from_id={head.snapshot_id}"
    with duckdb.connect() as connection:
        for name in ("avro", "iceberg"):
            (extension,) = (
                file for file in files(f"duckdb-extension-{name}") or () if file.suffix == ".duckdb_extension"
            )
            connection.execute(f"LOAD '{extension.locate()}'")
        place = table.metadata_location.removeprefix("file://")
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.sql(f"FROM iceberg_scan('{place}'{at})").to_arrow_table()
        rows: list[dict[str, Any]] = found.cast(arrow_columns(table.schema().fields)).to_pylist()
        return rows
