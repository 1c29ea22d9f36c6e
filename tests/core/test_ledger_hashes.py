"""The hashes of rows that the ledger adds up, for each type of a column: sums that are kept go on with them."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit import logical
from cdckit.api.record import Record
from cdckit.api.schema import (
    BOOLEAN,
    BYTES,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    Schema,
    array_schema,
    struct_schema,
)  # fmt: skip
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.ledger.layouts import message_layouts
from cdckit.engine.ledger.ledger import form_of
from cdckit.engine.ledger.row_form import digest
from cdckit.engine.ledger.sums import Sums
from cdckit.engine.ledger.table import TableLedger
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig

DECIMAL = Schema("bytes", name=logical.DECIMAL_NAME, version=1, parameters={"scale": "2"})
SOURCE = struct_schema("source", {"db": STRING, "table": STRING, "row": INT32})
POINT = {"x": 1.0, "y": 2.0, "wkb": b"\1\2", "srid": None}
KNOWN: list[tuple[str, Schema, Any, str]] = [
    ("int8", INT8, -8, "c481b8613f9569f1dd3f15513ca31696"),
    ("int16", INT16, 16, "67c75a6ff4ef709ff68663d8603e6829"),
    ("int32", INT32, -32, "509fb92b3e2d3d5c292f164912c8d26f"),
    ("int64", INT64, 2**63 - 1, "0aeb2554a417729c61c4892008997a13"),
    ("float32", FLOAT32, 0.1, "b621e888c81406cf3bbbf49d0aa16b71"),
    ("float64", FLOAT64, 1 / 3, "77a6e7e7568dd9d1a53dc1b1229f4943"),
    ("not a number", FLOAT64, float("nan"), "095de9d1e3b7dd6f50a1d8372bfa8d0e"),
    ("boolean", BOOLEAN, True, "8d7500f0827cf1b326b1f54ea8d4a01f"),
    ("string", STRING, '},"source":{ "after" \\ \u00e9\u4e2d\U0001f600', "f000bf3b114f6c9b1a3b01b5200e8b77"),
    ("bytes", BYTES, b"\0\xff", "0ea3f98a14fdda1cd3334bc56a679e11"),
    ("decimal", DECIMAL, b"\1\xf4", "6f5698966df38b459637188a95c85318"),
    ("date", logical.DATE, 19000, "c2265f8d413c0d730049c6fc0ec2d7dd"),
    ("time", logical.MICRO_TIME, 1, "89e7aa122cacbaa14debc0f9c953b6fe"),
    ("timestamp", logical.MICRO_TIMESTAMP, 1, "89e7aa122cacbaa14debc0f9c953b6fe"),
    ("zoned timestamp", logical.ZONED_TIMESTAMP, "2024-01-01T00:00:00Z", "feb9a2d52feddbe535409842cbe85e67"),
    (
        "zoned timestamp with zeros",
        logical.ZONED_TIMESTAMP,
        "2024-01-01T00:00:00.500Z",
        "56ad5be9b7287fe34dd723e13ec40bb8",
    ),
    ("zoned time", logical.ZONED_TIME, "01:02:03.40Z", "26be53eaec9daf515fdaba600ddd7a76"),
    ("year", logical.YEAR, 2024, "def0fcd2747815980b9f8143c1e96456"),
    ("json", logical.JSON, '{"b": 1, "a": [1, 2]}', "53ab7dcf2d889632e50e63ffb8d9d5fd"),
    ("uuid", logical.UUID, "c4c7d0f0-0000-4000-8000-000000000000", "fc19501de2ecf494a53b4cc7cb67b39c"),
    ("vector", logical.FLOAT_VECTOR, [0.5, 1.5], "df9e4fd93a89003c246601ccb50faf43"),
    ("array", array_schema(STRING), ["a", '},"after":'], "418161cfbf7cb321b847652b9cf4e487"),
    ("point", logical.POINT, POINT, "4e70c537e74974c2a590afaab066097a"),
    ("null", STRING.as_optional(), None, "1181efc221a5383521001ecb61488494"),
]
"""A column's type, a value, and the hash of a row of an id and that value."""


def hashes(schema: Schema, value: Any, *, template: bool) -> tuple[bytes, bytes]:
    """Those of a row before and after, as the serializer notes them."""
    row = struct_schema("s.d.t.Value", {"id": INT32, "it": schema}).as_optional()
    event = struct_schema("s.d.t.Envelope", {"before": row, "after": row, "source": SOURCE, "op": STRING})
    held = Struct.of(schema, value) if schema.type == "struct" else value
    image = Struct(row, (1, held))
    values = (image, image, Struct(SOURCE, ("d", "t", 0)), "u")
    made = TemplateStruct(Template(event, values, ((0,), (1,))), (image, image)) if template else Struct(event, values)
    serializer = JsonSerializer(JsonConfig.load({"schemas.enable": False}, "serializer")[0])
    noted = serializer.noting_rows(lambda schema: form_of(schema).of_text, digest)
    serializer.values([Record("t", None, made)])
    [before], [after] = noted.befores, noted.afters
    return before, after


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize(("schema", "value", "known"), [one[1:] for one in KNOWN], ids=[one[0] for one in KNOWN])
def test_rows_have_the_hashes_that_they_had(schema: Schema, value: Any, known: str, *, template: bool) -> None:
    before, after = hashes(schema, value, template=template)
    assert (before.hex(), after.hex()) == (known, known)


@pytest.mark.parametrize(("schema", "value", "known"), [one[1:] for one in KNOWN], ids=[one[0] for one in KNOWN])
def test_rows_that_are_taken_from_records_have_the_same(schema: Schema, value: Any, known: str) -> None:
    row, key = struct_schema("s.d.t.Value", {"id": INT32, "it": schema}), struct_schema("s.d.t.Key", {"id": INT32})
    held = Struct.of(schema, value) if schema.type == "struct" else value
    layout = message_layouts()(row, key)
    assert [one.hex() for one in layout.hashes([Struct(row, (1, held))], layout.form.columns)] == [known]


def test_sums_that_were_kept_go_on() -> None:
    """Of 600 rows of which 3 went: what `to_json` of the first version gave, as a hash of its text."""
    table = TableLedger()
    rows = [digest(b"%d" % number) for number in range(600)]
    table.take(rows, rows[:3])
    table.settle()
    kept = table.to_json()
    assert digest(kept["sums"].encode()).hex() == "15d92d3e4593077b6855bc39d9180097"
    again = TableLedger.from_json(kept)
    again.take(rows[:3], ())
    again.settle()
    again.to_json()
    whole = Sums()
    whole.add(rows)
    assert again.sums == whole
