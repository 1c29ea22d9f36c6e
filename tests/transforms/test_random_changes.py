"""Debezium's transforms of change events against its Java classes, on random events."""

from __future__ import annotations

import base64
import json
import struct
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as some

from cdckit.api.plugins import config_model, find
from cdckit.engine.chain import build_chain
from cdckit.errors import TransformError
from transforms.fitting import fitting
from transforms.jvm import jpype, start_jvm
from transforms.random_records import NAMES, TEXTS, Event, Json, primitive, value
from transforms.recorded import written
from transforms.recordings.record import Peer
from transforms.test_against_kafka import compare, read

JAVA = "io.debezium.transforms"
OPTIONS: dict[str, tuple[dict[str, Any], ...]] = {
    "EnforceRecordSize": (
        {"max.bytes": 1500, "min.field.size": 20},
        {"max.bytes": 900, "min.field.size": 0, "compression.ratio": 0.7},
    ),
    "ExtractChangedRecordState": ({"header.changed.name": "c", "header.unchanged.name": "u"}, {}),
    "ExtractSchemaToNewRecord": ({},),
    "GeometryFormatTransformer": ({"format": "wkb"}, {"format": "ewkb"}),
    "SwapGeometryCoordinates": ({}, {"srids": "3857, 7"}),
    "TimezoneConverter": (
        {"converted.timezone": "Europe/Berlin"},
        {"converted.timezone": "-03:30", "include.list": "source:t:id, t:at"},
        {"converted.timezone": "America/New_York", "include.list": "topic:s.t:after.name,s.t:source.ts_ms"},
        {"converted.timezone": "Asia/Kathmandu", "exclude.list": "source:t:id, t:source.ts_us"},
        {"converted.timezone": "+05:00", "exclude.list": "t:id, other"},
    ),
    "VectorToJsonConverter": ({},),
    "partitions.PartitionRouting": (
        {"partition.payload.fields": "after.id,after.name,change.at,op", "partition.topic.num": 31},
        {
            "partition.payload.fields": "change.id, change.name",
            "partition.topic.num": 9,
            "partition.hash.function": "MURMUR",
        },
    ),
}
NOT_READ_AS_IN_THE_SOURCE = ("bytes",)
"""What a converter reads as other classes than those of a source: some of Debezium's transforms fail at them."""
FLOATS = {"type": "array", "items": {"type": "float", "optional": False}, "name": "io.debezium.data.FloatVector"}
DOUBLES = {"type": "array", "items": {"type": "double", "optional": True}, "name": "io.debezium.data.DoubleVector"}
SPARSE = {
    "type": "struct",
    "name": "io.debezium.data.SparseDoubleVector",
    "fields": [
        {"type": "int16", "optional": False, "field": "dimensions"},
        {
            "type": "map",
            "keys": {"type": "int16", "optional": False},
            "values": {"type": "double", "optional": False},
            "optional": False,
            "field": "vector",
        },
    ],
}


GEOMETRY = {
    "type": "struct",
    "name": "io.debezium.data.geometry.Geometry",
    "version": 1,
    "fields": [
        {"type": "bytes", "optional": False, "field": "wkb"},
        {"type": "int32", "optional": True, "field": "srid"},
    ],
}
SOURCE_FIELDS = (
    {"type": "string", "optional": False, "field": "table"},
    {"type": "int64", "optional": False, "field": "ts_ms"},
    {"type": "int64", "optional": True, "field": "ts_us"},
)


def _column(random: Random, name: str, *, vectors: bool) -> Json:
    while (schema := primitive(random))["type"] in NOT_READ_AS_IN_THE_SOURCE:
        pass
    if vectors and random.random() < 0.3:
        schema = {**random.choice((FLOATS, DOUBLES, SPARSE, GEOMETRY, GEOMETRY))}
    told = {"name": name, "type": "INT", **random.choice(({}, {"length": "10", "scale": "2"}, {"comment": "c"}))}
    schema["parameters"] = {f"__debezium.source.column.{part}": text for part, text in told.items()}
    if random.random() < 0.4:
        schema = {**_moment(random), "parameters": schema["parameters"]}
    elif random.random() < 0.2 and schema["type"] == "string":
        schema["default"] = "none"
    return {**schema, "optional": random.random() < 0.5, "field": name}


def _moment(random: Random) -> Json:
    kind, name = random.choice(
        (("int64", "Timestamp"), ("int64", "MicroTimestamp"), ("int64", "NanoTimestamp"), ("string", "ZonedTimestamp"),
         ("string", "ZonedTime"), ("int32", "Date")),
    )  # fmt: skip
    return {"type": kind, "name": f"io.debezium.time.{name}", "version": 1}


