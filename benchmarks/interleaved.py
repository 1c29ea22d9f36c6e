"""What packets of many tables cost whose rows come by turns, without Spark: `python -m benchmarks.interleaved`.

A worker packs the rows, and the driver unpacks them: once by chunks of so many records, as rows of one table are, and
once by chunks that have rows enough of each.
"""

from __future__ import annotations

import time
from collections import defaultdict
from typing import NamedTuple

import click
from rich.console import Console
from rich.table import Table

from benchmarks.many_tables import MODES, Mode, _record
from benchmarks.report import machine
from cdckit import Batch, Record
from cdckit.engine.spark.worker import _chunks
from cdckit.tables.definitions import Fitting
from cdckit.tables.encoder import TableEncoder
from cdckit.tables.lake.rows import Held, Part, TableRows
from cdckit.tables.layout import Layout
from cdckit.tables.sink import Packet
from cdckit.tables.streams import rows_of

_ROW_BYTES = 40
"""Of the log."""


class Cost(NamedTuple):
    """Of a row: bytes of its packet, and µs of CPU."""

    packets: int
    size: float
    packed: float
    unpacked: float


@click.command()
@click.option("--tables", default=500, show_default=True, help="How many tables there are.")
@click.option("--rows", default=64, show_default=True, help="How many rows each has.")
def main(tables: int, rows: int) -> None:
    """Measures both."""
    report = Table(title=f"{rows} rows of each of {tables} tables, by turns ({machine()})")
    for column in ("mode", "chunks", "packets", "bytes a row", "packing, CPU µs a row", "unpacking"):
        report.add_column(column, justify="left" if column in {"mode", "chunks"} else "right")
    records = [[_record(f"t{table}", table, number) for table in range(tables)] for number in range(rows)]
    for mode in MODES:
        for by_table in (False, True):
            cost = _measured(mode, records, by_table=by_table)
            shares = (f"{cost.packets:,}", f"{cost.size:.0f}", f"{cost.packed:.1f}", f"{cost.unpacked:.1f}")
            report.add_row(mode, "by tables" if by_table else "by records", *shares)
    Console(width=120).print(report)


def _measured(mode: Mode, records: list[list[Record]], *, by_table: bool) -> Cost:
    batches = (Batch(some, None, log_bytes=_ROW_BYTES * len(some)) for some in records)
    chunks = [chunk for chunk, _ in _chunks(batches, by_table=by_table)]
    encode, begun = TableEncoder(mode, "gone"), time.process_time()
    packets = [packet for chunk in chunks for packet in encode(chunk)]
    packed = time.process_time()
    count = _unpacked(packets)
    size = sum(len(packet.data) for packet in packets) / count
    return Cost(len(packets), size, (packed - begun) / count * 1e6, (time.process_time() - packed) / count * 1e6)


def _unpacked(packets: list[Packet]) -> int:
    """As the driver does it that writes the tables; how many rows there were."""
    layouts = {text: Layout.loads(text) for text in {packet.layout for packet in packets}}
    parts: dict[str, list[Part]] = defaultdict(list)
    for packet in packets:
        parts[packet.topic] += [
            Part(packet.position, layouts[packet.layout], Held.of(rows)) for rows in rows_of(packet.data)
        ]
    columns = dict(next(iter(layouts.values())).columns)
    return sum(batch.num_rows for some in parts.values() for batch in TableRows(some).typed(columns, Fitting()))


if __name__ == "__main__":
    main()
