"""Tables that the server shows otherwise than its log has told: `cdc resnapshot` takes what the server shows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from cdckit.cli.main import call
from delta_sink.shop import Shop
from testkit.servers.mariadb import MariaDBServer

SPOILT = "ALTER TABLE t CONVERT TO CHARACTER SET utf16"
"""MySQL keeps the bytes of an ENUM's labels, and reads them by the new character set."""
VERSIONED = """
CREATE TABLE t (id INT PRIMARY KEY, v INT,
    b TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END,
    PERIOD FOR SYSTEM_TIME (b, e)) WITH SYSTEM VERSIONING;
INSERT INTO t (id, v) VALUES (1, 1), (2, 2);
"""
"""MariaDB shows `e` in the key."""
RENAMED = "SET sql_log_bin = 0; RENAME TABLE t TO u; SET sql_log_bin = 1"


def test_the_servers_definition_is_taken(shop: Shop) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, x ENUM('a', 'b')); INSERT INTO t VALUES (1, 'a')")
    shop.deliver()
    shop.run(f"{SPOILT}; INSERT INTO t VALUES (2, 2)")
    pipeline = shop.pipeline()
    assert pipeline.run("--once").code == 4
    assert call(["resnapshot", str(pipeline.written()), "--table", f"{shop.name}.t"]) == 0
    ended = shop.deliver()
    assert "has another type for x at the server, which no statement of its log has told of" in ended.stderr
    shop.assert_equal(["t"])
    shop.run("INSERT INTO t VALUES (3, 1); UPDATE t SET x = 1 WHERE id = 2")
    shop.deliver()
    shop.assert_equal(["t"])


@pytest.mark.nightly
def test_a_table_whose_key_the_server_has_made_longer_is_read(
    mariadb_server: MariaDBServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    shop = Shop(mariadb_server, unique_name, tmp_path)
    afterwards.callback(mariadb_server.execute, f"DROP DATABASE {unique_name}")
    shop.make("CREATE TABLE others (id INT PRIMARY KEY)")
    shop.deliver()
    shop.run(VERSIONED)
    shop.deliver()
    assert call(["resnapshot", str(shop.pipeline().written()), "--table", f"{shop.name}.t"]) == 0
    assert "t has another key at the server" in shop.deliver().stderr
    shop.run("UPDATE t SET v = 6 WHERE id = 1; DELETE FROM t WHERE id = 2; INSERT INTO t (id, v) VALUES (3, 3)")
    shop.deliver()
    shop.assert_equal(["t"])


def test_what_would_begin_anew_without_end_ends_the_run(shop: Shop) -> None:
    """What the log tells of is gone, and another one is there, which may be the same."""
    shop.run("CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)")
    shop.deliver()
    shop.run(RENAMED)
    pipeline = shop.pipeline()
    file = str(pipeline.written())
    assert call(["resnapshot", file, "--table", f"{shop.name}.t"]) == 0
    ended = pipeline.run("--once")
    assert ended.code == 3
    assert "error CDC3508: " in ended.stderr
    assert "t is gone" in ended.errors and "5 times in a row" in ended.errors
    assert call(["offsets", "reset", file]) == 0
    shop.deliver()
    shop.assert_equal(["u"])
