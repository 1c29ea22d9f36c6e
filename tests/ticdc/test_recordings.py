"""Every recorded message of TiCDC's encoders, decoded to the row that it was made of."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from cdckit.errors import DecodeError
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.decoding.decoder import Decoder, DecoderOptions
from cdckit_ticdc.decoding.protocols import Protocol, make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Bootstrap, Ddl, Watermark
from cdckit_ticdc.registry import Registry
from ticdc.losses import LOSSES, Loss, comparable, decoded
from ticdc.recordings import DATA, Line, Row, change, envelope_of, lines, records_of, scenarios

PROTOCOLS: dict[str, Protocol] = {
    "avro": "avro",
    "avro-string-modes": "avro",
    "avro-tidbext": "avro",
    "canal-json": "canal-json",
    "canal-json-tidbext": "canal-json",
    "canal-json-tidbext-compat": "canal-json",
    "debezium-avro-ticdc": "debezium-avro",
    "debezium-classic-v8.5.0": "debezium",
    "debezium-classic-v8.5.6": "debezium",
    "debezium-classic-v8.5.6-noschema": "debezium",
    "debezium-ticdc": "debezium",
    "debezium-ticdc-noold": "debezium",
    "debezium-ticdc-noschema": "debezium",
    "debezium-ticdc-tidbext": "debezium",
    "debezium-ticdc-tidbext-noschema": "debezium",
    "open-protocol": "open-protocol",
    "simple-avro": "simple",
    "simple-json": "simple",
}
CASES = [(folder, scenario) for folder in PROTOCOLS for scenario in scenarios(folder) if scenario != "batch"]


def user_types() -> dict[str, MySqlType]:
    """The columns' types as a user gives them: those of the recorded CREATE TABLE statements."""
    definitions = Definitions()
    decoder = make_decoder("debezium", DecoderOptions(), definitions, None)
    for scenario in scenarios("debezium-ticdc"):
        if scenario != "ddl":
            for line in lines("debezium-ticdc", scenario):
                decoder.decode(line.message)
    return {
        f"{found.database}.{found.table}.{column.name}": column.type.declared
        for found in definitions
        for column in found.columns
    }


UNKNOWABLE = "debezium-classic-v8.5.6-noschema"
"""The recording of which nothing but the user can tell the types."""


def decoder_of(folder: str, scenario: str = "", *, types_given: bool = False) -> Decoder:
    """The decoder for a recording: BIGINT UNSIGNED exact, the changefeed's time zone as the user would give it."""
    zone = ZoneInfo("Asia/Shanghai" if "shanghai" in scenario else "UTC")
    types = user_types() if types_given or folder == UNKNOWABLE else {}
    columns = ColumnOptions(bigint_mode="precise", zone=zone, types=types)
    file = DATA / folder / "schema-registry.json"
    registry = Registry(str(file)) if file.exists() else None
    return make_decoder(PROTOCOLS[folder], DecoderOptions(columns), Definitions(), registry)


def test_every_recording_is_decoded() -> None:
    """A recording that is added has to be named here."""
    assert {path.name for path in DATA.iterdir() if path.is_dir()} == PROTOCOLS.keys()


@pytest.mark.parametrize("types_given", [False, True])
@pytest.mark.parametrize(("folder", "scenario"), CASES)
def test_decodes_every_row(folder: str, scenario: str, types_given: bool) -> None:
    """Operation, row before and row after are the true ones, but for what the protocol loses; `column.types` gives most
    of that back.
    """
    decoder = decoder_of(folder, scenario, types_given=types_given)
    for line in lines(folder, scenario):
        if line.error is not None:
            continue
        if line.kind != "row":
            _check_other(decoder, line)
        elif is_unkeyed_delete(folder, line):
            with pytest.raises(DecodeError, match="a delete of a table without a key"):
                decoder.decode(line.message)
        else:
            _check_row(decoder, folder, scenario, line, types_given=types_given or folder == UNKNOWABLE)


def is_unkeyed_delete(folder: str, line: Line) -> bool:
    return folder.startswith("avro") and line.message.key is None and line.message.value is None


def _check_other(decoder: Decoder, line: Line) -> None:
    (event,) = decoder.decode(line.message)
    kinds = {"ddl": Ddl, "watermark": Watermark, "bootstrap": Bootstrap}
    assert isinstance(event, kinds[line.kind])
    assert decoder.peek(line.message).other == event


def _check_row(decoder: Decoder, folder: str, scenario: str, line: Line, *, types_given: bool) -> None:
    assert line.expect is not None
    operation, before, after = change(decoder, line.message)
    assert operation == _operation(folder, line.expect["op"])
    expected_before = _before(folder, line.expect)
    expected_after = line.expect["after"]
    for expected, found in ((expected_before, before), (expected_after, after)):
        _compare(folder, scenario, expected, found, types_given=types_given)


