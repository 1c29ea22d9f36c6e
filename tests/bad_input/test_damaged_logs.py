"""A log that is damaged on the server's disk, or begun anew: told, and nothing wrong delivered."""

from __future__ import annotations

import time
from pathlib import Path

from bad_input.conftest import BEFORE, DATABASE, past_snapshot, rows
from testkit.running import source_of, to_file
from testkit.servers.mysql_family import SQLServer


def test_a_flipped_bit_in_the_servers_log_is_told(server: SQLServer, tmp_path: Path) -> None:
    """The server sends what it finds, and does not compare."""
    made = to_file(tmp_path, source_of(server, DATABASE))
    with made.running() as process:
        past_snapshot(process)
        assert process.stop().code == 0
    for number, text in ((3, "right"), (4, "wrong"), (5, "later")):
        server.execute(f"INSERT INTO t VALUES ({number}, '{text}')", database=DATABASE)
    status = "MASTER" if made.source["type"] == "mariadb" else "BINARY LOG"
    log = server.datadir / server.execute(f"SHOW {status} STATUS")[0][0]
    server.execute("FLUSH BINARY LOGS")
    content = log.read_bytes()
    with log.open("r+b") as file:
        file.seek(content.rindex(b"wrong"))
        file.write(bytes([b"w"[0] ^ 1]))
    for arguments in ((), ("--once",)):
        ended = made.run(*arguments)
        assert ended.code == 5, ended.stderr
        assert f"{log.name}:" in ended.errors
        assert "the checksum of the event is wrong: the log is damaged" in ended.errors
        assert rows(made) == [*BEFORE, ("c", None, (3, "right"))]
    log.write_bytes(content)
    ended = made.run("--once")
    assert ended.code == 0, ended.stderr
    assert [after for _, _, after in rows(made)] == [(1, "a"), (2, "b"), (3, "right"), (4, "wrong"), (5, "later")]


def test_a_key_that_is_null_is_damage_where_no_checksum_tells(server: SQLServer, tmp_path: Path) -> None:
    made = to_file(tmp_path, source_of(server, DATABASE))
    server.execute("SET GLOBAL binlog_checksum = 'NONE'")
    try:
        assert made.run("--once").code == 0
        for number, text in ((3, "right"), (4, "wrong")):
            server.execute(f"INSERT INTO t VALUES ({number}, '{text}')", database=DATABASE)
        status = "MASTER" if made.source["type"] == "mariadb" else "BINARY LOG"
        log = server.datadir / server.execute(f"SHOW {status} STATUS")[0][0]
        content = bytearray(log.read_bytes())
        content[content.rindex(b"\x04\0\0\0\x05wrong") - 1] |= 1  # the row's first null bit
        log.write_bytes(content)
        ended = made.run("--once")
    finally:
        server.execute("SET GLOBAL binlog_checksum = 'CRC32'")
    assert ended.code == 5, ended.stderr
    assert f"{log.name}:" in ended.errors
    assert f"{DATABASE}.t: " in ended.errors
    assert "column id of the key is NULL, which it cannot be: the row is damaged" in ended.errors
    assert rows(made) == [*BEFORE, ("c", None, (3, "right"))]


def test_a_log_that_was_begun_anew_is_not_taken_for_the_one_that_was_read(server: SQLServer, tmp_path: Path) -> None:
    """It has the same server, file name and GTIDs, and is longer."""
    made = to_file(tmp_path, source_of(server, DATABASE))
    assert made.run("--once").code == 0
    server.execute("INSERT INTO t VALUES (3, 'c')", database=DATABASE)
    assert made.run("--once").code == 0
    mariadb = made.source["type"] == "mariadb"
    time.sleep(1.1)  # files tell when they were begun to the second
    server.execute("RESET MASTER" if mariadb else "RESET BINARY LOGS AND GTIDS")
    for number in range(100, 140):
        server.execute(f"INSERT INTO t VALUES ({number}, 'new')", database=DATABASE)
    for _ in range(2):
        ended = made.run("--once")
        assert ended.code == 3, ended.stderr
        # a file of that name is there again, or, where it was not the first one, not yet
        assert "log was begun anew (RESET)" in ended.errors or "no longer has log file" in ended.errors
    assert [after for _, _, after in rows(made)] == [(1, "a"), (2, "b"), (3, "c")]
    again = to_file(tmp_path, {**made.source, "snapshot.mode": "when_needed"})
    for _ in range(2):
        ended = again.run("--once")
        assert ended.code == 0, ended.stderr
    assert {after[0] for _, _, after in rows(again)} == {1, 2, 3, *range(100, 140)}
    assert "a new snapshot is taken" not in ended.stderr, "one is enough"
