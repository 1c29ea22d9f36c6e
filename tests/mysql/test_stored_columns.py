"""What schemas know of columns besides their events: what older rows and inserted ones have in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.schema import Schema
from cdckit.api.struct import Struct
from mysql.conftest import NewCapture

ADDED = """
n int default 5; big bigint default -9; u bigint unsigned default 18446744073709551615; small tinyint unsigned not null;
price decimal(8,2) not null default 1.5; ratio double default 0.1; short float default 0.1; bit1 bit(1) default b'1';
bits bit(12) not null default b'101'; t varchar(40) not null default 'it''s \\\\ "here" \\n'; c char(3) not null;
longer text; b binary(3) default 'a'; v varbinary(9) default x'00ff'; e enum('x', 'y') not null;
e2 enum('x,1', 'y') default 'x,1'; s set('x', 'y') default 'x,y'; s2 set('x', 'y') not null; y year default 1999;
day date default '2024-02-29'; at datetime(6) default '2024-02-29 12:34:56.789'; span time(3) default '-12:34:56.7';
seen timestamp(3) null default '2024-03-01 00:00:00.5'; made timestamp(3) null default current_timestamp(3);
local datetime default current_timestamp; local3 datetime(3) not null default now(3); nil int default null;
flag boolean not null default true; zero decimal(5,2) not null
"""
UNKNOWN = "a int default (id + 1); g int generated always as (id + 1); k int not null auto_increment, add key (k)"
MODES: list[dict[str, Any]] = [
    {},
    {
        "bigint.unsigned.handling.mode": "precise",
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "binary.handling.mode": "hex",
    },
    {"time.precision.mode": "isostring", "decimal.handling.mode": "double"},
]


def columns(text: str) -> list[str]:
    return [part.strip() for part in text.split(";")]


def added(definitions: str) -> str:
    return "; ".join(f"alter table t add column {definition}" for definition in columns(definitions))


def after(record: Record) -> Struct:
    assert isinstance(record.value, Struct)
    row = record.value["after"]
    assert isinstance(row, Struct)
    return row


def known(row: Struct, what: str) -> dict[str, Any]:
    fields = {field.name: field.schema for field in row.schema.fields if field.name != "id"}
    return {name: getattr(schema.stored, what, None) for name, schema in fields.items()}


@pytest.mark.parametrize(("zone", "modes"), [*zip(["SYSTEM", "+02:30", "-01:00"], MODES, strict=True)])
def test_older_rows_have_what_the_schema_knows(
    zone: str, modes: dict[str, Any], capture: NewCapture, sql: Callable[[str], None]
) -> None:
    """As the full image of a later change shows it."""
    sql("create table t (id int primary key); insert into t values (1)")
    capture(**modes).once()
    later = "alter table t alter column n set default 6, rename column nil to none"
    sql(f"set time_zone = '{zone}'; {added(ADDED)}; {later}")
    sql("update t set small = 9 where id = 1")
    (record,) = capture(**modes).once()
    row = after(record)
    shown = {name: value for name, value in row.to_dict().items() if name != "id"}
    assert {**known(row, "older"), "small": 9} == shown
    assert known(row, "older")["small"] == 0
    unknown = {name for name, lacking in known(row, "older_unknown").items() if lacking}
    assert unknown == ({"span"} if shown["span"] is None else set())  # a time that no mode but the first can show


def test_what_the_log_does_not_tell_is_not_known(capture: NewCapture, sql: Callable[[str], None]) -> None:
    sql("create table t (id int primary key); insert into t values (1), (7)")
    capture().once()
    sql(f"{added(UNKNOWN)}; update t set id = 8 where id = 7")
    row = after(capture().once()[-1])
    assert known(row, "older_unknown") == dict.fromkeys("agk", True)
    assert known(row, "older") == dict.fromkeys("agk")


@pytest.mark.parametrize("modes", MODES)
def test_inserted_rows_have_the_default_that_the_schema_knows(
    modes: dict[str, Any], capture: NewCapture, sql: Callable[[str], None]
) -> None:
    """As the full image of an insert shows it; of expressions, the log carries the values themselves."""
    sql(f"create table t (id int primary key, {', '.join(columns(ADDED))})")
    capture(**modes).once()
    sql("set sql_mode = ''; set time_zone = '+00:00'; insert into t (id) values (1)")
    (record,) = capture(**modes).once()
    row = after(record)
    expressions = {"made", "local", "local3"}
    shown = {name: value for name, value in row.to_dict().items() if name not in {"id", *expressions}}
    assert {name: value for name, value in known(row, "default").items() if name not in expressions} == shown


def test_only_tables_know_it(capture: NewCapture, sql: Callable[[str], None]) -> None:
    """A schema that knows more says the same."""
    sql("create table t (id int primary key, u bigint unsigned, n int default 5); insert into t values (1, 1, 1)")
    (record,) = capture().once()
    schema = after(record).schema.field("u").schema
    assert schema.stored is not None
    assert schema.stored.unsigned
    assert schema.same_as(Schema("int64", optional=True))
