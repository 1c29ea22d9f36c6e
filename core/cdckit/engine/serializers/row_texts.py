"""The texts of the rows in events, noted while the JSON serializer writes the events: each is written once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Struct, Template
from cdckit.connector.envelope import is_envelope
from cdckit.engine.serializers.json_payload import PayloadCompiler
from cdckit.engine.serializers.json_text import Text, TextCompiler, schema_at
from cdckit.logical import JSON, ZONED_TIME, ZONED_TIMESTAMP

NO_ROW = b"null"
_IMAGES = ("before", "after")
_READ = "r"
_PLAIN_LENGTHS = {ZONED_TIMESTAMP.name: 20, ZONED_TIME.name: 9}
"""How long times are that have no fraction, which is written in more than one way."""

OfText = Callable[[Schema], Callable[[bytes], bytes]]
"""For rows of a schema what brings their texts to one form, where they are written in more than one."""


@dataclass(slots=True)
class Run:
    """Events one behind the other that have all but their rows in common.

    Attributes:
        first: the number of the first one's message.
        op: the operation; "" for values that are no events.
        source: the source block.
        row: the schema of the rows.
        befores: the rows before, as far as events have them.
        afters: the rows after.
    """

    first: int
    op: str
    source: Struct | None = None
    row: Schema | None = None
    befores: list[bytes] = field(default_factory=list)
    afters: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Noted:
    """Where events of one schema have what is noted.

    Attributes:
        row: the schema of their rows; None: they have none.
        op: the number of the operation's field.
        source: that of the source block.
        before: that of the row before.
        after: that of the row after.
        text: writes a row.
    """

    row: Schema | None = None
    op: int = 0
    source: int = 0
    before: int = 0
    after: int = 0
    text: Callable[[Any], bytes] = bytes


class RowTexts:
    """Those of the messages that were written last.

    Args:
        payloads: makes values into what `orjson` writes.
        with_schema: whether their schema stands before values.
        of_text: brings texts to one form.
    """

    def __init__(self, payloads: PayloadCompiler, *, with_schema: bool, of_text: OfText) -> None:
        self.texts = _RowTextCompiler(payloads, with_schema=with_schema, of_text=of_text)
        self._key = (*self.texts.cache_key, "noted")
        self._payloads = payloads
        self._of_text = of_text
        self.runs: list[Run] = []
        self._plain: Run | None = None
        self._plain_schema: Schema | None = None

    def filled_text(self, template: Template, first: int) -> Text:
        """The function that writes a template's struct, which notes its rows in a run that begins here."""
        text, run = self.texts.noting(template)
        self._plain = None
        self.runs.append(Run(first, run.op, run.source, run.row, run.befores, run.afters))
        return text

    def note(self, datum: Struct, first: int) -> None:
        """Notes the rows of a struct that is no template's; those of one table and operation share a run."""
        schema = datum.schema
        noted: _Noted | None = schema.derived.get(self._key)
        if noted is None:
            noted = schema.derived[self._key] = self._noted(schema)
        values = datum.values
        run = self._plain
        op = values[noted.op] if noted.row is not None else ""
        if run is None or schema is not self._plain_schema or op != run.op or op == _READ:
            run = Run(first, op, values[noted.source] if noted.row is not None else None, noted.row)
            self.runs.append(run)
            self._plain, self._plain_schema = run, schema
        if noted.row is None:
            return
        if (row := values[noted.before]) is not None:
            run.befores.append(noted.text(row))
        if (row := values[noted.after]) is not None:
            run.afters.append(noted.text(row))

    def _noted(self, schema: Schema) -> _Noted:
        at = schema.index
        if not is_envelope(schema) or not at.keys() >= {"op", "source", *_IMAGES}:
            return _Noted()
        row = schema.fields[at["after"]].schema
        if row.type != "struct":
            return _Noted()
        return _Noted(row, at["op"], at["source"], at["before"], at["after"], self._text_of(row))

    def _text_of(self, row: Schema) -> Callable[[Struct], bytes]:
        payload, dumps, plain = self._payloads.payload(row), orjson.dumps, _plain_where(row, "row")
        if plain == "True":
            return lambda value: dumps(payload(value))
        scope = {"dumps": dumps, "payload": payload, "form": self._of_text(row)}
        made: Callable[[Struct], bytes] = eval(  # noqa: S307 - generated from the schema alone
            f"lambda row: dumps(payload(row)) if {plain} else form(dumps(payload(row)))", scope
        )
        return made

    def clear(self) -> None:
        """Forgets them."""
        self._plain = None
        for run in self.runs:
            run.befores.clear()
            run.afters.clear()
        self.runs.clear()


class _RowTextCompiler(TextCompiler):
    """Makes functions that note rows."""

    _more = ("note_before", "note_after")

    def __init__(self, payloads: PayloadCompiler, *, with_schema: bool, of_text: OfText) -> None:
        super().__init__(payloads, with_schema=with_schema)
        self.cache_key = (*self.cache_key, "rows", id(self))
        self._of_text = of_text

    def noting(self, template: Template) -> tuple[Text, Run]:
        """The function that writes a template's struct, and what it notes rows in."""
        if template.derived is None:
            template.derived = {}
        made: tuple[Text, Run] | None = template.derived.get(self.cache_key)
        if made is None:
            run = _run_of(template.schema, Struct(template.schema, template.values), 0)
            bind = self._binder(template)
            text = bind(*self._pieces(template), run.befores.append, run.afters.append)
            made = template.derived[self.cache_key] = text, run
        return made

    def _filled(self, fill: str, schema: Schema, hole: Path, scope: dict[str, Any]) -> tuple[list[str], str]:
        """As for other texts; a row is written by lines of its own, which note it."""
        lines, written = super()._filled(fill, schema, hole, scope)
        row, name = schema_at(schema, hole), schema.fields[hole[0]].name
        if len(hole) > 1 or name not in _IMAGES or not row.fields:
            return lines, written
        return self._noted(fill, written, name, row, scope), f"r{fill[1:]}"

    def _noted(self, fill: str, written: str, name: str, schema: Schema, scope: dict[str, Any]) -> list[str]:
        """The lines that write a row and note it."""
        row, note = f"r{fill[1:]}", f"note_{name}"
        lines = [f"{row} = {written}"]
        plain = _plain_where(schema, fill)
        if plain == "True":
            return [*lines, f"{note}({row})"]
        form = f"form_{fill}"
        scope[form] = self._of_text(schema)
        return [*lines, f"{note}({row} if {fill} is None or ({plain}) else {form}({row}))"]


def _run_of(schema: Schema, event: Struct, first: int) -> Run:
    if not is_envelope(schema) or "after" not in schema.index:
        return Run(first, "")
    row = schema.fields[schema.index["after"]].schema
    return Run(first, str(event["op"]), event["source"], row if row.type == "struct" else None)


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
