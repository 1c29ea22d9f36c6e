"""Connect's schemas as Protobuf's, as Confluent's ProtobufData makes them (`kafka-connect-protobuf-converter`).

A struct becomes a message within the one that has it, numbered by the order of its fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from cdckit import logical
from cdckit.api.schema import Schema
from cdckit.engine.serializers.protobuf.messages import WRAPPERS, Message, MessageField, ProtobufFile, wrapper

UNNAMED = "ConnectDefault"
SCALARS = {
    "int8": "int32",
    "int16": "int32",
    "int32": "int32",
    "int64": "int64",
    "float32": "float",
    "float64": "double",
    "boolean": "bool",
    "string": "string",
    "bytes": "bytes",
}
"""The types of Protobuf for Connect's."""
LOGICAL_TYPES = {
    logical.DECIMAL_NAME: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    logical.CONNECT_DATE.name: ("google.type.Date", "google/type/date.proto"),
    logical.CONNECT_TIME.name: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    logical.CONNECT_TIMESTAMP.name: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
"""The messages of Connect's own logical types, and the files that define them."""
_META = {"connect.decimal.precision": "precision", "scale": "scale"}
_FOREIGN = "io.confluent.connect.protobuf."
_TAG = f"{_FOREIGN}Tag"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")
_IN_FRONT = re.compile(r"[0-9_]")


@dataclass(frozen=True, slots=True)
class ProtobufSchemas:
    """Makes Protobuf schemas.

    Attributes:
        wrappers: whether a plain value that may be null stands in one of Google's wrappers.
        optionals: whether a field that may be null is `optional`.
        scrub: whether characters that Protobuf's names cannot have become `_`.
    """

    wrappers: bool = False
    optionals: bool = False
    scrub: bool = False

    def schema(self, schema: Schema) -> ProtobufFile:
        """The Protobuf schema of a Connect schema.

        Raises:
            ValueError: Protobuf has no such one; the message says why.
        """
        if schema.type != "struct":
            return _plain(schema)
        making = _Making(self)
        *package, name = (self.scrubbed(part) for part in making.full_name(schema).split("."))
        _check(*package, name)
        message = making.message(name, schema)
        return ProtobufFile(".".join(package) or None, message, tuple(making.imports))

    def scrubbed(self, name: str) -> str:
        """What a name becomes."""
        return scrubbed(name) if self.scrub else name

    def wraps(self, schema: Schema) -> bool:
        """Whether values of a field stand in a wrapper."""
        return self.wrappers and schema.optional and schema.type in SCALARS and schema.name not in LOGICAL_TYPES


def _plain(schema: Schema) -> ProtobufFile:
    if schema.type not in SCALARS or schema.name in LOGICAL_TYPES:
        raise ValueError(f"{schema.name or schema.type} cannot stand by itself in Protobuf: put it into a struct")
    return wrapper(SCALARS[schema.type])


@dataclass(slots=True)
class _Making:
    """The making of one file.

    Attributes:
        rules: how names and nulls are written.
        imports: the files that are referred to so far.
        unnamed: how many structs and maps had no name.
    """

    rules: ProtobufSchemas
    imports: dict[str, None] = field(default_factory=dict)
    unnamed: int = 0

    def full_name(self, schema: Schema) -> str:
        """The name of a struct or map."""
        if schema.name:
            return schema.name
        self.unnamed += 1
        return f"{UNNAMED}{self.unnamed}"

    def message(self, name: str, schema: Schema) -> Message:
        """The message of a struct."""
        made, number = Message(name), 0
        for member in schema.fields:
            tag = (member.schema.parameters or {}).get(_TAG)
            number += tag is None
            self._add(made, self.rules.scrubbed(member.name), member.schema, int(tag or number))
        _check_message(made)
        return made

    def _add(self, parent: Message, name: str, schema: Schema, number: int) -> None:
        label = "optional" if self.rules.optionals and schema.optional else ""
        if schema.type in ("array", "map"):
            label = "repeated"
        try:
            if schema.type == "array":
                assert schema.items is not None
                schema = schema.items
                if schema.type in ("array", "map"):
                    raise ValueError(f"an array of {schema.type}s cannot be written in Protobuf")
            made = self._field(parent, name, schema)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        made.number, made.label = number, label
        parent.fields.append(made)

    def _field(self, parent: Message, name: str, schema: Schema) -> MessageField:
        _refuse_foreign(schema)
        if schema.name in LOGICAL_TYPES:
            kind, defined_in = LOGICAL_TYPES[schema.name]
            self.imports[defined_in] = None
            return MessageField(name, 0, kind, meta=_decimal_meta(schema))
        if schema.type == "struct":
            return self._struct(parent, name, schema)
        if schema.type == "map":
            return self._map(parent, name, schema)
        kind = SCALARS[schema.type]
        if self.rules.wraps(schema):
            self.imports[WRAPPERS] = None
            kind = wrapper(kind).name
        return MessageField(name, 0, kind, meta={"connect.type": schema.type} if schema.type in _SMALL else {})

    def _last_name(self, schema: Schema) -> str:
        return self.rules.scrubbed(self.full_name(schema).rpartition(".")[2])

    def _struct(self, parent: Message, name: str, schema: Schema) -> MessageField:
        """A field of a struct; one that is called as another, or as the message itself, refers to that."""
        called = self._last_name(schema)
        if called == name:
            called += "Message"
        message = parent if called == parent.name else _named(called, parent.nested)
        if message is None:
            message = self.message(called, schema)
            parent.nested.append(message)
        return MessageField(name, 0, called, message=message)

    def _map(self, parent: Message, name: str, schema: Schema) -> MessageField:
        entry = Message(_entry_name(self._last_name(schema)))
        for number, (part, inner) in enumerate((("key", schema.keys), ("value", schema.items)), start=1):
            assert inner is not None
            self._add(entry, part, inner, number)
            entry.fields[-1].meta = {}
            entry.fields[-1].label = entry.fields[-1].label.replace("optional", "")
        _check_message(entry)
        parent.nested.append(entry)
        return MessageField(name, 0, entry.name, message=entry)


_SMALL = ("int8", "int16")


def _named(name: str, messages: Iterable[Message]) -> Message | None:
    return next((one for one in messages if one.name == name), None)


def _decimal_meta(schema: Schema) -> dict[str, str]:
    given = schema.parameters or {} if schema.name == logical.DECIMAL_NAME else {}
    return {name: given[parameter] for parameter, name in _META.items() if parameter in given}


def _entry_name(name: str) -> str:
    if "_" in name:
        name = "".join(word.capitalize() for word in name.split("_"))
    return f"{name}Entry"


def scrubbed(name: str) -> str:
    """A name without what Protobuf's cannot hold, as Confluent's class changes it: coded as in a URL, then by `_`."""
    if _NAME.fullmatch(name) and name[0] != "_":
        return name
    made = quote_plus(name, safe="*")
    return _IN_NAMES.sub("_", f"x{made}" if _IN_FRONT.match(made) else made)


def _check(*names: str) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"'{name}' cannot be a name in Protobuf: set schema.name.adjustment.mode=avro and "
                "field.name.adjustment.mode=avro at the source, or scrub.invalid.names=true here"
            )


def _check_message(message: Message) -> None:
    """Each field, and each message within, has a name of its own, and each field a number of its own."""
    names = [*(one.name for one in message.fields), *(one.name for one in message.nested)]
    _check(*names)
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two things within {message.name} are called {name}, which Protobuf does not allow")
    if len({one.number for one in message.fields}) < len(message.fields):
        raise ValueError(f"two fields of {message.name} have the same number")
    if taken := {one.name for one in message.nested} & set(SCALARS.values()):
        raise ValueError(f"a struct cannot be called {min(taken)}, which is a type of Protobuf")


def _refuse_foreign(schema: Schema) -> None:
    """What Confluent's converter tells of schemas that were Protobuf's before: enums, unions, other integers."""
    told = [*(schema.parameters or ()), schema.name or ""]
    if found := next((name for name in told if name.startswith(_FOREIGN) and name != _TAG), None):
        raise ValueError(f"{found}: what Protobuf has and Connect has not is not yet supported")
