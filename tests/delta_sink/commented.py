"""What tables and their columns are for: as the source says, and as tables in a lake do."""

from __future__ import annotations

from deltalake import DeltaTable

from delta_sink.shop import Shop
from histories.lakes import IcebergTables

HARD = 'it\'s "quoted", `so` \\ and\nover\ttwo lines; {}()= 100 % ── Käse 🧀 \u200d 日本'
"""A comment that has to be quoted everywhere."""
LONGEST = "🧀" + "x" * 1022 + "é"
"""As many letters as a column's comment has at most."""


def kept(text: str) -> str:
    """What the servers keep of a comment, whose own tables are in utf8mb3; their logs have all of the statement."""
    return "".join("?" if ord(letter) > 0xFFFF else letter for letter in text)


def sql(text: str) -> str:
    """A text as a literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def at_source(shop: Shop, table: str) -> dict[str, str]:
    """The comments of columns, and under "" that of the table, without empty ones."""
    columns = shop.server.execute(f"SHOW FULL COLUMNS FROM {shop.name}.{table}")
    (status,) = shop.server.execute(f"SHOW TABLE STATUS FROM {shop.name} LIKE '{table}'")
    return _told({"": status[17], **{column[0]: column[8] for column in columns}})


def in_lake(shop: Shop, table: str) -> dict[str, str]:
    """The same of the lake's table."""
    if isinstance(shop.lake, IcebergTables):
        iceberg = shop.lake.table(table)
        docs = {field.name: field.doc for field in iceberg.schema().fields}
        return _told({"": iceberg.properties.get("comment"), **docs})
    delta = DeltaTable(shop.table(table))
    fields = {field.name: field.metadata.get("comment") for field in delta.schema().fields}
    return _told({"": delta.metadata().description, **fields})


def properties(shop: Shop, table: str) -> dict[str, str]:
    """The properties of the lake's table."""
    if isinstance(shop.lake, IcebergTables):
        return dict(shop.lake.table(table).properties)
    return dict(DeltaTable(shop.table(table)).metadata().configuration)


def _told(comments: dict[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in comments.items() if text}
