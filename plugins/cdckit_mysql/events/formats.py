"""The formats of events (`event.format`): what Debezium 3 sends, and what 1.9 and 1.1 sent."""

from __future__ import annotations

from dataclasses import dataclass

from cdckit import OPTIONAL_INT64, STRING, Schema, struct_schema
from cdckit.connector.envelope import MakeEnvelope, envelope_schema
from cdckit.connector.transactions import OLD_TRANSACTIONS, TRANSACTIONS, TransactionSchemas
from cdckit_mysql.config import MySqlConfig


@dataclass(frozen=True, slots=True)
class EventFormat:
    """What events of one format hold, besides their source blocks and columns.

    Attributes:
        envelope: makes the schemas of their values.
        transactions: the schemas of transaction metadata.
        versioned: whether schemas of the system's own records have versions.
        context_headers: whether records carry the `__debezium.context.*` headers.
        truncates: whether a table that was emptied makes a record.
        mariadb_gtids: whether events tell MariaDB's GTIDs and the statements it logs. Debezium 1's MySQL connector
            could read neither.
    """

    envelope: MakeEnvelope
    transactions: TransactionSchemas
    versioned: bool
    context_headers: bool
    truncates: bool
    mariadb_gtids: bool


FORMAT_3 = EventFormat(
    envelope_schema, TRANSACTIONS, versioned=True, context_headers=True, truncates=True, mariadb_gtids=True
)


def event_format(config: MySqlConfig) -> EventFormat:
    """The format that a configuration asks for."""
    if config.event_format == "3":
        return FORMAT_3
    with_transactions = config.event_format == "1.9" or config.provide_transaction_metadata
    return EventFormat(
        _old_envelope if with_transactions else _oldest_envelope,
        OLD_TRANSACTIONS,
        versioned=False,
        context_headers=False,
        truncates=False,
        mariadb_gtids=config.connector == "mariadb",
    )


def _old_envelope(name: str, row: Schema, source: Schema) -> Schema:
    """Debezium 1.9's."""
    return struct_schema(name, {**_members(row, source), "transaction": OLD_TRANSACTIONS.block})


def _oldest_envelope(name: str, row: Schema, source: Schema) -> Schema:
    """Debezium 1.1's, which has no `transaction` (manual for MySQL, "Change event values")."""
    return struct_schema(name, _members(row, source))


def _members(row: Schema, source: Schema) -> dict[str, Schema]:
    return {"before": row, "after": row, "source": source, "op": STRING, "ts_ms": OPTIONAL_INT64}
