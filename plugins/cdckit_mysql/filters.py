"""Which databases, tables and columns are captured, and which columns make up a key."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from cdckit.connector.include_lists import Choice, Matcher
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.options.capture import split_key_columns
from cdckit_mysql.table import Column, Table, TableId, Tables
from cdckit_mysql.values.column_mappings import ColumnMappings
from cdckit_mysql.values.mapping import ColumnMapping

_HELPER = re.compile(r"_+(?P<table>.+)_(?:gho|del|new|old)")
"""What gh-ost and pt-online-schema-change call the tables that take a table's place, or that it becomes."""
BUILTIN_DATABASES = frozenset({"mysql", "performance_schema", "sys", "information_schema"})


class Filters:
    """The capture lists of a configuration. Names are matched as Debezium does: whole, without regard to case."""

    def __init__(self, config: MySqlConfig) -> None:
        self._config = config
        self._databases = Choice(config.database_include_list, config.database_exclude_list, "database")
        self._tables = Choice(config.table_include_list, config.table_exclude_list, "table")
        self._columns = Choice(config.column_include_list, config.column_exclude_list, "column")
        self._snapshot = Choice(config.snapshot_include_collection_list, "")
        self._typed_columns = Matcher(config.column_propagate_source_type, "column.propagate.source.type")
        self._typed_types = Matcher(config.datatype_propagate_source_type, "datatype.propagate.source.type")
        self._mappings = ColumnMappings(config.column_mappings)
        self._keys = split_key_columns(config.message_key_columns)
        self._keys_in_table_order = config.event_format != "3"
        self.captures = cache(self._captures)

    def database(self, name: str) -> bool:
        """Whether tables of the database may be captured."""
        if self._config.table_ignore_builtin and name.lower() in BUILTIN_DATABASES:
            return False
        return self._databases(name)

    def _captures(self, database: str, table: str) -> bool:
        """Whether a table is captured."""
        return self.database(database) and self._tables(f"{database}.{table}")

    def snapshot(self, table: TableId) -> bool:
        """Whether a captured table's rows are read by the snapshot; those of the signal table are not."""
        return self._snapshot(str(table)) and not self.signals(*table)

    def signals(self, database: str, table: str) -> bool:
        """Whether a table is the one that signals come from."""
        return f"{database}.{table}".lower() == self._config.signal_data_collection.lower()

    def count(self, tables: Tables) -> int:
        """How many of the tables are captured."""
        return sum(self.captures(*table.id) for table in tables)

    def rank(self, table: TableId) -> int:
        """A captured table's place in the order in which snapshots take tables."""
        return self._tables.rank(str(table))

    def tracks(self, database: str, table: str) -> bool:
        """Whether a table's definition is kept: that of a table which is not captured may become one that is."""
        if self.signals(database, table):
            return True
        if self._config.schema_history_internal_store_only_captured_tables_ddl:
            helper = _HELPER.fullmatch(table)
            return self.captures(database, table) or bool(helper and self.captures(database, helper["table"]))
        if self._config.schema_history_internal_store_only_captured_databases_ddl:
            return self.database(database)
        return database.lower() not in BUILTIN_DATABASES or self.database(database)

    def column(self, table: TableId, name: str) -> bool:
        """Whether a captured table's column stands in its events."""
        return self._columns(f"{table}.{name}")

    def propagates_type(self, table: TableId, column: Column) -> bool:
        """Whether a column's declared type stands in its field's schema."""
        if self._typed_types:
            names = (f"{table}.{column.type_name}", f"{table.database}.{column.type_name}")
            if any(map(self._typed_types, names)):
                return True
        return bool(self._typed_columns) and self._typed_columns(f"{table}.{column.name}")

    @property
    def hides_columns(self) -> bool:
        """Whether columns are left out of events, masked or cut."""
        config = self._config
        return bool(config.column_include_list or config.column_exclude_list or config.column_mappings)

    def mapping(self, table: TableId, column: Column) -> ColumnMapping | None:
        """How a column's values are cut or masked, or None."""
        return self._mappings.of(table, column)

    def key_columns(self, table: Table) -> tuple[str, ...]:
        """The names of the columns that make up a record's key, in order; those left out of events are no part."""
        wanted = next((columns for pattern, columns in self._keys if pattern.fullmatch(str(table.id))), ())
        chosen = self._known(wanted, table)
        if not chosen:
            chosen = self._known(table.key_columns, table)
        elif self._keys_in_table_order:
            chosen = tuple(column.name for column in table.columns if column.name in chosen)
        return tuple(name for name in chosen if self.column(table.id, name))

    @staticmethod
    def _known(names: Iterable[str], table: Table) -> tuple[str, ...]:
        """The names as the table's columns spell them; those of no column are left out."""
        found = (table.column(name) for name in names)
        return tuple(column.name for column in found if column is not None)
