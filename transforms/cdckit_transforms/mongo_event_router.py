"""MongoEventRouter: the documents of an outbox collection as the events that they hold (Debezium's transform)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, model_validator

from cdckit import Datum, PluginConfig, Record, Struct, logical
from cdckit.connector.envelope import is_envelope
from cdckit.java.regex import JavaRegex
from cdckit_transforms.canonical_json import canonical, is_document
from cdckit_transforms.document_schemas import TIMESTAMP, DocumentReader, Typed, parse
from cdckit_transforms.envelope import AFTER, OPERATION, is_null
from cdckit_transforms.event_router import EventRouter
from cdckit_transforms.event_router_config import EventRouterConfig, Placements
from cdckit_transforms.folding import folded
from cdckit_transforms.outbox_table import Words

_TIME = logical.TIMESTAMP.replace(optional=True)
_MILLISECONDS = ("int32", "int64")


class MongoEventRouterConfig(PluginConfig):
    """Which fields the documents of the outbox have, and what becomes of them."""

    collection_field_event_id: str = "_id"
    """The field with the event's unique id, which goes into the header `id`."""
    collection_field_event_key: str = "aggregateid"
    """The field that becomes the record's key; empty: records have no key."""
    collection_field_event_payload: str = "payload"
    """The field that becomes the record's value."""
    collection_field_event_timestamp: str = ""
    """A field with a date, or with milliseconds since 1970, that becomes the record's timestamp; else, and where it is
    null, the time of capture.
    """
    collection_field_event_schema_version: str = ""
    """A field with a whole number that becomes the version of the value's schema."""
    collection_fields_additional_placement: Placements = ""
    """More fields that go with the event: a comma-separated list of `FIELD:WHERE` or `FIELD:WHERE:ALIAS`, where WHERE
    is `header`, `envelope` or `partition`.
    """
    collection_field_additional_missing: Annotated[Literal["error", "ignore"], BeforeValidator(folded)] = "error"
    """What to do where a document lacks such a field."""
    collection_expand_json_payload: bool = False
    """Whether a payload that is a document, or JSON text, becomes a struct; else it is a text, a document as canonical
    Extended JSON.
    """
    collection_op_invalid_behavior: Annotated[Literal["warn", "error", "fatal"], BeforeValidator(folded)] = "warn"
    """What to do with a change that an outbox should not see, such as an update."""
    route_by_field: str = "aggregatetype"
    """The field that says where the event goes."""
    route_topic_regex: JavaRegex = "(?<routedByValue>.*)"
    """A Java regular expression that the whole of that field's text must match; otherwise it is itself the topic."""
    route_topic_replacement: str = "outbox.event.${routedByValue}"
    """The topic; `$1` and `${name}` stand for what the regex's groups matched."""
    route_tombstone_on_empty_payload: bool = False
    """Whether an event whose payload is null or blank becomes a tombstone."""

    renamed: ClassVar[Mapping[str, str]] = {"table.op.invalid.behavior": "collection.op.invalid.behavior"}
    passed_over: ClassVar[tuple[str, ...]] = (r"collection\.field\.event\.type", r"tracing\..*")

    @model_validator(mode="after")
    def _routes(self) -> MongoEventRouterConfig:
        self.as_table()
        return self

    def as_table(self) -> EventRouterConfig:
        """The same for a table."""
        values = self.model_dump()
        named = {
            ("table" + name.removeprefix("collection") if name.startswith("collection") else name).replace(
                "_", "."
            ): value
            for name, value in values.items()
        }
        return EventRouterConfig.load(named, "")[0]


class MongoEventRouter(EventRouter):
    """An inserted document becomes the event that it holds, in the topic that it names."""

    words: ClassVar[Words] = Words("document", "field", "collection")

    def __init__(self, config: MongoEventRouterConfig) -> None:
        super().__init__(config.as_table())
        self._reader = DocumentReader()
        self._payload = config.collection_field_event_payload
        self._time = config.collection_field_event_timestamp
        self._expands = config.collection_expand_json_payload

    def apply(self, record: Record) -> Record | None:
        """The event of an inserted document.

        Raises:
            TransformError: the document lacks a field, or one does not hold what it should.
        """
        value = record.value
        if value is None or is_null(value):
            return None
        if not isinstance(value, Struct) or not is_envelope(value.schema):
            return record
        text = value[AFTER]
        row = None if text is None else self._row(text, str(value.schema.field(AFTER).schema.name))
        return self._routed(record, value[OPERATION], row, value["ts_ms"])

    def _expanded(self, record: Record, payload: Any) -> Datum | None:
        return payload if isinstance(payload, Struct) else super()._expanded(record, payload)

    def _row(self, text: str, name: str) -> Struct:
        """The document as a table's row; a payload that stays a text is the document's own."""
        document = parse(text)
        payload = document.get(self._payload)
        if is_document(payload) and not self._expands:
            document[self._payload] = canonical(payload)
        members = self._reader.members(document, name)
        time = members.get(self._time)
        if time is not None and (time.schema == TIMESTAMP or time.schema.type in _MILLISECONDS or time.value is None):
            members[self._time] = Typed(_TIME, time.value)
        return self._reader.struct(members, name)
