"""Damaged bytes end in a DecodeError, never in another error or without end."""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import suppress

from cdckit.errors import DecodeError
from cdckit_mysql.binlog.connection import BinlogConnection, DumpOptions
from cdckit_mysql.binlog.framing import Span
from cdckit_mysql.binlog.parser import EventParser
from cdckit_mysql.binlog.rows_event import RowsEvent
from cdckit_mysql.rows import RowDecoder
from cdckit_mysql.values import ColumnValue, ValueOptions
from mysql.decoding.random_values import COLUMNS
from mysql.decoding.reading import SERVER_ID, WAIT_SECONDS, Reading

SEED = 7
ROUNDS = 800
FIRST_DAMAGED = 27
"""Behind an event's header and the number of its table, which would only hide the rest."""


def damaged(rng: random.Random, event: bytes) -> bytes:
    """An event with some bytes changed or its end cut off."""
    data = bytearray(event)
    for _ in range(rng.choice([1, 1, 2, 5])):
        data[rng.randrange(FIRST_DAMAGED, len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)])
    return bytes(data[: rng.choice([len(data), len(data), rng.randrange(FIRST_DAMAGED + 3, len(data))])])


class Decoding:
    """Decodes events with one definition; decoders are kept from one log to the next."""

    def __init__(self, values: Sequence[ColumnValue]) -> None:
        self._values = values
        self._decoders: dict[bytes, RowDecoder] = {}

    def decode(self, events: Sequence[bytes]) -> None:
        """Read all events and their rows.

        Raises:
            DecodeError: one cannot be understood.
        """
        parser = EventParser("log.000001", 4, checksums=True)
        for event in parser.events((event, 0, len(event)) for event in events):
            if isinstance(event, RowsEvent):
                layout = event.table.layout
                if layout not in self._decoders:
                    self._decoders[layout] = RowDecoder(event.table, self._values)
                read = self._decoders[layout]
                read.update_rows(event) if event.change == "update" else read.write_rows(event)


def test_damaged_events(reading: Reading) -> None:
    types = [*COLUMNS, *(["JSON"] if reading.flavor == "mysql" else [])]
    document = """'{"a": [1, 2.5, "x", {"b": null}], "c": 12345678901}'"""
    columns = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types))
    reading.execute(f"CREATE TABLE t (id INT PRIMARY KEY, {columns}) CHARACTER SET utf8mb4")
    decoding = Decoding(reading.values(reading.tables()["t"], ValueOptions()))
    rng = random.Random(SEED)
    start = reading.position()
    for number in range(3):
        row = ", ".join(COLUMNS[kind](rng) if kind in COLUMNS else document for kind in types)
        reading.execute(f"INSERT INTO t VALUES ({number}, {row})")
    reading.execute("UPDATE t SET id = id + 10")
    spans: list[Span] = []
    with BinlogConnection.open(
        reading.connect, start, DumpOptions(SERVER_ID, reading.flavor.value, follow=False)
    ) as log:
        while not log.ended:
            spans += log.packets(WAIT_SECONDS)
    events = [buffer[at:end] for buffer, at, end in spans]
    decoding.decode(events)
    for _ in range(ROUNDS):
        victim = rng.randrange(2, len(events))
        with suppress(DecodeError):
            decoding.decode([damaged(rng, event) if at == victim else event for at, event in enumerate(events)])
