"""Comments of columns in the schemas of rows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdckit.api.struct import Struct
from mysql.conftest import NewCapture


@pytest.mark.parametrize("shown", [True, False])
def test_comments_of_columns_stand_with_their_types(
    capture: NewCapture, sql: Callable[[str], None], database: str, shown: bool
) -> None:
    """`include.schema.comments` makes them docs, and one more parameter of a type that is shown."""
    sql(
        "CREATE TABLE c (id INT PRIMARY KEY COMMENT 'the key', v INT COMMENT 'the value'); INSERT INTO c VALUES (1, 2);"
    )
    reading = capture(include_schema_comments=shown, column_propagate_source_type=f"{database}.c.v")
    *_, record = [record for record in reading.once() if record.topic.endswith(".c")]
    assert isinstance(record.value, Struct)
    row = record.value.schema.field("after").schema
    docs = [row.field(name).schema.doc for name in ("id", "v")]
    assert docs == (["the key", "the value"] if shown else [None, None])
    assert row.field("id").schema.parameters is None
    comment = (row.field("v").schema.parameters or {}).get("__debezium.source.column.comment")
    assert comment == ("the value" if shown else None)
