"""One pipeline on its way from one primary to the next: what is written, how it runs, and what its sink shows."""

from __future__ import annotations

import json
import random
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.engine.runners.spark import SparkRunner
from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import RetriableSourceError, SourceError
from crash.targets import Arrived, FileTarget, KafkaTarget
from histories.lakes import Tables
from testkit.running import Pipeline
from testkit.servers.mysql_family import SQLServer

Rows = dict[tuple[str, int], str]
"""The token of each row, by table and key."""

TABLES = ("items", "own")
_FILL = "x" * 3000
"""Rows are so wide that a batch does not travel within its splits."""


class Work:
    """Random changes of `items`, each with a token of its own.

    Args:
        database: where the table is.
        chance: what decides.
    """

    def __init__(self, database: str, chance: random.Random) -> None:
        self._database = database
        self._chance = chance
        self._keys: list[int] = []
        self._made = 0

    def create(self, server: SQLServer) -> None:
        """Makes the tables, with some rows."""
        server.run_sql(
            f"CREATE DATABASE {self._database}; USE {self._database};"
            "CREATE TABLE items (id INT PRIMARY KEY, token VARCHAR(20), fill VARCHAR(3000));"
            "CREATE TABLE own (id INT PRIMARY KEY, token VARCHAR(20), fill VARCHAR(3000));"
        )
        self.write(server, 20)

    def write(self, server: SQLServer, transactions: int) -> None:
        """Commits so many transactions."""
        with server.connect(database=self._database, autocommit=False) as connection:
            cursor = connection.cursor()
            for _ in range(transactions):
                for _ in range(self._chance.choice((1, 1, 2, 4))):
                    cursor.execute(self._statement())
                connection.commit()

    def _statement(self) -> str:
        self._made += 1
        token = f"t{self._made}"
        kind = self._chance.random()
        if kind < 0.5 or len(self._keys) < 5:
            self._keys.append(self._made)
            return f"INSERT INTO items VALUES ({self._made}, '{token}', '{_FILL}')"
        key = self._chance.choice(self._keys)
        if kind < 0.85:
            return f"UPDATE items SET token = '{token}' WHERE id = {key}"
        self._keys.remove(key)
        return f"DELETE FROM items WHERE id = {key}"

    def alone(self, server: SQLServer) -> None:
        """Transactions of one replica's own, in a captured table, and perhaps new files of its log."""
        for _ in range(self._chance.randrange(4)):
            self._made += 1
            server.execute(f"INSERT INTO {self._database}.own VALUES ({self._made}, 'o{self._made}', '')")
        server.run_sql("FLUSH BINARY LOGS;" * self._chance.randrange(6))


def at_source(server: SQLServer, database: str) -> Rows:
    """The tables as they are."""
    return {
        (table, key): token
        for table in TABLES
        for key, token in server.execute(f"SELECT id, token FROM {database}.{table}")
    }


class Sink(ABC):
    """A sink of one pipeline."""

    @property
    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """For the pipeline file."""

    @abstractmethod
    def rows(self) -> Rows:
        """What the tables are by what has arrived."""

    def repeated(self) -> list[str]:
        """Changes that are there more than once, where none may be."""
        return []


def newest(arrived: Iterator[tuple[str, str, int, str | None]]) -> Rows:
    """The rows by each key's change with the greatest position: position, table, key, token."""
    found: dict[tuple[str, int], tuple[str, str | None]] = {}
    for position, table, key, token in arrived:
        if (table, key) not in found or found[table, key][0] < position:
            found[table, key] = position, token
    return {name: token for name, (_, token) in found.items() if token is not None}


class Messages(Sink):
    """A file, or topics of Kafka."""

    def __init__(self, target: FileTarget | KafkaTarget) -> None:
        self._target = target

    @property
    def options(self) -> Mapping[str, Any]:
        """See `Sink`."""
        return self._target.sink

    def rows(self) -> Rows:
        """By position, and by arrival: both must say the same."""
        with suppress(FileNotFoundError):
            arrived = [one for one in self._target.arrived() if one.value is not None]
            last: Rows = {}
            for record in arrived:
                _, table, key, token = _change(record)
                last.pop((table, key), None)
                if token is not None:
                    last[table, key] = token
            by_position = newest(map(_change, arrived))
            return by_position if by_position == last else {("the order differs", 0): ""}
        return {}


def _change(record: Arrived) -> tuple[str, str, int, str | None]:
    value = record.value
    row = value["after"] or value["before"]
    token = value["after"] and value["after"]["token"]
    return record.headers["__cdckit.position"], record.topic.rpartition(".")[2], row["id"], token


class Lake(Sink):
    """Tables of a lake: mirrors, or changelogs."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    @property
    def options(self) -> Mapping[str, Any]:
        """See `Sink`."""
        return self._tables.options

    def rows(self) -> Rows:
        """See `Sink`."""
        if self._tables.mode == "changelog":
            return newest((row[0], row[1], row[2], row[3]) for row in self._changes())
        return {(table, row["id"]): row["token"] for table in TABLES for row in self._tables.found(table)}

    def repeated(self) -> list[str]:
        """See `Sink`."""
        if self._tables.mode != "changelog":
            return []
        counted = Counter(row[4] for row in self._changes() if row[4] != "r")
        return [change for change, times in counted.items() if times > 1]

    def _changes(self) -> Iterator[tuple[str, str, int, str | None, str]]:
        for table in TABLES:
            for row in self._tables.found(table):
                op, key, token = row["__op"], row["id"], row["token"]
                name = "r" if op == "r" else f"{op} {table} {key} {token}"
                yield row["__position"], table, key, None if op == "d" else token, name


class Journey:
    """A pipeline in this process."""

    def __init__(self, pipeline: Pipeline, runner: str) -> None:
        self._resolved = load_pipeline(pipeline.written(), runner=runner)
        self._runner = SparkRunner if runner == "spark" else DirectRunner
        self.failure: BaseException | None = None

    def check(self) -> None:
        """Raises what has ended the pipeline."""
        if self.failure is not None:
            raise AssertionError("the pipeline has ended") from self.failure

    def to_the_end(self) -> None:
        """Runs to the log's end."""
        self._runner(self._resolved).run(once=True)

    @contextmanager
    def running(self) -> Iterator[threading.Thread]:
        """Runs beside the context; starts again where it has lost its server before it has read anything."""
        stopping = StopSignal()

        def run() -> None:
            while not stopping():
                try:
                    self._runner(self._resolved, stopping).run()
                except BaseException as failure:  # noqa: BLE001 - the test looks at it
                    if not _was_away(failure):
                        self.failure = failure
                        return
                    stopping.wait(0.2)

        thread = threading.Thread(target=run)
        thread.start()
        try:
            yield thread
        finally:
            stopping.stop()
            thread.join(120)
            assert not thread.is_alive(), "the pipeline does not stop"


def _was_away(failure: BaseException) -> bool:
    """At a first connection it is an error that is not tried again, for the sake of wrong addresses."""
    if isinstance(failure, RetriableSourceError) or isinstance(failure.__cause__, RetriableSourceError):
        return True
    return isinstance(failure, SourceError) and "Lost connection" in str(failure)  # as Spark's planner tells it


def dumped(rows: Rows) -> str:
    """Rows for messages, not all of them."""
    return json.dumps({str(key): token for key, token in sorted(rows.items())})[:2000]
