"""The schema changes of this source, read by the source `debezium`."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit_ticdc.events import Ddl
from cdckit_ticdc.message import Message
from mysql.capture import Capture, config_for
from testkit.servers.mysql import MySQLServer
from ticdc.test_connectors import make_decoder


@pytest.mark.parametrize("format_", ["3", "1.9", "1.1", "history"])
@pytest.mark.parametrize("schemas", [False, True])
def test_statements_come_back(
    mysql_server: MySQLServer, unique_name: str, tmp_path: Path, format_: str, schemas: bool
) -> None:
    config = config_for(
        mysql_server,
        database_include_list=unique_name,
        include_schema_changes=True,
        schema_change_format=format_,
        schema_history_internal_store_only_captured_databases_ddl=True,
    )
    mysql_server.run_sql(
        f"CREATE DATABASE {unique_name}; CREATE TABLE {unique_name}.t (id INT, e ENUM('a') DEFAULT 'a');"
    )
    with Capture(config, tmp_path).closing() as reading:
        records = reading.once()
        mysql_server.run_sql("ALTER TABLE t ADD v INT; RENAME TABLE t TO u; DROP TABLE u;", database=unique_name)
        records += reading.once()
    mysql_server.execute(f"DROP DATABASE {unique_name}")
    messages = JsonSerializer(JsonConfig.model_validate({"schemas.enable": schemas})).serialize(records)
    decoder = make_decoder()
    statements = []
    for number, (topic, key, value) in enumerate(zip(messages.topics, messages.keys, messages.values, strict=True)):
        found = decoder.decode(Message(topic, 0, number, key, value))
        for part in found if isinstance(found, tuple | list) else [found]:
            if isinstance(part, Ddl):
                statements.append(part.statement.removesuffix(";"))
    assert len(statements) == len(records)
    assert statements[1] == f"DROP TABLE IF EXISTS `{unique_name}`.`t`"
    assert statements[-3:] == ["ALTER TABLE t ADD v INT", "RENAME TABLE t TO u", f"DROP TABLE `{unique_name}`.`u`"]
