"""Options: the schema history."""

from __future__ import annotations

from cdckit.config.model import PluginConfig


class HistoryOptions(PluginConfig):
    """The schema history."""

    schema_history_internal_store_only_captured_databases_ddl: bool = False
    """Whether only the captured databases' definitions are kept."""
    schema_history_internal_store_only_captured_tables_ddl: bool = False
    """Whether only the captured tables' definitions are kept."""
    schema_history_internal_skip_unparseable_ddl: bool = False
    """Whether a statement that cannot be read is passed over, instead of stopping the pipeline."""
