"""What serializers share that use Apicurio's own interface: artifacts, ids, what is registered and what is looked up.

Source: Apicurio Registry's documentation, version 2.6: "Core Registry API" and "Kafka serializers/deserializers".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar
from urllib.parse import quote

import orjson

from cdckit.api.checks import Finding
from cdckit.engine.serializers.avro.apicurio_config import ApicurioConfig
from cdckit.engine.serializers.avro.connection import CONFLICT, NOT_FOUND, Connection, Refusal, look
from cdckit.engine.serializers.field_changes import Fields, changes
from cdckit.engine.serializers.registered import Compiler, RegisteredSerializer, Schemas, Written
from cdckit.errors import SinkError

Artifact = tuple[str, str]
"""A group, and the id within it."""


class ApicurioSerializer(RegisteredSerializer):
    """Keys and values whose schemas are artifacts of the registry.

    Attributes:
        kind: what the registry calls schemas of this format.
        use_id: which of the registry's two ids messages bear.
    """

    kind: ClassVar[str]
    use_id: str = "globalId"

    def __init__(self, config: ApicurioConfig, language: str, schemas: Schemas, compiler: Compiler) -> None:
        super().__init__(language, schemas, compiler)
        self._registry = config
        self._known: dict[tuple[Artifact, str], tuple[int, Written]] = {}

    @abstractmethod
    def content(self, written: Written) -> bytes:
        """A schema as it stands in the registry."""

    def fields(self, text: str) -> Fields:
        """The fields of a schema as it stands in the registry, for messages."""
        return {}

    def numbered(self, artifact: Artifact, written: Written) -> tuple[int, Written]:
        """The id of a schema, and the one by which values are written; the registry is asked once for both."""
        key = (artifact, repr(written))
        if key not in self._known:
            self._known[key] = self._registered(artifact, written)
        return self._known[key]

    def by_topic(self, part: str, topic: str) -> Artifact:
        """The artifact of a topic's keys or values."""
        name = topic if self._registry.strategy == "simple.topic" else f"{topic}-{part}"
        return self._registry.group or "default", name

    @classmethod
    def check(cls, config: ApicurioConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return [look(config.access, "/search/artifacts?limit=1")]

    @cached_property
    def _connection(self) -> Connection:
        return Connection(self._registry.access, {"Accept": "application/json"})

    def _registered(self, artifact: Artifact, written: Written) -> tuple[int, Written]:
        """The id that messages bear, and the schema by which they are written."""
        group, name = artifact
        base, body = f"/groups/{quote(group, safe='')}/artifacts", self.content(written)
        one = f"{base}/{quote(name, safe='')}"
        if self._registry.auto_register:
            headers = {
                "Content-Type": "application/json",
                "X-Registry-ArtifactId": name,
                "X-Registry-ArtifactType": self.kind,
            }
            answer = self._connection.ask(f"{base}?ifExists={self._registry.if_exists}", body, headers)
            if isinstance(answer, Refusal) and answer.status == CONFLICT:
                raise self._conflict(artifact, answer, body, one)
            return self._id(artifact, answer), written
        if self._registry.find_latest:
            number = self._id(artifact, self._connection.ask(f"{one}/meta"))
            return number, self._unless_refused(artifact, self._connection.ask(one))
        headers = {"Content-Type": "application/get.extended+json"}
        wrapped = orjson.dumps({"content": body.decode()})
        answer = self._connection.ask(f"{one}/meta?canonical=true", wrapped, headers)
        return self._id(artifact, answer), written

    def _conflict(self, artifact: Artifact, refusal: Refusal, body: bytes, latest: str) -> SinkError:
        """The error of a schema that is not taken: with the fields in which it differs from the latest one."""
        try:
            there = orjson.dumps(self._unless_refused(artifact, self._connection.ask(latest))).decode()
            fields = changes(self.fields(there), self.fields(body.decode()))
        except (SinkError, ValueError, LookupError, TypeError, AttributeError):
            fields = ""  # the registry's words are told all the same
        group, name = artifact
        differs = f", whose latest version differs: {fields}" if fields else ""
        return SinkError(
            f"{self._connection.shown} does not take the schema as the artifact {name} of the group {group}{differs}; "
            f"it says: {refusal.message}",
            number="CDC4203",
        )

    def _id(self, artifact: Artifact, answer: Any) -> int:
        found = self._unless_refused(artifact, answer)
        if isinstance(found, dict) and isinstance(number := found.get(self.use_id), int):
            return number
        raise self._connection.no_registry()

    def _unless_refused(self, artifact: Artifact, answer: Any) -> Any:
        if not isinstance(answer, Refusal):
            return answer
        at, shown = self._connection.shown, f"{artifact[1]} of the group {artifact[0]}"
        if answer.status == NOT_FOUND and self._registry.auto_register:
            raise self._connection.no_registry()
        if answer.status == NOT_FOUND:
            raise SinkError(
                f"{at} does not have the schema as the artifact {shown} ({answer.message}): register it, or set "
                "apicurio.registry.auto-register=true",
                number="CDC4204",
            )
        raise SinkError(
            f"{at} refuses the schema as the artifact {shown} (HTTP {answer.status}): {answer.message}",
            number="CDC4203",
        )
