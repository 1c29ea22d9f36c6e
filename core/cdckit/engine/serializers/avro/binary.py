"""Generated code that writes values as Avro's bytes: one function for a Connect schema and the Avro schema it becomes.

Fields are found by their names, so that the Avro schema may be an older or newer one of the registry's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from cdckit.api.schema import Schema
from cdckit.api.struct import Path, Template
from cdckit.engine.serializers.avro.numbers import SMALL, int_bytes, long_bytes, small_numbers
from cdckit.engine.serializers.registered import Write, Written

INTEGERS = ("int8", "int16", "int32", "int64")
_TAKES = {
    **dict.fromkeys(("int8", "int16", "int32"), ("int", "long", "float", "double")),
    "int64": ("long", "float", "double"),
    "float32": ("float", "double"),
    "float64": ("double",),
    "boolean": ("boolean",),
    "string": ("string", "enum", "bytes"),
    "bytes": ("bytes", "string"),
    "array": ("array",),
    "map": ("map", "array"),
    "struct": ("record",),
}
"""Into which types of Avro each of Connect's can be written."""
_NARROW = {"int64": ("int",), "float64": ("float",)}
"""Into which besides, as far as a value allows it."""
_FLOAT, _DOUBLE = struct.Struct("<f").pack, struct.Struct("<d").pack
_BOOLEAN = {True: b"\1", False: b"\0"}
END = b"\0"
"""What ends an array or a map."""
_TEXTS = 256
"""So many texts of one field are kept."""


@dataclass(slots=True)
class _Target:
    """An Avro schema with the named ones that it refers to.

    Attributes:
        written: the schema.
        named: every named schema by its full name.
        space: the namespace in which names stand.
    """

    written: Written
    named: dict[str, _Target] = field(default_factory=dict)
    space: str | None = None

    @classmethod
    def whole(cls, written: Written) -> _Target:
        """A schema that stands by itself."""
        whole = cls(written)
        whole._note_names(written, None)
        return whole.found()

    def _note_names(self, written: Written, space: str | None) -> None:
        if isinstance(written, list):
            for branch in written:
                self._note_names(branch, space)
        elif isinstance(written, dict):
            if "name" in written:
                full = _full_name(written, space)
                self.named[full] = _Target(written, self.named, space)
                space = full.rpartition(".")[0]
            for inner in (written["type"], written.get("items"), written.get("values")):
                self._note_names(inner, space)
            for member in written.get("fields", ()):
                self._note_names(member["type"], space)

    def of(self, written: Written, space: str | None = None) -> _Target:
        """A schema within this one."""
        return _Target(written, self.named, self.space if space is None else space).found()

    def found(self) -> _Target:
        """The definition, where this is the name of one."""
        if isinstance(self.written, str):
            name = self.written
            full = name if "." in name or not self.space else f"{self.space}.{name}"
            return self.named.get(full) or self.named.get(name) or self
        if isinstance(self.written, dict) and isinstance(self.written["type"], dict | list):
            return self.of(self.written["type"])
        return self

    @property
    def kind(self) -> str:
        """Its type: `record`, `union`, `long` and so on."""
        if isinstance(self.written, list):
            return "union"
        return self.written if isinstance(self.written, str) else self.written["type"]

    def fields(self) -> list[tuple[str, _Target, Mapping[str, Any]]]:
        """A record's fields: the name, the type, and all that is written of it."""
        space = _full_name(self.written, self.space).rpartition(".")[0]
        return [(one["name"], self.of(one["type"], space), one) for one in self.written["fields"]]


def _full_name(written: Mapping[str, Any], space: str | None) -> str:
    name: str = written["name"]
    inside = written.get("namespace", space)
    return name if "." in name or not inside else f"{inside}.{name}"


