"""States that earlier versions have saved, and what becomes of those that a newer one has.

Each file of `tests/data/states` is what `cdc run` of one version left after a snapshot and a change of a definition,
with the server's names and positions as variables. `format-N.sql` is the first of that format, `before-DATE.sql` of a
version from before formats had numbers, `release-X.Y.Z.sql` of a release (`testkit/kept_state.py`).
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.state.state_format import KEPT_AS, STATE_FORMAT
from testkit.kept_state import leave_state
from testkit.running import Pipeline, create_reader, source_of, to_file
from testkit.servers.mysql import MySQLServer
from testkit.states import kept_in

STATES = sorted((Path(__file__).parents[1] / "data" / "states").glob("*.sql"))
TABLES = """
create table orders (id int primary key, word varchar(20));
create table notes (n int primary key, w varchar(9));
insert into orders values (1, 'a'), (2, 'b'), (3, 'c');
insert into notes values (7, null);
"""


@pytest.fixture
def found(mysql_server: MySQLServer, unique_name: str, tmp_path: Path) -> Pipeline:
    """A pipeline whose state another version has left at the log's end."""
    mysql_server.run_sql(f"create database {unique_name}")
    mysql_server.run_sql(TABLES, database=unique_name)
    create_reader(mysql_server)
    return to_file(tmp_path, source_of(mysql_server, unique_name), name="old")


def restore(file: Path, pipeline: Pipeline, server: MySQLServer, database: str) -> None:
    """Makes the state that a file tells of, with the server's present position."""
    with server.connect() as client, client.cursor() as cursor:
        cursor.execute("show binary log status")
        [log, position, _, _, gtids] = cursor.fetchone()
        cursor.execute("select @@server_uuid, @@server_id")
        [uuid, server_id] = cursor.fetchone()
    values = {"FILE": log, "POS": position, "GTIDS": gtids, "UUID": uuid, "SERVER_ID": server_id}
    text = file.read_text()
    for name, value in {**values, "DATABASE": database, "OUT": pipeline.output}.items():
        text = text.replace(f"@{name}@", str(value).replace("\n", ""))
    pipeline.state.mkdir()
    with closing(sqlite3.connect(pipeline.state / "state.db")) as db:
        db.executescript(text)


def change(pipeline: Pipeline, what: Callable[[sqlite3.Connection], Any]) -> None:
    with closing(sqlite3.connect(pipeline.state / "state.db", isolation_level=None)) as db:
        what(db)


def content(pipeline: Pipeline) -> list[str]:
    with closing(sqlite3.connect(pipeline.state / "state.db")) as db:
        return [*db.iterdump(), str(db.execute("pragma user_version").fetchone())]


ROWS_UNTOLD = pytest.mark.unequal("the pipeline whose state it was delivered its rows elsewhere")


@ROWS_UNTOLD
@pytest.mark.parametrize("file", STATES, ids=lambda file: file.stem)
def test_a_pipeline_goes_on(mysql_server: MySQLServer, unique_name: str, found: Pipeline, file: Path) -> None:
    """From the offset, without a snapshot, with definitions out of the history that is there."""
    restore(file, found, mysql_server, unique_name)
    mysql_server.run_sql("insert into orders values (4, 'd'); insert into notes values (8, 'x');", database=unique_name)
    ended = found.run("--once")
    assert ended.code == 0, ended.stderr
    assert "snapshot at" not in ended.stderr
    events = [json.loads(json.dumps(event["value"])) for event in found.events()]
    assert [(event["op"], event["after"]) for event in events] == [
        ("c", {"id": 4, "word": "d"}),
        ("c", {"n": 8, "w": "x"}),
    ]
    assert kept_in(found.state, KEPT_AS) == STATE_FORMAT


@ROWS_UNTOLD
def test_a_pipeline_goes_on_from_what_a_release_will_keep(
    mysql_server: MySQLServer, unique_name: str, found: Pipeline, tmp_path: Path
) -> None:
    (tmp_path / "kept").mkdir()
    file = tmp_path / "kept.sql"
    file.write_text(leave_state(mysql_server, f"{unique_name}_kept", tmp_path / "kept"))
    assert not [name for name in (f"{unique_name}_kept", str(tmp_path)) if name in file.read_text()]
    restore(file, found, mysql_server, unique_name)
    mysql_server.run_sql("insert into notes values (8, 'x')", database=unique_name)
    ended = found.run("--once")
    assert (ended.code, "snapshot at" in ended.stderr) == (0, False), ended.stderr
    assert [event["value"]["after"] for event in found.events()] == [{"n": 8, "w": "x"}]


def released(changelog: str) -> list[str]:
    """The versions that were released, as the changelog says."""
    return re.findall(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)


def test_there_is_one_of_each_release() -> None:
    assert released("# Changelog\n\n## Unreleased\n\n## 1.2.0 — 2027-01-02\n\n## 1.1.0 — 2026-12-24\n") == [
        "1.2.0",
        "1.1.0",
    ]
    changelog = (Path(__file__).parents[2] / "CHANGELOG.md").read_text(encoding="utf-8")
    assert {file.stem for file in STATES} >= {f"release-{one}" for one in released(changelog)}


def test_there_is_one_of_each_format() -> None:
    assert {file.stem for file in STATES} >= {f"format-{number}" for number in range(1, STATE_FORMAT + 1)}
    assert len([file for file in STATES if file.stem.startswith("before-")]) >= 3


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        (
            f"insert or replace into keep values ('{KEPT_AS}', '{STATE_FORMAT + 1}')",
            f"the state of pipeline 'old' has format {STATE_FORMAT + 1}, and this version of cdckit reads formats up "
            f"to {STATE_FORMAT}: run the version that saved it, or a newer one",
        ),
        (f"insert or replace into keep values ('{KEPT_AS}', '\"soon\"')", "has format soon"),
        (
            "pragma user_version = 99",
            "it has format 99, this version of cdckit reads format 1; run the version that wrote",
        ),
    ],
)
def test_a_newer_state_is_refused_and_left_as_it_is(
    mysql_server: MySQLServer, unique_name: str, found: Pipeline, statement: str, said: str
) -> None:
    restore(STATES[-1], found, mysql_server, unique_name)
    change(found, lambda db: db.execute(statement))
    before = content(found)
    ended = found.run("--once")
    assert (ended.code, said in ended.errors) == (7, True), ended.errors
    assert not found.output.exists()
    assert content(found) == before
