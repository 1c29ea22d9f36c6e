"""What is sent when: gathered, in order, again where nobody answered; and what is told of where data is."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.dataset import dataset_below
from cdckit.api.notices import DefinedColumn
from cdckit.api.record import Record, SchemaAndValue
from cdckit.api.schema import INT64, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.engine.lineage import lineage as module
from cdckit.engine.lineage.lineage import Lineage
from cdckit.engine.lineage.outputs import OutputField, OutputWatch
from cdckit.engine.lineage.shown_options import shown_options
from cdckit_delta.config import DeltaConfig
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_spark.config import LakeConfig
from cdckit_ticdc.config import DebeziumConfig

Sent = tuple[str, set[str], set[str], str]


class Listener:
    """Stands for who listens, as the client's transports do: takes events, or is away."""

    def __init__(self) -> None:
        self.away = False
        self.sent: list[Sent] = []
        self.closed = threading.Event()

    def emit(self, event: Sent) -> None:
        if self.away:
            raise ConnectionError("the key is in here")
        self.sent.append(event)

    def close(self, timeout: float = -1.0) -> bool:
        self.closed.set()
        return True


def event(state: str, inputs: dict[str, Any], outputs: dict[str, Any], error: BaseException | None = None) -> Sent:
    return state, set(inputs), set(outputs), str(error or "")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_thousand_tables_are_one_event_and_nothing_is_told_twice() -> None:
    listener = Listener()
    lineage = Lineage("p", event, listener)
    lineage.cdckit_started("p")
    for number in range(1000):
        lineage.cdckit_table_defined("p", f"a.t{number}", [DefinedColumn("id", "INT")])
    lineage.cdckit_table_defined("another", "a.other", [])
    until(lambda: len(listener.sent) == 2)
    lineage.cdckit_captured("p", ["a.t1"])
    lineage.cdckit_table_defined("p", "a.t1", [DefinedColumn("id", "INT")])
    lineage.writes("out", ())
    lineage.cdckit_stopped("p", None)
    lineage.close()
    states = [one[0] for one in listener.sent]
    assert states == ["START", "RUNNING", "RUNNING", "COMPLETE"]
    assert listener.sent[1][1:3] == ({f"a.t{number}" for number in range(1000)}, set())
    assert listener.sent[2][1:3] == (set(), {"out"})
    assert listener.closed.is_set()


