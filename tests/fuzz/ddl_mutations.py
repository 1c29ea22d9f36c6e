"""Statements that differ a little from those of the DDL corpus, the same ones for the same seed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from mysql.ddl.following import statements

CORPUS = Path(__file__).parents[1] / "mysql" / "ddl" / "corpus"

_WORDS = (
    "CHARACTER", "CHARACTER SET", "CHAR", "COLLATE", "DEFAULT", "GENERATED ALWAYS AS", "PRIMARY", "KEY", "CHECK",
    "CONSTRAINT", "REFERENCES x", "ON UPDATE", "WITH SYSTEM VERSIONING", "PERIOD FOR", "SET STATEMENT a=1 FOR",
    "PARTITION BY", "UNION", "(", ")", ",", ";", ".", "=", "*", "@", "-", "'", '"', "`", "\\", "/*", "*/", "/*!",
    "/*!50003", "/*!99999", "/*M!100100", "--", "-- ", "--\n", "#", "\n", "\0", "\x1a", "0x", "x'", "b'2'", "1e", "1.",
    "99999999999999999999", "-1", "1e400", "1.e999", "\udcff", "\ud800", "\U0001f600", "é", "NULL", "_utf8mb4'a'",
    "DECIMAL(65,30)", "DECIMAL(4000000000,4000000000) DEFAULT 1", "BINARY(4294967295) DEFAULT 'a'", "ENUM()", "BIT(0)",
    "TIMESTAMP(99)", "YEAR(2)", "VECTOR(1)", "INVISIBLE", "AFTER", "FIRST", "IF NOT EXISTS", "LIKE", "SELECT", "FOR",
)  # fmt: skip


def corpus() -> list[list[str]]:
    """The statements of every file."""
    return [list(statements(path)) for path in sorted(CORPUS.glob("*/*.sql"))]


def mutated(statement: str, random: Random) -> str:
    """The statement with one to four changes."""
    for _ in range(random.choice((1, 1, 2, 4))):
        statement = random.choice((_inserted, _left_out, _doubled, _cut, _replaced))(statement, random)
    return statement


def _place(statement: str, random: Random) -> tuple[int, int]:
    """Where a word, or some characters, begin and end."""
    start = random.randrange(len(statement) + 1)
    if random.random() < 0.3:
        return start, min(len(statement), start + random.randrange(4))
    start = statement.rfind(" ", 0, start) + 1
    end = statement.find(" ", start)
    return start, len(statement) if end < 0 else end


def _inserted(statement: str, random: Random) -> str:
    at, _ = _place(statement, random)
    blank = random.choice((" ", ""))
    return f"{statement[:at]}{blank}{random.choice(_WORDS)}{blank}{statement[at:]}"


def _left_out(statement: str, random: Random) -> str:
    start, end = _place(statement, random)
    return statement[:start] + statement[end:]


def _doubled(statement: str, random: Random) -> str:
    start, end = _place(statement, random)
    return statement[:end] + f" {statement[start:end]}" * random.choice((1, 2, 50)) + statement[end:]


def _cut(statement: str, random: Random) -> str:
    return statement[: random.randrange(len(statement) + 1)]


def _replaced(statement: str, random: Random) -> str:
    start, end = _place(statement, random)
    return statement[:start] + random.choice(_WORDS) + statement[end:]
