"""Generated code that writes the rows of events beside the events, and hashes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Template
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import Text, TextCompiler, schema_at
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP

IMAGES = ("before", "after")
"""The fields of an event that hold rows."""
_PLAIN_LENGTHS = {ZONED_TIMESTAMP.name: 20, ZONED_TIME.name: 9}
"""How long times are that have no fraction, which is written in more than one way."""

OfText = Callable[[Schema], Callable[[bytes], bytes]]
"""For rows of a schema what brings their texts to one form, where they are written in more than one."""
Digest = Callable[[bytes], bytes]


class RowTextCompiler(TextCompiler):
    """Makes functions that write rows, and those of templates, which note the rows that they write.

    Args:
        payloads: makes values into what `orjson` writes.
        noting: take the hashes of rows before and after.
        with_schema: whether their schema stands before values.
        of_text: brings texts to one form.
        digest: the hash of a text.
    """

    _more = ("note_before", "note_after")

    def __init__(
        self,
        payloads: PayloadCompiler,
        noting: tuple[Callable[[bytes], None], Callable[[bytes], None]],
        *,
        with_schema: bool,
        of_text: OfText,
        digest: Digest,
    ) -> None:
        super().__init__(payloads, with_schema=with_schema)
        self.cache_key = (*self.cache_key, "rows", id(self))
        self._note = noting
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
        if len(hole) > 1 or name not in IMAGES or not row.fields:
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
