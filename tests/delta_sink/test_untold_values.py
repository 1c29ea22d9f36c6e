"""Values that ALTER TABLE gives to rows of before and the log does not tell: by an expression, by AUTO_INCREMENT."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

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


@pytest.mark.parametrize("mode", ["mirror", pytest.param("history", marks=pytest.mark.nightly)])
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


@pytest.mark.parametrize("how", ["left out", "renamed"])
def test_values_of_a_column_that_its_former_name_did_not_show_are_told_of(shop: Shop, how: str) -> None:
    shop.run("CREATE TABLE t (id INT PRIMARY KEY, secret INT); INSERT INTO t VALUES (1, 1), (2, 2)")
    chain = [{"type": "ExtractNewRecordState"}, {"type": "ReplaceField", "renames": "secret:other"}]
    pipeline = replace(shop.pipeline(), others={"name": shop.name, "transforms": chain})
    if how == "left out":
        pipeline = shop.pipeline(column_exclude_list=f"{shop.name}.t.secret")
    assert pipeline.run("--once").code == 0
    shop.run("ALTER TABLE t RENAME COLUMN secret TO shown; UPDATE t SET shown = 5 WHERE id = 1")
    ended = pipeline.run("--once")
    assert ended.code == 0, ended.errors
    assert "column 'shown' was added with values that the source's log does not tell" in ended.stderr
    assert shop.unequal() == {"t"}
    shop.run("UPDATE t SET shown = 6")
    assert pipeline.run("--once").code == 0
    shop.assert_equal(["t"])


def test_a_column_that_shards_get_one_after_the_other(shop: Shop) -> None:
    """Of rows that came between the first ALTER and their own table's, nobody knows here which they are."""
    route = {"type": "ByLogicalTableRouter", "topic.regex": r"(.*)\.s_\d", "topic.replacement": "$1.s"}
    pipeline = replace(shop.pipeline(), others={"name": shop.name, "transforms": [route]})
    shop.run("CREATE TABLE s_1 (id INT PRIMARY KEY); CREATE TABLE s_2 (id INT PRIMARY KEY); INSERT INTO s_2 VALUES (1)")
    shop.run("INSERT INTO s_1 VALUES (1)")
    assert pipeline.run("--once").code == 0
    shop.run("ALTER TABLE s_1 ADD v INT DEFAULT 3; INSERT INTO s_2 VALUES (2)")
    assert "came in between" not in pipeline.run("--once").stderr
    shop.run("ALTER TABLE s_2 ADD v INT DEFAULT 3")
    said = pipeline.run("--once").stderr
    assert f"column 'v' was added to {shop.name}.s_2 with '3', and is here since another source table has it" in said
    assert {row["v"] for row in shop.lake.found("s") if row["id"] == 1} == {3}
    shop.run("UPDATE s_2 SET v = 4")
    assert pipeline.run("--once").code == 0
