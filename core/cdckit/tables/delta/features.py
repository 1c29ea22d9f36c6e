"""What a Delta table has that delta-rs does not write, or would not keep as Spark does."""

from __future__ import annotations

from collections.abc import Iterator

from deltalake import DeltaTable, TableFeatures

from cdckit.tables.delta.columns import columns_of

_NAMED = "variantType"
"""delta-rs adds this to a table that lists its features, whatever it has, where it keeps properties."""
_WRITTEN = frozenset({"appendOnly", "invariants", "timestampNtz", _NAMED})
"""The features of tables that are written here: https://github.com/delta-io/delta/blob/master/PROTOCOL.md#table-features"""
MAPPING = "columnMapping"
MAPPING_MODE = "delta.columnMapping.mode"
"""The feature that a table has where its files have other names for the columns, and the property that says so."""
_PLAIN_WRITER, _LISTING_WRITER = 2, 7
"""Up to the first version a table has none but `appendOnly` and `invariants`, from the second on it lists them."""
_PLAIN_READER = 1
_LIMITED = "__CHAR_VARCHAR_TYPE_STRING"
"""The part of a text column's metadata in which Spark notes that it is a CHAR or VARCHAR, whose length it holds to."""

_INVARIANTS = "delta.invariants"
"""The part of a column's metadata that says what its values have to be."""


def left_to_spark(table: DeltaTable) -> str | None:
    """Why a table is not written by delta-rs beside Spark; None: it may be."""
    return next(_reasons(table), None)


def left_to_others(table: DeltaTable) -> str | None:
    """Why data files are not added to a table as they are; None: they may be."""
    checked = (each.name for each in table.schema().fields if _INVARIANTS in each.metadata)
    return left_to_spark(table) or next((f"column '{name}', whose values are checked" for name in checked), None)


def keeps_features(table: DeltaTable) -> bool:
    """Whether a table has the same features once delta-rs has kept properties of it."""
    protocol = table.protocol()
    return protocol.min_writer_version < _LISTING_WRITER or _NAMED in (protocol.writer_features or ())


def list_mapping(table: DeltaTable) -> None:
    """Has a table that lists its features list column mapping, if it has that.

    delta-rs leaves it out where it makes the table, and Spark opens no such table.
    """
    protocol = table.protocol()
    lists = protocol.min_writer_version >= _LISTING_WRITER
    if lists and maps_names(table) and MAPPING not in (protocol.writer_features or ()):
        table.alter.add_feature(TableFeatures.ColumnMapping, allow_protocol_versions_increase=True)


def maps_names(table: DeltaTable) -> bool:
    """Whether a table's files have other names for the columns."""
    return bool(table.metadata().configuration.get(MAPPING_MODE, "none") != "none")


def _reasons(table: DeltaTable) -> Iterator[str]:
    protocol, metadata = table.protocol(), table.metadata()
    named = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    if protocol.min_writer_version >= _LISTING_WRITER:
        yield from sorted(named - _WRITTEN)
    elif protocol.min_writer_version > _PLAIN_WRITER or protocol.min_reader_version > _PLAIN_READER:
        yield f"its writers' version {protocol.min_writer_version}"
    if maps_names(table):
        yield MAPPING
    if metadata.partition_columns:
        yield "its partitions"
    # Spark follows these when it writes: small files are put together behind a commit.
    yield from (name for name in metadata.configuration if name.startswith("delta.autoOptimize"))
    for field in table.schema().fields:
        if not field.nullable:
            yield f"column '{field.name}', which is not null"
        if (limited := field.metadata.get(_LIMITED)) is not None:
            yield f"column '{field.name}', which is {limited}"
    try:
        columns_of(table)
    except ValueError as error:
        yield str(error)