def test_what_nobody_took_comes_again_in_order(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_RETRY_SECONDS", 0.1)
    monkeypatch.setattr(module, "_GATHER_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    listener = Listener()
    listener.away = True
    lineage = Lineage("p", event, listener)
    lineage.cdckit_started("p")
    until(lambda: "cannot be told" in caplog.text)
    for number in range(5):
        lineage.cdckit_table_defined("p", f"a.t{number}", [DefinedColumn("id", "INT")])
        time.sleep(0.1)
    listener.away = False
    until(lambda: len(listener.sent) == 2)
    lineage.cdckit_stopped("p", ValueError("bad"))
    lineage.close()
    assert [one[0] for one in listener.sent] == ["START", "RUNNING", "FAIL"]
    assert listener.sent[1][1] == {f"a.t{number}" for number in range(5)}
    assert listener.sent[2][3] == "bad"
    assert caplog.text.count("OpenLineage cannot be told (ConnectionError); tried again") == 1
    assert "told again" in caplog.text
    assert "the key" not in caplog.text


def test_a_long_run_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.2)
    monkeypatch.setattr(module, "_GATHER_SECONDS", 0.01)
    listener = Listener()
    lineage = Lineage("p", event, listener, ["topic"])
    lineage.cdckit_started("p")
    until(lambda: len(listener.sent) >= 4)
    lineage.close()
    assert listener.sent[:3] == [
        ("START", set(), set(), ""),
        ("RUNNING", {"topic"}, set(), ""),
        ("RUNNING", set(), set(), ""),
    ]


def test_who_never_answers_ends_no_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_SECONDS", 0.2)
    held = threading.Event()

    class Silent(Listener):
        def emit(self, event: Sent) -> None:
            held.wait(60)

    lineage = Lineage("p", event, Silent())
    lineage.cdckit_started("p")
    began = time.monotonic()
    lineage.close()
    held.set()
    assert time.monotonic() - began < 30


def test_each_topic_is_told_once_with_its_fields() -> None:
    told: list[tuple[str, tuple[OutputField, ...]]] = []
    row = struct_schema("row", {"id": INT64, "word": STRING})
    value = struct_schema("envelope", {"before": row, "after": row, "op": STRING})
    records = [Record("a", None, Struct(value, (None, None, "c"))) for _ in range(3)]
    records += [Record("b", None, None), Record("c", None, SchemaAndValue(None, {"x": 1}))]
    watch = OutputWatch(lambda topic, fields: told.append((topic, fields)), rows=False)
    watch.see(records)
    watch.see(records)
    members = (OutputField("id", "INT64"), OutputField("word", "STRING"))
    assert told == [
        (
            "a",
            (
                OutputField("before", "STRUCT", None, members),
                OutputField("after", "STRUCT", None, members),
                OutputField("op", "STRING"),
            ),
        ),
        ("c", ()),
    ]
    told.clear()
    OutputWatch(lambda topic, fields: told.append((topic, fields)), rows=True).see(records)
    assert told[0] == ("a", members)


def test_where_data_is(tmp_path: Path) -> None:
    base = {"topic.prefix": "p", "database.user": "u", "database.password": "x"}
    mysql = MySqlConfig.load({**base, "database.hostname": "db", "database.port": "3307"}, "source")[0]
    assert mysql.dataset("a.b") == ("mysql://db:3307", "a.b", "TABLE")
    mariadb = MariaDbConfig.load({**base, "database.hostname": "db"}, "source")[0]
    assert mariadb.dataset("a.b") == ("mariadb://db:3306", "a.b", "TABLE")
    uri = "mongodb+srv://me:secret@one:1,two:2/admin?replicaSet=rs"
    mongodb = MongoDbConfig.load({"topic.prefix": "p", "mongodb.connection.string": uri}, "source")[0]
    assert mongodb.dataset("a.b") == ("mongodb+srv://one:1,two:2", "a.b", "TABLE")
    kafka = KafkaSinkConfig.load({"bootstrap.servers": "one:9092,two:9092"}, "sink")[0]
    assert kafka.dataset("t") == ("kafka://one:9092", "t", "STREAM")
    delta = DeltaConfig.load({"path": "s3://lake/cdc/"}, "sink")[0]
    assert delta.dataset("p.a.b") == ("s3://lake", "cdc/p.a.b", "TABLE")
    lake = LakeConfig.load({"path": str(tmp_path)}, "sink")[0]
    assert lake.dataset("p.a.b") == ("file", f"{tmp_path}/p.a.b", "TABLE")
    named = LakeConfig.load({"database": "main.cdc"}, "sink")[0]
    assert named.dataset("p.a.b") == ("spark", "main.cdc.p_a_b", "TABLE")
    topics = DebeziumConfig.load({"topics": "a,^b.*", "bootstrap.servers": "k:9"}, "source")[0]
    assert (list(topics.inputs), topics.dataset("a")) == (["a"], ("kafka://k:9", "a", "STREAM"))
    assert dataset_below("gs://bucket", "t") == ("gs://bucket", "t", "TABLE")


def test_options_are_shown_without_what_may_be_secret() -> None:
    options = {
        "topic.prefix": "p",
        "database.user": "u",
        "database.password": "one",
        "database.initial.statements": "SET @x = 'two'",
        "signal.consumer.sasl.password": "three",
        "signal.kafka.bootstrap.servers": "user:four@broker:9092".replace("user:", "sasl://user:"),
        "tombstones.on.delete": "false",
    }
    shown = shown_options(MySqlConfig.load(options, "source")[0])
    assert "topic.prefix=p" in shown
    assert "tombstones.on.delete=false" in shown
    assert "database.password=********" in shown
    assert not [word for word in ("one", "two", "three", "four") if any(word in each.split("=")[1] for each in shown)]