@dataclass(slots=True)
class _Walk:
    """The code that writes a template, field by field.

    Attributes:
        holes: where what differs stands.
        scope: the constants.
        shared: the expressions that write what stands before, between and behind the holes.
        fills: those that write what fills the holes, in the order in which they are written.
        lines: what takes nested structs apart.
    """

    holes: tuple[Path, ...]
    scope: dict[str, Any]
    shared: list[list[str]]
    fills: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def write(self, expression: str) -> None:
        """What all values have in common."""
        self.shared[-1].append(expression)

    def leave(self, expression: str) -> None:
        """Ends the bytes so far: here stands what differs from value to value."""
        self.fills.append(expression)
        self.shared.append([])

    def enter(self, path: Path, fields: int) -> None:
        """A struct in which there are holes."""
        self.lines.append(f"{_variables(path, fields)} = {_variable(path)}.values")

    def source(self, fields: int) -> str:
        """`shared(values)` gives the pieces, `bind(p0, p1, …)` the function of one template."""
        pieces = [f"p{number}" for number in range(len(self.shared))]
        joined = [f"b''.join(({''.join(f'{part}, ' for part in parts)}))" for parts in self.shared]
        parts = [pieces[0], *(part for pair in zip(self.fills, pieces[1:], strict=True) for part in pair)]
        taken = "".join(f"f{number}, " for number in range(len(self.holes)))
        return "\n".join(
            (
                "def shared(values):",
                f"    {_variables((), fields)} = values",
                *(f"    {line}" for line in self.lines),
                f"    return ({', '.join(joined)},)",
                f"def bind({', '.join(pieces)}):",
                "    def text(fills):",
                f"        {taken} = fills",
                f"        return b''.join(({', '.join(parts)}))",
                "    return text",
                "",
            )
        )


def _variable(path: Path) -> str:
    return "v" + "_".join(map(str, path))


def _variables(path: Path, fields: int) -> str:
    return "".join(f"{_variable((*path, index))}, " for index in range(fields))


