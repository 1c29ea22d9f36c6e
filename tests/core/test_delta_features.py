"""Which Delta tables delta-rs writes beside Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, Schema
from deltalake.schema import PrimitiveType

from cdckit.tables.delta.features import keeps_features, left_to_spark

COLUMNS = pa.schema([("id", pa.int32()), ("at", pa.timestamp("us")), ("day", pa.date32())])


def made(folder: Path, columns: pa.Schema = COLUMNS, **how: Any) -> DeltaTable:
    return DeltaTable.create(folder, Schema.from_arrow(columns), raise_if_key_not_exists=False, **how)


def test_keeping_properties_adds_a_feature_where_features_are_listed(tmp_path: Path) -> None:
    """A table that lacks it would shut out readers that do not know it."""
    listing, plain = made(tmp_path / "listing"), made(tmp_path / "plain", pa.schema([("id", pa.int32())]))
    assert (keeps_features(listing), keeps_features(plain)) == (False, True)
    before = plain.protocol()
    for table in (listing, plain):
        table.alter.set_table_properties({"cdckit.note": "x"}, raise_if_not_exists=False)
    assert "variantType" in (listing.protocol().reader_features or ())
    assert plain.protocol() == before
    assert keeps_features(listing)
    assert left_to_spark(listing) is None


def test_a_table_as_the_sinks_make_it_is_written(tmp_path: Path) -> None:
    assert left_to_spark(made(tmp_path, configuration={"cdckit.topic": "t"})) is None


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"configuration": {"delta.columnMapping.mode": "name"}}, "columnMapping"),
        ({"configuration": {"delta.enableDeletionVectors": "true"}}, "deletionVectors"),
        ({"configuration": {"delta.enableChangeDataFeed": "true"}}, "changeDataFeed"),
        ({"configuration": {"delta.autoOptimize.autoCompact": "true"}}, "delta.autoOptimize.autoCompact"),
        ({"partition_by": ["day"]}, "its partitions"),
        ({"columns": pa.schema([pa.field("id", pa.int32(), nullable=False)])}, "column 'id', which is not null"),
    ],
)
def test_what_spark_alone_keeps(tmp_path: Path, how: dict[str, Any], reason: str) -> None:
    assert left_to_spark(made(tmp_path, **how)) == reason


def test_the_length_of_a_text_is_held_to_by_spark_alone(tmp_path: Path) -> None:
    limited = Field("name", PrimitiveType("string"), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"})
    table = DeltaTable.create(tmp_path, Schema([Field("id", PrimitiveType("integer")), limited]))
    assert left_to_spark(table) == "column 'name', which is varchar(5)"
