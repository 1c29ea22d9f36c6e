"""ExtractNewRecordState: of a change event, the row as it is after the change (Debezium's transform of that name)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdckit import (
    OPTIONAL_STRING,
    STRING,
    Datum,
    Group,
    Header,
    Record,
    Schema,
    SchemaAndValue,
    Struct,
    Template,
    TemplateStruct,
    Transform,
    TransformError,
)
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.dropped_fields import DroppedFields
from cdckit_transforms.envelope import (
    AFTER,
    BEFORE,
    DELETE,
    OPERATION,
    Get,
    Holes,
    Layouts,
    getter,
    is_null,
    is_plain_envelope,
)
from cdckit_transforms.extended_schema import extended, with_defaults
from cdckit_transforms.extract_new_record_state_config import ExtractNewRecordStateConfig
from cdckit_transforms.field_reference import MISSING, Extract, FieldReference, parse_references

DELETED = "__deleted"
_NO_NAMES: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Envelope:
    """What is known of envelopes of one schema.

    Attributes:
        before: takes the row before the change.
        after: takes the row after it.
        null_schema: the schema of a row that is null.
        row: the schema of a row, with `__deleted` where that is asked for.
        whole: the schema of a row with all that is added to it.
        fields: what is added to rows.
        headers: what is added to headers.
    """

    before: Get
    after: Get
    null_schema: Schema
    row: Schema
    whole: Schema
    fields: Extract
    headers: Extract


class ExtractNewRecordState(Transform):
    """Puts the row in the envelope's place; what is no envelope (DDL, transactions, heartbeats) passes unchanged.

    A TRUNCATE has no row and is left out.
    """

    def __init__(self, config: ExtractNewRecordStateConfig) -> None:
        self._config = config
        self._handling = config.handling
        self._fields = parse_references(config.add_fields, config.add_fields_prefix)
        self._headers = parse_references(config.add_headers, config.add_headers_prefix)
        self._deleted_member = ((DELETED, OPTIONAL_STRING),) if self._handling.rewrites else ()
        self._is = (("false",), ("true",)) if self._handling.rewrites else ((), ())
        self._fills_nulls = self._handling.rewrites and config.replace_null_with_default
        self._dropped = DroppedFields(
            config.drop_fields_header_name,
            keep_compatible=config.drop_fields_keep_schema_compatible,
            from_key=config.drop_fields_from_key,
        )
        self._drops = bool(config.drop_fields_header_name)
        self._layouts = Layouts(self._envelope)
        self._shared_headers = _SharedHeaders()
        self._plain_rows = not (self._drops or self._headers or config.route_by_field)
        self._template: Template | None = None
        """The one whose structs differ in nothing but their rows; what they share is known."""
        self._row_at = 0
        self._shared: tuple[Any, ...] = ()
        self._whole: Schema | None = None

    def apply(self, record: Record) -> Record | None:
        """The record with its row, or None where nothing of it stays.

        Raises:
            TransformError: a row lacks the field of `route.by.field`, or has one that is to be added.
        """
        value = record.value
        if value.__class__ is TemplateStruct and value.template is self._template:
            row = value.fills[self._row_at]
            if row is not None:
                return self._alike(record, row)
        if isinstance(value, Struct):
            envelope = self._layouts.of(value)
            if envelope is None:
                return record
            row = envelope.after(value)
            if row is not None:
                if self._plain_rows and isinstance(value, TemplateStruct):
                    self._meet(value, envelope)
                return self._changed(record, value, envelope, row)
            row = envelope.before(value)
            return None if row is None else self._deleted(record, value, envelope, row)
        if value is None or is_null(value):
            return self._tombstone(record)
        return self._plain(record, value.value) if is_plain_envelope(value) else record

    def of_group(self, group: Group) -> Group | None:
        """The rows of a group, where nothing else of a record is asked for."""
        if group.row is not None or not self._plain_rows:
            return group if group.row is not None else None
        value = TemplateStruct(group.template, ())
        envelope = self._layouts.of(value)
        if envelope is None:
            return group
        at = (group.template.schema.index[AFTER],)
        if at not in group.template.holes or not envelope.fields.is_shared:
            return None
        return group._replace(
            row=group.template.holes.index(at),
            row_schema=envelope.whole,
            added_to_row=self._is[0] + envelope.fields.values(value),
            defaults=_defaults(envelope.null_schema) if self._fills_nulls else (),
        )

    def _meet(self, value: TemplateStruct, envelope: _Envelope) -> None:
        """Notes what the structs of a template share, where their rows alone differ and nothing else is asked for."""
        at = value.schema.index[AFTER]
        if (at,) in value.template.holes and envelope.fields.is_shared:
            self._template, self._row_at = value.template, value.template.holes.index((at,))
            self._whole, self._shared = envelope.whole, self._is[0] + envelope.fields.values(value)

    def _alike(self, record: Record, row: Struct) -> Record:
        """The record with a row of a template that was met."""
        values = row.values
        if self._fills_nulls and None in values:
            values = with_defaults(values, row.schema)
        made = Struct(self._whole, values + self._shared)  # type: ignore[arg-type] # it is noted with the template
        return Record(
            record.topic, record.key, made, record.headers, record.position, record.timestamp, record.partition
        )

    def _changed(self, record: Record, value: Struct, envelope: _Envelope, row: Struct) -> Record:
        values = with_defaults(row.values, row.schema) if self._fills_nulls else row.values
        made = Struct(envelope.whole, values + self._is[0] + envelope.fields.values(value))
        headers = self._headers_of(record, value, envelope)
        topic = self._topic(record, row) if self._config.route_by_field else record.topic
        names = self._dropped.names(record.headers) if self._drops else _NO_NAMES
        if not names:
            return Record(topic, record.key, made, headers, record.position, record.timestamp, record.partition)
        return Record(
            topic,
            self._dropped.from_key(record.key, names),
            self._dropped.from_value(made, names),
            headers,
            record.position,
            record.timestamp,
            record.partition,
        )

    def _deleted(self, record: Record, value: Struct, envelope: _Envelope, row: Struct) -> Record | None:
        if self._handling.deletes == "drop":
            return None
        names = self._dropped.names(record.headers) if self._drops else _NO_NAMES
        return Record(
            self._topic(record, row) if self._config.route_by_field else record.topic,
            self._dropped.from_key(record.key, names) if names else record.key,
            self._deleted_value(value, envelope, row, names),
            self._headers_of(record, value, envelope),
            record.position,
            record.timestamp,
            record.partition,
        )

    def _deleted_value(self, value: Struct, envelope: _Envelope, row: Struct, names: frozenset[str]) -> Datum | None:
        if self._handling.deletes == "tombstone":
            return None
        if self._handling.deletes == "null":
            return SchemaAndValue(envelope.null_schema, None)
        values = with_defaults(row.values, row.schema) if self._fills_nulls else row.values
        added = envelope.fields.values(value)
        if not names:
            return Struct(envelope.whole, values + self._is[1] + added)
        made = self._dropped.from_value(Struct(envelope.row, values + self._is[1]), names)
        assert isinstance(made, Struct)
        return Struct(extended(made.schema, envelope.fields.members), made.values + added)

    def _tombstone(self, record: Record) -> Record | None:
        if not self._handling.keeps_tombstones:
            return None
        told = [Header(r.new_name, DELETE, STRING) for r in self._headers if r.name == OPERATION]
        return record.replace(headers=(*record.headers, *told)) if told else record

    def _headers_of(self, record: Record, value: Struct, envelope: _Envelope) -> tuple[Header, ...]:
        if not self._headers:
            return record.headers
        return self._shared_headers.of(record.headers, envelope.headers, envelope.headers.values(value))

    def _topic(self, record: Record, row: Struct) -> str:
        field = self._config.route_by_field
        if field not in row:
            raise TransformError(f"the row has no field '{field}' to route by (route.by.field)")
        if (kind := row.schema.field(field).schema.type) != "string":
            raise TransformError(f"field '{field}' (route.by.field) is {kind}, no text")
        return self._topic_named(record, row[field])

    def _topic_named(self, record: Record, name: Any) -> str:
        if name is not None and not isinstance(name, str):
            raise TransformError(f"field '{self._config.route_by_field}' (route.by.field) holds {name!r}, no text")
        return name if name and name.strip() else record.topic

    def _envelope(self, schema: Schema, holes: Holes) -> _Envelope | None:
        if not is_envelope(schema) or AFTER not in schema.index:
            return None
        before, after = schema.index.get(BEFORE, schema.index[AFTER]), schema.index[AFTER]
        row = schema.fields[after].schema
        if row.type != "struct":
            raise TransformError(
                f"{schema.name}: '{AFTER}' is {row.type} and no struct; for MongoDB use ExtractNewDocumentState"
            )
        fields = Extract(self._fields, schema, holes)
        extended_row = extended(row, self._deleted_member)
        return _Envelope(
            before=getter((before,), holes),
            after=getter((after,), holes),
            null_schema=row,
            row=extended_row,
            whole=extended(extended_row, fields.members) if fields.members else extended_row,
            fields=fields,
            headers=Extract(self._headers, schema, holes),
        )

    def _plain(self, record: Record, envelope: dict[str, Any]) -> Record | None:
        """The same for an envelope without a schema."""
        row, deleted = envelope.get(AFTER), "false"
        if row is None:
            row, deleted = envelope.get(BEFORE), "true"
        if row is None or (deleted == "true" and self._handling.deletes == "drop"):
            return None
        names = self._dropped.names(record.headers) if self._drops else _NO_NAMES
        value: SchemaAndValue | None = None
        if deleted == "false" or self._handling.rewrites:
            flag = {DELETED: deleted} if self._handling.rewrites else {}
            added = dict(_found(self._fields, envelope))
            value = SchemaAndValue(None, {**row, **flag, **added})
        told = (Header(name, found, None) for name, found in _found(self._headers, envelope))
        return record.replace(
            topic=self._topic_named(record, row.get(self._config.route_by_field)),
            key=self._dropped.from_key(record.key, names),
            value=self._dropped.from_value(value, names),
            headers=(*record.headers, *told),
        )


def _defaults(row: Schema) -> tuple[Any, ...]:
    """What stands for null in each column; nothing where no column has a default."""
    defaults = tuple(field.schema.default for field in row.fields)
    return () if all(default is None for default in defaults) else defaults


def _found(references: tuple[FieldReference, ...], envelope: dict[str, Any]) -> list[tuple[str, Any]]:
    looked_up = [(reference.new_name, reference.look_up(envelope)) for reference in references]
    return [(name, value) for name, value in looked_up if value is not MISSING]


class _SharedHeaders:
    """Adds values to headers; records whose headers would be equal share one tuple, which serializers encode once."""

    def __init__(self) -> None:
        self._given: tuple[Header, ...] | None = None
        self._extract: Extract | None = None
        self._values: tuple[Any, ...] = ()
        self._made: tuple[Header, ...] = ()

    def of(self, given: tuple[Header, ...], extract: Extract, values: tuple[Any, ...]) -> tuple[Header, ...]:
        if given is not self._given or extract is not self._extract or values != self._values:
            members = zip(extract.members, values, strict=True)
            told = (Header(name, value, schema) for (name, schema), value in members)
            self._made = (*given, *told)
            self._given, self._extract, self._values = given, extract, values
        return self._made
