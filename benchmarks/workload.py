"""The table of the benchmark and what is written to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from testkit.servers.mysql import MySQLServer

DATABASE = "bench"
COLUMNS = "id, name, email, price, big, d, dt, ts, flag, e"
CREATE = """
CREATE TABLE {table} (id int primary key, name varchar(50), email varchar(100), price decimal(10,2), big bigint,
  d double, dt datetime(6), ts timestamp null, flag tinyint(1), e enum('a','b','c'))
"""


def create(server: MySQLServer, table: str = "t") -> None:
    """Makes the table, empty."""
    server.execute(f"CREATE DATABASE IF NOT EXISTS {DATABASE}")
    server.execute(f"DROP TABLE IF EXISTS {DATABASE}.{table}")
    server.execute(CREATE.format(table=f"{DATABASE}.{table}"))


def row(n: int) -> str:
    """The SQL of row `n`, a tuple of literals."""
    return (
        f"({n},'name of {n}','user{n}@example.com',{n % 100000}.{n % 100:02d},{n * 7919},{n}.5,"
        f"'2024-{n % 12 + 1:02d}-{n % 28 + 1:02d} 12:34:56.{n % 1000000:06d}',"
        f"'2024-01-{n % 28 + 1:02d} 01:02:03',{n % 2},'{'abc'[n % 3]}')"
    )


def inserts(first: int, count: int, per_statement: int = 100, table: str = "t") -> Iterator[str]:
    """INSERT statements for rows `first` to `first + count - 1`."""
    for start in range(first, first + count, per_statement):
        rows = ",".join(map(row, range(start, min(start + per_statement, first + count))))
        yield f"INSERT INTO {DATABASE}.{table} ({COLUMNS}) VALUES {rows}"


def spread(tables: Sequence[str], first: int, count: int, per_statement: int = 100) -> Iterator[str]:
    """INSERT statements for `count` rows, one table after the other in turn."""
    for number, start in enumerate(range(first, first + count, per_statement)):
        rows = min(per_statement, first + count - start)
        yield from inserts(start, rows, per_statement, tables[number % len(tables)])


def updates(first: int, count: int, per_statement: int = 100, table: str = "t") -> Iterator[str]:
    """UPDATE statements that change rows `first` to `first + count - 1`."""
    for start in range(first, first + count, per_statement):
        end = min(start + per_statement, first + count)
        yield f"UPDATE {DATABASE}.{table} SET name = 'changed', price = price + 1 WHERE id >= {start} AND id < {end}"


def bulk(table: str, first: int, inserted: int, updated: int) -> Iterator[str]:
    """Inserts, then updates of the first of them, in statements of 100 rows."""
    yield from inserts(first, inserted, table=table)
    yield from updates(first, updated, table=table)


def write(server: MySQLServer, statements: Iterable[str], *, together: bool = False) -> None:
    """Runs statements, each its own transaction or all in one."""
    connection = server.connect(autocommit=not together)
    try:
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.commit()
    finally:
        connection.close()
