"""Records the logs that `test_logs` damages, from real servers: `PYTHONPATH=tests python -m fuzz.record_logs`."""

from __future__ import annotations

import lzma

from fuzz.logs import RECORDED
from mysql.recordings import DATA
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql import MySQLServer
from testkit.servers.mysql_family import SQLServer

_WIDE = ", ".join(f"({number}, REPEAT('wide ', 100), {number})" for number in range(20))
_BOTH = f"""
    CREATE TABLE packed (id INT PRIMARY KEY, v TEXT, n INT);
    CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM;
    CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES packed (id) ON DELETE CASCADE);
    INSERT INTO packed VALUES {_WIDE};
    BEGIN; INSERT INTO packed VALUES (100, 'a', 1); SAVEPOINT s; INSERT INTO packed VALUES (101, 'b', 2);
    ROLLBACK TO s; UPDATE packed SET v = 'x' WHERE id < 3; COMMIT;
    INSERT INTO plain VALUES (1, 'kept');
    XA START 'one', 'two', 3; INSERT INTO packed VALUES (103, 'c', 3); XA END 'one', 'two', 3;
    XA PREPARE 'one', 'two', 3; XA COMMIT 'one', 'two', 3;
    XA START 'four'; INSERT INTO packed VALUES (104, 'd', 4); XA END 'four'; XA COMMIT 'four' ONE PHASE;
    SET SESSION binlog_row_image = 'MINIMAL'; UPDATE packed SET n = 7 WHERE id = 5; DELETE FROM packed WHERE id = 6;
    SET SESSION binlog_row_image = 'FULL';
    SET SESSION binlog_format = 'STATEMENT'; SET @u = 5; SET SESSION insert_id = 9;
    UPDATE plain SET v = CONCAT(@u, RAND(), LAST_INSERT_ID()); SET SESSION binlog_format = 'ROW';
    ALTER TABLE packed ADD c INT DEFAULT 3, ADD e ENUM('a', 'é') CHARACTER SET latin1, ADD INDEX (n);
    INSERT INTO packed (id, e) VALUES (200, 'é'); TRUNCATE TABLE plain; RENAME TABLE plain TO plainer;
    DROP TABLE plainer; CREATE VIEW seen AS SELECT id FROM packed; DROP VIEW seen;
"""
_MYSQL = f"""
    SET SESSION binlog_transaction_compression = ON;
    BEGIN; INSERT INTO packed (id, v) VALUES (300, REPEAT('z', 300)), (301, 'y'); UPDATE packed SET n = id WHERE id > 1;
    DELETE FROM packed WHERE id = 301; COMMIT; SET SESSION binlog_transaction_compression = OFF;
    CREATE TABLE docs (id INT PRIMARY KEY, d JSON, w VECTOR(3), g POINT);
    INSERT INTO docs VALUES (1, '{{"a": [1, 2.5, "x", {{"b": null}}], "c": 12345678901, "d": "{"l" * 200}"}}',
      STRING_TO_VECTOR('[1,2,3]'), POINT(1, 2));
    SET SESSION binlog_row_value_options = 'PARTIAL_JSON';
    UPDATE docs SET d = JSON_SET(d, '$.a[0]', 7, '$.e', true);
    UPDATE docs SET d = JSON_REMOVE(JSON_REPLACE(d, '$.c', 'n'), '$.a[1]');
    SET SESSION binlog_row_value_options = ''; DELETE FROM docs;
    SET SESSION gtid_next = 'AUTOMATIC:tag'; INSERT INTO child VALUES (1, 300); SET SESSION gtid_next = 'AUTOMATIC';
"""
_MARIADB = """
    SET GLOBAL log_bin_compress = ON; SET GLOBAL log_bin_compress_min_len = 10;
    UPDATE packed SET v = REPEAT('compressed ', 30) WHERE id < 4; DELETE FROM packed WHERE id = 2;
    INSERT INTO packed (id, v) VALUES (300, REPEAT('z', 300));
    CREATE TABLE commented (id INT PRIMARY KEY COMMENT 'compressible compressible compressible compressible');
    SET GLOBAL log_bin_compress = OFF;
    SET SESSION binlog_alter_two_phase = ON; ALTER TABLE commented ADD c VARCHAR(300) COMPRESSED, ADD b BLOB COMPRESSED,
      ADD u UUID, ADD i INET6; SET SESSION binlog_alter_two_phase = OFF;
    INSERT INTO commented VALUES (1, REPEAT('c', 200), REPEAT('b', 200), UUID(), '::1');
    CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)) ENGINE=MyISAM;
    BEGIN; INSERT INTO packed (id) VALUES (102); INSERT INTO plain VALUES (2, 'kept'); ROLLBACK;
    CREATE SEQUENCE numbers; SELECT NEXTVAL(numbers); SET SESSION gtid_domain_id = 3;
    CREATE OR REPLACE TABLE versioned (id INT PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
    INSERT INTO versioned VALUES (1, 2); UPDATE versioned SET v = 3; DELETE FROM versioned; DROP TABLE versioned;
"""


def record(server: SQLServer, more: str) -> list[bytes]:
    """The files of a new server's log, without checksums: those are made when the files are."""
    server.execute("SET GLOBAL binlog_checksum = NONE")
    first = len(server.execute("SHOW BINARY LOGS"))
    for script in ("types.setup", "types.stream", "dml.setup", "dml.stream", "ddl.setup", "ddl.stream"):
        server.run_sql_file(DATA / "sql" / f"{script}.sql", force=True)
    server.execute("FLUSH BINARY LOGS")
    server.run_sql(_BOTH + more, database="g_dml")
    server.execute("FLUSH BINARY LOGS")
    names = [row[0] for row in server.execute("SHOW BINARY LOGS")]
    return [(server.datadir / name).read_bytes() for name in names[first - 1 : -1]]


def main() -> None:
    for name, kind, more in (("mysql", MySQLServer, _MYSQL), ("mariadb", MariaDBServer, _MARIADB)):
        with kind() as server:
            files = record(server, more)
        for number, content in enumerate(files, 1):
            path = RECORDED / f"{name}.{number:06d}.xz"
            path.write_bytes(lzma.compress(content))
            print(path.name, len(content), path.stat().st_size)


if __name__ == "__main__":
    main()
