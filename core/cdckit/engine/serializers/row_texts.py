"""The hashes of the texts of rows in events, noted while the JSON serializer writes the events: each is written once.

Hashes are taken while a text is still in the processor's caches; to keep all texts of a batch costs four times as much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct, Template
from cdckit.connector.envelope import is_envelope
from cdckit.engine.serializers.json_payload import Payload, PayloadCompiler
from cdckit.engine.serializers.json_text import Text, hollow
from cdckit.engine.serializers.row_text_compiler import IMAGES, Digest, OfText, RowTextCompiler

_READ = "r"
_TABLE_NAMES = ("db", "table", "collection")
_TO_BEFORE = b'{"before":'
_BEHIND_BEFORE, _BEHIND_AFTER = b'},"after":', b'},"source":{'
_TO_AFTER = len(_BEHIND_BEFORE) - 1
_NULL_TO_AFTER = len(b'null,"after":')
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


class _Noted(NamedTuple):
    """Where events of one schema have what tells runs apart.

    Attributes:
        row: the schema of their rows; None: they have none.
        op: the number of the operation's field.
        source: that of the source block.
        table: of the values of a source block those that name the table; None: it has none.
    """

    row: Schema | None = None
    op: int = 0
    source: int = 0
    table: Callable[[Sequence[Any]], Any] | None = None


class _Found(NamedTuple):
    """How events of one schema are written whose rows can be found in their texts by what stands behind them.

    Attributes:
        write: writes an event.
        hashed: the hash of a row, given what was written.
        start: where the row before begins in the text.
    """

    write: Text
    hashed: Callable[[Any, bytes], bytes]
    start: int


class _Apart(NamedTuple):
    """How events of one schema are written row by row.

    Attributes:
        before: the number of the field of the row before.
        after: that of the row after.
        write: writes a row.
        hashed: the hash of a row, given what was written.
        envelope: makes of an event, whose rows are texts, what `orjson` writes.
        head: what stands before an event.
        tail: what stands behind it.
    """

    before: int
    after: int
    write: Text
    hashed: Callable[[Any, bytes], bytes]
    envelope: Payload
    head: bytes
    tail: bytes


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
        noting = self.befores.append, self.afters.append
        self.texts = RowTextCompiler(payloads, noting, with_schema=with_schema, of_text=of_text, digest=digest)
        self._event = _Event()
        self._payloads = payloads
        self._records: Sequence[Record] = ()
        self._schema: Schema | None = None
        self._last = _Noted()
        self._written: Schema | None = None
        self._way: _Found | _Apart
        self._op, self._topic, self._table = "", "", None

    def begin(self, records: Sequence[Record]) -> None:
        """The values of these are written next; forgets what there is."""
        self.clear()
        self._records = records

    def filled_text(self, template: Template, first: int) -> Text:
        """The function that writes a template's struct, which notes its rows in a run that begins here or before."""
        self._note(template.schema, template.values, first)
        return self.texts.filled_text(template)

    def text(self, datum: Struct, first: int) -> bytes:
        """Writes a struct that is no template's, and notes its rows."""
        schema, values = datum.schema, datum.values
        noted = self._note(schema, values, first)
        if noted.row is None:
            return self.texts.text(schema)(datum)
        if schema is not self._written:
            self._written, self._way = schema, self._way_of(schema, noted.row)
        way = self._way
        return self._found(way, datum, values) if isinstance(way, _Found) else self._apart(way, values)

    def _found(self, way: _Found, datum: Struct, values: Sequence[Any]) -> bytes:
        text, before, after, at = way.write(datum), values[0], values[1], way.start
        if before is None:
            at += _NULL_TO_AFTER
        else:
            end = text.index(_BEHIND_BEFORE, at) + 1
            self.befores.append(way.hashed(before, text[at:end]))
            at = end + _TO_AFTER
        if after is not None:
            self.afters.append(way.hashed(after, text[at : text.index(_BEHIND_AFTER, at) + 1]))
        return text

    def _apart(self, way: _Apart, values: Sequence[Any]) -> bytes:
        written = list(values)
        for at, hashes in ((way.before, self.befores), (way.after, self.afters)):
            if (row := values[at]) is not None:
                text = way.write(row)
                hashes.append(way.hashed(row, text))
                written[at] = orjson.Fragment(text)
        event = self._event
        event.values = written
        return way.head + orjson.dumps(way.envelope(event)) + way.tail

    def _way_of(self, schema: Schema, row: Schema) -> _Found | _Apart:
        made: _Found | _Apart | None = schema.derived.get((self, "way"))
        if made is None:
            made = schema.derived[self, "way"] = self._new_way(schema, row)
        return made

    def _new_way(self, schema: Schema, row: Schema) -> _Found | _Apart:
        at, (head, tail), (write, hashed) = schema.index, self.texts.around(schema), self.texts.row_text(row)
        if _stand_apart(schema):
            return _Found(self.texts.text(schema), hashed, len(head) + len(_TO_BEFORE))
        envelope = self._payloads.payload(hollow(schema, ((at["before"],), (at["after"],))))
        return _Apart(at["before"], at["after"], write, hashed, envelope, head, tail)

    def rows_of(self, run: Run, messages: Iterable[bytes | None]) -> Iterator[dict[str, Any]]:
        """The rows before and after, as `before` and `after`, of events of a run that were written."""
        before, after = self.texts.around(run.schema)
        for text in messages:
            if text is not None:
                yield orjson.loads(text[len(before) : len(text) - len(after)])

    def _note(self, schema: Schema, values: Sequence[Any], first: int) -> _Noted:
        """Begins a run, unless the event goes with those before it."""
        noted = self._last
        if schema is not self._schema:
            known: _Noted | None = schema.derived.get(self)
            noted = self._last = schema.derived.setdefault(self, self._noted(schema)) if known is None else known
        topic = self._records[first].topic
        source: Struct | None = None
        op, table = "", None
        if noted.row is not None:
            op = values[noted.op]
            source = values[noted.source]
            table = None if noted.table is None else noted.table(source.values)
        # Of snapshots the source block says more than where a row is.
        if op != self._op or schema is not self._schema or topic != self._topic or table != self._table or op == _READ:
            self._schema, self._op, self._topic, self._table = schema, op, topic, table
            self.runs.append(Run(first, schema, op, source, noted.row, len(self.befores), len(self.afters)))
        return noted

    def _noted(self, schema: Schema) -> _Noted:
        at = schema.index
        if not is_envelope(schema) or not at.keys() >= {"op", "source", *IMAGES}:
            return _Noted()
        row = schema.fields[at["after"]].schema
        if row.type != "struct":
            return _Noted()
        names = schema.fields[at["source"]].schema.index
        places = [names[name] for name in _TABLE_NAMES if name in names]
        return _Noted(row, at["op"], at["source"], itemgetter(*places) if places else None)

    def clear(self) -> None:
        """Forgets them."""
        self._schema, self._records = None, ()
        self.befores.clear()
        self.afters.clear()
        self.runs.clear()


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
