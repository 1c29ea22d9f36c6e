"""The error of a statement that cannot be read."""

from __future__ import annotations

from cdckit import DecodeError

_EXCERPT = 200


class DdlError(DecodeError):
    """A statement which may change a table's definition, and cannot be read or does not fit the known tables.

    Args:
        problem: what is wrong, without the statement.
        sql: the whole statement.
        offset: where in the statement reading stopped, in characters.

    Attributes:
        problem: as given.
        sql: as given.
        offset: as given.
    """

    def __init__(self, problem: str, sql: str, offset: int = 0) -> None:
        super().__init__(
            f"DDL statement: {problem}, at character {offset}: {_excerpt(sql, offset)!r}. "
            "If the statement does not concern a captured table, schema.history.internal.skip.unparseable.ddl=true "
            "passes over it; else start with a new state folder, which reads the definitions anew."
        )
        self.problem = problem
        self.sql = sql
        self.offset = offset


def _excerpt(sql: str, offset: int) -> str:
    """Return the statement, or when it is long its beginning and what surrounds the offset."""
    if len(sql) <= _EXCERPT:
        return sql
    start = max(0, offset - _EXCERPT // 2)
    head = "" if start == 0 else sql[:40] + " … "
    tail = "" if start + _EXCERPT >= len(sql) else " …"
    return head + sql[start : start + _EXCERPT] + tail
