"""What the sink holds, compared with the ledger, without a look at the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from cdckit.api.held import HeldMessage
from cdckit.api.record import lane_of
from cdckit.api.sink import Sink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.ledger.kept import Place, read_head, read_tables
from cdckit.engine.ledger.row_form import RowForm, digest
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.ledger.tables_held import TablesHeld
from cdckit.engine.pipeline import make_encoder, make_sink, sink_context
from cdckit.engine.proof.beside import position_text
from cdckit.engine.proof.canonical import document_row
from cdckit.engine.proof.comparing import fold
from cdckit.engine.proof.entries import EMPTIED, GONE, PLAIN, ROW, Entry
from cdckit.engine.proof.hashing import hash_of
from cdckit.engine.proof.spill import BUCKETS, Spill
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_ledger
from cdckit.errors import StateError, StoppedError

_ATTEMPTS = 20
_NOTHING = bytes(16)
_WRAPPED = {"schema", "payload"}


@dataclass(frozen=True, slots=True)
class Testimony:
    """What the ledger says of one topic, and what the sink holds at the same place.

    Attributes:
        topic: the topic.
        table: what the ledger says.
        held: the sums of the rows that the sink holds.
        position: the place, for people.
        removed: why older messages are gone; "": they are not.
        partial: whether rows arrived without all of their values.
        unread: why the sink cannot be compared; "": it can.
    """

    topic: str
    table: TableLedger
    held: Sums
    position: str
    removed: str = ""
    partial: bool = False
    unread: str = ""

    @property
    def undecided(self) -> str:
        """Why nothing can be said; "": something can."""
        if self.table.keyed and not self.table.void:
            return "the log is not read yet up to where it ended behind the table's snapshot"
        if self.table.reading:
            return "a snapshot is reading it"
        if self.partial and not self.table.void:
            return "rows arrived without all of their values"
        return self.table.void or self.unread

    @property
    def agrees(self) -> bool:
        """Whether the sink holds what the source told of."""
        return self.table.sums == self.held


class Witness:
    """Asks the ledger of one pipeline.

    Args:
        pipeline: the pipeline, which may run.
        stopping: once true, it ends.
    """

    def __init__(self, pipeline: ResolvedPipeline, stopping: Callable[[], bool]) -> None:
        self._pipeline = pipeline
        self._stopping = stopping
        self._digest = hash_of("xxh3")

    def known(self) -> tuple[Place, dict[str, TableLedger]] | None:
        """What the ledger says, and up to where; None where the pipeline keeps none.

        Raises:
            StateError: it is damaged, or moves too fast to be read.
        """
        with StatePlace.of(self._pipeline).view() as state:
            for _ in range(_ATTEMPTS):
                values, offset = current_ledger(state, self._pipeline.folder)
                head = read_head(values)
                if head is None:
                    return None
                # Of the two places, the sink has all before the one that is saved; where the sink keeps the offset
                # itself, all before the older one.
                place = head.place(offset) or head.places[-1]
                tables = read_tables(values, head.topics, place.number)
                again = read_head(current_ledger(state, self._pipeline.folder)[0])
                if again is not None and any(one.number == place.number for one in again.places):
                    return place, tables
        raise StateError("the ledger changed each time while it was read: compare again")

    def asked(self) -> dict[str, Testimony]:
        """What is found, by topic; nothing where the pipeline keeps no ledger.

        Raises:
            ConfigError: the sink cannot be read back.
            SinkError: it cannot be read.
            StoppedError: it was to end.
        """
        known = self.known()
        if known is None:
            return {}
        place, tables = known
        self._pipeline.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="proof-", dir=self._pipeline.folder) as folder:
            return self._compared(place, tables, Path(folder))

    def _compared(self, place: Place, tables: Mapping[str, TableLedger], folder: Path) -> dict[str, Testimony]:
        told = {topic: table for topic, table in tables.items() if table.form is not None}
        sink, position = make_sink(self._pipeline), position_text(place.offset or {})
        if not isinstance(sink, Sink):
            tables_held = TablesHeld(sink.images(), self._digest, self._stopping)
            held_sums = tables_held.at(place, told, folder)
            return {
                topic: Testimony(topic, table, held_sums[topic], position, unread=tables_held.unread.get(topic, ""))
                for topic, table in told.items()
            }
        encoder = make_encoder(self._pipeline)
        held = sink.read_back(sink_context(self._pipeline.name, encoder.serializer), tuple(told))
        encoder.close()
        reading = _Reading(told, place.reached, self._digest)
        spill = Spill(folder, "ledger", PLAIN.size)
        for batch in held.batches:
            if self._stopping():
                raise StoppedError
            spill.add(reading.entries(batch))
        sums = {topic: Sums() for topic in told}
        names = list(told)
        for bucket in range(BUCKETS):
            rows = fold(_unpacked(spill.bucket(bucket))).rows
            for row, number in rows.values():
                sums[names[number]].add((row,))
        return {
            topic: Testimony(topic, table, sums[topic], position, held.removed.get(topic, ""), topic in reading.partial)
            for topic, table in told.items()
        }


def _unpacked(data: bytes) -> Iterable[Entry]:
    return PLAIN.iter_unpack(data)


class _Reading:
    """Makes entries of messages up to a place."""

    def __init__(
        self, tables: Mapping[str, TableLedger], reached: Mapping[str, str], hashed: Callable[[bytes], bytes]
    ) -> None:
        self._forms = {topic: table.form for topic, table in tables.items()}
        self._numbers = {topic: number for number, topic in enumerate(tables)}
        self._reached = reached
        self._hash = hashed
        self.partial: set[str] = set()

    def entries(self, messages: Sequence[HeldMessage]) -> Iterator[bytes]:
        """The entries of those that are not behind the place."""
        reached, pack = self._reached, PLAIN.pack
        for topic, key, value, position, partial in messages:
            if position > reached.get(lane_of(position), ""):
                continue
            if partial:
                self.partial.add(topic)
            event, number = _payload(value), self._numbers[topic]
            if key is None:
                if isinstance(event, dict) and event.get("op") == "t":
                    yield pack(_NOTHING, _NOTHING, number, EMPTIED)
                continue
            place = self._hash(topic.encode() + b"\0" + orjson.dumps(_payload(key), option=orjson.OPT_SORT_KEYS))
            row = event.get("after") if isinstance(event, dict) else None
            if isinstance(row, str):
                row = document_row(row)
            form = self._forms[topic]
            if isinstance(row, dict) and form is not None:
                yield pack(place, row_hash(form, row), number, ROW)
            else:
                yield pack(place, _NOTHING, number, GONE)


def row_hash(form: RowForm, row: Mapping[str, Any]) -> bytes:
    """The hash of a row as the ledger has it."""
    return digest(form.text(row))


def _payload(value: Any) -> Any:
    return value["payload"] if type(value) is dict and value.keys() == _WRAPPED else value
