"""A saved offset belongs to a source, its lists and a target: others are refused, or what they lack is read or told."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from testkit.running import Ended, Pipeline, create_reader, source_of, to_file
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql import MySQLServer
from testkit.warm_command.starting import call_command

TABLES = """
CREATE TABLE orders (id INT PRIMARY KEY); CREATE TABLE items (id INT PRIMARY KEY);
INSERT INTO orders VALUES (1); INSERT INTO items VALUES (1);
"""


@pytest.fixture
def shop(mysql_server: MySQLServer, unique_name: str) -> Iterator[str]:
    """A database with two tables, dropped after the test."""
    mysql_server.run_sql(f"CREATE DATABASE {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    yield unique_name
    mysql_server.run_sql(f"DROP DATABASE {unique_name}")


@pytest.fixture
def begun(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> Pipeline:
    """A pipeline that has its snapshot."""
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    assert pipeline.run("--once").code == 0
    return pipeline


def _cdc(pipeline: Pipeline, *words: str) -> subprocess.CompletedProcess[str]:
    return call_command(words, folder=pipeline.folder)


def _rows(pipeline: Pipeline) -> list[tuple[str, str, int]]:
    changes = [event["value"] for event in pipeline.events()]
    return [(change["source"]["table"], change["op"], change["after"]["id"]) for change in changes]


def _refused(ended: Ended, *changes: str) -> None:
    assert ended.code == 2, ended.stderr
    for change in changes:
        assert change in ended.errors
    for remedy in ("cdc offsets reset FILE", "cdc offsets keep FILE", "another name or state"):
        assert remedy in ended.errors


def _with_source(pipeline: Pipeline, **options: Any) -> Pipeline:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return replace(pipeline, source={**pipeline.source, **given})


def test_another_target_is_refused(begun: Pipeline) -> None:
    before = begun.offset()
    other = replace(begun, sink={"type": "stdout"})
    _refused(other.run("--once"), "sink.type: was 'file', and is 'stdout' now")
    moved = replace(begun, sink={**begun.sink, "path": str(begun.folder / "other.jsonl")})
    _refused(moved.run("--once"), f"out.jsonl', and is '{begun.folder / 'other.jsonl'}' now")
    assert not (begun.folder / "other.jsonl").exists()
    assert begun.offset() == before
    assert begun.run("--once").code == 0, "the former target is gone on with"


def test_another_prefix_is_refused(begun: Pipeline) -> None:
    _refused(_with_source(begun, topic_prefix="q").run("--once"), "source.topic.prefix: was 'p', and is 'q' now")


def test_a_relative_path_of_the_same_file_is_the_same_target(begun: Pipeline) -> None:
    assert replace(begun, sink={**begun.sink, "path": "out.jsonl"}).run("--once").code == 0


def test_a_reset_begins_anew(begun: Pipeline) -> None:
    moved = replace(begun, sink={**begun.sink, "path": str(begun.folder / "other.jsonl")})
    assert _cdc(moved, "offsets", "reset", str(moved.written())).returncode == 0
    assert moved.run("--once").code == 0
    assert len((begun.folder / "other.jsonl").read_text().splitlines()) == 2


def test_a_target_that_has_all_before_is_gone_on_with(begun: Pipeline, mysql_server: MySQLServer, shop: str) -> None:
    moved = replace(begun, sink={**begun.sink, "path": str(begun.folder / "moved.jsonl")})
    begun.output.rename(begun.folder / "moved.jsonl")
    mysql_server.run_sql("INSERT INTO orders VALUES (2)", database=shop)
    kept = _cdc(moved, "offsets", "keep", str(moved.written()))
    assert kept.returncode == 0, kept.stderr
    assert moved.run("--once").code == 0
    lines = (begun.folder / "moved.jsonl").read_text().splitlines()
    assert [json.loads(line)["value"]["op"] for line in lines] == ["r", "r", "c"]
    _refused(begun.run("--once"), "sink.path")


def test_there_must_be_an_offset_to_keep(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop))
    kept = _cdc(pipeline, "offsets", "keep", str(pipeline.written()))
    assert kept.returncode == 7
    assert "has no offset, and there is nothing to keep" in kept.stderr


def test_an_offset_that_is_set_is_gone_on_from_anywhere(begun: Pipeline) -> None:
    moved = replace(begun, sink={**begun.sink, "path": str(begun.folder / "other.jsonl")})
    offset = json.dumps(begun.offset())
    assert _cdc(moved, "offsets", "set", str(moved.written()), offset).returncode == 0
    assert moved.run("--once").code == 0


def test_events_of_another_form_are_told_of(begun: Pipeline) -> None:
    ended = _with_source(begun, event_format="1.9").run("--once")
    assert ended.code == 0
    assert "source.event.format: was '3', and is '1.9' now: events from now on are unlike those before" in ended.stderr


@pytest.mark.parametrize(
    ("wanted", "rows", "said"),
    [
        (None, [], "newly captured from the saved offset on, without the rows that they have: {}.items"),
        ("warn", [], "`cdc resnapshot FILE --table NAME` reads those of a table"),
        ("off", [], ""),
        ("snapshot", [("items", "r", 1)], "newly captured, and read as by a snapshot"),
        ("parallel", [("items", "r", 1)], "newly captured, and read as by a snapshot"),
    ],
)
def test_tables_that_the_lists_newly_capture(
    mysql_server: MySQLServer, shop: str, tmp_path: Path, wanted: str | None, rows: list[Any], said: str
) -> None:
    pipeline = to_file(tmp_path, source_of(mysql_server, shop, table_include_list=f"{shop}.orders"))
    assert pipeline.run("--once").code == 0
    mysql_server.run_sql("INSERT INTO orders VALUES (2)", database=shop)
    pipeline.output.unlink()
    options = {} if wanted is None else {"snapshot_new_tables": wanted}
    ended = _with_source(pipeline, table_include_list=f"{shop}.orders,{shop}.items", **options).run("--once")
    assert ended.code == 0, ended.stderr
    assert _rows(pipeline) == [("orders", "c", 2), *rows]
    assert said.format(shop) in ended.stderr
    assert ("newly captured" in ended.stderr) is (wanted != "off")
    ended = _with_source(pipeline, table_include_list=f"{shop}.orders,{shop}.items", **options).run("--once")
    assert "newly captured" not in ended.stderr, "once is enough"


def test_newly_captured_tables_that_the_snapshot_leaves_out_are_not_read(begun: Pipeline, shop: str) -> None:
    narrow = _with_source(begun, table_include_list=f"{shop}.orders")
    ended = narrow.run("--once")
    assert f"no longer captured: {shop}.items" in ended.stderr
    begun.output.unlink()
    options = {"snapshot_new_tables": "snapshot", "snapshot_include_collection_list": f"{shop}.orders"}
    assert _with_source(begun, **options).run("--once").code == 0
    assert not begun.output.exists() or not begun.events()


def test_entries_that_match_nothing_are_told_of(mysql_server: MySQLServer, shop: str, tmp_path: Path) -> None:
    """One wrong entry among right ones, at the start, in the status and by `validate --connect`."""
    source = source_of(mysql_server, shop, table_include_list=rf"{shop}\.orders,{shop}\.itmes")
    pipeline = to_file(tmp_path, source)
    said = rf"source.table.include.list: '{shop}\.itmes' matches nothing that there is; did you mean '{shop}.items'?"
    ended = pipeline.run("--once")
    assert ended.code == 0
    assert said in ended.stderr
    assert "orders' matches" not in ended.stderr
    shown = _cdc(pipeline, "status", str(pipeline.written()))
    assert said in shown.stdout
    checked = _cdc(pipeline, "validate", "--connect", str(pipeline.written()))
    assert checked.returncode == 0
    assert said.partition(": ")[2] in checked.stdout + checked.stderr


@pytest.fixture
def documents(mongo: MongoReplicaSet, unique_name: str) -> Iterator[Database[dict[str, Any]]]:
    """A database with two collections, dropped after the test."""
    with mongo.client() as client:
        client[unique_name].orders.insert_one({"_id": 1})
        client[unique_name].items.insert_one({"_id": 1})
        yield client[unique_name]
        client.drop_database(unique_name)


def test_collections_are_looked_after_in_the_same_way(
    mongo: MongoReplicaSet, documents: Database[dict[str, Any]], tmp_path: Path
) -> None:
    shop = documents.name
    source = {"type": "mongodb", "mongodb.connection.string": mongo.uri, "topic.prefix": "p"}
    pipeline = to_file(tmp_path, {**source, "collection.include.list": f"{shop}.orders,{shop}.itmes"})
    ended = pipeline.run("--once")
    assert ended.code == 0
    assert f"'{shop}.itmes' matches nothing that there is; did you mean '{shop}.items'?" in ended.stderr
    pipeline.output.unlink()
    found = _with_source(
        pipeline, collection_include_list=f"{shop}.orders,{shop}.items", snapshot_new_tables="snapshot"
    )
    assert found.run("--once").code == 0
    changes = [event["value"] for event in pipeline.events()]
    assert [(change["source"]["collection"], change["op"]) for change in changes] == [("items", "r")]


@pytest.mark.unequal("its routers came behind the snapshot, whose rows are in other topics")
def test_patterns_that_match_no_topic_are_told_of(begun: Pipeline, mysql_server: MySQLServer, shop: str) -> None:
    mysql_server.run_sql("INSERT INTO orders VALUES (2); INSERT INTO items VALUES (2)", database=shop)
    transforms = [
        {"type": "RegexRouter", "name": "right", "regex": rf"p\.{shop}\.(.*)", "replacement": "$1"},
        {"type": "RegexRouter", "name": "wrong", "regex": r"p\.shpo\.(.*)", "replacement": "$1"},
        {"type": "ReadToInsertEvent", "name": "meant", "predicate": "odd"},
    ]
    predicates = {"odd": {"type": "TopicNameMatches", "pattern": "order"}}
    others = {**begun.others, "transforms": transforms, "predicates": predicates}
    ended = replace(begun, others=others).run("--once")
    assert ended.code == 0, ended.stderr
    assert ended.stderr.count("has matched no topic so far") == 2
    assert r"transform 'wrong': regex 'p\.shpo\.(.*)' has matched no topic so far" in ended.stderr
    assert "transform 'meant': predicate's pattern 'order' has matched no topic so far" in ended.stderr
