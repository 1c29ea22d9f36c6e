"""ByLogicalTableRouter, or ToLogicalTopicRouter: the events of many physical tables in one topic (as in Debezium).

Keys of different tables may be equal, so by default a key tells which table it came from.
"""

from __future__ import annotations

import logging
from typing import ClassVar, Self

from pydantic import ValidationInfo, field_validator, model_validator

from cdckit import (
    STRING,
    Datum,
    Field,
    Group,
    PluginConfig,
    Record,
    Schema,
    SchemaAndValue,
    Sought,
    Struct,
    Transform,
    TransformError,
)
from cdckit.connector.avro_names import Adjust, NameAdjustment, schema_names
from cdckit.java.regex import JavaRegex
from cdckit.java.regex.topic_rewrite import TopicRewrite
from cdckit_transforms.envelope import is_null
from cdckit_transforms.renamed_envelope import EnvelopeRenamer

log = logging.getLogger(__name__)


class ByLogicalTableRouterConfig(PluginConfig):
    """Which tables become one, and how their keys stay apart."""

    topic_regex: JavaRegex
    """A Java regular expression that the whole topic must match; other records are left as they are."""
    topic_replacement: str
    """The logical table's topic; `$1` and `${name}` stand for what the regex's groups matched."""
    key_enforce_uniqueness: bool = True
    """Whether keys get one more field, which tells the physical table."""
    key_field_name: str = "__dbz__physicalTableIdentifier"
    """The name of that field."""
    key_field_regex: JavaRegex = ""
    """A Java regular expression over the original topic, to make that field's value from.

    Without it, and for topics that it does not match as a whole, the value is the original topic.
    """
    key_field_replacement: str = ""
    """That field's value; `$1` and `${name}` stand for what the groups of `key.field.regex` matched."""
    schema_name_adjustment_mode: NameAdjustment = "none"
    """How the new schemas' names are made fit for Avro: `avro` writes `_` for what is not allowed, `avro_unicode` its
    code.
    """

    passed_over: ClassVar[tuple[str, ...]] = (r"logical\.(table|destination)\.cache\.size",)

    @field_validator("topic_replacement")
    @classmethod
    def _topic_replacement_fits(cls, replacement: str, info: ValidationInfo) -> str:
        if "topic_regex" in info.data:
            TopicRewrite(info.data["topic_regex"], replacement)
        return replacement

    @model_validator(mode="after")
    def _key_replacement_fits(self) -> Self:
        if self.key_field_regex.strip() and not self.key_field_replacement.strip():
            raise ValueError("key.field.regex needs key.field.replacement")
        TopicRewrite(self.key_field_regex, self.key_field_replacement)
        return self


class ToLogicalTopicRouterConfig(ByLogicalTableRouterConfig):
    """Which tables become one, and how their keys stay apart."""

    key_field_name: str = "__dbz__sourceIdentifier"
    """The name of that field."""


class ByLogicalTableRouter(Transform):
    """Renames topics, and the key's and the envelope's schemas with them; puts the physical table into the key."""

    def __init__(self, config: ByLogicalTableRouterConfig) -> None:
        self._config = config
        self._topic = TopicRewrite(config.topic_regex, config.topic_replacement, "topic.regex")
        self._routes: dict[str, _Route | None] = {}

    def apply(self, record: Record) -> Record:
        """The record under the logical table's topic.

        Raises:
            TransformError: the key is no struct.
        """
        route = self._known(record.topic)
        if route is None:
            return record
        return Record(
            route.topic,
            route.key(record.key),
            route.value(record.value),
            record.headers,
            record.position,
            record.timestamp,
            record.partition,
        )

    def of_group(self, group: Group) -> Group:
        """The group under the logical table's topic."""
        route = self._known(group.topic)
        return group if route is None else route.of_group(group)

    def sought(self) -> Sought:
        """Physical tables."""
        return Sought(f"topic.regex '{self._config.topic_regex}'", self._topic.matched)

    def _known(self, topic: str) -> _Route | None:
        try:
            return self._routes[topic]
        except KeyError:
            route = self._routes[topic] = self._route(topic)
            return route

    def _route(self, topic: str) -> _Route | None:
        """Where the records of a topic go; None: nowhere else."""
        routed = self._topic(topic)
        if routed == "":
            log.warning("topic.replacement makes an empty name of topic %s: its records stay there", topic)
        return _Route(topic, routed, self._config) if routed else None


class _Route:
    """What is done to the records of one physical table."""

    def __init__(self, physical: str, topic: str, config: ByLogicalTableRouterConfig) -> None:
        adjust = schema_names(config.schema_name_adjustment_mode)
        self.topic = topic
        self._renamer = EnvelopeRenamer(topic, adjust)
        self._keys = _KeyMaker(physical, topic, config, adjust)
        self.value = self._renamer.rename
        self.key = self._keys.key

    def of_group(self, group: Group) -> Group:
        """The same for a whole group."""
        return self._renamer.of_group(self._keys.of_group(group._replace(topic=self.topic)))


class _KeyMaker:
    """Makes the logical table's keys: another schema name, and the field that tells the physical table."""

    def __init__(self, physical: str, topic: str, config: ByLogicalTableRouterConfig, adjust: Adjust) -> None:
        self._name = adjust(f"{topic}.Key")
        self._members: dict[str, str] = {}
        if config.key_enforce_uniqueness:
            self._members[config.key_field_name] = _physical_table(physical, config)
        self._values = tuple(self._members.values())
        self._old: Schema | None = None
        self._new: Schema | None = None

    def key(self, key: Datum | None) -> Datum | None:
        """The logical table's key for a physical table's key."""
        if isinstance(key, Struct):
            schema = key.schema
            if schema is not self._old or self._new is None:
                self._meet(schema)
            return Struct(self._new, key.values + self._values)  # type: ignore[arg-type] # it is met
        return None if key is None or is_null(key) else self.plain(key)

    def of_group(self, group: Group) -> Group:
        """The same for all keys of a group."""
        new = self._meet(group.key)
        return group._replace(key=new, added_to_key=group.added_to_key + self._values)

    def _meet(self, schema: Schema) -> Schema:
        self._new = schema.derived.get(self) or schema.derived.setdefault(self, self._renamed(schema))
        self._old = schema
        return self._new

    def plain(self, key: SchemaAndValue) -> SchemaAndValue:
        if not isinstance(key.value, dict):
            raise TransformError(
                f"the key is {type(key.value).__name__} and no struct: nothing can be added to it; "
                "give this transform a predicate that leaves such records out"
            )
        return SchemaAndValue(None, {**key.value, **self._members})

    def _renamed(self, schema: Schema) -> Schema:
        added = (Field(name, len(schema.fields) + at, STRING) for at, name in enumerate(self._members))
        return schema.replace(name=self._name, fields=(*schema.fields, *added), default=None)


def _physical_table(topic: str, config: ByLogicalTableRouterConfig) -> str:
    """What the key tells of the table that a topic belongs to."""
    if not config.key_field_regex.strip():
        return topic
    rewritten = TopicRewrite(config.key_field_regex, config.key_field_replacement)(topic)
    return topic if rewritten is None else rewritten
