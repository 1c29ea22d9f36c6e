"""CREATE, ALTER and DROP VIEW, of which only the names matter."""

from __future__ import annotations

from cdckit_mysql.ddl.changes import ChangeKind, SchemaChange
from cdckit_mysql.ddl.scope import Changes, Scope

_BEFORE_THE_KIND = ("ALGORITHM", "DEFINER", "SQL")
_OTHER_KINDS = ("AGGREGATE", "EVENT", "FUNCTION", "PACKAGE", "PROCEDURE", "TRIGGER")


def define_view(scope: Scope) -> Changes:
    """Read on behind CREATE or ALTER; None if it is no view but a routine, a user or another kind of object."""
    cursor = scope.cursor
    while cursor.accept_any(*_BEFORE_THE_KIND):
        cursor.skip_to("VIEW", *_BEFORE_THE_KIND, *_OTHER_KINDS, ";")
    if not cursor.accept("VIEW"):
        return None
    cursor.accept("IF", "NOT", "EXISTS")
    view = scope.table_id()
    cursor.skip_to(";")
    return [SchemaChange(ChangeKind.VIEW, view.database, scope.text, after=view)]


def drop_views(scope: Scope) -> list[SchemaChange]:
    """Read on behind DROP VIEW."""
    scope.cursor.accept("IF", "EXISTS")
    views = scope.table_ids()
    scope.cursor.skip_to(";")
    return [SchemaChange(ChangeKind.VIEW, view.database, scope.text, before=view) for view in views]
