"""The state store `sql` keeps to its contract on each server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from cdckit.testing import StateStoreSuite
from mysql.state.places import make_user, options_of
from testkit.servers.mysql_family import SQLServer


class TestSqlStore(StateStoreSuite):
    type_name = "sql"

    @pytest.fixture(autouse=True)
    def _database(self, db_server: SQLServer, database: str) -> None:
        make_user(db_server, database)
        self.server, self.database = db_server, database

    def options(self) -> Mapping[str, Any]:
        return options_of(self.server, self.database)
