"""Tables that differ by their names alone share what is made of their columns."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdckit import Notices
from cdckit.api.schema import Schema
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit_mysql.config import MySqlConfig
from cdckit_mysql.events.versions import TableVersions
from cdckit_mysql.filters import Filters
from cdckit_mysql.offsets import LogPosition
from cdckit_mysql.schema_history.history import SchemaHistory
from cdckit_mysql.server.facts import RowLogging
from cdckit_mysql.streaming.other_tables import OtherTables
from cdckit_mysql.table import Column, Table, Tables

MODEL = Table("d", "a", (Column("id", "INT", 1, optional=False), Column("t", "VARCHAR", 2, length=9)), ("id",))
TABLES = [MODEL, replace(MODEL, name="b"), replace(MODEL, name="c", columns=(*MODEL.columns, Column("x", "INT", 3)))]
AT = LogPosition(0, "b.1", 4)


def _versions(options: Mapping[str, Any]) -> TableVersions:
    given = {"topic.prefix": "p", "database.hostname": "h", "database.user": "u", "database.password": "p", **options}
    config, _ = MySqlConfig.load(given, "source")
    return TableVersions(config, Filters(config), RowLogging(mariadb=False, complete=True), run_id="run")


def _schemas(versions: TableVersions, table: Table) -> list[Schema]:
    return [field.schema for field in versions.of(table).events.row_schema.fields]


def test_schemas_of_columns_are_made_once() -> None:
    versions = _versions({})
    first, second, third = (_schemas(versions, table) for table in TABLES)
    assert [one is other for one, other in zip(first, second, strict=True)] == [True, True]
    assert third[:2] == first
    assert versions.of(TABLES[0]).events.row_schema.name == "p.d.a.Value"
    assert versions.of(TABLES[1]).events.row_schema.name == "p.d.b.Value"
    # Where it is part of the key a NULL in it is damage.
    keyless = replace(MODEL, name="k", primary_key=())
    identifies = [versions.of(table).values[0] for table in (MODEL, keyless)]
    assert [value is not None and value.identifies for value in identifies] == [True, False]


@pytest.mark.parametrize(
    "options",
    [
        {"column.mask.with.3.chars": "d.b.t"},
        {"column.propagate.source.type": "d.b.t"},
        {"converters": "flag", "flag.type": "TinyIntOneToBooleanConverter", "flag.selector": "d.b.*"},
        {"event.converting.failure.handling.mode": "warn"},
    ],
)
def test_what_hangs_on_the_table_is_made_for_each(options: Mapping[str, Any]) -> None:
    alone = [_schemas(_versions(options), table) for table in TABLES]
    versions = _versions(options)
    together = [_schemas(versions, table) for table in TABLES]
    for one, other in zip(alone, together, strict=True):
        assert [(s.type, s.parameters, s.name) for s in one] == [(s.type, s.parameters, s.name) for s in other]
    values = [versions.of(table).values[1] for table in TABLES[:2]]
    assert values[0] is not values[1]


class _Heard(Notices):
    def __init__(self) -> None:
        self.readings: list[int] = []

    def schema_history(self, recovering: bool, changes: int = 0, last: str | None = None) -> None:
        if not recovering:
            self.readings.append(changes)


def test_a_history_is_read_once_for_a_place(tmp_path: Path) -> None:
    tables = Tables()
    for table in TABLES:
        tables.put(table)
    state, heard = SqliteStateStore(tmp_path), _Heard()
    SchemaHistory(state).start(AT, tables)
    history = SchemaHistory(state, heard)
    found = history.tables_at(AT)
    assert found == tables
    assert found["d", "a"].columns is found["d", "b"].columns
    found.remove("d", "a")  # the reader's own
    assert history.tables_at(AT) == tables
    assert heard.readings == [4]
    tables.remove("d", "c")
    SchemaHistory(state).start(AT._replace(pos=9), tables)  # by whoever has the same state
    assert history.tables_at(AT._replace(pos=9)) == tables
    assert len(history.tables_at(AT)) == 3
    assert len(heard.readings) == 3
    state.close()


def test_tables_are_packed_by_shape() -> None:
    many = [replace(MODEL, name=f"t{number}") for number in range(5000)]
    others = OtherTables.of([*many, TABLES[2]])
    assert len(others.packed) < 20_000
    assert sorted(others.tables(), key=lambda table: table.id) == sorted([*many, TABLES[2]], key=lambda table: table.id)


def test_hundreds_of_shapes_take_less_than_50_kb() -> None:
    chance = random.Random(1)
    shapes = [_any_columns(chance) for _ in range(300)]
    tables = [replace(MODEL, name=f"table_{number}", columns=shapes[number % 300]) for number in range(5000)]
    others = OtherTables.of(tables)
    assert len(others.packed) < 50_000
    assert {table.name: table for table in others.tables()} == {table.name: table for table in tables}


def _any_columns(chance: random.Random) -> tuple[Column, ...]:
    """Fifteen to forty of them, with words and types that tables often have."""
    words = (
        "customer",
        "order",
        "item",
        "price",
        "status",
        "created",
        "amount",
        "quantity",
        "address",
        "total",
        "note",
    )
    names = chance.sample([f"{one}_{other}" for one in words for other in words], chance.randint(14, 39))
    return (*MODEL.columns[:1], *(_any_column(name, number, chance) for number, name in enumerate(names, 2)))


def _any_column(name: str, number: int, chance: random.Random) -> Column:
    kind, length = chance.choice([("INT", None), ("BIGINT", None), ("VARCHAR", 255), ("VARCHAR", 64), ("DATETIME", 6)])
    charset = "utf8mb4" if kind == "VARCHAR" else None
    optional = chance.random() < 0.7
    return Column(name, kind, number, length, charset=charset, optional=optional, type_expression=f"{kind}({length})")
