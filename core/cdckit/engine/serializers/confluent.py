"""What serializers share that write Confluent's wire format: subjects, ids, what is registered or looked up."""

from __future__ import annotations

import struct
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

from cdckit.api.checks import Finding
from cdckit.engine.serializers.avro.connection import look
from cdckit.engine.serializers.avro.registry import Found, Registry
from cdckit.engine.serializers.avro.registry_config import RegistryConfig
from cdckit.engine.serializers.avro.subjects import subject_of
from cdckit.engine.serializers.field_changes import Fields
from cdckit.engine.serializers.registered import Compiler, Registered, RegisteredSerializer, Schemas, Written

_HEAD = struct.Struct(">bI").pack


class ConfluentSerializer(RegisteredSerializer):
    """A zero, four bytes of the schema's id, the value.

    Attributes:
        kind: what the registry calls schemas of this format.
    """

    kind: ClassVar[str]

    def __init__(self, config: RegistryConfig, language: str, schemas: Schemas, compiler: Compiler) -> None:
        super().__init__(language, schemas, compiler)
        self._config = config
        self._subjects = {
            "key": subject_of(config.key_subject_name_strategy, "key", self.name),
            "value": subject_of(config.value_subject_name_strategy, "value", self.name),
        }
        self._ids: dict[tuple[str, str], tuple[int, Written]] = {}

    @abstractmethod
    def text(self, written: Written) -> str:
        """A schema as it stands in the registry."""

    @abstractmethod
    def fields(self, text: str) -> Fields:
        """The fields of a schema as it stands in the registry."""

    @abstractmethod
    def name(self, written: Written) -> str:
        """A schema's name.

        Raises:
            ValueError: it has none.
        """

    @abstractmethod
    def latest(self, found: Found, written: Written) -> Written:
        """By which schema values are written that are to bear the id of another one, such as their subject's latest.

        Raises:
            ValueError: those of the record's own schema cannot be written by it.
        """

    @classmethod
    def check(cls, config: RegistryConfig) -> Sequence[Finding]:
        """What `cdc validate --connect` finds."""
        return [look(config.access, "/subjects")]

    def find(self, part: str, topic: str, written: Written) -> Registered:
        """The registry is asked once for a subject and a schema."""
        subject = self._subjects[part](topic, written)
        key = (subject, repr(written))
        if key not in self._ids:
            self._ids[key] = self._register(subject, written)
        number, by = self._ids[key]
        return Registered(by, _HEAD(0, number))

    def text_of(self, number: int, subject: str) -> str:
        """The text of the schema of an id.

        Raises:
            SinkError: the registry does not have it, or cannot be reached.
        """
        return self._registry.numbered(number, subject).text

    @cached_property
    def _registry(self) -> Registry:
        return Registry(self._config.access, self.kind, self.fields, normalize=self._config.normalize_schemas)

    def _register(self, subject: str, written: Written) -> tuple[int, Written]:
        """The id that messages bear, and the schema by which they are written."""
        if self._config.auto_register_schemas:
            return self._registry.register(subject, self.text(written)), written
        if self._config.use_schema_id >= 0:
            found = self._registry.numbered(self._config.use_schema_id, subject)
            return found.number, self.latest(found, written)
        if self._config.use_latest_version:
            found = self._registry.latest(subject)
            return found.number, self.latest(found, written)
        return self._registry.lookup(subject, self.text(written)), written
