"""The hashes of rows that the JSON serializer notes while it writes: those of the very texts in the messages."""

from __future__ import annotations

import hashlib

import orjson
import pytest

from cdckit import logical
from cdckit.api.record import Record
from cdckit.api.schema import INT32, OPTIONAL_STRING, STRING, struct_schema
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

ROW = struct_schema("s.d.t.Value", {"id": INT32, "name": OPTIONAL_STRING, "at": logical.ZONED_TIMESTAMP.as_optional()})
SOURCE = struct_schema("source", {"db": STRING, "table": STRING, "row": INT32})
EVENT = struct_schema(
    "s.d.t.Envelope", {"before": ROW.as_optional(), "after": ROW.as_optional(), "source": SOURCE, "op": STRING}
)
HOLES = ((0,), (1,), (2, 2))
Row = tuple[int, str | None, str | None]


def digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


def row(values: Row | None) -> Struct | None:
    return None if values is None else Struct(ROW, values)


def grouped(op: str, *images: tuple[Row | None, Row | None], topic: str = "t", table: str = "t") -> list[Record]:
    template = Template(EVENT, (None, None, Struct(SOURCE, ("d", table, 0)), op), HOLES)
    return [
        Record(topic, None, TemplateStruct(template, (row(before), row(after), number)))
        for number, (before, after) in enumerate(images)
    ]


def alone(op: str, before: Row | None, after: Row | None, topic: str = "t", table: str = "t") -> Record:
    return Record(topic, None, Struct(EVENT, (row(before), row(after), Struct(SOURCE, ("d", table, 7)), op)))


ONE, TWO, THREE = (
    (1, 'a},"source":{"},"after":null\\"', "2024-01-01T00:00:00Z"),
    (2, None, None),
    (3, "c", "2024-01-01T00:00:00.5Z"),
)
RECORDS = [
    *grouped("c", (None, ONE), (None, TWO)),
    alone("c", None, THREE),
    Record("t", None, None),
    alone("u", ONE, TWO),
    *grouped("u", (TWO, THREE)),
    *grouped("c", (None, ONE), table="other"),
    alone("c", None, TWO, topic="elsewhere"),
    alone("d", THREE, None),
]


@pytest.mark.parametrize("schemas", [False, True])
def test_what_is_noted_is_what_is_written(schemas: bool) -> None:
    config = JsonConfig.load({"schemas.enable": schemas}, "serializer")[0]
    plain, noting = JsonSerializer(config), JsonSerializer(config)
    rows = noting.noting_rows(lambda _: lambda text: b"formed " + text, digest)
    for _ in range(2):
        written = noting.values(RECORDS)
        assert written == plain.values(RECORDS)
        events = [orjson.loads(text) for text in written if text is not None]
        payloads = [event["payload"] if schemas else event for event in events]
        for image, found in (("before", rows.befores), ("after", rows.afters)):
            texts = [orjson.dumps(event[image]) for event in payloads if event[image] is not None]
            # Times with fractions are written in more than one way.
            assert found == [digest(b"formed " * (b".5Z" in text) + text) for text in texts]
        runs = [(run.first, run.op, run.before, run.after) for run in rows.runs]
        assert runs == [(0, "c", 0, 0), (4, "u", 0, 3), (6, "c", 2, 5), (7, "c", 2, 6), (8, "d", 2, 7)]
        told = [event for run in rows.runs[:1] for event in rows.rows_of(run, written[:4])]
        assert [event["after"]["id"] for event in told] == [1, 2, 3]


def test_values_that_are_no_events_are_a_run_without_rows() -> None:
    serializer = JsonSerializer(JsonConfig.load({"schemas.enable": False}, "serializer")[0])
    rows = serializer.noting_rows(lambda _: lambda text: text, digest)
    assert serializer.values([Record("t", None, row(ONE))]) == [orjson.dumps(dict(zip(ROW.index, ONE, strict=True)))]
    assert [(run.op, run.row, run.source) for run in rows.runs] == [("", None, None)]
    assert rows.afters == []


@pytest.mark.parametrize("name", ["source", "after", "point"])
def test_columns_that_are_called_as_members_of_events_are(name: str) -> None:
    point = struct_schema("point", {"wkb": STRING, "source": STRING})
    row = struct_schema("s.d.t.Value", {"id": INT32, name: point if name == "point" else STRING})
    event = EVENT.replace(
        fields=struct_schema("e", {"before": row, "after": row, "source": SOURCE, "op": STRING}).fields
    )
    value = Struct(row, (1, Struct(point, ("w", "s")) if name == "point" else "x"))
    serializer = JsonSerializer(JsonConfig.load({"schemas.enable": False}, "serializer")[0])
    rows = serializer.noting_rows(lambda _: lambda text: text, digest)
    [text] = serializer.values([Record("t", None, Struct(event, (value, value, Struct(SOURCE, ("d", "t", 1)), "u")))])
    written = digest(orjson.dumps(orjson.loads(text or b"")["after"]))
    assert (rows.befores, rows.afters) == ([written], [written])


@pytest.mark.parametrize("rows", [3, 600])
def test_sums_of_many_hashes_are_those_of_each(rows: int) -> None:
    hashes = [digest(b"%d" % number) for number in range(rows)] + [bytes([255]) * 16] * rows
    sums, left = Sums(), Sums()
    sums.add(hashes)
    for one in hashes:
        left.add([one])
    assert (sums, sums.rows) == (left, 2 * rows)
    assert sum(sums.buckets) % 2**128 == sum(map(int.from_bytes, hashes)) % 2**128
    sums.remove(hashes[rows:])
    left.remove(hashes[:rows])
    assert sums.buckets[255] != left.buckets[255]
    left.remove(hashes[rows:])
    sums.remove(hashes[:rows])
    assert sums == left == Sums()
