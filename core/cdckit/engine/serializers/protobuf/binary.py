"""Generated code that writes values as Protobuf's bytes: one function for a Connect schema and the message it becomes.

Fields stand in the order of their numbers; what is null is left out, and so is a zero, an empty text and the like where
the message does not tell it from a null (Protobuf's documentation, "Field Presence").
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Template
from cdckit.engine.serializers.protobuf import logical_values, numbers
from cdckit.engine.serializers.protobuf.messages import Message, MessageField, ProtobufFile, wrapper
from cdckit.engine.serializers.protobuf.numbers import SMALL
from cdckit.engine.serializers.protobuf.schemas import LOGICAL_TYPES, SCALARS, ProtobufSchemas

Write = Callable[[Any], bytes]
Scope = dict[str, Any]

_VARIABLE, _EIGHT_BYTES, _COUNTED, _FOUR_BYTES = 0, 1, 2, 5
_WIRE_TYPES = {"int32": _VARIABLE, "int64": _VARIABLE, "bool": _VARIABLE, "float": _FOUR_BYTES, "double": _EIGHT_BYTES}
_PACK = {"float": struct.Struct("<f").pack, "double": struct.Struct("<d").pack}
_PACKED = "b''.join(map(packed, v))"
_LOGICAL_WRITERS: dict[str | None, Write] = {
    logical.CONNECT_DATE.name: logical_values.date,
    logical.CONNECT_TIME.name: logical_values.time,
    logical.CONNECT_TIMESTAMP.name: logical_values.timestamp,
}


@dataclass(slots=True)
class _Walk:
    """The code that writes a template, field by field.

    Attributes:
        holes: where what differs stands.
        scope: the constants.
        shared: the expressions that write what stands before, between and behind the holes.
        lines: what takes nested structs apart.
    """

    holes: tuple[Path, ...]
    scope: Scope
    shared: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def share(self, expressions: list[str]) -> list[str]:
        """The name of what all values have in common; none where that is nothing."""
        if not expressions:
            return []
        self.shared.append(_joined(expressions))
        return [f"p{len(self.shared) - 1}"]

    def source(self, fields: int, written: list[str]) -> str:
        """`shared(values)` gives the pieces, `bind(p0, p1, …)` the function of one template."""
        pieces = ", ".join(f"p{number}" for number in range(len(self.shared)))
        return "\n".join(
            (
                "def shared(values):",
                f"    {_variables((), fields)} = values",
                *(f"    {line}" for line in self.lines),
                f"    return ({''.join(f'{one}, ' for one in self.shared)})",
                f"def bind({pieces}):",
                "    def text(fills):",
                f"        {''.join(f'f{number}, ' for number in range(len(self.holes)))} = fills",
                f"        return {_joined(written)}",
                "    return text",
                "",
            )
        )


class ProtobufCompiler:
    """Makes the functions.

    Args:
        schemas: what has made the messages.
        defaults: whether a null stands for the default of a field that has one.
    """

    def __init__(self, schemas: ProtobufSchemas, *, defaults: bool = True) -> None:
        self._schemas = schemas
        self._defaults = defaults

    def write(self, schema: Schema, file: ProtobufFile, head: bytes = b"") -> Write:
        """The function for values of `schema`.

        Args:
            schema: Connect's.
            file: Protobuf's.
            head: what stands before each value.
        """
        if not file.wraps:
            return self._message(schema, file.message, head)
        scope: Scope = {}
        body = _scalar(schema, file.message.fields[0], "v", scope, shown=False)
        return _function(f"{_constant(head, scope)} + {body}", scope)

    def filled(
        self, schema: Schema, holes: tuple[Path, ...], file: ProtobufFile, head: bytes
    ) -> Callable[[Template], Write]:
        """The function for templates of `schema` with these holes: it gives the one that writes what fills them."""
        walk = _Walk(holes, {})
        parts = self._parts(schema, file.message, (), walk, [_constant(head, walk.scope)])
        exec(walk.source(len(schema.fields), parts), walk.scope)  # noqa: S102 - generated from the schemas alone
        shared, bind = walk.scope["shared"], walk.scope["bind"]
        return lambda template: bind(*shared(template.values))

    def _parts(self, schema: Schema, message: Message, at: Path, walk: _Walk, run: list[str]) -> list[str]:
        """The expressions of a message in which there are holes."""
        parts: list[str] = []
        for index, target in self._in_order(schema, message):
            path, own = (*at, index), schema.fields[index].schema
            if path in walk.holes:
                fill = self._expression(own, target, f"f{walk.holes.index(path)}", walk.scope)
                parts, run = [*parts, *walk.share(run), fill], []
            elif target.message is not None and any(hole[: len(path)] == path for hole in walk.holes):
                walk.lines.append(f"{_variables(path, len(own.fields))} = {_variable(path)}.values")
                before = walk.share(run)
                inner = self._parts(own, target.message, path, walk, [])
                parts, run = [*parts, *before, _counted(target, _joined(inner), walk.scope)], []
            else:
                run.append(self._expression(own, target, _variable(path), walk.scope))
        return [*parts, *walk.share(run)]

    def _in_order(self, schema: Schema, message: Message) -> list[tuple[int, MessageField]]:
        """The places of a struct's fields, and what they become, by the fields' numbers."""
        found = []
        for member in schema.fields:
            target = message.field(self._schemas.scrubbed(member.name))
            found.append((member.index, target or MessageField(member.name, 0, "")))
        return sorted(found, key=lambda one: one[1].number)

    def _message(self, schema: Schema, message: Message, head: bytes = b"") -> Write:
        """The function of a struct; its bytes are without their length."""
        scope: Scope = {}
        parts = [_constant(head, scope)] if head else []
        for index, target in self._in_order(schema, message):
            parts.append(self._expression(schema.fields[index].schema, target, f"v{index}", scope))
        unpack = f"{_variables((), len(schema.fields))} = s.values" if schema.fields else "s.values"
        exec(f"def write(s):\n    {unpack}\n    return {_joined(parts)}\n", scope)  # noqa: S102 - as above
        function: Write = scope["write"]
        return function

    def _expression(self, schema: Schema, target: MessageField, name: str, scope: Scope) -> str:
        """The expression that writes variable `name` with the field's number."""
        if not self._fits(schema, target):
            return f"{_constant(_Misfit(schema, target), scope)}({name})"
        rendered = self._rendered(schema, target, name, scope)
        if schema.default is not None and self._defaults:
            absent = eval(self._rendered(schema, target, "v", scope), {**scope, "v": schema.default})  # noqa: S307 - as above
        elif schema.optional:
            absent = b""
        else:
            return rendered
        return f"({_constant(absent, scope)} if {name} is None else {rendered})"

    def _fits(self, schema: Schema, target: MessageField) -> bool:
        """Whether the field, which may be one of another struct of the same name, is of the schema's type."""
        if (target.label == "repeated") != (schema.type in ("array", "map")):
            return False
        item = schema.items if schema.type == "array" else schema
        assert item is not None
        if item.name in LOGICAL_TYPES:
            return target.type == LOGICAL_TYPES[item.name][0]
        if item.type in ("struct", "map"):
            return target.message is not None
        kind = SCALARS[item.type]
        return target.message is None and target.type == (wrapper(kind).name if self._schemas.wraps(item) else kind)

    def _rendered(self, schema: Schema, target: MessageField, name: str, scope: Scope) -> str:
        """The expression for a value that is not None."""
        if schema.type == "map":
            return f"{_constant(self._map(schema, target), scope)}({name})"
        if schema.type == "array":
            assert schema.items is not None
            return f"{_constant(self._array(schema.items, target), scope)}({name})"
        return self._one(schema, target, name, scope, shown=target.label == "optional")

    def _one(self, schema: Schema, target: MessageField, name: str, scope: Scope, *, shown: bool) -> str:
        """The expression for a value that is no list; `shown`: also a zero and the like."""
        if schema.name in LOGICAL_TYPES:
            write = _LOGICAL_WRITERS.get(schema.name) or _decimal(schema)
            return _counted(target, f"{_constant(write, scope)}({name})", scope)
        if target.message is not None:
            return _counted(target, f"{_constant(self._message(schema, target.message), scope)}({name})", scope)
        if self._schemas.wraps(schema):
            inner = MessageField("value", 1, SCALARS[schema.type])
            return _counted(target, _scalar(schema, inner, name, scope, shown=False), scope)
        return _scalar(schema, target, name, scope, shown=shown)

    def _array(self, items: Schema, target: MessageField) -> Write:
        scope: Scope = {}
        if target.type not in _WIRE_TYPES:
            each = _function(self._one(items, target, "v", scope, shown=True), scope)
            return lambda values: b"".join(map(each, values))
        packed = _function(_scalar(items, MessageField(target.name, 0, target.type), "v", scope, shown=True), scope)
        whole: Scope = {"packed": packed}
        return _function(f"{_counted(target, _PACKED, whole)} if v else b''", whole)

    def _map(self, schema: Schema, target: MessageField) -> Write:
        assert target.message is not None
        scope: Scope = {}
        inner = zip((schema.keys, schema.items), target.message.fields, "kv", strict=True)
        parts = [self._expression(one, member, name, scope) for one, member, name in inner if one is not None]
        entry = eval(f"lambda k, v: {_counted(target, ' + '.join(parts), scope)}", scope)  # noqa: S307 - as above
        return lambda values: b"".join(entry(key, value) for key, value in values.items())


