"""A shop's table with values of many kinds, its pipeline, and proofs of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.report import TableProof
from cdckit.engine.runners.direct import DirectRunner
from testkit.running import Pipeline, create_reader, source_of
from testkit.servers.mysql_family import SQLServer

COLUMNS = (
    "id int primary key, name varchar(60), price decimal(12,3), placed datetime(6), sent timestamp(3) null, "
    "ratio double, note json, mark blob, kind enum('a','b')"
)


def fill(server: SQLServer, database: str, rows: int, table: str = "orders") -> None:
    """Makes the table with so many rows, of which every tenth has nulls, and every seventh is changed by then."""
    server.execute(f"create table {database}.{table} ({COLUMNS})")
    values = [
        (number, f"name of {number}", number / 8, "2024-02-29 23:59:59.123456", "2024-06-01 12:00:00.250", number / 7,
         f'{{"n": {number}}}', bytes([number % 256, 255]), "ab"[number % 2])
        if number % 10
        else (number, None, None, None, None, None, None, None, None)
        for number in range(1, rows + 1)
    ]  # fmt: skip
    with server.connect(database=database) as connection, connection.cursor() as cursor:
        cursor.executemany(f"insert into {table} values (%s, %s, %s, %s, %s, %s, %s, %s, %s)", values)


def change(server: SQLServer, database: str, table: str = "orders") -> None:
    """Changes every seventh row, and deletes every fiftieth."""
    server.execute(f"update {database}.{table} set name = concat('again ', id), ratio = ratio * 2 where id % 7 = 0")
    server.execute(f"delete from {database}.{table} where id % 50 = 0")


def change_unseen(server: SQLServer, database: str) -> None:
    """Changes rows 11 and 12, and deletes row 13, without a word in the log."""
    unseen = "update orders set name = 'unseen' where id in (11, 12); delete from orders where id = 13"
    server.run_sql(f"set sql_log_bin = 0; use {database}; {unseen}")


def to_file(server: SQLServer, database: str, folder: Path, **options: Any) -> Pipeline:
    """A pipeline of the database into a file."""
    others = {"serializer": {"schemas.enable": False}, "offset.flush.interval.ms": 100}
    return piped(server, database, folder, {"type": "file", "path": str(folder / "out.jsonl")}, others, **options)


def piped(
    server: SQLServer,
    database: str,
    folder: Path,
    sink: Mapping[str, Any],
    others: Mapping[str, Any],
    **options: Any,
) -> Pipeline:
    """A pipeline of the database into some sink."""
    create_reader(server)
    return Pipeline(folder, source_of(server, database, **options), sink, others)


def deliver(pipeline: Pipeline) -> None:
    """Has it deliver all that there is now."""
    DirectRunner(load_pipeline(pipeline.written(), runner="direct")).run(once=True)


def proved(pipeline: Pipeline, **wishes: Any) -> dict[str, TableProof]:
    """What a proof finds, by the tables' names without their database."""
    proof = Proof(load_pipeline(pipeline.written()), Wishes(**wishes), lambda: False)
    return {table.table.rpartition(".")[2]: table for table in proof.tables()}
