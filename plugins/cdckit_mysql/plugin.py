"""Registers the sources `mysql` and `mariadb`, and the state store `sql`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit import ColumnConverter, ColumnDescription, EventTraits, Registration, hookimpl

_PLACE = (("file", "file"), ("pos", "pos"))
"""What tells events of the log apart."""
_CONVERTERS = ("TinyIntOneToBooleanConverter", "ZeroDateFallbackConverter", "JdbcSinkDataTypesConverter")
_REQUIRES = ("pymysql", "cryptography", "zstandard")
_PACKAGES = ("io.debezium.connector.binlog.converters.", "io.debezium.connector.mysql.converters.")


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """One source for the whole family of servers, under the two names that Debezium has for it."""
    return [
        Registration(
            name="mysql",
            factory="cdckit_mysql.source:MySqlSource",
            config="cdckit_mysql.config:MySqlConfig",
            summary="row changes from the binary log of MySQL, after a snapshot",
            extra="mysql",
            requires=_REQUIRES,
            aliases=("io.debezium.connector.mysql.MySqlConnector",),
            events=(EventTraits("mysql", _PLACE),),
        ),
        Registration(
            name="mariadb",
            factory="cdckit_mysql.source:MySqlSource",
            config="cdckit_mysql.config:MariaDbConfig",
            summary="row changes from the binary log of MariaDB, after a snapshot",
            extra="mysql",
            requires=_REQUIRES,
            aliases=("io.debezium.connector.mariadb.MariaDbConnector",),
            events=(EventTraits("mariadb", _PLACE, data=None),),
        ),
    ]


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    """A store in such a server."""
    return [
        Registration(
            name="sql",
            factory="cdckit_mysql.state.store:SqlBackend",
            config="cdckit_mysql.state.config:SqlStateConfig",
            summary="tables of a MySQL or MariaDB database",
            extra="mysql",
            requires=("pymysql", "cryptography"),
            aliases=(
                "io.debezium.storage.jdbc.offset.JdbcOffsetBackingStore",
                "io.debezium.storage.jdbc.history.JdbcSchemaHistory",
            ),
        )
    ]


@hookimpl
def cdckit_converter_types() -> Sequence[str]:
    """The converters of Debezium's connectors, by their own names and by those of its classes."""
    return [f"{package}{name}" for name in _CONVERTERS for package in ("", *_PACKAGES)]


@hookimpl
def cdckit_converter(type_name: str, options: dict[str, str], column: ColumnDescription) -> ColumnConverter | None:
    """One of those."""
    from cdckit_mysql.converters.builtin import builtin_converter  # noqa: PLC0415 - listing plugins stays cheap

    own = type_name in cdckit_converter_types()
    return builtin_converter(type_name.rpartition(".")[2], options, column) if own else None
