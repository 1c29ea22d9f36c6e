"""Avro as Apicurio's AvroConverter writes it, by the registry's own interface: ids in headers, or before the value.

Source: Apicurio Registry's documentation, version 2.6: "Core Registry API" and "Kafka serializers/deserializers".
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cached_property
from typing import Any
from urllib.parse import quote

import orjson

from cdckit.api.checks import Finding
from cdckit.engine.serializers.avro.apicurio_config import ApicurioAvroConfig
from cdckit.engine.serializers.avro.binary import BinaryCompiler
from cdckit.engine.serializers.avro.connection import CONFLICT, NOT_FOUND, Connection, Refusal, look
from cdckit.engine.serializers.avro.schemas import AvroSchemas
from cdckit.engine.serializers.avro.subjects import record_name
from cdckit.engine.serializers.registered import Registered, RegisteredSerializer, Written
from cdckit.errors import SinkError

_SHORT, _LONG = struct.Struct(">bI").pack, struct.Struct(">bq").pack
_ID = struct.Struct(">q").pack

Artifact = tuple[str, str]
"""A group, and the id within it."""


class ApicurioAvroSerializer(RegisteredSerializer):
    """Keys and values as Avro; the schema's id in a header, or before the value."""

    def __init__(self, config: ApicurioAvroConfig) -> None:
        super().__init__("Avro", AvroSchemas(meta_data=config.connect_meta_data), BinaryCompiler())
        self._config = config
        self.adds_headers = config.headers_enabled
        self.header_form = "bytes" if config.headers_enabled else "text"
        self._known: dict[tuple[Artifact, str], tuple[int, Written]] = {}

    @classmethod
    def check(cls, config: ApicurioAvroConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return [look(config.access, "/search/artifacts?limit=1")]

    def find(self, part: str, topic: str, written: Written) -> Registered:
        """The registry is asked once for an artifact and a schema."""
        artifact = self._artifact(part, topic, written)
        key = (artifact, repr(written))
        if key not in self._known:
            self._known[key] = self._registered(artifact, written)
        number, by = self._known[key]
        if self._config.headers_enabled:
            named = (f"apicurio.{part}.{self._config.use_id}", _ID(number))
            return Registered(by, headers=(named, (f"apicurio.{part}.encoding", b"BINARY")))
        return Registered(by, _SHORT(0, number) if self._config.as_confluent else _LONG(0, number))

    def _artifact(self, part: str, topic: str, written: Written) -> Artifact:
        strategy, group = self._config.strategy, self._config.group or "default"
        if strategy == "topic":
            return group, f"{topic}-{part}"
        if strategy == "simple.topic":
            return group, topic
        full = record_name(written)
        space, _, name = full.rpartition(".")
        if strategy == "qualified.record":
            return group, full
        return self._config.group or space or group, name if strategy == "record" else f"{topic}-{name}"

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self._config.access, {"Accept": "application/json"})

    def _registered(self, artifact: Artifact, written: Written) -> tuple[int, Written]:
        """The id that messages bear, and the schema by which they are written."""
        group, name = artifact
        base, body = f"/groups/{quote(group, safe='')}/artifacts", orjson.dumps(written)
        one = f"{base}/{quote(name, safe='')}"
        if self._config.auto_register:
            headers = {
                "Content-Type": "application/json",
                "X-Registry-ArtifactId": name,
                "X-Registry-ArtifactType": "AVRO",
            }
            path = f"{base}?ifExists={self._config.if_exists}"
            return self._id(artifact, self._connection.ask(path, body, headers)), written
        if self._config.find_latest:
            number = self._id(artifact, self._connection.ask(f"{one}/meta"))
            return number, self._told(artifact, self._connection.ask(one))
        headers = {"Content-Type": "application/get.extended+json"}
        wrapped = orjson.dumps({"content": body.decode()})
        answer = self._connection.ask(f"{one}/meta?canonical=true", wrapped, headers)
        return self._id(artifact, answer), written

    def _id(self, artifact: Artifact, answer: Any) -> int:
        found = self._told(artifact, answer)
        if isinstance(found, dict) and isinstance(number := found.get(self._config.use_id), int):
            return number
        raise self._connection.no_registry()

    def _told(self, artifact: Artifact, answer: Any) -> Any:
        if not isinstance(answer, Refusal):
            return answer
        at, shown = self._connection.shown, f"{artifact[1]} of the group {artifact[0]}"
        if answer.status == NOT_FOUND and self._config.auto_register:
            raise self._connection.no_registry()
        if answer.status == NOT_FOUND:
            raise SinkError(
                f"{at} does not have the schema as the artifact {shown} ({answer.message}): register it, or set "
                "apicurio.registry.auto-register=true"
            )
        if answer.status == CONFLICT:
            raise SinkError(f"{at} does not take the schema as the artifact {shown}: {answer.message}")
        raise SinkError(f"{at} refuses the schema as the artifact {shown} (HTTP {answer.status}): {answer.message}")
