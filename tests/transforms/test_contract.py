"""The contract of a transform, held to by each of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cdckit.api.record import Record
from cdckit.testing import TransformSuite, change_events


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
