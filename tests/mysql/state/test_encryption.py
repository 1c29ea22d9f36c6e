"""The store `sql` over TLS."""

from __future__ import annotations

from contextlib import closing

import pytest

from cdckit import ConfigError, StateError
from mysql.state.places import USER, backend_of, make_user
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer


def test_it_is_encrypted_where_the_server_can(mysql_server: MySQLServer, unique_name: str) -> None:
    mysql_server.execute(f"CREATE DATABASE {unique_name}")
    make_user(mysql_server, unique_name)
    mysql_server.execute(f"ALTER USER {USER} REQUIRE SSL")
    certificate = str(mysql_server.datadir / "ca.pem")
    for options in (
        {},
        {"database_ssl_mode": "required"},
        {"database_ssl_mode": "verify_ca", "database_ssl_truststore": certificate},
    ):
        with closing(backend_of(mysql_server, unique_name, **options).open("p")) as store:
            store.put("a", 1)
    with pytest.raises(StateError, match=r"TLS|SSL"):
        backend_of(mysql_server, unique_name, database_ssl_mode="verify_ca").open("p")
    with pytest.raises(ConfigError, match=r"^state\.database\.ssl\.truststore: "):
        backend_of(mysql_server, unique_name, database_ssl_truststore="/no/such/file").open("p")
    mysql_server.execute(f"DROP DATABASE {unique_name}")


def test_a_server_without_it_is_refused_where_it_is_required(mariadb_server: MariaDBServer, unique_name: str) -> None:
    mariadb_server.execute(f"CREATE DATABASE {unique_name}")
    make_user(mariadb_server, unique_name)
    with pytest.raises(StateError, match=f"{mariadb_server.port}.*(TLS|SSL|encrypted)"):
        backend_of(mariadb_server, unique_name, database_ssl_mode="required").open("p")
    mariadb_server.execute(f"DROP DATABASE {unique_name}")
