"""The table model: keys, case of names, copies, JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cdckit_mysql.table import Column, Database, Index, Table, Tables

A = Column("a", "INT", 1, optional=False)
B = Column("b", "VARCHAR", 2, length=20, charset="utf8mb4", has_default=True, default=None)
E = Column("e", "ENUM", 3, length=1, enum_values=("x", "y,z"), type_expression="ENUM", comment="c")


def test_primary_key_is_the_key() -> None:
    table = Table("d", "t", (A, B), primary_key=("b", "a"), indexes=(Index("u", ("a",), unique=True),))
    assert table.key_columns == ("b", "a")


def test_first_unique_key_without_null_is_the_key() -> None:
    keys = (Index("plain", ("a",)), Index("u1", ("a", "b"), unique=True), Index("u2", ("a",), unique=True))
    assert Table("d", "t", (A, B), indexes=keys).key_columns == ("a",)
    assert Table("d", "t", (A, B), indexes=keys[:2]).key_columns == ()


def test_a_key_over_an_expression_identifies_no_row() -> None:
    assert Table("d", "t", (A,), indexes=(Index("u", ("",), unique=True),)).key_columns == ()


def test_number_attributes() -> None:
    column = Column("n", "BIGINT UNSIGNED ZEROFILL", 1, length=20)
    assert (column.base_type, column.unsigned, column.zerofill) == ("BIGINT", True, True)
    assert (A.base_type, A.unsigned, A.zerofill) == ("INT", False, False)
    assert column.type_expression == "BIGINT UNSIGNED ZEROFILL"


def test_columns_are_found_whatever_their_case_and_numbered_anew() -> None:
    table = Table("d", "t").with_columns([E, A])
    assert table.column("A") == replace(A, position=2)
    assert table.column("nothere") is None


@pytest.mark.parametrize(("mode", "found"), [(0, False), (1, True), (2, True)])
def test_case_of_names_follows_the_server(mode: int, found: bool) -> None:
    tables = Tables(lower_case_table_names=mode)
    tables.put(Table("Shop", "Orders"))
    assert (("shop", "ORDERS") in tables) is found
    assert ("Shop", "Orders") in tables
    assert tables.spelling("Orders") == ("orders" if mode == 1 else "Orders")


def test_a_copy_and_its_origin_change_apart() -> None:
    origin = Tables()
    origin.put(Table("d", "t", (A,)))
    origin.put_database(Database("d", "latin1"))
    copy = origin.copy()
    assert copy == origin
    origin.put(Table("d", "t", (A, B)))
    copy.put(Table("d", "other"))
    copy.remove_database("d")
    assert [len(table.columns) for table in origin] == [2]
    assert origin.database("d") == Database("d", "latin1")
    assert len(copy) == 0
    assert copy.databases == []


def test_json_holds_everything() -> None:
    tables = Tables(lower_case_table_names=2)
    tables.put_database(Database("d", "utf8mb4", "utf8mb4_bin"))
    tables.put(
        Table("d", "t", (A, B, E), ("a",), (Index("u", ("b", "a"), unique=True),), "utf8mb4", "utf8mb4_bin", "c")
    )
    document = json.loads(json.dumps(tables.to_json()))
    assert Tables.from_json(document) == tables
