"""The tables of the state store `sql`.

Names and positions are bytes in UTF-8: these compare as they are, and sort by code points, whatever the server's
collations are.
"""

from __future__ import annotations

FORMAT = 1
"""The version of the tables below."""

_END = "ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"
MADE_BY = (
    "CREATE TABLE IF NOT EXISTS {pipelines} (pipeline VARBINARY(255) NOT NULL PRIMARY KEY, saved_offset LONGTEXT, "
    f"holder VARCHAR(64) NOT NULL, held_by VARCHAR(255) NOT NULL, held_since DATETIME NOT NULL) {_END}",
    "CREATE TABLE IF NOT EXISTS {history} (pipeline VARBINARY(255) NOT NULL, history VARBINARY(255) NOT NULL, "
    f"place VARBINARY(1024) NOT NULL, entry LONGTEXT NOT NULL, PRIMARY KEY (pipeline, history, place)) {_END}",
    "CREATE TABLE IF NOT EXISTS {kept} (pipeline VARBINARY(255) NOT NULL, name VARBINARY(1024) NOT NULL, "
    f"content LONGTEXT NOT NULL, PRIMARY KEY (pipeline, name)) {_END}",
    f"CREATE TABLE IF NOT EXISTS {{format}} (one TINYINT NOT NULL PRIMARY KEY, version INT NOT NULL) {_END}",
    "INSERT IGNORE INTO {format} VALUES (1, %s)",
)
"""What makes them; each may have been run before, or be run by another pipeline meanwhile. The row comes last."""


class Tables:
    """Their names.

    Args:
        prefix: what the names begin with.

    Attributes:
        pipelines: a row for each pipeline: its offset, and who holds its state.
        history: the entries of histories.
        kept: values by key.
        format: one row, the version of the tables.
    """

    def __init__(self, prefix: str) -> None:
        self.pipelines = f"{prefix}pipelines"
        self.history = f"{prefix}history"
        self.kept = f"{prefix}kept"
        self.format = f"{prefix}format"

    def named(self, statement: str) -> str:
        """A statement with the names for `{pipelines}` and the others."""
        return statement.format(**{each: f"`{name}`" for each, name in vars(self).items()})
