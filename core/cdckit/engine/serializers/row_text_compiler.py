"""Generated code that writes the rows of events beside the events, and hashes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Struct, Template
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import Text, TextCompiler, schema_at
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP

IMAGES = ("before", "after")
"""The fields of an event that hold rows."""
_PLAIN_LENGTHS = {ZONED_TIMESTAMP.name: 20, ZONED_TIME.name: 9}
"""How long times are that have no fraction, which is written in more than one way."""

_TO_BEFORE, _NULL_BEFORE, _BETWEEN = b'{"before":', b'null,"after":', b',"after":'
_END = b'},"'
"""What stands behind a row that has no rows in it, and nowhere in one: within texts quotes are escaped."""
_ALONE = """\
def text(event, number):
    values = event.values
    names = values[{source}].values
    if (
        names[{table}] != run.table
        or values[{op}] != run.op
        or run.records[number].topic != run.topic
        or names[{database}] != run.database
        or run.schema is not schema
    ):
        begin(schema, values, number)
    {written}
"""
_FOUND = """\
written = write(event)
    at, before, after = {start}, values[0], values[1]
    if before is None:
        at += {null}
    else:
        end = written.index({end}, at) + 1
        row = written[at:end]
        noted_before.append({before})
        at = end + {between}
    if after is not None:
        row = written[at : written.index({end}, at) + 1]
        noted_after.append({after})
    return written
"""

OfText = Callable[[Schema], Callable[[bytes], bytes]]
"""For rows of a schema what brings their texts to one form, where they are written in more than one."""
Digest = Callable[[bytes], bytes]
TextAlone = Callable[[Struct, int], bytes]
"""Writes an event, given the number of its record."""


class Places(NamedTuple):
    """Where events of one schema have what tells runs apart.

    Attributes:
        row: the schema of their rows.
        op: the number of the operation's field.
        source: that of the source block.
        database: of the values of a source block the one that names the database.
        table: the one that names the table.
    """

    row: Schema
    op: int
    source: int
    database: int
    table: int


class RowTextCompiler(TextCompiler):
    """Makes functions that write rows, and those of templates, which note the rows that they write.

    Args:
        payloads: makes values into what `orjson` writes.
        noted: the hashes of rows before, and those of rows after; they are added to these lists.
        with_schema: whether their schema stands before values.
        of_text: brings texts to one form.
        digest: the hash of a text.
    """

    _more = ("noted_before", "noted_after")

    def __init__(
        self,
        payloads: PayloadCompiler,
        noted: tuple[list[bytes], list[bytes]],
        *,
        with_schema: bool,
        of_text: OfText,
        digest: Digest,
    ) -> None:
        super().__init__(payloads, with_schema=with_schema)
        self.cache_key = (*self.cache_key, "rows", id(self))
        self._lists = noted
        self._of_text = of_text
        self._digest = digest

    def row_text(self, schema: Schema) -> tuple[Text, Callable[[Any, bytes], bytes]]:
        """The functions that write a row, and that give its hash."""
        payload, dumps = self.payloads.payload(schema), self._dumps
        scope: dict[str, Any] = {}
        hashed = self._hashed(schema, "row.values[{}]", "text", scope)
        made: Callable[[Any, bytes], bytes] = eval(f"lambda row, text: {hashed}", scope)  # noqa: S307 - of the schema alone
        return (lambda row: dumps(payload(row))), made

    def alone(self, schema: Schema, places: Places, scope: Mapping[str, Any], write: Text | None) -> TextAlone:
        """The function that writes an event by itself, and begins a run where it does not go with those before it.

        Args:
            schema: that of the event.
            places: where events have what tells runs apart.
            scope: `run`, the run that the last event is in, and `begin`, which begins one.
            write: writes the event and notes its rows; None: they are found in the text.
        """
        before, after = self._lists
        names = {"schema": schema, "noted_before": before, "noted_after": after, "write": write, **scope}
        written = "return write(event)"
        if write is None:
            names["write"], written = self.text(schema), self._found(schema, places.row, names)
        exec(_ALONE.format(written=written, **places._asdict()), names)  # noqa: S102 - generated from the schema alone
        made: TextAlone = names["text"]
        return made

    def _found(self, schema: Schema, row: Schema, scope: dict[str, Any]) -> str:
        """The lines that write an event, and find its rows in the text by what stands behind them."""
        head, _ = self.around(schema)
        return _FOUND.format(
            start=len(head) + len(_TO_BEFORE),
            null=len(_NULL_BEFORE),
            between=len(_BETWEEN),
            end=_END,
            before=self._hashed(row, "before.values[{}]", "row", scope),
            after=self._hashed(row, "after.values[{}]", "row", scope),
        )

    def _bound(self, template: Template) -> Text:
        return self._binder(template)(*self._pieces(template), *self._lists)

    def _beside(self, written: str, values: str, schema: Schema, hole: Path, scope: dict[str, Any]) -> list[str]:
        """As for other texts; a row is noted."""
        row, name = schema_at(schema, hole), schema.fields[hole[0]].name
        if len(hole) > 1 or name not in IMAGES or not row.fields:
            return []
        return [f"noted_{name}.append({self._hashed(row, values + '{}', written, scope)})"]

    def _hashed(self, schema: Schema, value: str, text: str, scope: dict[str, Any]) -> str:
        """The expression for the hash of a row that was written; `value` makes the name of a value of its number."""
        plain, form = plain_where(schema, value), f"form_{text}"
        scope |= {"digest": self._digest, form: self._of_text(schema)}
        return f"digest({text})" if plain == "True" else f"digest({text} if {plain} else {form}({text}))"


def plain_where(schema: Schema, value: str) -> str:
    """The condition under which a row is written in one way alone; `value` makes the name of a value of its number."""
    conditions = []
    for number, each in enumerate(schema.fields):
        if each.schema.name == JSON.name:
            return "False"
        length = _PLAIN_LENGTHS.get(each.schema.name or "")
        if length is not None:
            if each.schema.default is not None:
                return "False"
            conditions.append(f"((v := {value.format(number)}) is None or len(v) == {length})")
    return " and ".join(conditions) or "True"
