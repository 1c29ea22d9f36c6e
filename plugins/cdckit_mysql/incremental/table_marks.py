"""Watermarks as rows of the signal table."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

from cdckit.connector.incremental import CLOSE, OPEN, Watermarks
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.server.connection import Connection, driver_errors
from cdckit_mysql.server.facts import query, quoted


class TableMarks(Watermarks):
    """Writes the marks into `signal.data.collection`.

    Args:
        config: the source's options.
        server: gives a connection that is open.
        key_column: the name of the signal table's first column.
    """

    def __init__(self, config: MySqlConfig, server: Callable[[], Connection], key_column: Callable[[], str]) -> None:
        self._config = config
        self._server = server
        self._key_column = key_column
        self._table = quoted(*config.signal_data_collection.split(".", 1))
        self._opened = ""

    def low(self, window: str) -> None:
        """A row."""
        self._opened = _now()
        self._insert(window + OPEN, WINDOW_OPEN, openWindowTimestamp=self._opened)

    def high(self, window: str) -> None:
        """Another row; or the first one is deleted."""
        if self._config.incremental_snapshot_watermarking_strategy == "insert_insert":
            times = {"openWindowTimestamp": self._opened, "closeWindowTimestamp": _now()}
            self._insert(window + CLOSE, WINDOW_CLOSE, **times)
            return
        statement = f"DELETE FROM {self._table} WHERE {quoted(self._key_column())} = %s"  # noqa: S608
        self._write(statement, window + OPEN)

    def _insert(self, identifier: str, kind: str, **times: str) -> None:
        self._write(f"INSERT INTO {self._table} VALUES (%s, %s, %s)", identifier, kind, json.dumps(times))  # noqa: S608

    def _write(self, statement: str, *values: str) -> None:
        with driver_errors(self._config, f"writing a watermark into {self._config.signal_data_collection}"):
            query(self._server(), statement, values)


def _now() -> str:
    """The time with nanoseconds, as Debezium writes it."""
    nanoseconds = time.time_ns()
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 1_000_000_000:09d}Z"
