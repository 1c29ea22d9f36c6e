"""The schemas of a collection's records, as Debezium 3 and 1.9 have them."""

from __future__ import annotations

from cdckit import INT32, INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, Schema, array_schema, logical, struct_schema
from cdckit.connector.envelope import TRANSACTION_BLOCK
from cdckit.connector.transactions import OLD_TRANSACTIONS

DOCUMENT = logical.JSON.replace(optional=True)
"""A document as text."""

TRUNCATED_ARRAY = struct_schema(
    "io.debezium.connector.mongodb.changestream.truncatedarray", {"field": STRING, "size": INT32}, version=1
)
UPDATE_DESCRIPTION = struct_schema(
    "io.debezium.connector.mongodb.changestream.updatedescription",
    {
        "removedFields": array_schema(STRING, optional=True),
        "updatedFields": DOCUMENT,
        "truncatedArrays": array_schema(TRUNCATED_ARRAY, optional=True),
    },
    optional=True,
    version=1,
)
"""What an update has changed."""

SOURCE = struct_schema(
    "io.debezium.connector.mongo.Source",
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": logical.snapshot_mark(
            ("true", "first", "first_in_data_collection", "last_in_data_collection", "last", "false", "incremental")
        ),
        "db": STRING,
        "sequence": OPTIONAL_STRING,
        "ts_us": OPTIONAL_INT64,
        "ts_ns": OPTIONAL_INT64,
        "collection": STRING,
        "ord": INT32,
        "lsid": OPTIONAL_STRING,
        "txnNumber": OPTIONAL_INT64,
        "wallTime": OPTIONAL_INT64,
    },
    version=1,
)
"""Where an event comes from."""


OLD_TRUNCATED_ARRAY = TRUNCATED_ARRAY.replace(version=None)
OLD_UPDATE_DESCRIPTION = struct_schema(
    "io.debezium.connector.mongodb.changestream.updatedescription",
    {
        "removedFields": array_schema(STRING, optional=True),
        "updatedFields": DOCUMENT,
        "truncatedArrays": array_schema(OLD_TRUNCATED_ARRAY, optional=True),
    },
    optional=True,
)
OLD_SOURCE = struct_schema(
    "io.debezium.connector.mongo.Source",
    {
        "version": STRING,
        "connector": STRING,
        "name": STRING,
        "ts_ms": INT64,
        "snapshot": logical.snapshot_mark(("true", "last", "false", "incremental")),
        "db": STRING,
        "sequence": OPTIONAL_STRING,
        "rs": STRING,
        "collection": STRING,
        "ord": INT32,
        "h": OPTIONAL_INT64,
        "tord": OPTIONAL_INT64,
        "stxnid": OPTIONAL_STRING,
        "lsid": OPTIONAL_STRING,
        "txnNumber": OPTIONAL_INT64,
    },
)
"""The same three of Debezium 1.9."""

FIRST_SOURCE = struct_schema(
    "io.debezium.connector.mongo.Source",
    {
        "version": OPTIONAL_STRING,
        "connector": OPTIONAL_STRING,
        "name": STRING,
        "rs": STRING,
        "ns": STRING,
        "sec": INT32,
        "ord": INT32,
        "h": OPTIONAL_INT64,
        "initsync": Schema("boolean", optional=True, default=False),
    },
    version=1,
)
"""Where an event comes from, as Debezium before 0.10 has it, and version 1 with `source.struct.version=v1`."""


def key_schema(name: str, mark: str | None) -> Schema:
    """The schema of a record's key, with the field that tells the collection where there is one."""
    return struct_schema(name, {"id": STRING} if mark is None else {"id": STRING, mark: STRING})


def envelope_schema(name: str) -> Schema:
    """The schema of a change event's value."""
    members = {
        "before": DOCUMENT,
        "after": DOCUMENT,
        "updateDescription": UPDATE_DESCRIPTION,
        "source": SOURCE,
        "op": OPTIONAL_STRING,
        "ts_ms": OPTIONAL_INT64,
        "transaction": TRANSACTION_BLOCK,
    }
    return struct_schema(name, members)


def old_envelope_schema(name: str, source: Schema) -> Schema:
    """The schema of a change event's value in Debezium 1.9, with one of its source blocks."""
    members = {
        "after": DOCUMENT,
        "patch": DOCUMENT,
        "filter": DOCUMENT,
        "updateDescription": OLD_UPDATE_DESCRIPTION,
        "source": source,
        "op": OPTIONAL_STRING,
        "ts_ms": OPTIONAL_INT64,
        "transaction": OLD_TRANSACTIONS.block,
    }
    return struct_schema(name, members)
