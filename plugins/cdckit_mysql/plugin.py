"""Registers the sources `mysql` and `mariadb`."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.hookspecs import Registration, hookimpl


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    """One source for the whole family of servers, under the two names that Debezium has for it."""
    return [
        Registration(
            name="mysql",
            factory="cdckit_mysql.source:MySqlSource",
            config="cdckit_mysql.config:MySqlConfig",
            summary="row changes from the binary log of MySQL, after a snapshot",
            aliases=("io.debezium.connector.mysql.MySqlConnector",),
        ),
        Registration(
            name="mariadb",
            factory="cdckit_mysql.source:MySqlSource",
            config="cdckit_mysql.config:MariaDbConfig",
            summary="row changes from the binary log of MariaDB, after a snapshot",
            aliases=("io.debezium.connector.mariadb.MariaDbConnector",),
        ),
    ]