class _Misfit:
    """Writes nothing for a null, and nothing else."""

    def __init__(self, schema: Schema, target: MessageField) -> None:
        self._said = f"a struct of the same name has no field '{target.name}' of the type {schema.name or schema.type}"

    def __call__(self, value: Any) -> bytes:
        if value is not None:
            raise ValueError(self._said)
        return b""


def _decimal(schema: Schema) -> Write:
    return logical_values.decimal_of(int((schema.parameters or {}).get("scale", 0)))


def _scalar(schema: Schema, target: MessageField, name: str, scope: Scope, *, shown: bool) -> str:
    """The expression for a plain value; without a number before it for a field of number zero."""
    kind = target.type
    before = numbers.key(target.number, _WIRE_TYPES.get(kind, _COUNTED)) if target.number else b""
    if kind in ("int32", "int64"):
        integer = numbers.short_integer if kind == "int32" else numbers.integer
        large = f"{_constant(before, scope)} + {_constant(integer, scope)}({name})"
        return f"({_small(before, scope, shown=shown)}[{name}] if 0 <= {name} < {SMALL} else {large})"
    if kind == "bool":
        written = {True: before + b"\1", False: before + b"\0" if shown else b""}
        return f"{_constant(written, scope)}[{name}]"
    if kind in _PACK:
        packed = f"{_constant(_PACK[kind], scope)}({name})"
        if shown:
            return f"({_constant(before, scope)} + {packed})"
        return f"(b'' if (b := {packed}) == {_constant(_PACK[kind](0), scope)} else {_constant(before, scope)} + b)"
    content = f"{name}.encode()" if schema.type == "string" else name
    return _behind_length(before, content, scope, shown=shown)


