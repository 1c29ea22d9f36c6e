"""ReadToInsertEvent: a snapshot's events become inserts (Debezium's transform of that name)."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import (
    Group,
    PluginConfig,
    Record,
    Schema,
    SchemaAndValue,
    Struct,
    Template,
    TemplateStruct,
    Transform,
    filled,
)
from cdckit.connector.envelope import is_envelope
from cdckit_transforms.envelope import (
    CREATE,
    OPERATION,
    READ,
    Get,
    Holes,
    Layouts,
    getter,
    is_plain_envelope,
    with_value,
)


class ReadToInsertEventConfig(PluginConfig):
    """There is nothing to set."""


@dataclass(frozen=True, slots=True)
class _Envelope:
    """Where an envelope's operation stands.

    Attributes:
        at: its index.
        operation: takes it out of a struct.
        shared: whether it is the template's, the same for all its structs.
    """

    at: int
    operation: Get
    shared: bool


class ReadToInsertEvent(Transform):
    """Turns `op: r` into `op: c`; every other record stays as it is."""

    def __init__(self, config: ReadToInsertEventConfig) -> None:
        self._layouts = Layouts(_envelope)
        self._reads: Template | None = None
        self._inserts: Template | None = None

    def apply(self, record: Record) -> Record:
        """The record as an insert."""
        value = record.value
        if value.__class__ is TemplateStruct and value.template is self._reads:
            made = TemplateStruct(self._inserts, value.fills)  # type: ignore[arg-type]
            return Record(
                record.topic, record.key, made, record.headers, record.position, record.timestamp, record.partition
            )
        if isinstance(value, Struct):
            envelope = self._layouts.of(value)
            if envelope is None or envelope.operation(value) != READ:
                return record
            return with_value(record, self._insert(value, envelope))
        if value is not None and is_plain_envelope(value) and value.value[OPERATION] == READ:
            return with_value(record, SchemaAndValue(None, {**value.value, OPERATION: CREATE}))
        return record

    def of_group(self, group: Group) -> Group | None:
        """The group as inserts; records whose operations differ are seen one by one."""
        if group.row is not None:
            return group
        value = TemplateStruct(group.template, ())
        envelope = self._layouts.of(value)
        if envelope is None:
            return group
        if not envelope.shared:
            return None
        if envelope.operation(value) != READ:
            return group
        insert = self._insert(value, envelope)
        return group._replace(template=insert.template) if isinstance(insert, TemplateStruct) else None

    def _insert(self, value: Struct, envelope: _Envelope) -> Struct:
        if not isinstance(value, TemplateStruct) or not envelope.shared:
            return Struct(value.schema, filled(value.values, (envelope.at,), CREATE))
        template = value.template
        if self._inserts is None or template is not self._reads:
            values = filled(template.values, (envelope.at,), CREATE)
            self._inserts = Template(template.schema, values, template.holes)
            self._reads = template
        return TemplateStruct(self._inserts, value.fills)


def _envelope(schema: Schema, holes: Holes) -> _Envelope | None:
    if not is_envelope(schema) or OPERATION not in schema.index:
        return None
    at = schema.index[OPERATION]
    return _Envelope(at, getter((at,), holes), shared=bool(holes) and (at,) not in holes)
