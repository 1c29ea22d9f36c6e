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
from cdckit.api.struct import Path, Struct, Template
from cdckit.connector.envelope import is_envelope
from cdckit.engine.serializers.json_payload import Payload, PayloadCompiler
from cdckit.engine.serializers.json_text import Text, TextCompiler, hollow, schema_at
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP

_IMAGES = ("before", "after")
_READ = "r"
_TABLE_NAMES = ("db", "table", "collection")
_PLAIN_LENGTHS = {ZONED_TIMESTAMP.name: 20, ZONED_TIME.name: 9}
"""How long times are that have no fraction, which is written in more than one way."""

OfText = Callable[[Schema], Callable[[bytes], bytes]]
"""For rows of a schema what brings their texts to one form, where they are written in more than one."""
Digest = Callable[[bytes], bytes]


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
    """Where events of one schema have what is noted.

    Attributes:
        row: the schema of their rows; None: they have none.
        op: the number of the operation's field.
        source: that of the source block.
        before: that of the row before.
        after: that of the row after.
        write: writes a row.
        hashed: the hash of a row, given what was written.
        envelope: makes of an event, whose rows are texts, what `orjson` writes.
        table: of the values of a source block those that name the table; None: it has none.
        head: what stands before an event.
        tail: what stands behind it.
    """

    row: Schema | None = None
    op: int = 0
    source: int = 0
    before: int = 0
    after: int = 0
    write: Text = bytes
    hashed: Callable[[Any, bytes], bytes] = lambda *_: b""
    envelope: Payload = bytes
    table: Callable[[Sequence[Any]], Any] | None = None
    head: bytes = b""
    tail: bytes = b""


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
        self.texts = _RowTextCompiler(payloads, self, with_schema=with_schema, of_text=of_text, digest=digest)
        self._event = _Event()
        self._payloads = payloads
        self._records: Sequence[Record] = ()
        self._schema: Schema | None = None
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
        written = list(values)
        if (row := values[noted.before]) is not None:
            text = noted.write(row)
            self.befores.append(noted.hashed(row, text))
            written[noted.before] = orjson.Fragment(text)
        if (row := values[noted.after]) is not None:
            text = noted.write(row)
            self.afters.append(noted.hashed(row, text))
            written[noted.after] = orjson.Fragment(text)
        event = self._event
        event.values = written
        return noted.head + orjson.dumps(noted.envelope(event)) + noted.tail

    def rows_of(self, run: Run, messages: Iterable[bytes | None]) -> Iterator[dict[str, Any]]:
        """The rows before and after, as `before` and `after`, of events of a run that were written."""
        before, after = self.texts.around(run.schema)
        for text in messages:
            if text is not None:
                yield orjson.loads(text[len(before) : len(text) - len(after)])

    def _note(self, schema: Schema, values: Sequence[Any], first: int) -> _Noted:
        """Begins a run, unless the event goes with those before it."""
        noted: _Noted | None = schema.derived.get(self)
        if noted is None:
            noted = schema.derived[self] = self._noted(schema)
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
        if not is_envelope(schema) or not at.keys() >= {"op", "source", *_IMAGES}:
            return _Noted()
        row = schema.fields[at["after"]].schema
        if row.type != "struct":
            return _Noted()
        envelope = self._payloads.payload(hollow(schema, ((at["before"],), (at["after"],))))
        row_text = self.texts.row_text(row)
        names = schema.fields[at["source"]].schema.index
        places = [names[name] for name in _TABLE_NAMES if name in names]
        table = itemgetter(*places) if places else None
        return _Noted(
            row,
            at["op"],
            at["source"],
            at["before"],
            at["after"],
            *row_text,
            envelope,
            table,
            *self.texts.around(schema),
        )

    def clear(self) -> None:
        """Forgets them."""
        self._schema, self._records = None, ()
        self.befores.clear()
        self.afters.clear()
        self.runs.clear()


class _RowTextCompiler(TextCompiler):
    """Makes functions that note rows."""

    _more = ("note_before", "note_after")

    def __init__(
        self, payloads: PayloadCompiler, rows: RowTexts, *, with_schema: bool, of_text: OfText, digest: Digest
    ) -> None:
        super().__init__(payloads, with_schema=with_schema)
        self.cache_key = (*self.cache_key, "rows", id(self))
        self._note = rows.befores.append, rows.afters.append
        self._of_text = of_text
        self._digest = digest

    def row_text(self, schema: Schema) -> tuple[Text, Callable[[Any, bytes], bytes]]:
        """The functions that write a row, and that give its hash."""
        payload, dumps = self.payloads.payload(schema), self._dumps
        scope: dict[str, Any] = {}
        hashed = self._hashed(schema, "row", "text", scope)
        made: Callable[[Any, bytes], bytes] = eval(f"lambda row, text: {hashed}", scope)  # noqa: S307 - of the schema alone
        return (lambda row: dumps(payload(row))), made

    def _bound(self, template: Template) -> Text:
        return self._binder(template)(*self._pieces(template), *self._note)

    def _filled(self, fill: str, schema: Schema, hole: Path, scope: dict[str, Any]) -> tuple[list[str], str]:
        """As for other texts; a row is written by lines of its own, which note it."""
        lines, written = super()._filled(fill, schema, hole, scope)
        row, name = schema_at(schema, hole), schema.fields[hole[0]].name
        if len(hole) > 1 or name not in _IMAGES or not row.fields:
            return lines, written
        return self._noted(fill, written, name, row, scope), f"r{fill[1:]}"

    def _noted(self, fill: str, written: str, name: str, schema: Schema, scope: dict[str, Any]) -> list[str]:
        """The lines that write a row and note it."""
        row = f"r{fill[1:]}"
        return [f"{row} = {written}", f"if {fill} is not None: note_{name}({self._hashed(schema, fill, row, scope)})"]

    def _hashed(self, schema: Schema, row: str, text: str, scope: dict[str, Any]) -> str:
        """The expression for the hash of a row that was written."""
        plain, form = _plain_where(schema, row), f"form_{row}"
        scope |= {"digest": self._digest, form: self._of_text(schema)}
        return f"digest({text})" if plain == "True" else f"digest({text} if {plain} else {form}({text}))"


def _plain_where(schema: Schema, fill: str) -> str:
    """The condition under which a row is written in one way alone."""
    conditions = []
    for number, each in enumerate(schema.fields):
        if each.schema.name == JSON.name:
            return "False"
        length = _PLAIN_LENGTHS.get(each.schema.name or "")
        if length is not None:
            if each.schema.default is not None:
                return "False"
            conditions.append(f"((v := {fill}.values[{number}]) is None or len(v) == {length})")
    return " and ".join(conditions) or "True"
