"""The contract of a transform, held to by each of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.testing import TransformSuite, change_events
from transforms.recorded import written


class TestReadToInsertEvent(TransformSuite):
    type_name = "ReadToInsertEvent"


class TestRegexRouter(TransformSuite):
    type_name = "RegexRouter"

    def options(self) -> Mapping[str, Any]:
        return {"regex": "(.*)shop(.*)", "replacement": "$1store$2"}


class TestByLogicalTableRouter(TransformSuite):
    type_name = "ByLogicalTableRouter"

    def options(self) -> Mapping[str, Any]:
        return {"topic.regex": "(.*)orders", "topic.replacement": "$1all"}


class TestExtractNewRecordState(TransformSuite):
    type_name = "ExtractNewRecordState"

    def options(self) -> Mapping[str, Any]:
        return {"add.fields": "op,table,source.row", "add.headers": "op,transaction.id"}


class TestExtractNewRecordStateRewriting(TestExtractNewRecordState):
    def options(self) -> Mapping[str, Any]:
        return {**super().options(), "delete.tombstone.handling.mode": "rewrite-with-tombstone"}


class TestExtractNewRecordStateAlone(TransformSuite):
    """Rows alone, of one operation after the other, so that what is remembered of a template shows."""

    type_name = "ExtractNewRecordState"

    def options(self) -> Mapping[str, Any]:
        return {"add.fields": "op"}

    def events(self) -> Sequence[Record]:
        return change_events(templates=True)


class TestEventRouter(TransformSuite):
    type_name = "EventRouter"

    def options(self) -> Mapping[str, Any]:
        return {
            "table.field.event.key": "id",
            "table.field.event.payload": "note",
            "table.fields.additional.placement": "customer:header:who,price:envelope",
            "route.by.field": "state",
        }


class TestCast(TransformSuite):
    type_name = "Cast"

    def options(self) -> Mapping[str, Any]:
        return {"spec": "id:string,op:string,ts_ms:float64"}


class TestDropHeaders(TransformSuite):
    type_name = "DropHeaders"

    def options(self) -> Mapping[str, Any]:
        return {"headers": "connector"}


class TestFilter(TransformSuite):
    type_name = "Filter"

    def options(self) -> Mapping[str, Any]:
        return {}


class TestFlatten(TransformSuite):
    type_name = "Flatten"

    def options(self) -> Mapping[str, Any]:
        return {"delimiter": "_"}


class TestHoistField(TransformSuite):
    type_name = "HoistField"

    def options(self) -> Mapping[str, Any]:
        return {"field": "event"}


class TestInsertField(TransformSuite):
    type_name = "InsertField"

    def options(self) -> Mapping[str, Any]:
        return {"topic.field": "to", "timestamp.field": "at", "static.field": "who", "static.value": "me"}


class TestInsertHeader(TransformSuite):
    type_name = "InsertHeader"

    def options(self) -> Mapping[str, Any]:
        return {"header": "h", "value.literal": "12"}


class TestReplaceField(TransformSuite):
    type_name = "ReplaceField"

    def options(self) -> Mapping[str, Any]:
        return {"exclude": "source", "renames": "op:operation"}


class TestTimestampConverter(TransformSuite):
    type_name = "TimestampConverter"

    def options(self) -> Mapping[str, Any]:
        return {"field": "ts_ms", "target.type": "string", "format": "yyyy-MM-dd"}


class TestTimestampRouter(TransformSuite):
    type_name = "TimestampRouter"

    def options(self) -> Mapping[str, Any]:
        return {"topic.format": "${topic}-${timestamp}"}


class OfStructs(TransformSuite):
    """For transforms that do not take what has no fields."""

    def events(self) -> Sequence[Record]:
        return [event for event in change_events() if isinstance(event.value, Struct) and "op" in event.value]

    def test_envelopes_of_a_template_are_read_as_plain_ones_are(self) -> None:
        templates = [event for event in change_events(templates=True) if event.value and event.value.schema]
        given = [event for event in templates if isinstance(event.value, Struct) and "op" in event.value]
        assert list(map(written, self.applied(given))) == list(map(written, self.applied(self.events())))


class TestExtractField(OfStructs):
    type_name = "ExtractField"

    def options(self) -> Mapping[str, Any]:
        return {"field": "source"}


class TestHeaderFrom(OfStructs):
    type_name = "HeaderFrom"

    def options(self) -> Mapping[str, Any]:
        return {"fields": "op,source", "headers": "operation,from", "operation": "move"}


class TestMaskField(OfStructs):
    type_name = "MaskField"

    def options(self) -> Mapping[str, Any]:
        return {"fields": "op,ts_ms"}


class TestSetSchemaMetadata(OfStructs):
    type_name = "SetSchemaMetadata"

    def options(self) -> Mapping[str, Any]:
        return {"schema.name": "other", "schema.version": 3}


class TestValueToKey(OfStructs):
    type_name = "ValueToKey"

    def options(self) -> Mapping[str, Any]:
        return {"fields": "op,ts_ms"}


class TestExtractChangedRecordState(TransformSuite):
    type_name = "ExtractChangedRecordState"

    def options(self) -> Mapping[str, Any]:
        return {"header.changed.name": "changed", "header.unchanged.name": "unchanged"}


class TestPartitionRouting(TransformSuite):
    type_name = "PartitionRouting"

    def options(self) -> Mapping[str, Any]:
        return {"partition.payload.fields": "change.id,source.table", "partition.topic.num": 5}


class TestSchemaChangeEventFilter(TransformSuite):
    type_name = "SchemaChangeEventFilter"

    def options(self) -> Mapping[str, Any]:
        return {"schema.change.event.exclude.list": "DROP,TRUNCATE"}


class TestScriptFilter(TransformSuite):
    type_name = "ScriptFilter"

    def options(self) -> Mapping[str, Any]:
        return {
            "language": "jsr223.groovy",
            "condition": "value.op == 'u' && value.after.id == 2",
            "topic.regex": ".*orders",
        }


class TestContentBasedRouter(TransformSuite):
    type_name = "ContentBasedRouter"

    def options(self) -> Mapping[str, Any]:
        expression = "value.op === 'u' ? 'updates' : value.before?.id === 3 ? topic + '.gone' : null"
        return {"language": "jsr223.graal.js", "topic.expression": expression, "topic.regex": ".*orders"}


class TestHeaderToValue(OfStructs):
    type_name = "HeaderToValue"

    def options(self) -> Mapping[str, Any]:
        return {"headers": "connector", "fields": "source.from", "operation": "move"}


class TestEnforceRecordSize(TransformSuite):
    type_name = "EnforceRecordSize"

    def options(self) -> Mapping[str, Any]:
        return {"max.bytes": 700, "min.field.size": 2}


class TestVectorToJsonConverter(OfStructs):
    type_name = "VectorToJsonConverter"


class TestTimezoneConverter(TransformSuite):
    type_name = "TimezoneConverter"

    def options(self) -> Mapping[str, Any]:
        return {"converted.timezone": "Asia/Tokyo", "include.list": "source:orders, orders:source.ts_ms"}


class TestGeometryFormatTransformer(TransformSuite):
    type_name = "GeometryFormatTransformer"


class TestSwapGeometryCoordinates(TransformSuite):
    type_name = "SwapGeometryCoordinates"
