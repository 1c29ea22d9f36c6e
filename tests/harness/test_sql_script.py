"""Scripts are cut into the statements that the command-line client would send."""

from __future__ import annotations

import pytest

from testkit.servers.sql_script import statements


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("SELECT 1; SELECT 2;\nSELECT 3", ["SELECT 1", "SELECT 2", "SELECT 3"]),
        ("INSERT INTO t\n  VALUES (1);\n", ["INSERT INTO t\n  VALUES (1)"]),
        ("SELECT 'a;b', \"c;d\", `e;f`;", ["SELECT 'a;b', \"c;d\", `e;f`"]),
        (r"SELECT 'it''s; \'so\'; \\'; SELECT 2", [r"SELECT 'it''s; \'so\'; \\'", "SELECT 2"]),
        ("-- first; no\nSELECT 1; # second; no\nSELECT 2", ["SELECT 1", "SELECT 2"]),
        ("SELECT 1--2, '-- text' ; /* a;b */ SELECT 3", ["SELECT 1--2, '-- text'", "SELECT 3"]),
        ("/*!50100 SET a = 1; */; SELECT /*+ hint; */ 1", ["/*!50100 SET a = 1; */", "SELECT /*+ hint; */ 1"]),
        (" ; ;\n-- nothing\n", []),
    ],
)
def test_cut(script: str, expected: list[str]) -> None:
    assert list(statements(script)) == expected


def test_delimiter_command() -> None:
    script = "DELIMITER //\nCREATE TRIGGER x BEGIN SET a=1; SET b=2; END//\nSELECT 1//\nDELIMITER ;\nSELECT 2;"
    assert list(statements(script)) == [
        "CREATE TRIGGER x BEGIN SET a=1; SET b=2; END",
        "SELECT 1",
        "SELECT 2",
    ]