class BinaryCompiler:
    """Makes the functions.

    Args:
        defaults: whether a null stands for the default of a field that has one.
        names: what the Avro schemas call a field.
        narrows: whether numbers are written into smaller types that they fit into.
    """

    def __init__(self, *, defaults: bool = True, names: Callable[[str], str] = str, narrows: bool = False) -> None:
        self._defaults = defaults
        self._names = names
        self._takes = {kind: (*types, *_NARROW.get(kind, ())) if narrows else types for kind, types in _TAKES.items()}

    def write(self, schema: Schema, written: Written, head: bytes = b"") -> Write:
        """The function for values of `schema`.

        Args:
            schema: Connect's.
            written: Avro's.
            head: what stands before each value.

        Raises:
            ValueError: such values cannot be written by that Avro schema; the message names the field.
        """
        write = self._write(schema, _Target.whole(written))
        return (lambda value: head + write(value)) if head else write

    def filled(
        self, schema: Schema, holes: tuple[Path, ...], written: Written, head: bytes
    ) -> Callable[[Template], Write]:
        """The function for templates of `schema` with these holes: it gives the one that writes what fills them.

        Raises:
            ValueError: as `write`.
        """
        scope: dict[str, Any] = {}
        walk = _Walk(holes, scope, [[_constant(head, scope)]])
        self._walk(schema, _Target.whole(written), (), walk)
        exec(walk.source(len(schema.fields)), scope)  # noqa: S102 - generated from the schemas alone
        shared, bind = scope["shared"], scope["bind"]
        return lambda template: bind(*shared(template.values))

    def _walk(self, schema: Schema, target: _Target, at: Path, walk: _Walk) -> None:
        before, record = self._branch(target, "struct", "")
        walk.write(_constant(before, walk.scope))
        # In the order of the registered schema, which may be an older or newer one than the value's: fields are found
        # by name.
        for name, inner, described in record.fields():
            index = self._index(schema, name)
            if index is None:
                walk.write(_constant(self._missing(name, inner, described), walk.scope))
                continue
            path, own = (*at, index), schema.fields[index].schema
            if path in walk.holes:
                fill = f"f{walk.holes.index(path)}"
                walk.leave(self._expression(own, inner, fill, walk.scope))
            elif any(hole[: len(path)] == path for hole in walk.holes):
                walk.enter(path, len(own.fields))
                self._walk(own, inner, path, walk)
            else:
                walk.write(self._expression(own, inner, _variable(path), walk.scope, repeats=True))

    def _index(self, schema: Schema, name: str) -> int | None:
        if name in schema.index:
            return schema.index[name]
        return next((one.index for one in schema.fields if self._names(one.name) == name), None)

    def _write(self, schema: Schema, target: _Target) -> Write:
        scope: dict[str, Any] = {}
        body = self._expression(schema, target, "v", scope)
        function: Write = eval(f"lambda v: {body}", scope)  # noqa: S307 - generated from the schemas alone
        return function

    def _expression(
        self, schema: Schema, target: _Target, name: str, scope: dict[str, Any], *, repeats: bool = False
    ) -> str:
        """The expression that writes variable `name`, whose values mostly come again and again where it `repeats`."""
        before, branch = self._branch(target, schema.type, schema.name or "")
        if repeats and schema.type == "string" and branch.kind in ("string", "bytes"):
            rendered = f"{_constant(_Texts(before), scope)}[{name}]"
        else:
            rendered = self._rendered(schema, branch, name, before, scope)
        absent = self._absent(schema, target, branch, before)
        if absent is None:
            return rendered
        return f"({_constant(absent, scope)} if {name} is None else {rendered})"

    def _absent(self, schema: Schema, target: _Target, branch: _Target, before: bytes) -> bytes | None:
        """What is written for a null; None where there may be none."""
        if schema.default is not None and self._defaults:
            scope: dict[str, Any] = {"v": schema.default}
            written: bytes = eval(self._rendered(schema, branch, "v", before, scope), scope)  # noqa: S307 - as above
            return written
        if schema.optional and target.kind == "union" and "null" in target.written:
            return long_bytes(target.written.index("null"))
        return None

    def _rendered(self, schema: Schema, target: _Target, name: str, before: bytes, scope: dict[str, Any]) -> str:
        """The expression for a value that is not None, with the union's branch before it."""
        kind = target.kind
        if kind in ("int", "long"):
            small = _constant(small_numbers(before), scope)
            number = "int_bytes" if kind == "int" and schema.type == "int64" else "long_bytes"
            scope[number] = int_bytes if number == "int_bytes" else long_bytes
            large = f"{_constant(before, scope)} + {number}({name})" if before else f"{number}({name})"
            # Lengths, flags and small keys are most of the numbers: their bytes, with the union's branch before them,
            # are looked up and not computed.
            return f"({small}[{name}] if 0 <= {name} < {SMALL} else {large})"
        if kind in ("float", "double"):
            packed = _constant(_FLOAT if kind == "float" else _DOUBLE, scope)
            return f"({_constant(before, scope)} + {packed}({name}))"
        if kind == "boolean":
            return f"{_constant({value: before + written for value, written in _BOOLEAN.items()}, scope)}[{name}]"
        if kind in ("string", "bytes"):
            return _text(schema, kind, name, before, scope)
        write = self._enum(target) if kind == "enum" else self._compound(schema, target, before)
        return f"{_constant(write, scope)}({name})"

    def _enum(self, target: _Target) -> Write:
        symbols = {symbol: long_bytes(index) for index, symbol in enumerate(target.written["symbols"])}
        return symbols.__getitem__

    def _compound(self, schema: Schema, target: _Target, before: bytes) -> Write:
        if schema.type == "struct":
            return self._record(schema, target, before)
        assert schema.items is not None
        if schema.type == "array":
            item = self._write(schema.items, target.of(target.written["items"]))
            return lambda values: before + _block(len(values), (item(value) for value in values))
        assert schema.keys is not None
        if target.kind == "map":
            key = self._write(schema.keys, _Target("string"))
            item = self._write(schema.items, target.of(target.written["values"]))
        else:
            (_, keys, _), (_, items, _) = target.of(target.written["items"]).fields()
            key, item = self._write(schema.keys, keys), self._write(schema.items, items)
        return lambda values: before + _block(len(values), (key(one) + item(of) for one, of in values.items()))

    def _record(self, schema: Schema, target: _Target, before: bytes) -> Write:
        scope: dict[str, Any] = {}
        parts = [_constant(before, scope)] if before else []
        for name, inner, described in target.fields():
            index = self._index(schema, name)
            if index is None:
                parts.append(_constant(self._missing(name, inner, described), scope))
                continue
            try:
                parts.append(self._expression(schema.fields[index].schema, inner, f"v{index}", scope))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        unpack = f"{', '.join(f'v{one.index}' for one in schema.fields)}, = s.values" if schema.fields else "pass"
        source = f"def write(s):\n    {unpack}\n    return b''.join(({''.join(f'{part}, ' for part in parts)}))\n"
        exec(source, scope)  # noqa: S102 - generated from the schemas alone
        function: Write = scope["write"]
        return function

    def _branch(self, target: _Target, kind: str, name: str) -> tuple[bytes, _Target]:
        """What says which branch of a union a value is of, and the branch."""
        takes = self._takes[kind]
        if target.kind != "union":
            if target.kind in takes:
                return b"", target
            raise ValueError(f"{name or kind} cannot be written as the registered {target.kind}")
        branches = [target.of(one) for one in target.written]
        fitting = [index for index, one in enumerate(branches) if one.kind in takes]
        if not fitting:
            kinds = " or ".join(one.kind for one in branches)
            raise ValueError(f"{name or kind} cannot be written as the registered {kinds}")
        best = min(fitting, key=lambda index: takes.index(branches[index].kind))
        return long_bytes(best), branches[best]

    def _missing(self, name: str, target: _Target, described: Mapping[str, Any]) -> bytes:
        """What is written for a field of the Avro schema that the value does not have: its default."""
        if "default" not in described:
            raise ValueError(f"{name}: the registered schema wants this field, and there is none, nor a default")
        return default_bytes(target, described["default"])


