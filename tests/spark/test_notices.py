"""What planner and workers tell is put together: batches and their plans, parts of tables, counts."""

from __future__ import annotations

import time
from collections import Counter

from cdckit.api.source_counts import SourceCounts
from cdckit.engine.metrics.pace import Pace
from cdckit.engine.spark.notices import PlannedBatch, QueryNotices
from cdckit.testing.notices import RecordedNotices


def listening() -> tuple[QueryNotices, RecordedNotices]:
    heard = RecordedNotices()
    return QueryNotices(heard), heard


def test_committed_batches_have_the_time_of_the_last_and_the_bytes_of_all() -> None:
    notices, heard = listening()
    for number in range(1, 4):
        notices.planned(PlannedBatch({"line": number}, 1000 * number, 10 * number))
    assert notices.committed({"line": 2}) == (2000, 30)
    assert notices.committed({"line": 3}) == (3000, 30)
    assert notices.committed({"line": 3}) == (None, 0)  # of a batch that was planned by another run nothing is known
    assert heard.told == [("connection", {"connected": True, "reason": ""})]


def test_the_pace_of_a_batch_begins_when_it_was_planned() -> None:
    pace, before = Pace(), time.time()
    notices = QueryNotices(RecordedNotices(), pace)
    notices.planned(PlannedBatch({"line": 1}, 1000, 10))
    between = time.time()
    notices.planned(PlannedBatch({"line": 2}, 2000, 10))
    notices.committed({"line": 1})
    assert pace.read_at is not None
    assert before <= pace.read_at <= between
    notices.committed({"line": 2})
    assert pace.read_at >= between


def test_a_source_that_was_away_and_is_back() -> None:
    notices, heard = listening()
    notices.planned(PlannedBatch({"line": 1}, None, 0))
    notices.lost("gone")
    notices.planned(PlannedBatch({"line": 1}, None, 0))
    assert [(facts["connected"], facts["reason"]) for facts in heard.of("connection")] == [
        (True, ""),
        (False, "gone"),
        (True, ""),
    ]


def test_a_snapshot_ends_when_its_batch_is_committed() -> None:
    notices, heard = listening()
    notices.planned(PlannedBatch({"line": 0}, None, 0))
    notices.snapshot_started({"db.a": 30})
    for part, rows, finished in ((0, 10, False), (1, 20, True), (0, 10, True)):
        notices.snapshot_part("db.a", part=part, parts=2, rows=rows, finished=finished)
    notices.told_of({"line": -1})
    assert not heard.of("snapshot_ended")
    notices.told_of({"line": 0})
    progress = [(facts["rows"], facts["estimate"], facts["finished"]) for facts in heard.of("snapshot_progress")]
    assert progress == [(10, 30, False), (30, 30, False), (30, 30, True)]
    assert heard.told[-1] == ("snapshot_ended", {"completed": True})


def test_a_snapshot_of_several_batches_ends_with_the_last_one() -> None:
    notices, heard = listening()
    notices.planned(PlannedBatch({"line": 1}, None, 0, rows_left=True))
    notices.snapshot_started({"db.a": 30})
    for part in (0, 1):
        notices.snapshot_part("db.a", part=part, parts=0, rows=10, finished=True)
    notices.told_of({"line": 1})
    notices.planned(PlannedBatch({"line": 2}, None, 0))
    notices.snapshot_part("db.a", part=2, parts=3, rows=0, finished=False)
    notices.snapshot_part("db.a", part=2, parts=3, rows=7, finished=True)
    assert not heard.of("snapshot_ended")
    notices.told_of({"line": 2})
    progress = [(facts["rows"], facts["finished"]) for facts in heard.of("snapshot_progress")]
    assert progress == [(10, False), (20, False), (20, False), (27, True)]
    assert len(heard.of("snapshot_ended")) == 1


def test_counts_add_up_until_they_are_taken() -> None:
    notices, _ = listening()
    for position in ("2", "1"):
        notices.counted(SourceCounts(operations=Counter(c=2), transactions=1, event=position))
    taken = notices.take_counts()
    assert (taken.operations, taken.transactions, taken.event) == ({"c": 4}, 2, "2")
    assert not notices.take_counts()


def test_other_notices_are_passed_on() -> None:
    notices, heard = listening()
    notices.schema_changed(position="1", ddl="ALTER", tables=())
    assert heard.told == [("schema_changed", {"position": "1", "ddl": "ALTER", "tables": ()})]
