"""The contract of a source, held to by the MySQL source on real servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct
from cdckit.testing import SourceSuite
from testkit.servers.mysql_family import SQLServer


class TestMySqlSource(SourceSuite):
    type_name = "mysql"

    @pytest.fixture(autouse=True)
    def _own_table(self, db_server: SQLServer, database: str) -> None:
        self.server = db_server
        self.database = database
        db_server.execute(f"CREATE TABLE {database}.t (token INT PRIMARY KEY, note VARCHAR(20))")

    def options(self) -> Mapping[str, Any]:
        return {
            "topic.prefix": "suite",
            "database.hostname": "127.0.0.1",
            "database.port": self.server.port,
            "database.user": "dbz",
            "database.password": "dbz",
            "database.server.id": 4711,
            "database.include.list": self.database,
        }

    def change(self, tokens: Sequence[int]) -> None:
        inserts = (f"INSERT INTO t VALUES ({token}, 'x');" for token in tokens)
        self.server.run_sql("\n".join([f"USE {self.database};", *inserts]))

    def token(self, record: Record) -> int | None:
        if record.topic != f"suite.{self.database}.t" or not isinstance(record.value, Struct):
            return None
        token: int = record.value["after"]["token"]
        return token
