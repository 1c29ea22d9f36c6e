"""The schema changes of this source, read by the source `debezium`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdckit.serializers.json import JsonSerializer
from cdckit.serializers.json_config import JsonConfig
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message
from mysql.conftest import NewCapture
from ticdc.test_connectors import make_decoder


@pytest.mark.parametrize("format_", ["3", "1.9", "1.1", "history"])
@pytest.mark.parametrize("schemas", [False, True])
def test_statements_come_back(
    capture: NewCapture, sql: Callable[[str], None], database: str, format_: str, schemas: bool
) -> None:
    options = {
        "include_schema_changes": True,
        "schema_change_format": format_,
        "schema_history_internal_store_only_captured_databases_ddl": True,
    }
    sql("CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'b') DEFAULT 'b');")
    records = capture(**options).once()
    sql("ALTER TABLE t ADD v INT; RENAME TABLE t TO u; DROP TABLE u;")
    records += capture(**options).once()
    messages = JsonSerializer(JsonConfig.model_validate({"schemas.enable": schemas})).serialize(records)
    decoder = make_decoder()
    statements = []
    for number, (topic, key, value) in enumerate(zip(messages.topics, messages.keys, messages.values, strict=True)):
        found = decoder.decode(Message(topic, 0, number, key, value))
        for part in found if isinstance(found, tuple | list) else [found]:
            if isinstance(part, Ddl):
                statements.append(part.statement.removesuffix(";"))
    assert len(statements) == len(records)
    assert statements[1] == f"DROP TABLE IF EXISTS `{database}`.`t`"
    assert statements[-3:] == ["ALTER TABLE t ADD v INT", "RENAME TABLE t TO u", f"DROP TABLE `{database}`.`u`"]
