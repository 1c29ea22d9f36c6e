"""Random records of all of Connect's types, as its JsonConverter writes them."""

from __future__ import annotations

import base64
from random import Random
from typing import Any

Event = dict[str, Any]
Json = dict[str, Any]

NAMES = ("id", "name", "price", "at", "day", "flag", "blob", "items", "inner", "a.b", "é", "`q`")
TEXTS = (
    "",
    "a",
    "true",
    "TRUE",
    "12",
    "-7",
    "300",
    "3.25",
    "1e3",
    " 5",
    "0x10",
    "NaN",
    "2024-02-29",
    "1700000000000",
    "Žofie",
)
DAY = 86_400_000
_CONNECT = "org.apache.kafka.connect.data"
_SCALE = {"scale": "2"}
_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


def event(random: Random) -> Event:
    """A record: structs mostly, sometimes maps, other values, or null."""
    made: Event = {
        "topic": random.choice(("s.shop.orders", "t${timestamp}")),
        "key": part(random),
        "value": part(random),
        "headers": [header(random) for _ in range(random.randint(0, 3))],
    }
    if random.random() < 0.8:
        made["timestamp"] = random.randrange(-(2**40), 2**42)
    if random.random() < 0.5:
        made["partition"] = random.randrange(5)
    return made


def header(random: Random) -> Json:
    schema = primitive(random)
    return {"key": random.choice(("h", "mark", "id")), "value": {"schema": schema, "payload": value(random, schema)}}


def part(random: Random) -> Json | None:
    """A key or value."""
    kind = random.random()
    if kind < 0.08:
        return None
    if kind < 0.25:
        return {"schema": None, "payload": plain(random, 2)}
    schema = struct(random, 2) if kind < 0.85 else primitive(random)
    schema["optional"] = random.random() < 0.3
    if schema["optional"] and random.random() < 0.3:
        return {"schema": schema, "payload": None}
    return {"schema": schema, "payload": value(random, schema)}


def plain(random: Random, depth: int) -> Any:
    """A value without a schema."""
    if depth == 2 or (depth and random.random() < 0.3):
        return {name: plain(random, depth - 1) for name in random.sample(NAMES, random.randint(0, 7))}
    kind = random.random()
    if depth and kind < 0.2:
        return [plain(random, 0) for _ in range(random.randint(0, 3))]
    choices = (
        None,
        True,
        False,
        random.randrange(-(2**40), 2**42),
        round(random.uniform(-500, 500), 3),
        random.choice(TEXTS),
    )
    return random.choice(choices)


def struct(random: Random, depth: int) -> Json:
    """The schema of a struct."""
    names = random.sample(NAMES, random.randint(0 if depth < 2 else 2, 2 + 2 * depth))
    fields = [{**field(random, depth), "field": name} for name in names]
    return {"type": "struct", "optional": False, "name": f"s.S{random.randrange(3)}", "version": 2, "fields": fields}


def field(random: Random, depth: int) -> Json:
    kind = random.random()
    if kind < 0.18 and depth:
        made = struct(random, depth - 1)
    elif kind < 0.25:
        made = {"type": "array", "items": primitive(random)}
    elif kind < 0.28:
        made = {"type": "map", "keys": {"type": "string", "optional": False}, "values": primitive(random)}
    else:
        made = primitive(random)
        if random.random() < 0.3:
            made["default"] = value(random, {**made, "optional": False})
    return {**made, "optional": random.random() < 0.5}


def primitive(random: Random) -> Json:
    """The schema of a primitive or logical type."""
    made: Json = {
        "type": random.choice((*_BITS, "float", "double", "boolean", "string", "string", "bytes")), "optional": False,
    }  # fmt: skip
    if random.random() < 0.3:
        return random.choice((
            {"type": "int32", "optional": False, "name": f"{_CONNECT}.Date", "version": 1},
            {"type": "int32", "optional": False, "name": f"{_CONNECT}.Time", "version": 1},
            {"type": "int64", "optional": False, "name": f"{_CONNECT}.Timestamp", "version": 1},
            {"type": "bytes", "optional": False, "name": f"{_CONNECT}.Decimal", "version": 1, "parameters": _SCALE},
            {"type": "int64", "optional": False, "name": "io.debezium.time.MicroTimestamp", "doc": "a moment"},
        ))  # fmt: skip
    return made


def value(random: Random, schema: Json) -> Any:
    """A value of a schema."""
    if schema.get("optional") and random.random() < 0.4:
        return None
    kind = schema["type"]
    if kind == "struct":
        return {member["field"]: value(random, member) for member in schema["fields"]}
    if kind == "array":
        return [value(random, schema["items"]) for _ in range(random.randint(0, 3))]
    if kind == "map":
        return {name: value(random, schema["values"]) for name in random.sample(NAMES, random.randint(0, 2))}
    return _primitive(random, kind, schema.get("name") or "")


def _primitive(random: Random, kind: str, name: str) -> Any:
    if name.endswith(".Date"):
        return random.randrange(-200_000, 30_000)
    if name.endswith(".Time"):
        return random.randrange(DAY)
    if name.endswith(".Timestamp"):
        return random.choice((random.randrange(-(2**42), 2**42), random.randrange(20_000) * DAY))
    if kind in _BITS:
        return random.choice((0, 1, -1, _whole(random, _BITS[kind]), _whole(random, _BITS[kind])))
    if kind in ("float", "double"):
        return random.choice((0.0, 0.5, -1.25, 3.0, 1e10, -1e20, round(random.uniform(-1000, 1000), 2)))
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "string":
        return random.choice(TEXTS)
    number = random.choice((0, -1, 12345, -(2**70), _whole(random, 40)))
    return base64.b64encode(number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, "big", signed=True)).decode()


def _whole(random: Random, bits: int) -> int:
    return random.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1))
