"""What the user may do, as the server tells it: privileges of the roles that are active count."""

from __future__ import annotations

import re

from cdckit_mysql.server.connection import Connection
from cdckit_mysql.server.facts import query

EVERYTHING = "ALL PRIVILEGES"

_GRANT = re.compile(r"GRANT (.+?) ON (\S+) TO ")
_COLUMNS = re.compile(r"\([^)]*\)")


def granted(connection: Connection) -> tuple[set[str], set[str]]:
    """The privileges on `*.*`, and those on less than that."""
    everywhere: set[str] = set()
    somewhere: set[str] = set()
    for (grant,) in query(connection, "SHOW GRANTS"):
        if found := _GRANT.match(grant):
            names = {name.strip().upper() for name in _COLUMNS.sub("", found[1]).split(",")}
            (everywhere if found[2] == "*.*" else somewhere).update(names)
    return everywhere, somewhere


def may_select(connection: Connection) -> bool:
    """Whether the user may read any table at all."""
    everywhere, somewhere = granted(connection)
    return bool((everywhere | somewhere) & {EVERYTHING, "SELECT"})
