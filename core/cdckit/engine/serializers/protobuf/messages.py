"""What a Protobuf schema holds, and its text as Confluent's registry client writes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

WRAPPERS = "google/protobuf/wrappers.proto"
_WRAPPED = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
_WRAPPERS_OPTIONS = """
option java_package = "com.google.protobuf";
option java_outer_classname = "WrappersProto";
option java_multiple_files = true;
option go_package = "google.golang.org/protobuf/types/known/wrapperspb";
option cc_enable_arenas = true;
option objc_class_prefix = "GPB";
option csharp_namespace = "Google.Protobuf.WellKnownTypes";
"""
_VALUES_FIRST = frozenset({"precision", "scale"})
"""Whose values stand before their names."""


@dataclass(slots=True)
class MessageField:
    """A field of a message.

    Attributes:
        name: its name.
        number: by which it stands in the bytes.
        type: the type's name.
        label: `optional`, `repeated` or "".
        message: the message that the type's name stands for, where the same file defines it.
        meta: what Connect's schema says beside, such as a decimal's `scale`.
    """

    name: str
    number: int
    type: str
    label: str = ""
    message: Message | None = None
    meta: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Message:
    """A message with those that are defined within it."""

    name: str
    fields: list[MessageField] = field(default_factory=list)
    nested: list[Message] = field(default_factory=list)

    def field(self, name: str) -> MessageField | None:
        """The field of that name."""
        return next((one for one in self.fields if one.name == name), None)


@dataclass(frozen=True)
class ProtobufFile:
    """A Protobuf schema.

    Attributes:
        package: the package of its message, or None.
        message: what is written by it.
        imports: the files that it refers to.
        wraps: whether it is one of Google's wrappers of plain values.
        place: where the message stands in another schema, whose id messages bear; None: they bear that of this one.
    """

    package: str | None
    message: Message
    imports: Sequence[str] = ()
    wraps: bool = False
    place: int | None = None

    @property
    def name(self) -> str:
        """The message's full name."""
        return f"{self.package}.{self.message.name}" if self.package else self.message.name

    @property
    def index(self) -> int:
        """The message's place among those of the file."""
        if self.place is not None:
            return self.place
        return _WRAPPED.index(self.message.name.removesuffix("Value")) if self.wraps else 0

    @cached_property
    def text(self) -> str:
        """As it is registered, letter for letter."""
        head = 'syntax = "proto3";\n' + (f"package {self.package};\n" if self.package else "")
        if self.wraps:
            return f"{head}{_WRAPPERS_OPTIONS}\n{''.join(map(_wrapper_text, _WRAPPED))}"
        imports = "".join(f'import "{one}";\n' for one in self.imports)
        return "\n".join(part for part in (head, imports, _message_text(self.message)) if part)


def wrapper(kind: str) -> ProtobufFile:
    """Google's file of wrappers, and the one of a type such as `string`."""
    message = Message(f"{kind.capitalize()}Value", [MessageField("value", 1, kind)])
    return ProtobufFile("google.protobuf", message, wraps=True)


def _wrapper_text(name: str) -> str:
    return f'message {name}Value {{\n  {name.lower()} value = 1 [json_name = "value"];\n}}\n'


def _message_text(message: Message) -> str:
    fields = "".join(map(_field_text, message.fields))
    nested = "".join(map(_message_text, message.nested))
    inside = "".join(f"\n{_indented(part)}" for part in (fields, nested) if part)
    return f"message {message.name} {{{inside}}}\n"


def _field_text(one: MessageField) -> str:
    label = f"{one.label} " if one.label else ""
    return f"{label}{one.type} {one.name} = {one.number}{_options_text(one)};\n"


def _options_text(one: MessageField) -> str:
    """What Confluent's client writes behind a field; what is `optional` is not deprecated."""
    options = ["deprecated = false"] if one.label == "optional" else []
    if one.meta:
        options.append(_meta_text(one.meta))
    if len(options) > 1:
        both = ",\n".join(options)
        return f" [\n{_indented(both)}]"
    return f" [{options[0]}]" if options else ""


def _meta_text(meta: Mapping[str, str]) -> str:
    pairs = ",\n".join(_pair_text(name, value) for name, value in meta.items())
    params = f"params: [\n{_indented(pairs)}]\n"
    return f"(confluent.field_meta) = {{\n{_indented(params)}}}"


def _pair_text(name: str, value: str) -> str:
    pair = [f'key: "{_escaped(name)}"', f'value: "{_escaped(value)}"']
    if name in _VALUES_FIRST:
        pair.reverse()
    return f"{{\n  {pair[0]},\n  {pair[1]}\n}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"').replace("\n", "\\n")


def _indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.rstrip("\n").split("\n"))
