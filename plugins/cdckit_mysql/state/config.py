"""Options of the state store `sql`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar
from urllib.parse import parse_qsl, unquote

from pydantic import Field, SecretStr, model_validator

from cdckit import IgnoredOptions
from cdckit_mysql.options.connection import ServerOptions

NonEmpty = Annotated[str, Field(min_length=1)]
_URL = re.compile(
    r"jdbc:(mysql|mariadb)://(?P<host>\[[^\]]+\]|[^:/?,()@\s]+)(:(?P<port>\d+))?/(?P<database>[^/?]+)(\?(?P<properties>.*))?"
)


class SqlStateConfig(ServerOptions):
    """Options of the state store `sql`."""

    renamed: ClassVar[Mapping[str, str]] = {"jdbc.url": "jdbc.connection.url"}
    stand_ins: ClassVar[Mapping[str, str]] = {
        f"jdbc.{before}{name}": f"database.{name}" for before in ("", "connection.") for name in ("user", "password")
    }
    ignored_options: ClassVar[tuple[IgnoredOptions, ...]] = (
        IgnoredOptions(r"jdbc\.(offset\.)?table\..+", "the tables are this store's own, see table.prefix"),
        IgnoredOptions(
            r"jdbc\.(connection\.)?(wait\.retry|retry)\..+",
            "a pipeline whose state cannot be saved ends, and goes on when it is started again",
        ),
    )

    database_user: NonEmpty
    """The user to log in as: `SELECT, INSERT, UPDATE, DELETE` on the tables, and `CREATE` until they are made."""
    database_dbname: NonEmpty
    """The database in which the tables are; it has to be there."""
    table_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,40}$")] = "cdckit_"
    """What the names of the tables begin with: letters, digits and `_`. They are made at first use."""
    hold_timeout_ms: Annotated[int, Field(ge=3000)] = 60000
    """How long, in milliseconds, a pipeline holds its state without a sign of life, as when its machine is gone; one
    that is killed lets go at once.
    """
    jdbc_connection_url: SecretStr | None = None
    """Debezium's word for `database.hostname`, `database.port` and `database.dbname`, where these are not given:
    `jdbc:mysql://HOST:PORT/DATABASE` or `jdbc:mariadb://…`. Of its properties `user`, `password` and `sslMode` count.
    """

    @model_validator(mode="before")
    @classmethod
    def _place_of_the_url(cls, given: Any) -> Any:
        url = given.get("jdbc.connection.url") if isinstance(given, dict) else None
        return {**_options_of(url), **given} if isinstance(url, str) else given


def _options_of(url: str) -> dict[str, str]:
    """What an URL says, by the options' names.

    Raises:
        ValueError: it is for another kind of server, or for several.
    """
    found = _URL.fullmatch(url)
    if found is None:
        raise ValueError(
            "jdbc.connection.url should look like jdbc:mysql://HOST:PORT/DATABASE, or begin with jdbc:mariadb: this "
            "store knows no other servers, and one address"
        )
    properties = dict(parse_qsl(found["properties"] or ""))
    said = {
        "database.hostname": found["host"].strip("[]"),
        "database.port": found["port"],
        "database.dbname": unquote(found["database"]),
        "database.user": properties.get("user"),
        "database.password": properties.get("password"),
        "database.ssl.mode": properties.get("sslMode", "").lower(),
    }
    return {name: value for name, value in said.items() if value}
