"""Splits: a piece of work for each partition and range of offsets, which any process can read alone."""

from __future__ import annotations

import json
import pickle
import random
from typing import Any

import pytest

from cdckit.api.source import Source, Split
from cdckit.api.struct import Struct
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import LogOffset, Partition
from ticdc.emulation import Emulator, make_history
from ticdc.topics import Topic

TYPES = ["ticdc", "debezium"]


def ids(source: Source, split: Split) -> list[tuple[int, str]]:
    """Key and position of the rows of a split, in its order."""
    found = []
    for batch in source.read(split):
        for record in batch.records:
            assert isinstance(record.key, Struct)
            found.append((record.key["id"], record.position))
    return found


@pytest.mark.parametrize("type_name", TYPES)
def test_a_split_for_each_partition_with_its_range(topic: Topic, type_name: str) -> None:
    """Together they are what one split reads; a partition without anything new has none."""
    log = Emulator(random.Random(5), watermarks=False, restarts=0).write(make_history(random.Random(5), 120))
    topic.produce(message for messages in log.values() for message in messages)
    source = topic.source(type_name)
    start = source.initial_offset()
    end = source.latest_offset(start)
    splits = source.plan(start, end, parallelism=2)
    ranges = [(LogOffset.from_json(one.start).resume, LogOffset.from_json(one.end or {}).resume) for one in splits]
    assert ranges == [
        ({Partition(topic.name, one.number): 0}, {Partition(topic.name, one.number): len(log[one])}) for one in log
    ]
    (alone,) = source.plan(start, end)
    together = [row for split in splits for row in ids(source, pickle.loads(pickle.dumps(split)))]
    assert sorted(together) == sorted(ids(source, alone))
    source.close()


@pytest.mark.parametrize("type_name", TYPES)
def test_only_partitions_that_moved_are_read(topic: Topic, type_name: str) -> None:
    """The next batch's splits begin where the last one's ended."""
    log = Emulator(random.Random(6), watermarks=False, restarts=0).write(make_history(random.Random(6), 60))
    topic.produce(message for messages in log.values() for message in messages)
    source = topic.source(type_name)
    middle = source.latest_offset(source.initial_offset())
    assert source.plan(middle, middle, parallelism=2) == []
    (moved,) = [one for one in log if one.number == 1]
    topic.produce(log[moved][-1:])
    (split,) = source.plan(middle, source.latest_offset(middle), parallelism=2)
    assert len(ids(source, split)) == 1
    source.close()


def _column(name: str, type_name: str) -> dict[str, Any]:
    return {"name": name, "typeName": type_name, "typeExpression": type_name, "optional": name != "id"}


def _ddl(pos: int, *columns: dict[str, Any]) -> bytes:
    table = {"primaryKeyColumnNames": ["id"], "columns": list(columns)}
    change = {"type": "ALTER", "id": '"shop"."people"', "table": table}
    position = {"ts_sec": 1655782153, "file": "mysql-bin.000005", "pos": pos}
    body = {"source": {"server": "sub"}, "position": position, "databaseName": "shop", "ddl": "…"}
    return json.dumps({**body, "tableChanges": [change]}).encode()


def _row(pos: int, **row: Any) -> bytes:
    source = {"name": "sub", "db": "shop", "table": "people", "file": "mysql-bin.000005", "pos": pos, "ts_ms": 0}
    return json.dumps({"before": None, "after": row, "source": source, "op": "c"}).encode()


def test_workers_know_the_ddl_of_other_partitions(topic: Topic) -> None:
    """Rows without schemas take the types of their place in the log, though the DDL is in one partition alone."""
    create = _ddl(10, _column("id", "INT"), _column("v", "SMALLINT"))
    alter = _ddl(50, _column("id", "INT"), _column("v", "SMALLINT"), _column("at", "DATETIME"))
    values: dict[int, list[bytes | None]] = {
        0: [create, alter, _row(60, id=1, v=1, at=0)],
        1: [_row(20, id=2, v=2), _row(70, id=2, v=2, at=0)],
        2: [_row(30, id=3, v=3), None],
    }
    topic.produce(Message("", number, 0, b'{"id":1}', value) for number, sent in values.items() for value in sent)
    planner = topic.source("debezium")
    start = planner.initial_offset()
    found = []
    for split in planner.plan(start, planner.latest_offset(start), parallelism=2):
        worker = topic.source("debezium")
        records = [record for batch in worker.read(pickle.loads(pickle.dumps(split))) for record in batch.records]
        rows = [one.value for one in records if isinstance(one.value, Struct) and "op" in one.value]
        found.append(
            [[(field.schema.name or field.schema.type) for field in one["after"].schema.fields] for one in rows]
        )
        worker.close()
    planner.close()
    before, after = ["int32", "int16"], ["int32", "int16", "io.debezium.time.Timestamp"]
    assert found == [[after], [before, after], [before]]