def _shape(random: Random, depth: int = 0, srid: int | None = None) -> bytes:
    """A geometry of any type as WKB, or with a number as EWKB."""
    order, dimensions = random.choice("<>"), random.choice((2, 2, 3))
    kind = random.randint(1, 3 if depth else 7)
    points = struct.pack(f"{order}{dimensions * 2}d", *(random.uniform(-90, 90) for _ in range(dimensions * 2)))
    line = struct.pack(f"{order}I", 2) + points
    head = struct.pack(f"{order}BI", order == "<", kind | (dimensions == 3) << 31 | (srid is not None) << 29)
    head += b"" if srid is None else struct.pack(f"{order}i", srid)
    one = {1: points[: len(points) // 2], 2: line, 3: struct.pack(f"{order}I", 1) + line}
    if kind < 4:
        return head + one[kind]
    part = struct.pack(f"{order}BI", order == "<", kind - 3 | (dimensions == 3) << 31)
    inside = part + one[kind - 3] if kind < 7 else _same_order(random, order)
    return head + struct.pack(f"{order}I", 2) + inside + inside


def _same_order(random: Random, order: str) -> bytes:
    """A part of a collection; Debezium writes the numbers of parts in the collection's byte order."""
    while (shape := _shape(random, 1))[0] != (order == "<"):
        pass
    return shape


def _geometry(random: Random) -> Json:
    srid = random.choice((4326, 3857, 7))
    data = _shape(random, 0, srid if random.random() < 0.3 else None)
    return {"wkb": base64.b64encode(data).decode(), "srid": srid}


def _row(random: Random, columns: list[Json]) -> Json:
    row: Json = {}
    for column in columns:
        if column.get("name") == SPARSE["name"]:
            row[column["field"]] = {"dimensions": 5, "vector": [[at, at / 4] for at in (1, 4)]}
        elif column.get("name") == GEOMETRY["name"]:
            row[column["field"]] = _geometry(random)
        elif str(column.get("name")).endswith(".ZonedTimestamp"):
            fraction = random.choice(("", ".5", ".123456", ".000000001", ".100"))
            row[column["field"]] = (
                f"{random.randrange(1950, 2040)}-{_two(random, 13)}-{_two(random, 29)}{_time(random, fraction)}"
            )
        elif str(column.get("name")).endswith(".ZonedTime"):
            row[column["field"]] = _time(random, "")[1:]
        elif column["type"] == "string" and random.random() < 0.5:
            row[column["field"]] = random.choice(TEXTS[-4:]) * random.randrange(40)
        else:
            row[column["field"]] = value(random, column)
    return row


def _two(random: Random, end: int) -> str:
    return f"{random.randrange(1, end):02d}"


def _time(random: Random, fraction: str) -> str:
    zone = random.choice(("Z", "Z", "+02:00", "-11:30"))
    return f"T{_two(random, 24)}:{_two(random, 60)}:{_two(random, 60)}{fraction}{zone}"


def _change(random: Random, *, vectors: bool) -> Event:
    columns = [_column(random, name, vectors=vectors) for name in random.sample(NAMES, random.randint(1, 6))]
    row = {"type": "struct", "optional": True, "name": "s.t.Value", "fields": columns}
    source = {"type": "struct", "optional": False, "name": "S", "fields": [*map(dict, SOURCE_FIELDS)]}
    fields = [
        {**row, "field": "before"},
        {**row, "field": "after"},
        {**source, "field": "source"},
        {"type": "string", "optional": False, "field": "op"},
    ]
    op = random.choice("cudr")
    before = _row(random, columns) if op in "ud" else None
    after = None if op == "d" else {**before} if before and random.random() < 0.3 else _row(random, columns)
    payload = {
        "before": before,
        "after": after,
        "source": {"table": "t", "ts_ms": 1_700_000_000_123, "ts_us": 1_720_000_000_123_456},
        "op": op,
    }
    schema = {"type": "struct", "optional": False, "name": "s.t.Envelope", "version": 2, "fields": fields}
    return {"topic": "s.t", "key": None, "value": {"schema": schema, "payload": payload}, "headers": []}


@pytest.mark.parametrize("name", OPTIONS)
def test_random_changes_become_what_they_become_there(name: str, nightly: bool) -> None:
    start_jvm()
    random, told, routes = Random(name), 0, name == "partitions.PartitionRouting"
    forgets_its_format = name == "GeometryFormatTransformer"
    for options in OPTIONS[name]:
        chain = [{"type": f"{JAVA}.{name}", **options}]
        java, own = Peer(chain), build_chain(chain, {})
        for _ in range(1000 if nightly else 40):
            event = _change(random, vectors=not routes)
            if forgets_its_format:
                java = Peer(chain)
                if json.dumps(event["value"]["payload"]).count('"wkb"') > 1:
                    continue
            told += compare(java, own, event, fails_there=routes)
    assert told > 20


@pytest.mark.parametrize("name", OPTIONS)
@settings(max_examples=30)
@given(random=some.randoms(use_true_random=False))
def test_what_it_makes_fits_its_schema_and_what_it_is_given_stays(name: str, random: Random) -> None:
    chain = build_chain([{"type": f"{JAVA}.{name}", **random.choice(OPTIONS[name])}], {})
    record = read(_change(random, vectors=random.random() < 0.5))
    before = written(record)
    try:
        made = chain.apply([record])
    except TransformError as error:
        assert "failed on a record of topic s.t" in str(error)
        return
    finally:
        assert written(record) == before
    assert all(fitting(one) for one in made)


@pytest.mark.parametrize("name", [*OPTIONS, "HeaderToValue", "SchemaChangeEventFilter"])
def test_every_option_of_the_class_is_known_here(name: str) -> None:
    start_jvm()
    theirs = {str(key) for key in jpype.JClass(f"{JAVA}.{name}")().config().configKeys()}
    assert theirs == set(config_model(find("transform", f"{JAVA}.{name}")).option_names())
