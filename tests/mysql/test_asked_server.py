"""The connection that a source asks its server by."""

from __future__ import annotations

import pymysql
import pytest

from cdckit.errors import RetriableSourceError, SourceError
from cdckit_mysql.server import asked_server
from cdckit_mysql.server.asked_server import AskedServer
from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import Server, read_server
from mysql.capture import config_for
from testkit.servers.mysql_family import SQLServer
from testkit.servers.ports import free_port


def test_a_server_that_cannot_be_reached_is_away_the_first_time_too(db_server: SQLServer) -> None:
    """Whether it is waited for the runner knows: a run may have reached it before by another connection."""
    server = AskedServer(config_for(db_server, database_port=free_port()))
    with pytest.raises(RetriableSourceError, match="cannot be reached"):
        server.ready()


def test_a_server_whose_facts_could_not_be_read_is_asked_again(
    db_server: SQLServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It need not be the server that answered before the connection was lost."""
    asked: list[Connection] = []

    def read(connection: Connection) -> Server:
        asked.append(connection)
        if len(asked) == 2:
            raise pymysql.OperationalError(3024, "took too long")
        return read_server(connection)

    monkeypatch.setattr(asked_server, "read_server", read)
    server = AskedServer(config_for(db_server))
    server.ready()
    asked[0].close()
    with pytest.raises(SourceError, match="asking the server for its settings"):
        server.ready()
    assert not server.connected
    server.ready()
    assert [connection.open for connection in asked] == [False, False, True]
    server.close()
