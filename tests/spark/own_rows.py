"""The data source's rows of one table, read as Spark has them read, without its JVM."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.record import Offset
from cdckit.engine.spark.failures import WorkerError, recover
from cdckit.engine.spark.stream_reader import PlannedReader
from cdckit.errors import numbered
from cdckit.spark import CdckitDataSource
from testkit.servers.mysql import MySQLServer

Row = dict[str, Any]


@contextmanager
def with_orders(server: MySQLServer, name: str, price: str, rows: str) -> Iterator[str]:
    """A database with a table `orders`, dropped at the end; prices are of the type that is given."""
    server.run_sql(
        f"CREATE DATABASE {name}; CREATE TABLE {name}.orders (id INT PRIMARY KEY, price {price});"
        f"INSERT INTO {name}.orders VALUES {rows}"
    )
    yield name
    server.run_sql(f"DROP DATABASE {name}")


def source_options(server: MySQLServer, shop: str, server_id: int) -> dict[str, str]:
    """Those of a database's source, by their full names."""
    return {
        "source.type": "mysql",
        "source.topic.prefix": shop,
        "source.database.hostname": server.host,
        "source.database.port": str(server.port),
        "source.database.user": "dbz",
        "source.database.password": "dbz",
        "source.database.server.id": str(server_id),
    }


def own_options(server: MySQLServer, shop: str, state: object, **options: object) -> dict[str, str]:
    """The options of a query over a database's tables."""
    own = {"source.database.include.list": shop, "state": state, "parallelism": 2, **options}
    return source_options(server, shop, 5702) | {name: str(value) for name, value in own.items()}


def read_rows(options: Mapping[str, str]) -> list[Row]:
    """All rows that `spark.read` gives, by position."""
    source = CdckitDataSource(options)
    reader = source.reader(source.schema())  # type: ignore[arg-type]
    batches = [batch for partition in reader.partitions() for batch in reader.read(partition)]
    return in_order([row for batch in batches for row in batch.to_pylist()])


class Stream:
    """A query, batch by batch."""

    def __init__(self, options: Mapping[str, str], at: Offset | None = None) -> None:
        source = CdckitDataSource(options)
        reader = source.streamReader(source.schema())  # type: ignore[arg-type]
        assert isinstance(reader, PlannedReader)
        self.reader = reader
        self.at = reader.planner.initial_offset() if at is None else at

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.stop()

    def batch(self) -> list[Row]:
        """The next one's rows, by position."""
        end = self.reader.planner.latest_offset(self.at, None)
        splits = self.reader.partitions(self.at, end)
        found = [row for split in splits for batch in self.reader.read(split) for row in batch.to_pylist()]
        self.at = end
        return in_order(found)


def in_order(rows: list[Row]) -> list[Row]:
    """Rows by position."""
    return sorted(rows, key=lambda row: row["_position"])


def told(rows: list[Row], *columns: str) -> list[tuple[Any, ...]]:
    """Some columns behind each row's operation."""
    return [(row["_op"], *(row[name] for name in columns)) for row in rows]


def number(failure: pytest.ExceptionInfo[WorkerError]) -> str:
    """The number of the error that left for Spark."""
    found = recover(str(failure.value))
    assert found is not None
    return numbered(found)[0][0]


def moment() -> datetime:
    """Now, when nothing has been committed in this millisecond, nor will be."""
    time.sleep(0.005)
    now = datetime.now(UTC)
    time.sleep(0.005)
    return now


def pipeline_file(server: MySQLServer, shop: str, folder: Path) -> Path:
    """The pipeline that the examples call `shop.yaml`."""
    tree: dict[str, Any] = {}
    for name, value in own_options(server, shop, folder / "state").items():
        component, _, option = name.partition(".")
        if option:
            tree.setdefault(component, {})[option] = value
    path = folder / "shop.json"
    path.write_text(json.dumps({**tree, "state": str(folder / "state")}))
    return path
