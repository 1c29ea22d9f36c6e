"""What rows cost that the ledger takes from records, by itself: `python -m benchmarks.ledger_rows [--events 10000]`.

So it takes those of Avro (as messages have them), of `delta` (as tables have them) and of MongoDB (documents): events
of 100 rows, a fifth of them updates, CPU of this process an event, the best of some rounds. While a snapshot is not
followed to its end yet, rows are known by their keys besides, which are kept in a file.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from cdckit import logical
from cdckit.api.batch import Batch
from cdckit.api.record import Header, Offset, Record
from cdckit.api.schema import FLOAT64, INT32, INT64, STRING, Schema, struct_schema
from cdckit.api.state_store import Json
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.connector.table_events import RecordOptions, TableEvents
from cdckit.engine.ledger.layouts import Layouts, message_layouts, table_layouts
from cdckit.engine.ledger.record_rows import RecordLedger
from cdckit.engine.ledger.window import KeyedRows
from cdckit.engine.runners.garbage import spare_collections

ROUNDS = 7
TOGETHER = 100
_PRICE = Schema("bytes", name=logical.DECIMAL_NAME, version=1, parameters={"scale": "2"})
_TYPES = (STRING, STRING, _PRICE, INT64, FLOAT64, logical.MICRO_TIMESTAMP, logical.ZONED_TIMESTAMP, INT32, STRING)
_FIELDS = {"id": INT32, **{f"c{number}": each.as_optional() for number, each in enumerate(_TYPES)}}
_SOURCE = struct_schema("s.Source", {"db": STRING, "table": STRING, "row": INT32})
_EVENTS = TableEvents("p.d.t", _FIELDS, {"id": INT32}, RecordOptions((Header("connector", "mysql"),), _SOURCE))
_DOCUMENT = {"before": STRING.as_optional(), "after": STRING.as_optional()}
_OF_DOCUMENTS = struct_schema(
    "d.Envelope", {**_DOCUMENT, "source": struct_schema("d.Source", {"db": STRING, "collection": STRING}), "op": STRING}
)
_IDENTIFIER = struct_schema("d.Key", {"id": STRING})


class _Memory:
    """A state that keeps nothing for long."""

    def get(self, key: str) -> Json:
        """Nothing."""

    def put(self, key: str, value: Json) -> None:
        """Forgets it."""


class _Log:
    """A log that is never read to its end."""

    def log_end(self, offset: Offset) -> Offset:
        """Somewhere."""
        return offset

    def passed(self, offset: Offset, point: Offset) -> bool:
        """Never."""
        return False


def _row(n: int, name: str) -> tuple[object, ...]:
    return n, name, f"u{n}@example.com", b"\1" * 4, n * 7919, n + 0.5, 10**15 + n, "2024-01-02T01:02:03Z", n % 2, "a"


def _rows(first: int, *, updated: bool) -> list[Record]:
    source, numbers = Struct(_SOURCE, ("d", "t", 0)), range(first, first + TOGETHER)
    if updated:
        return _EVENTS.updates([(_row(n, "name"), _row(n, "changed")) for n in numbers], source, f"{first:012d}")
    return _EVENTS.creates([_row(n, "name") for n in numbers], source, f"{first:012d}")


def _documents(first: int, *, updated: bool) -> list[Record]:
    source = Struct(_OF_DOCUMENTS.fields[2].schema, ("d", "t"))
    template = Template(_OF_DOCUMENTS, (None, None, source, "u" if updated else "c"), ((0,), (1,)))
    texts = {
        n: f'{{"_id": {n}, "name": "name of {n}", "n": {n / 2}, "in": [1, 2, 3]}}' for n in range(first, first + 100)
    }
    return [
        Record("p.d.t", Struct(_IDENTIFIER, (str(n),)), TemplateStruct(template, (text if updated else None, text)), (),
               f"{n:012d}")
        for n, text in texts.items()
    ]  # fmt: skip


def _cost(batches: Sequence[Sequence[Record]], layouts: Layouts, *, keyed: bool) -> float:
    """Microseconds of CPU an event."""
    with tempfile.TemporaryDirectory() as folder:
        rows, log = KeyedRows(Path(folder)), _Log() if keyed else None
        ledger = RecordLedger(_Memory(), None, {}, lambda _: None, layouts, rows, log)
        began = time.process_time()
        for number, batch in enumerate(batches):
            ledger.take_records(batch)
            ledger.took(Batch(batch, {"n": number}))
        ledger.saving({"n": len(batches)})
        took = time.process_time() - began
        rows.close()
    return took / sum(map(len, batches)) * 1e6


@click.command()
@click.option("--events", default=10_000, help="How many events.")
def main(events: int) -> None:
    """Measures what the ledger takes of records."""
    table = Table("rows of", "by sums", "by keys", title="CPU µs an event")
    for name, made, layouts in (
        ("messages (Avro)", _rows, message_layouts()),
        ("tables (delta)", _rows, table_layouts()),
        ("documents (MongoDB)", _documents, message_layouts()),
    ):
        costs: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(ROUNDS):
            for keyed, found in costs.items():
                records = [one for n in range(0, events, TOGETHER) for one in made(n, updated=n >= events * 0.8)]
                batches = [records[at : at + 2000] for at in range(0, len(records), 2000)]
                spare_collections()
                found.append(_cost(batches, layouts, keyed=keyed))
        table.add_row(name, *(f"{min(found):.1f}" for found in costs.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