def _counted(target: MessageField, content: str, scope: Scope) -> str:
    """The expression for a field whose bytes stand behind their length, also where there are none."""
    return _behind_length(numbers.key(target.number, _COUNTED), content, scope, shown=True)


def _behind_length(before: bytes, content: str, scope: Scope, *, shown: bool) -> str:
    small, long = _small(before, scope, shown=shown), _constant(numbers.integer, scope)
    large = f"{_constant(before, scope)} + {long}(n) + b"
    return f"({small}[n] + b if (n := len(b := {content})) < {SMALL} else {large})"


def _small(before: bytes, scope: Scope, *, shown: bool) -> str:
    return _constant(numbers.small_numbers(before) if shown else numbers.small_numbers_but_zero(before), scope)


def _function(body: str, scope: Scope) -> Write:
    function: Write = eval(f"lambda v: {body}", scope)  # noqa: S307 - generated from the schemas alone
    return function


def _joined(expressions: Iterable[str]) -> str:
    return f"b''.join(({''.join(f'{one}, ' for one in expressions)}))"


def _variable(path: Path) -> str:
    return "v" + "_".join(map(str, path))


def _variables(path: Path, fields: int) -> str:
    return "".join(f"{_variable((*path, index))}, " for index in range(fields))


def _constant(value: Any, scope: Scope) -> str:
    """The name of a constant in the generated code."""
    name = f"c{len(scope)}"
    scope[name] = value
    return name
