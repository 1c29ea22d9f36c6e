"""A table captured by `mysql` and by `ticdc` becomes the same Spark columns, as far as the protocol tells types."""

from __future__ import annotations

import re
from functools import cache

import pytest

from cdckit.tables.types import column_type
from cdckit_mysql.ddl import DdlReader, Flavor
from cdckit_mysql.table import TableId, Tables
from cdckit_mysql.values.column import column_value
from cdckit_mysql.values.options import ValueOptions
from cdckit_ticdc.columns.options import ColumnOptions
from cdckit_ticdc.decoding.decoder import DecoderOptions
from cdckit_ticdc.decoding.protocols import make_decoder
from cdckit_ticdc.definitions import Definitions
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.registry import Registry
from ticdc.recordings import DATA, envelope_of, lines, records_of
from ticdc.test_recordings import PROTOCOLS, UNKNOWABLE, user_types

DECIMALS = {"c_decimal", "c_decimal_65_30", "c_decimal_0"}
BINARY = {"c_binary", "c_varbinary", "c_tinyblob", "c_blob", "c_mediumblob", "c_longblob"}
SHORT = {"c_tinyint", "c_tinyint_u", "c_bool", "c_smallint"}
SINGLE = {"c_float_10_2"}
UNSIGNED = {"c_bigint_u"}
UNKNOWN = {"c_bit1", "c_enum", "c_set"}

OTHERS: dict[str, set[str]] = {
    "avro": SHORT | SINGLE,
    "avro-tidbext": SHORT | SINGLE,
    "avro-string-modes": SHORT | SINGLE | {"c_decimal", "c_decimal_0"},
    "canal-json": UNKNOWN | SINGLE | {"c_decimal", "c_decimal_0"},
    "canal-json-tidbext": UNKNOWN | SINGLE | {"c_decimal", "c_decimal_0"},
    "canal-json-tidbext-compat": set(),
    "debezium-avro-ticdc": UNSIGNED,
    "debezium-classic-v8.5.0": DECIMALS | BINARY | SINGLE | UNSIGNED,
    "debezium-classic-v8.5.6": DECIMALS | BINARY | UNSIGNED,
    "debezium-classic-v8.5.6-noschema": set(),
    "debezium-ticdc": set(),
    "debezium-ticdc-noold": set(),
    "debezium-ticdc-noschema": set(),
    "debezium-ticdc-tidbext": set(),
    "debezium-ticdc-tidbext-noschema": set(),
    "open-protocol": UNKNOWN | SINGLE | {"c_decimal", "c_decimal_0"},
    "simple-avro": SINGLE,
    "simple-json": SINGLE,
}
"""The columns whose Spark type differs, by recording: no message tells what the type is."""


@cache
def columns_of_mysql() -> dict[str, str]:
    """The Spark types that the `mysql` source gives to the recorded table, as the server shows it."""
    decoder = make_decoder("debezium", DecoderOptions(), Definitions(), None)
    (ddl,) = decoder.decode(next(lines("debezium-ticdc", "all_types")).message)
    assert isinstance(ddl, Ddl)
    tables = Tables()
    reader = DdlReader(Flavor.MYSQL)
    reader.apply(tables, "", "CREATE DATABASE test")
    shown = ddl.statement.replace("BOOLEAN", "TINYINT(1)")
    reader.apply(tables, "test", re.sub("`test`.", "", shown))
    table = tables[TableId("test", "all_types")]
    options = ValueOptions()
    return {column.name: column_type(column_value(column, options, table.id).schema).ddl for column in table.columns}


def columns_of(folder: str, *, types_given: bool = False) -> dict[str, str]:
    """The Spark types that `ticdc` gives to it."""
    types = user_types() if types_given or folder == UNKNOWABLE else {}
    file = DATA / folder / "schema-registry.json"
    registry = Registry(str(file)) if file.exists() else None
    decoder = make_decoder(PROTOCOLS[folder], DecoderOptions(ColumnOptions(types=types)), Definitions(), registry)
    for line in lines(folder, "all_types"):
        if line.kind == "row":
            row = envelope_of(records_of(decoder, line.message)[0]).schema.field("after").schema
            return {field.name: column_type(field.schema).ddl for field in row.fields}
        decoder.decode(line.message)
    raise AssertionError("no row")


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_spark_columns_are_those_of_the_mysql_source(folder: str) -> None:
    """All but the listed columns have the same type; the listed ones have another."""
    mysql, ticdc = columns_of_mysql(), columns_of(folder)
    assert ticdc.keys() == mysql.keys()
    assert {name for name in mysql if mysql[name] != ticdc[name]} == OTHERS[folder]


@pytest.mark.parametrize("folder", PROTOCOLS)
def test_given_types_make_all_columns_those_of_the_mysql_source(folder: str) -> None:
    """Whatever the protocol does not tell, `column.types` does; registered Avro schemas are taken as they are."""
    found, wanted = columns_of(folder, types_given=True), columns_of_mysql()
    assert {name for name in wanted if found[name] != wanted[name]} == (
        UNSIGNED if folder.startswith("debezium-avro") else set()
    )
