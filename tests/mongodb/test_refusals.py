"""What users get wrong: `cdc run` names the option, says what should stand there, and ends with the right code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.cli.main import call
from testkit.running import PASSWORD, to_file
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]
Capsys = pytest.CaptureFixture[str]

FILTERS = "snapshot.collection.filter.overrides"
NOWHERE = f"mongodb://u:{PASSWORD}@127.0.0.1:1/"
FAR = 2_138_054_400 << 32
"""A cluster time in the year 2096."""


def _refused(folder: Path, capsys: Capsys, uri: str, options: dict[str, Any], code: int) -> str:
    """The error that a pipeline ends with, and with that code."""
    source = {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": uri, **options}
    pipeline = to_file(folder, source)
    assert call(["run", str(pipeline.written()), "--once"]) == code
    said = capsys.readouterr().err
    assert PASSWORD not in said
    assert not pipeline.output.exists() or not pipeline.output.read_text()
    return next(line for line in said.splitlines() if line.startswith("error CDC"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cursor.pipeline": "[{"}, "source.cursor.pipeline: cursor.pipeline is no JSON: "),
        ({"cursor.pipeline": '{"match": 1}'}, 'should be a JSON array of stages such as {"$match": {…}}'),
        ({"collection.include.list": "shop.("}, "collection.include.list: a group is not closed"),
        ({"database.exclude.list": "*"}, "database.exclude.list: '*' is no regular expression that can be used"),
        ({"snapshot.include.collection.list": "["}, "source.snapshot.include.collection.list: a character class"),
        ({"field.renames": "d.a.b"}, "source.field.renames: 'd.a.b' does not look like database.collection.field:name"),
        ({"field.exclude.list": "d.a"}, "source.field.exclude.list: 'd.a' does not look like database.coll"),
        ({"collection.include.list": "d.a", "collection.exclude.list": "d.b"}, "exclude each other; keep one"),
        ({"database.include.list": "d", "database.exclude.list": "e"}, "database.exclude.list exclude each other"),
        ({FILTERS: "d.a", f"{FILTERS}.d.a": "{bad"}, f"{FILTERS}.d.a is no JSON: "),
        ({FILTERS: "d.a", f"{FILTERS}.d.a": "[1]"}, f"{FILTERS}.d.a should be a JSON document"),
        ({FILTERS: "d.a"}, f"{FILTERS} names d.a, but '{FILTERS}.d.a' is not given"),
        ({f"{FILTERS}.d.a": "{}"}, f"{FILTERS}.d.a is given, but {FILTERS} does not name that collection"),
        ({"capture.scope": "collection", "capture.target": "d"}, "capture.target in the form database.collection"),
        ({"signal.data.collection": "signals"}, "signal.data.collection should be of the form database.name"),
        (
            {"capture.start.op.time": 1795283833},
            "source.capture.start.op.time: should be a BSON timestamp",
        ),
        ({"topic.delimiter": "/"}, "source.topic.delimiter: should match pattern '^[A-Za-z0-9._-]+$'"),
        ({"mongodb.connection.string": "localhost:27017"}, "should begin with mongodb:// or mongodb+srv://"),
        ({"mongodb.connection.string": f"mongodb://u:{PASSWORD}@a:b:c"}, "mongodb.connection.string cannot be used: "),
        ({"mongodb.connection.string": ""}, "give either mongodb.connection.string or mongodb.hosts"),
        (
            {"mongodb.ssl.enabled": True, "mongodb.ssl.truststore": "/no/ca.pem"},
            "/no/ca.pem cannot be read",
        ),
    ],
)
def test_options_that_cannot_be(tmp_path: Path, capsys: Capsys, options: dict[str, Any], said: str) -> None:
    assert said in _refused(tmp_path, capsys, NOWHERE, options, code=2)


def test_stages_that_the_server_does_not_understand(mongo: MongoReplicaSet, tmp_path: Path, capsys: Capsys) -> None:
    for stage, reason in (('{"$nonsense": {}}', "Unrecognized pipeline stage name"), ('{"$match": {"$x": 1}}', "$x")):
        error = _refused(tmp_path, capsys, mongo.uri, {"cursor.pipeline": f"[{stage}]"}, code=3)
        assert mongo.nodes[0].address in error
        assert reason in error
        assert error.endswith("; correct cursor.pipeline")


def test_a_filter_that_the_server_does_not_understand(
    mongo: MongoReplicaSet, own_database: Own, tmp_path: Path, capsys: Capsys
) -> None:
    own_database.a.insert_one({"_id": 1})
    name = f"{own_database.name}.a"
    options = {"database.include.list": own_database.name, FILTERS: name, f"{FILTERS}.{name}": '{"$x": 1}'}
    error = _refused(tmp_path, capsys, mongo.uri, options, code=3)
    assert f"planning to read {name}: unknown top level operator: $x" in error
    assert error.endswith(f"; correct {FILTERS}.{name}")


def test_a_start_in_the_future(mongo: MongoReplicaSet, tmp_path: Path, capsys: Capsys) -> None:
    options = {"capture.start.op.time": FAR, "snapshot.mode": "no_data"}
    error = _refused(tmp_path, capsys, mongo.uri, options, code=2)
    assert "source.capture.start.op.time: 2037-10-02" in error
    assert "lies ahead of the newest operation" in error
