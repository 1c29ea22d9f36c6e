"""Values that ALTER TABLE gives to rows of before and the log does not tell: by an expression, by AUTO_INCREMENT."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cdckit.tables.behavior import ChangeKind
from delta_sink.kinds import Kind
from delta_sink.played import Played
from delta_sink.shop import Shop

_RETYPED = frozenset({ChangeKind.ALTER_COLUMN_TYPE})
_REKEYED = frozenset({ChangeKind.ADD_COLUMN, ChangeKind.ALTER_KEY})
_COMPUTED = "id INT PRIMARY KEY, a INT, b INT AS (a * 2) STORED"
_ROWS = "(1, 1, DEFAULT), (2, 2, DEFAULT)"
UNTOLD: Mapping[str, Kind] = {
    "expression": Kind(
        "ALTER TABLE T! MODIFY b INT AS (a * 3) STORED; INSERT INTO T! (id, a) VALUES (3, 3)",
        _RETYPED,
        columns=_COMPUTED,
        rows=_ROWS,
    ),
    "not_stored": Kind(
        "ALTER TABLE T! CHANGE b c INT AS (a * 3) VIRTUAL; INSERT INTO T! (id, a) VALUES (3, 3)",
        _RETYPED,
        columns=_COMPUTED.replace("STORED", "VIRTUAL"),
        rows=_ROWS,
    ),
    "computed": Kind(
        "ALTER TABLE T! MODIFY b INT AS (a * 3) STORED; INSERT INTO T! (id, a) VALUES (3, 3)",
        _RETYPED,
        columns="id INT PRIMARY KEY, a INT, b INT",
        rows="(1, 1, 7), (2, 2, NULL)",
    ),
    "numbered": Kind(
        "ALTER TABLE T! MODIFY id INT NOT NULL AUTO_INCREMENT; INSERT INTO T! (a) VALUES (3)",
        _RETYPED,
        columns="id INT PRIMARY KEY, a INT",
        rows="(0, 1), (5, 2)",
    ),
    "sorted": Kind(
        "ALTER TABLE T! MODIFY a SET('z', 'y', 'x'); INSERT INTO T! VALUES (3, 'x,z')",
        _RETYPED,
        columns="id INT PRIMARY KEY, a SET('x', 'y', 'z')",
        rows="(1, 'x,z'), (2, 'y')",
    ),
    "keyed": Kind(
        "ALTER TABLE T! ADD id INT AUTO_INCREMENT PRIMARY KEY FIRST; UPDATE T! SET b = 7 WHERE id = 1;"
        "DELETE FROM T! WHERE id = 2; INSERT INTO T! (a) VALUES (3)",
        _REKEYED,
        columns="a INT, b INT",
        rows="(1, 1), (2, 2), (2, 2)",
    ),
    "keyed_anew": Kind(
        "ALTER TABLE T! DROP PRIMARY KEY, ADD id INT AUTO_INCREMENT PRIMARY KEY; UPDATE T! SET b = 7 WHERE id = 1",
        _REKEYED,
        columns="a INT PRIMARY KEY, b INT",
        rows="(1, 1), (2, 2)",
    ),
}
TOLD: Mapping[str, Kind] = {
    "fixed": Kind(
        "ALTER TABLE T! MODIFY b INT; INSERT INTO T! (id, b) VALUES (3, 3)", _RETYPED, columns=_COMPUTED, rows=_ROWS
    ),
    "widened": Kind(
        "ALTER TABLE T! MODIFY id BIGINT AUTO_INCREMENT; INSERT INTO T! (a) VALUES (3)",
        _RETYPED,
        columns="id INT AUTO_INCREMENT PRIMARY KEY, a INT",
        rows="(1, 1), (2, 2)",
    ),
    "zeros": Kind(
        "SET sql_mode = CONCAT(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO'); ALTER TABLE T! MODIFY id INT AUTO_INCREMENT;"
        "INSERT INTO T! VALUES (6, 3)",
        _RETYPED,
        columns="id INT PRIMARY KEY, a INT",
        rows="(0, 1), (5, 2)",
    ),
    "labelled": Kind(
        "ALTER TABLE T! MODIFY a SET('w', 'x', 'y', 'z'), MODIFY b ENUM('c', 'b', 'a');"
        "INSERT INTO T! VALUES (3, 'w,z', 'c')",
        _RETYPED,
        columns="id INT PRIMARY KEY, a SET('x', 'z'), b ENUM('a', 'b')",
        rows="(1, 'x,z', 'a'), (2, 'z', 'b')",
    ),
    "given": Kind(
        "ALTER TABLE T! ADD id INT NOT NULL DEFAULT 0; UPDATE T! SET id = a; ALTER TABLE T! ADD PRIMARY KEY (id);"
        "UPDATE T! SET b = 7 WHERE id = 1; DELETE FROM T! WHERE id = 2",
        _REKEYED,
        columns="a INT, b INT",
        rows="(1, 1), (2, 2), (3, 3)",
    ),
}


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_a_table_is_read_anew_as_the_message_says(shop: Shop, capsys: pytest.CaptureFixture[str], mode: str) -> None:
    """Where the log tells enough, nobody is asked."""
    pipeline = Played(shop.with_sink(mode, {}), {}, lambda: "".join(capsys.readouterr()))
    assert pipeline.play({**UNTOLD, **TOLD}) == {("resnapshot", name) for name in UNTOLD}
    assert pipeline.shop.unequal() == set()


@pytest.mark.unequal("the user has it so", tables=[*UNTOLD])
def test_who_accepts_it_goes_on(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """`cdc diff` tells it, also of rows whose key is null."""
    pipeline = Played(shop, {"schema.evolution": "try_evolve"}, lambda: "".join(capsys.readouterr()))
    assert pipeline.play(UNTOLD) == set()
    assert pipeline.unequal() == {*UNTOLD}