def default_bytes(target: _Target, value: Any) -> bytes:
    """A default of an Avro schema: of a union, one of its first branch."""
    kind = target.kind
    if kind == "union":
        # By Avro's rules a default of a union is one of its first branch ("Complex Types", "Records").
        return long_bytes(0) + default_bytes(target.of(target.written[0]), value)
    if kind == "record":
        members = ((inner, value.get(name, one.get("default"))) for name, inner, one in target.fields())
        return b"".join(default_bytes(inner, member) for inner, member in members)
    if kind == "array":
        return _block(len(value), (default_bytes(target.of(target.written["items"]), one) for one in value))
    if kind == "map":
        inner = target.of(target.written["values"])
        return _block(len(value), (_counted(key.encode()) + default_bytes(inner, one) for key, one in value.items()))
    if kind == "enum":
        return long_bytes(target.written["symbols"].index(value))
    simple: Mapping[str, Callable[[Any], bytes]] = {
        "null": lambda _: b"",
        "boolean": _BOOLEAN.__getitem__,
        "int": long_bytes,
        "long": long_bytes,
        "float": _FLOAT,
        "double": _DOUBLE,
        "string": lambda text: _counted(text.encode()),
        "bytes": lambda text: _counted(text.encode("iso-8859-1")),
        "fixed": lambda text: text.encode("iso-8859-1"),
    }
    return simple[kind](value)


def _text(schema: Schema, kind: str, name: str, before: bytes, scope: dict[str, Any]) -> str:
    """The expression for texts and bytes: their length, then they themselves."""
    small, counted = _constant(small_numbers(before), scope), _constant(_counted, scope)
    head = f"{_constant(before, scope)} + " if before else ""
    content = f"{name}.encode()" if schema.type == "string" else name
    if schema.type == "bytes" and kind == "string":
        raise ValueError("bytes cannot be written as the registered string")
    return f"({small}[n] + b if (n := len(b := {content})) < {SMALL} else {head}{counted}(b))"


class _Texts(dict[str, bytes]):
    """The bytes of texts that come again and again, such as the names in a source block.

    Args:
        before: what stands before each.
    """

    def __init__(self, before: bytes) -> None:
        super().__init__()
        self._before = before

    def __missing__(self, text: str) -> bytes:
        if len(self) >= _TEXTS:
            self.clear()
        made = self[text] = self._before + _counted(text.encode())
        return made


def _counted(content: bytes) -> bytes:
    return long_bytes(len(content)) + content


def _block(count: int, items: Iterator[bytes]) -> bytes:
    return b"".join((long_bytes(count), *items, END)) if count else END


def _constant(value: Any, scope: dict[str, Any]) -> str:
    """The name of a constant in the generated code."""
    name = f"c{len(scope)}"
    scope[name] = value
    return name
