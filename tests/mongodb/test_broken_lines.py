"""Connections that are cut in the middle of an answer, or hang there: nothing is lost, and nothing comes twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pymongo.database import Database

from cdckit.errors import SourceError
from mongodb.broken_line import BrokenLine, Fault
from mongodb.capture import Capture, shown
from testkit.servers.mongodb import MongoReplicaSet

Own = Database[dict[str, Any]]

COUNT, TEXT = 3000, "x" * 200
PATIENCE = {
    "connect_backoff_initial_delay_ms": 10,
    "connect_max_attempts": 3,
    "errors_max_retries": 0,
    "mongodb_socket_timeout_ms": 700,
}
"""Attempts are counted anew after each batch."""


@pytest.fixture
def line(mongo: MongoReplicaSet) -> Iterator[BrokenLine]:
    """A line whose faults are in answers that hold changes."""
    with BrokenLine(mongo.primary().port, 20_000) as line:
        yield line


def _capture(line: BrokenLine, database: Own, **options: Any) -> Capture:
    return Capture(line.uri, database_include_list=database.name, max_batch_size=500, **PATIENCE, **options)


@pytest.mark.parametrize("fault", ["cut", "hang"])
def test_the_stream_goes_on_behind_the_last_batch(line: BrokenLine, own_database: Own, fault: Fault) -> None:
    own_database.a.insert_one({"_id": -1})
    capture = _capture(line, own_database)
    capture.once()
    own_database.a.insert_many({"_id": number, "text": TEXT} for number in range(COUNT))
    line.faults.extend([fault, None] * 4)
    capture.follow(lambda: len(capture.records) > COUNT)
    assert not line.faults
    assert [int(shown(record)[1]) for record in capture.records] == list(range(-1, COUNT))


@pytest.mark.parametrize("fault", ["cut", "hang"])
def test_a_snapshot_is_read_again(line: BrokenLine, own_database: Own, fault: Fault) -> None:
    """From its collection's beginning, since the collection is small; later changes follow."""
    own_database.a.insert_many({"_id": number, "text": TEXT} for number in range(COUNT))
    capture = _capture(line, own_database)
    line.faults.extend([fault] * 2)
    capture.follow(lambda: len({record.key for record in capture.records}) >= COUNT and not line.faults)
    own_database.a.insert_one({"_id": COUNT})
    capture.follow(lambda: shown(capture.records[-1])[0] == "c")
    assert {int(shown(record)[1]) for record in capture.records} == set(range(COUNT + 1))
    last = [int(shown(record)[1]) for record in capture.records][-COUNT - 1 :]
    assert sorted(last) == list(range(COUNT + 1)), "the last reading is whole"


def test_a_line_that_stays_broken_ends_the_pipeline(line: BrokenLine, own_database: Own) -> None:
    own_database.a.insert_one({"_id": 1})
    capture = _capture(line, own_database)
    capture.once()
    own_database.a.insert_many({"_id": number, "text": TEXT} for number in range(2, COUNT))
    line.faults.extend(["hang"] * 10)
    with pytest.raises(SourceError, match=r"timed out .*socketTimeoutMS: 700\.0ms.*gave up after 3 attempts"):
        capture.follow(lambda: False)
