"""Random options of Kafka Connect's own transforms, by class; wrong ones among them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from transforms.random_records import NAMES

Options = dict[str, Any]

TYPES = ("int8", "int16", "int32", "int64", "float32", "float64", "boolean", "string", "STRING")
FORMATS = ("yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "EEE, d MMM yy hh:mm a", "", "yyyy.MM.dd G")
LITERALS = (
    "plain", "true", "null", "12", "300", "-70000", "1e5", "3.14", "1e300", "12345678901234567890", "2024-02-29",
    "12:30:00.000Z", "2024-02-29T12:30:00.000Z", "[1, 2, 300]", '["a", "b"]', '{"a": 1, "b": 2}', "[1, 2.5]", "[1",
    '"quoted"', " 7 ", "a:b", "1:2", "[true,false]", "{\\\"a\\\": 1}", "", "-", "+5", '["2024-02-29"]', '{"a" : "x"}',
)  # fmt: skip


def _names(random: Random) -> str:
    return ", ".join(random.sample(NAMES, random.randint(1, 3)))


def _cast(random: Random) -> Options:
    if random.random() < 0.3:
        return {"spec": random.choice(TYPES)}
    return {"spec": ",".join(f"{name}:{random.choice(TYPES)}" for name in random.sample(NAMES, random.randint(1, 4)))}


def _extract_field(random: Random) -> Options:
    if random.random() < 0.5:
        return {"field": random.choice(NAMES)}
    path = random.choice(("inner.id", "inner", "`a.b`", "inner.`a.b`", "inner.inner.name", "id", "`é`", "x.", "`a"))
    return {"field": path, "field.syntax.version": random.choice(("V2", "v2", "V2", "V1"))}


def _flatten(random: Random) -> Options:
    made: tuple[Options, ...] = ({}, {"delimiter": "_"}, {"delimiter": ""})
    return random.choice(made)


def _header_from(random: Random) -> Options:
    fields = random.sample(NAMES, random.randint(1, 2))
    headers = [random.choice(("h", "x")) for _ in fields]
    return {"fields": ",".join(fields), "headers": ",".join(headers), "operation": random.choice(("copy", "move"))}


def _hoist_field(random: Random) -> Options:
    return {"field": random.choice(NAMES)}


def _insert_field(random: Random) -> Options:
    places = random.sample(("topic.field", "partition.field", "timestamp.field", "static.field"), random.randint(0, 3))
    made: Options = {place: f"x{place[0]}{random.choice(('', '?', '!'))}" for place in places}
    if random.random() < 0.2:
        made["topic.field"] = "id"
    if random.random() < 0.8:
        made["static.value"] = "fixed"
    return made


def _mask_field(random: Random) -> Options:
    replacement = random.choice((None, None, None, "x", "12", "3.5", "-1", ""))
    return {"fields": _names(random), **({} if replacement is None else {"replacement": replacement})}


def _replace_field(random: Random) -> Options:
    made: Options = {}
    if random.random() < 0.6:
        made["exclude"] = _names(random)
    if random.random() < 0.4:
        made["include"] = _names(random)
    if random.random() < 0.6:
        made["renames"] = ",".join(f"{name}:{name}2" for name in random.sample(NAMES, random.randint(1, 3)))
    return made


def _set_schema_metadata(random: Random) -> Options:
    name, version = {"schema.name": "x.Y"}, {"schema.version": 7}
    made: tuple[Options, ...] = (name, version, {**name, **version}, {})
    return random.choice(made)


def _timestamp_converter(random: Random) -> Options:
    return {
        "field": random.choice(("", "at", "day", "id", "name")),
        "target.type": random.choice(("string", "unix", "Date", "Time", "Timestamp")),
        "format": random.choice(FORMATS),
        "unix.precision": random.choice(("seconds", "milliseconds", "microseconds", "nanoseconds")),
    }


def _timestamp_router(random: Random) -> Options:
    pattern = random.choice(("yyyyMMdd", "YYYY-ww", "yyyy-MM-dd-HH", "HHmmss", "yyyy-'q'", "bogus"))
    return {"timestamp.format": pattern, **random.choice(({}, {"topic.format": "x-${timestamp}-${topic}"}))}


OF_RECORDS: dict[str, Callable[[Random], Options]] = {
    "DropHeaders": lambda random: {"headers": random.choice(("h", "h,mark", "mark , id", ""))},
    "Filter": lambda _: {},
    "InsertHeader": lambda random: {"header": random.choice(("h", "x")), "value.literal": random.choice(LITERALS)},
    "TimestampRouter": _timestamp_router,
    "ValueToKey": lambda random: {"fields": _names(random)},
}
OF_PARTS: dict[str, Callable[[Random], Options]] = {
    "Cast": _cast,
    "ExtractField": _extract_field,
    "Flatten": _flatten,
    "HeaderFrom": _header_from,
    "HoistField": _hoist_field,
    "InsertField": _insert_field,
    "MaskField": _mask_field,
    "ReplaceField": _replace_field,
    "SetSchemaMetadata": _set_schema_metadata,
    "TimestampConverter": _timestamp_converter,
}
WITHOUT_NULLS = ("Flatten", "HoistField", "DropHeaders", "Filter", "InsertHeader", "TimestampRouter")
"""The transforms that have no `replace.null.with.default`."""


SMALLEST: dict[str, Options] = {
    "Cast": {"spec": "int8"},
    "DropHeaders": {"headers": "h"},
    "EnforceRecordSize": {"max.bytes": 1},
    "ExtractField": {"field": "a"},
    "HeaderFrom": {"fields": "a", "headers": "h", "operation": "copy"},
    "HeaderToValue": {"fields": "a", "headers": "h", "operation": "copy"},
    "HoistField": {"field": "a"},
    "InsertField": {"topic.field": "a"},
    "InsertHeader": {"header": "h", "value.literal": "a"},
    "MaskField": {"fields": "a"},
    "PartitionRouting": {"partition.payload.fields": "op", "partition.topic.num": 2},
    "ContentBasedRouter": {"language": "groovy", "topic.expression": "topic"},
    "ScriptFilter": {"language": "groovy", "condition": "true"},
    "SchemaChangeEventFilter": {"schema.change.event.exclude.list": "DROP"},
    "SetSchemaMetadata": {"schema.name": "a"},
    "TimestampConverter": {"target.type": "unix"},
    "TimezoneConverter": {"converted.timezone": "UTC"},
    "ValueToKey": {"fields": "a"},
}
"""What must be given at least."""


def options(name: str, random: Random) -> Options:
    """Random options of a transform."""
    made = {**OF_RECORDS, **OF_PARTS}[name](random)
    if name not in WITHOUT_NULLS and random.random() < 0.5:
        made["replace.null.with.default"] = random.choice(("true", "false"))
    return made
