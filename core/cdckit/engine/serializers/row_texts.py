"""The hashes of the texts of rows in events, noted while the JSON serializer writes the events: each is written once.

Hashes are taken while a text is still in the processor's caches; to keep all texts of a batch costs four times as much.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import orjson

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct, Template
from cdckit.connector.envelope import is_envelope
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import Text, hollow
from cdckit.engine.serializers.row_text_compiler import IMAGES, Digest, OfText, Places, RowTextCompiler, TextAlone

_READ = "r"
_TABLE_NAMES = ("db", "collection", "table")
_FLAT = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "bytes")


class Run(NamedTuple):
    """Events of one topic, one behind the other, that have all but their rows and their place in the log in common.

    Attributes:
        first: the number of the first one's message.
        schema: that of the events.
        op: the operation; "" for values that are no events.
        source: the first one's source block.
        row: the schema of the rows; None: they have none.
        before: the number of its first row before, of those that there are.
        after: that of its first row after.
    """

    first: int
    schema: Schema
    op: str
    source: Struct | None
    row: Schema | None
    before: int
    after: int


class _Open:
    """What the events of the run that is written have in common.

    Attributes:
        records: those that are written.
        schema: that of the events.
        op: the operation; of a snapshot none, as its source block says more than where a row is.
        topic: the topic.
        database: what the source block calls the database.
        table: what it calls the table.
    """

    __slots__ = ("database", "op", "records", "schema", "table", "topic")

    def __init__(self) -> None:
        self.records: Sequence[Record] = ()
        self.schema: Schema | None = None
        self.op = self.topic = ""
        self.database: Any = None
        self.table: Any = None


class _Event:
    """An event whose rows are texts, in the place of a struct.

    Attributes:
        values: its values.
    """

    __slots__ = ("values",)

    values: list[Any]


class RowTexts:
    """Those of the messages that were written last.

    Args:
        payloads: makes values into what `orjson` writes.
        with_schema: whether their schema stands before values.
        of_text: brings texts to one form.
        digest: the hash of a text.

    Attributes:
        befores: the hashes of rows before, as far as events have them.
        afters: those of rows after.
        runs: which of them are alike.
    """

    def __init__(self, payloads: PayloadCompiler, *, with_schema: bool, of_text: OfText, digest: Digest) -> None:
        self.befores: list[bytes] = []
        self.afters: list[bytes] = []
        self.runs: list[Run] = []
        noted = self.befores, self.afters
        self.texts = RowTextCompiler(payloads, noted, with_schema=with_schema, of_text=of_text, digest=digest)
        self._payloads = payloads
        self._open = _Open()

    def begin(self, records: Sequence[Record]) -> None:
        """The values of these are written next; forgets what there is."""
        self.clear()
        self._open.records = records

    def filled_text(self, template: Template, first: int) -> Text:
        """The function that writes a template's struct, which notes its rows in a run that begins here or before."""
        self._note(template.schema, template.values, first)
        return self.texts.filled_text(template)

    def text(self, schema: Schema) -> TextAlone:
        """The function that writes structs that are no template's, and notes their rows."""
        made: TextAlone | None = schema.derived.get((self, "text"))
        if made is None:
            made = schema.derived[self, "text"] = self._text(schema)
        return made

    def _text(self, schema: Schema) -> TextAlone:
        places = self._places(schema)
        if places is None:
            write = self.texts.text(schema)

            def text(datum: Struct, number: int) -> bytes:
                self._note(schema, (), number)
                return write(datum)

            return text
        scope = {"run": self._open, "begin": self._begin}
        return self.texts.alone(
            schema, places, scope, None if _stand_apart(schema) else self._text_apart(schema, places.row)
        )

    def _text_apart(self, schema: Schema, row: Schema) -> Text:
        """The function that writes an event and its rows one by one."""
        index, (head, tail), (write, hashed) = schema.index, self.texts.around(schema), self.texts.row_text(row)
        envelope = self._payloads.payload(hollow(schema, tuple((index[image],) for image in IMAGES)))
        parts = tuple(zip((index[image] for image in IMAGES), (self.befores, self.afters), strict=True))
        event = _Event()

        def text(datum: Struct) -> bytes:
            written = list(datum.values)
            for at, hashes in parts:
                if (row := written[at]) is not None:
                    found = write(row)
                    hashes.append(hashed(row, found))
                    written[at] = orjson.Fragment(found)
            event.values = written
            return head + orjson.dumps(envelope(event)) + tail

        return text

    def rows_of(self, run: Run, messages: Iterable[bytes | None]) -> Iterator[dict[str, Any]]:
        """The rows before and after, as `before` and `after`, of events of a run that were written."""
        before, after = self.texts.around(run.schema)
        for text in messages:
            if text is not None:
                yield orjson.loads(text[len(before) : len(text) - len(after)])

    def _note(self, schema: Schema, values: Sequence[Any], first: int) -> None:
        """Begins a run, unless the event goes with those before it."""
        run, places = self._open, self._places(schema)
        goes_on = schema is run.schema and run.records[first].topic == run.topic
        if goes_on and places is not None:
            names = values[places.source].values
            there = values[places.op], names[places.database], names[places.table]
            goes_on = there == (run.op, run.database, run.table)
        if not goes_on:
            self._begin(schema, values, first)

    def _begin(self, schema: Schema, values: Sequence[Any], first: int) -> None:
        run, places, at = self._open, self._places(schema), (len(self.befores), len(self.afters))
        run.schema, run.topic = schema, run.records[first].topic
        if places is None:
            run.op = ""
            self.runs.append(Run(first, schema, "", None, None, *at))
            return
        op, source = values[places.op], values[places.source]
        run.op = "" if op == _READ else op
        run.database, run.table = source.values[places.database], source.values[places.table]
        self.runs.append(Run(first, schema, op, source, places.row, *at))

    def _places(self, schema: Schema) -> Places | None:
        if self not in schema.derived:
            schema.derived[self] = _places(schema)
        made: Places | None = schema.derived[self]
        return made

    def clear(self) -> None:
        """Forgets them."""
        self._open.schema, self._open.records = None, ()
        self.befores.clear()
        self.afters.clear()
        self.runs.clear()


def _places(schema: Schema) -> Places | None:
    """Where events have what tells runs apart; None: they have no rows."""
    at = schema.index
    if not is_envelope(schema) or not at.keys() >= {"op", "source", *IMAGES}:
        return None
    row, source = schema.fields[at["after"]].schema, schema.fields[at["source"]].schema
    if row.type != "struct" or not source.fields:
        return None
    # Where a block does not name the table, its first value stands for that: at the worst runs are shorter.
    names = [source.index[name] for name in _TABLE_NAMES if name in source.index] or [0]
    return Places(row, at["op"], at["source"], names[0], names[-1])


def _stand_apart(schema: Schema) -> bool:
    """Whether rows can be found in the text of an event by what stands behind them.

    In rows without structs and maps `},` and a quote are nowhere else: within texts quotes are escaped.
    """
    names = [field.name for field in schema.fields[:3]]
    rows = [field.schema for field in schema.fields[:2]]
    flat = all(each.schema.type in _FLAT for row in rows for each in row.fields)
    optional = all(row.optional and row.default is None for row in rows)
    source = schema.fields[2].schema
    return names == [*IMAGES, "source"] and flat and optional and bool(source.fields) and not source.optional
