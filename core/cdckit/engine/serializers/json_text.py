"""Generated code that writes whole structs as JSON text: through a dict, through a format, or through a template."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from cdckit.api.schema import INT64, Field, Schema
from cdckit.api.struct import Path, Struct, Template, filled
from cdckit.connector.connect_json.schema import schema_to_json
from cdckit.engine.serializers.json_payload import PayloadCompiler

Text = Callable[[Any], bytes]

INTEGERS = ("int8", "int16", "int32", "int64")
HOLE = b"\0"
"""Stands for a hole in a template's text; JSON never holds this byte as it is."""


class TextCompiler:
    """Makes and keeps the functions that write structs, with their schema before them or without.

    Args:
        payloads: makes values into what `dumps` writes.
        with_schema: whether their schema stands before them.
        dumps: makes JSON texts.
    """

    _more: tuple[str, ...] = ()
    """What else the functions of templates are bound to."""

    def __init__(self, payloads: PayloadCompiler, *, with_schema: bool, dumps: Text = orjson.dumps) -> None:
        self.payloads = payloads
        self.with_schema = with_schema
        self._dumps = dumps
        self.cache_key: tuple[Any, ...] = (*payloads.cache_key, "text", with_schema)

    def text(self, schema: Schema) -> Text:
        """The function that writes a value of `schema`."""
        made: Text | None = schema.derived.get(self.cache_key)
        if made is None:
            made = schema.derived[self.cache_key] = self._compile(schema)
        return made

    def filled_text(self, template: Template) -> Text:
        """The function that writes a template's struct, given what fills the holes."""
        if template.derived is None:
            template.derived = {}
        made: Text | None = template.derived.get(self.cache_key)
        if made is None:
            made = template.derived[self.cache_key] = self._bound(template)
        return made

    def _bound(self, template: Template) -> Text:
        return self._binder(template)(*self._pieces(template))

    def around(self, schema: Schema | None) -> tuple[bytes, bytes]:
        """What stands before and after a payload of `schema`."""
        if not self.with_schema:
            return b"", b""
        if schema is None:
            return b'{"schema":null,"payload":', b"}"
        made: bytes | None = schema.derived.get("json.schema")
        if made is None:
            made = schema.derived["json.schema"] = b'{"schema":%b,"payload":' % orjson.dumps(schema_to_json(schema))
        return made, b"}"

    def _compile(self, schema: Schema) -> Text:
        before, after = self.around(schema)
        if schema.fields and all(f.schema.type in INTEGERS and not f.schema.optional for f in schema.fields):
            return _integers(schema, before, after)
        payload, dumps = self.payloads.payload(schema), self._dumps
        if self.with_schema:
            return lambda value: before + dumps(payload(value)) + after
        return lambda value: dumps(payload(value))

    def _pieces(self, template: Template) -> Sequence[bytes]:
        """The template's text between the holes."""
        values = template.values
        for hole in template.holes:
            # What the rows of an event share is written once: the text is made with holes, split there, and joined
            # again for each row with what fills them.
            values = filled(values, hole, orjson.Fragment(HOLE))
        payload = self.payloads.payload(hollow(template.schema, template.holes))
        pieces = self._dumps(payload(Struct(template.schema, values))).split(HOLE)
        before, after = self.around(template.schema)
        return [before + pieces[0], *pieces[1:-1], pieces[-1] + after]

    def _binder(self, template: Template) -> Callable[..., Text]:
        """Generated once per schema and holes: `bind(p0, p1, …)` gives the function of one template."""
        key = (self.cache_key, template.holes)
        made: Callable[..., Text] | None = template.schema.derived.get(key)
        if made is None:
            made = template.schema.derived[key] = self._compile_binder(template)
        return made

    def _compile_binder(self, template: Template) -> Callable[..., Text]:
        scope: dict[str, Any] = {"dumps": self._dumps}
        pieces = [f"p{n}" for n in range(len(template.holes) + 1)]
        fills = [f"f{n}" for n in range(len(template.holes))]
        parts, lines = [pieces[0]], list[str]()
        for fill, piece, hole in zip(fills, pieces[1:], template.holes, strict=True):
            before, written = self._filled(fill, template.schema, hole, scope)
            lines += before
            parts += [written, piece]
        source = (
            f"def bind({', '.join((*pieces, *self._more))}):\n"
            f"    def text(fills):\n"
            f"        {', '.join(fills)}, = fills\n"
            f"{''.join(f'        {line}{chr(10)}' for line in lines)}"
            f"        return b''.join(({', '.join(parts)}))\n"
            f"    return text\n"
        )
        exec(source, scope)  # noqa: S102 - generated from the schema alone
        bind: Callable[..., Text] = scope["bind"]
        return bind

    def _filled(self, fill: str, schema: Schema, hole: Path, scope: dict[str, Any]) -> tuple[list[str], str]:
        """Lines that come before the whole is put together, and the expression that writes what fills a hole."""
        within = schema_at(schema, hole)
        if within.type != "struct":
            return [], self._fill(fill, within, scope)
        written, values = f"t{fill[1:]}", f"{fill}_"
        unpack, members = self.payloads.members(within, fill, values, scope)
        there = [unpack, f"{written} = dumps({members})", *self._beside(written, values, schema, hole, scope)]
        return [f"if {fill} is None: {written} = b'null'", "else:", *(f"    {line}" for line in there)], written

    def _beside(self, written: str, values: str, schema: Schema, hole: Path, scope: dict[str, Any]) -> list[str]:
        """Lines behind those that write a struct, given the names of its text and its values."""
        return []

    def _fill(self, fill: str, schema: Schema, scope: dict[str, Any]) -> str:
        """The expression that writes what fills a hole."""
        if schema.type in INTEGERS:
            # Where orjson would be called for a number alone, formatting is faster.
            return f"b'%d' % {fill}"
        scope[f"payload_{fill}"] = self.payloads.payload(schema)
        return f"(b'null' if {fill} is None else dumps(payload_{fill}({fill})))"


def schema_at(schema: Schema, hole: Path) -> Schema:
    """The schema of what fills a hole."""
    for index in hole:
        schema = schema.fields[index].schema
    return schema


def hollow(schema: Schema, holes: Sequence[Path]) -> Schema:
    """The schema whose holes take any value that orjson writes."""
    made: Schema | None = schema.derived.get(("hollow", holes))
    if made is None:
        made = schema
        for hole in holes:
            made = _without(made, hole)
        schema.derived["hollow", holes] = made
    return made


def _without(schema: Schema, hole: Path) -> Schema:
    fields = list(schema.fields)
    at = fields[hole[0]]
    inner = _without(at.schema, hole[1:]) if len(hole) > 1 else INT64
    fields[hole[0]] = Field(at.name, at.index, inner)
    return schema.replace(fields=tuple(fields))


def _integers(schema: Schema, before: bytes, after: bytes) -> Text:
    """Keys are mostly this: required integers only, which a format writes fastest."""
    members = b",".join(b"%b:%%d" % orjson.dumps(f.name).replace(b"%", b"%%") for f in schema.fields)
    form = b"%b{%b}%b" % (before.replace(b"%", b"%%"), members, after)
    return lambda struct: form % struct.values
