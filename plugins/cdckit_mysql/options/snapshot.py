"""Options: when and how tables are read as they are now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, NonNegativeInt, PositiveInt, model_validator

from cdckit.config.lists import NameList, RegexList, split_names
from cdckit.config.model import PluginConfig

_SNAPSHOT_MODES = {
    "schema_only": "no_data",
    "schema_only_recovery": "recovery",
}

SnapshotMode = Annotated[
    Literal["initial", "initial_only", "no_data", "when_needed", "always", "never"],
    BeforeValidator(lambda value: _SNAPSHOT_MODES.get(value, value)),
]


class SnapshotOptions(PluginConfig):
    """The snapshot."""

    snapshot_mode: SnapshotMode = "initial"
    """When tables are read as they are now: `initial` (the first time), `initial_only` (and end after it), `no_data`
    (only their definitions), `when_needed` (also when the position is gone from the log), `always` (at every start),
    `never` (read the log from its beginning).
    """
    snapshot_locking_mode: Literal["minimal", "extended", "none"] = "minimal"
    """How long writers are locked out: while the position and the definitions are read, for the whole snapshot,
    or never (safe only while no definition changes).
    """
    snapshot_lock_timeout_ms: PositiveInt = 10000
    """How long to wait for that lock, in milliseconds."""
    snapshot_include_collection_list: RegexList = ""
    """Captured tables whose rows the snapshot reads; by default all of them."""
    snapshot_select_statement_overrides: NameList = ""
    """Tables that the snapshot reads with a statement of the user's, which stands in
    `snapshot.select.statement.overrides.DATABASE.TABLE`.
    """
    snapshot_statements: dict[str, str] = Field(default_factory=dict)
    """The statements for `snapshot.select.statement.overrides`, one option each."""
    snapshot_tables_order_by_row_count: Literal["disabled", "ascending", "descending"] = "disabled"
    """Whether the snapshot takes tables by their estimated size instead of by name."""
    snapshot_delay_ms: NonNegativeInt = 0
    """A pause before the snapshot, in milliseconds."""
    streaming_delay_ms: NonNegativeInt = 0
    """A pause between the snapshot and the log, in milliseconds."""

    patterns: ClassVar[Mapping[str, str]] = {
        r"snapshot\.select\.statement\.overrides\..+": "snapshot_statements",
    }

    @model_validator(mode="after")
    def _statement_for_each_override(self) -> Self:
        for table in split_names(self.snapshot_select_statement_overrides):
            option = f"snapshot.select.statement.overrides.{table}"
            if option not in self.snapshot_statements:
                raise ValueError(f"snapshot.select.statement.overrides names {table}, but '{option}' is not given")
        return self

    def statement_for(self, table: str) -> str | None:
        """The user's snapshot statement for `database.table`, or None."""
        if table not in split_names(self.snapshot_select_statement_overrides):
            return None
        return self.snapshot_statements[f"snapshot.select.statement.overrides.{table}"]
