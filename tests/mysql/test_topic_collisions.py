"""Tables whose names make the same topic: refused by name, unless they are meant to share it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cdckit.errors import ConfigError
from mysql.conftest import NewCapture

LONG = "x" * 63

SQL = Callable[[str], None]


def test_two_tables_in_one_topic_are_refused_at_the_start(capture: NewCapture, sql: SQL, database: str) -> None:
    sql(
        "create table `a b` (id int primary key); create table `a+b` (id int primary key); insert into `a b` values (1)"
    )
    with pytest.raises(ConfigError, match=r"topic.collisions") as refused:
        capture().once()
    for name in (f"{database}.a b", f"{database}.a+b", f"p.{database}.a_b"):
        assert f"'{name}'" in str(refused.value)


def test_they_are_refused_when_they_come_and_at_each_restart(capture: NewCapture, sql: SQL, database: str) -> None:
    sql("create table `a_b` (id int primary key); insert into a_b values (1)")
    assert len(capture().once()) == 1
    sql("create table c (id int primary key); rename table c to `a b`; insert into `a b` values (1)")
    for _ in range(2):
        with pytest.raises(ConfigError, match=rf"'{database}.a_b' and '{database}.a b' would both go to topic"):
            capture().once()
    assert len(capture(**{"table.exclude.list": f"{database}\\.a b"}).once()) == 0


def test_tables_may_share_a_topic_where_that_is_wanted(capture: NewCapture, sql: SQL, database: str) -> None:
    sql("create table `a b` (id int primary key); create table a_b (id int primary key)")
    sql("insert into `a b` values (1); insert into a_b values (1)")
    records = capture(**{"topic.collisions": "merge"}).once()
    assert [record.topic for record in records] == [f"p.{database}.a_b"] * 2


@pytest.mark.parametrize("naming", ["unified", "default_regex"])
def test_a_topic_that_tables_are_meant_to_share_is_no_accident(
    naming: str, capture: NewCapture, sql: SQL, database: str
) -> None:
    sql("create table `a b` (id int primary key); create table a_b (id int primary key)")
    sql("insert into `a b` values (1); insert into a_b values (1)")
    options = {"topic.naming.strategy": naming, "topic.regex": "(.*)a.b", "topic.replacement": "$1ab"}
    keys = {str(record.key) for record in capture(**options).once()}
    assert len(keys) == 2


def test_a_name_passes_on(capture: NewCapture, sql: SQL, database: str) -> None:
    """As in an online schema change: the one that had the topic is gone, or has another name."""
    sql("create table `a b` (id int primary key); insert into `a b` values (1)")
    assert len(capture().once()) == 1
    sql("rename table `a b` to a_b; insert into a_b values (2)")
    sql("create table `new b` like a_b; rename table a_b to old_b, `new b` to `a b`; insert into `a b` values (3)")
    records = capture().once()
    assert [record.topic for record in records] == [f"p.{database}.a_b"] * 2


def test_names_that_differ_behind_a_topics_longest_are_seen(capture: NewCapture, sql: SQL, database: str) -> None:
    sql(f"create table `{LONG}1` (id int primary key); create table `{LONG}2` (id int primary key)")
    assert capture().once() == []
    with pytest.raises(ConfigError, match="would both go to topic"):
        capture(**{"topic.prefix": "p" * 180}).once()


def test_the_planner_for_many_machines_refuses_them_at_its_start(capture: NewCapture, sql: SQL, database: str) -> None:
    sql("create table `a b` (id int primary key); create table a_b (id int primary key)")
    capture(**{"topic.collisions": "merge"}).once()
    sql("insert into a_b values (1)")
    found = capture()
    start = found.offset()
    with pytest.raises(ConfigError, match="would both go to topic"):
        found.source.plan(start, found.source.latest_offset(start), 2)
    sql("create table c (id int primary key); insert into c values (1)")
    allowed = capture(**{"table.exclude.list": f"{database}\\.a b"})
    assert allowed.source.plan(start, allowed.source.latest_offset(start), 2)
