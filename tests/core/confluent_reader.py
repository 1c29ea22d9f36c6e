"""Reads messages with the deserializers of `confluent_kafka`: a program for an environment that has them all.

On standard input it takes `{"url": …, "kind": …, "messages": [{"topic": …, "part": …, "hex": …}]}`, and it prints what
they make of each message, as a JSON array.
"""

from __future__ import annotations

import base64
import datetime
import importlib
import json
import re
import sys
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.serialization import SerializationContext

Read = Callable[[bytes, Any], Any]
_CONFLUENT = "confluent_kafka.schema_registry.confluent"
_KNOWN = (f"{_CONFLUENT}.type.decimal_pb2", f"{_CONFLUENT}.meta_pb2")
"""What schemas refer to without its being registered."""


def main() -> None:
    """Reads all of them."""
    given = json.load(sys.stdin)
    client = SchemaRegistryClient({"url": given["url"]})
    reader = {"avro": _avro, "json-schema": _json_schema, "protobuf": _protobuf}[given["kind"]](client)
    read = []
    for one in given["messages"]:
        context = SerializationContext(one["topic"], one["part"])
        read.append(reader(bytes.fromhex(one["hex"]), context))
    json.dump(read, sys.stdout, default=_shown)


def _avro(client: Any) -> Read:
    read: Read = importlib.import_module("confluent_kafka.schema_registry.avro").AvroDeserializer(client)
    return read


def _json_schema(client: Any) -> Read:
    made = importlib.import_module("confluent_kafka.schema_registry.json_schema")
    read: Read = made.JSONDeserializer(None, schema_registry_client=client)
    return read


def _protobuf(client: Any) -> Read:
    """The class of a message is made of the schema that the registry has under its id."""
    protobuf = importlib.import_module("confluent_kafka.schema_registry.protobuf")
    readers: dict[int, Read] = {}

    def read(message: bytes, context: Any) -> Any:
        number = int.from_bytes(message[1:5], "big")
        if number not in readers:
            made = _message_class(client.get_schema(number).schema_str)
            readers[number] = protobuf.ProtobufDeserializer(made, {}, None)
        return _members(readers[number](message, context))

    return read


def _message_class(text: str) -> Any:
    """The class of the first message of a schema."""
    pool = importlib.import_module("google.protobuf.descriptor_pool").DescriptorPool()
    for one in _compiled(text).file:
        pool.Add(one)
        last = one
    named = ".".join(filter(None, (last.package, last.message_type[0].name)))
    factory = importlib.import_module("google.protobuf.message_factory")
    return factory.GetMessageClass(pool.FindMessageTypeByName(named))


def _compiled(text: str) -> Any:
    """A schema and what it refers to, as `protoc` makes descriptors of them."""
    descriptors = importlib.import_module("google.protobuf.descriptor_pb2")
    protoc = importlib.import_module("grpc_tools.protoc")
    types = Path(importlib.import_module("grpc_tools").__file__ or "").parent / "_proto"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Confluent's own parser knows these options without an import.
        (folder / "schema.proto").write_text(
            re.sub("^package ", 'import "confluent/meta.proto";\\g<0>', text, flags=re.M)
        )
        known = descriptors.FileDescriptorSet()
        for module in _KNOWN:
            importlib.import_module(module).DESCRIPTOR.CopyToProto(known.file.add())
        (folder / "known").write_bytes(known.SerializeToString())
        options = [f"--descriptor_set_in={folder / 'known'}", f"-I{folder}", f"-I{types}", "--include_imports"]
        assert protoc.main(["protoc", *options, f"--descriptor_set_out={folder / 'made'}", "schema.proto"]) == 0
        return descriptors.FileDescriptorSet.FromString((folder / "made").read_bytes())


def _members(message: Any) -> Any:
    """A message's fields; None is one that is not there."""
    made: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.is_repeated:
            made[field.name] = [_members(one) if field.message_type else one for one in value]
        elif field.has_presence and not message.HasField(field.name):
            made[field.name] = None
        else:
            made[field.name] = _members(value) if field.message_type else value
    return made


def _shown(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    raise TypeError(type(value))


main()
