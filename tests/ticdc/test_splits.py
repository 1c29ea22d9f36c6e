"""Splits: a piece of work for each partition and range of offsets, which any process can read alone."""

from __future__ import annotations

import pickle
import random

import pytest

from cdckit.source import Source, Split
from cdckit.struct import Struct
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