def _operation(folder: str, true: str) -> str:
    """The avro protocol without TiDB's extension does not tell an insert from an update."""
    return "c" if folder == "avro" and true == "u" else true


def _before(folder: str, expect: dict[str, Row | str | None]) -> Row | None:
    """The avro protocol has no rows before; without old values an update has none either."""
    if folder.startswith("avro") or (folder.endswith("noold") and expect["op"] == "u"):
        return None
    before = expect["before"]
    assert not isinstance(before, str)
    return before


def _compare(folder: str, scenario: str, expected: Row | None, found: Row | None, *, types_given: bool) -> None:
    if expected is None or found is None:
        assert expected == found
        return
    lost = {name: decoded(folder, scenario, name, text, types_given=types_given) for name, text in expected.items()}
    if "shanghai" in scenario:
        lost = {name: _in_utc(name, text) for name, text in lost.items()}
    if folder.startswith("avro") and scenario == "generated":
        lost["total_v"] = str(int(lost["a"] or "0") + 1)  # sent by this protocol alone, and so not in the recorded row
    shown = {name: comparable(name, text) for name, text in found.items()}
    assert shown == {name: comparable(name, text) for name, text in lost.items()}


def _in_utc(name: str, text: str | None) -> str | None:
    """The recording's TIMESTAMP values are in the changefeed's zone, eight hours ahead."""
    return text.replace(" 23:", " 15:") if text is not None and name.startswith("c_timestamp") else text


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_each_rule_is_needed(loss: Loss) -> None:
    """Somewhere in the recordings it says of a value that another is decoded: no rule excuses what is right."""
    types_given = bool(loss.types_given)
    assert any(
        comparable(name, loss.lost(name, text)) != comparable(name, text)
        for folder, scenario in CASES
        for line in lines(folder, scenario)
        for name, text in (((line.expect or {}).get("after") or {}) if line.kind == "row" else {}).items()
        if loss.holds(folder, scenario, name, types_given=types_given)
    )


def test_reads_all_rows_of_a_batched_message() -> None:
    """Open-protocol puts several rows of several tables into one message."""
    decoder = decoder_of("open-protocol")
    (line,) = lines("open-protocol", "batch")
    records = records_of(decoder, line.message)
    shown = [(record.topic, envelope_of(record)["op"], envelope_of(record)["after"]["id"]) for record in records]
    users, orders = "default.shop.users", "default.shop.orders"
    assert shown == [(users, "c", 1), (orders, "c", 7), (orders, "c", 8), (orders, "u", 7)]
    assert len({record.position for record in records}) == 4


@pytest.mark.parametrize("folder", [folder for folder in PROTOCOLS if folder != "avro"])
def test_peeks_what_it_decodes(folder: str) -> None:
    """The commit_ts found without decoding is the one of the records."""
    for scenario in scenarios(folder):
        decoder = decoder_of(folder, scenario)
        for line in lines(folder, scenario):
            if line.kind == "row" and line.error is None and not is_unkeyed_delete(folder, line):
                times = [int(record.position[:20]) for record in records_of(decoder, line.message)]
                peeked = decoder.peek(line.message)
                assert (peeked.times, peeked.other) == (tuple(dict.fromkeys(times)), None)
            elif line.kind != "row":
                decoder.decode(line.message)


def test_infers_what_nothing_tells() -> None:
    """Rows without schema, definition or types: columns are what their values look like."""
    decoder = make_decoder("debezium", DecoderOptions(), Definitions(), None)
    seen = []
    for line in lines("debezium-classic-v8.5.6-noschema", "all_null"):
        (record,) = records_of(decoder, line.message)
        value = envelope_of(record)
        row = value["after"] or value["before"]
        seen.append({field.name: field.schema.type for field in row.schema.fields})
    assert seen[0] == {"id": "int64"}
    assert seen[1]["c_int"] == "int64"
    assert (seen[1]["c_double"], seen[1]["c_bit1"], seen[1]["c_char"]) == ("float64", "boolean", "string")
    assert seen[2] == seen[3] == seen[1]


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("bigint(20) unsigned", MySqlType("bigint", True, 20)),
        ("BIGINT UNSIGNED", MySqlType("bigint", True)),
        ("int unsigned zerofill", MySqlType("int", True)),
        ("varbinary", MySqlType("varbinary")),
        ("varchar(10) binary", MySqlType("varchar", length=10)),
        ("double precision", MySqlType("double")),
        ("DECIMAL(65,30)", MySqlType("decimal", length=65, scale=30)),
        ("enum('x,y','it''s')", MySqlType("enum", labels=("x,y", "it's"))),
        ("boolean", MySqlType("tinyint", length=1)),
    ],
)
def test_reads_types(text: str, type: MySqlType) -> None:
    """Types as the protocols and users write them."""
    assert parse_type(text) == type
