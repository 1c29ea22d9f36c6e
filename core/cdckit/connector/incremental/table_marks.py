"""Watermarks as rows of a signal table, in SQL."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime

from cdckit.connector.incremental.watermarks import CLOSE, OPEN, Watermarks
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import WINDOW_CLOSE, WINDOW_OPEN


class TableMarks(Watermarks):
    """Writes the marks.

    Args:
        config: says how a chunk's end is marked.
        table: the signal table, quoted.
        key_column: gives its first column, quoted.
        write: runs a statement with values, and commits.
        placeholder: what stands for a value in a statement.
    """

    def __init__(
        self,
        config: SignalOptions,
        table: str,
        key_column: Callable[[], str],
        write: Callable[..., object],
        placeholder: str = "?",
    ) -> None:
        self._inserts = config.incremental_snapshot_watermarking_strategy == "insert_insert"
        self._table = table
        self._key_column = key_column
        self._write = write
        self._hole = placeholder
        self._opened = ""

    def low(self, window: str) -> None:
        """Inserts the row that opens the window."""
        self._opened = _now()
        self._insert(window + OPEN, WINDOW_OPEN, openWindowTimestamp=self._opened)

    def high(self, window: str) -> None:
        """Closes it by another row, or by deleting the first one, as the strategy says."""
        if self._inserts:
            times = {"openWindowTimestamp": self._opened, "closeWindowTimestamp": _now()}
            self._insert(window + CLOSE, WINDOW_CLOSE, **times)
            return
        self._write(f"DELETE FROM {self._table} WHERE {self._key_column()} = {self._hole}", window + OPEN)  # noqa: S608

    def _insert(self, identifier: str, kind: str, **times: str) -> None:
        statement = f"INSERT INTO {self._table} VALUES ({', '.join([self._hole] * 3)})"  # noqa: S608 - a quoted name
        self._write(statement, identifier, kind, json.dumps(times))


def _now() -> str:
    """The time with nanoseconds, as Debezium writes it."""
    nanoseconds = time.time_ns()
    moment = datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{nanoseconds % 1_000_000_000:09d}Z"
