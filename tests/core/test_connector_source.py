"""What the kit decides for every source of a database, shown by one whose log is a list of numbers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cdckit import (
    Batch,
    Offset,
    PlainMode,
    SnapshotDueError,
    SnapshotMode,
    SourceContext,
    SourceError,
    Split,
    StateError,
)
from cdckit.connector.offset import NumberedOffset
from cdckit.connector.options.connector import ConnectorOptions
from cdckit.connector.resnapshot import KEPT_AS, Resnapshot, ask
from cdckit.connector.source import ConnectorSource
from cdckit.engine.state.sqlite import SqliteStateStore


class GoneError(SourceError):
    """The log does not reach back so far."""


class ToyConfig(ConnectorOptions):
    """Options of the toy."""

    connector = "toy"


class ToySource(ConnectorSource[ToyConfig, NumberedOffset]):
    """Asks a number how long its log is."""

    lost_error = GoneError
    end_polls = (0.005, 0.005)

    def __init__(self, mode: SnapshotMode) -> None:
        super().__init__(ToyConfig.load({"topic.prefix": "t"}, "source")[0], NumberedOffset, mode)
        self.length = 3
        self.asked = 0
        self.located = 0
        self.grows_at = 0
        self.prepared: list[int] = []
        self.lost = False

    def initial_offset(self) -> Offset:
        return NumberedOffset(due=True).to_json()

    def _start(self, at: NumberedOffset) -> NumberedOffset:
        return NumberedOffset(number=self.length, due=True) if self.lost else at

    def _lost(self, error: SourceError) -> str:
        if not self._mode.on_data_error:
            raise SourceError(f"{error}: that is all")
        self.lost = True
        return str(error)

    def _snapshot_point(self, at: NumberedOffset) -> NumberedOffset:
        return NumberedOffset(number=self.length, after_snapshot=True)

    def _located(self, at: NumberedOffset) -> NumberedOffset:
        self.located += 1
        return at

    def _log_end(self, at: NumberedOffset) -> NumberedOffset:
        return NumberedOffset(number=self.length)

    def _end_beyond(self, at: NumberedOffset) -> NumberedOffset | None:
        self.asked += 1
        if self.asked == self.grows_at:
            self.length += 1
        return self._log_end(at) if self.length > at.number else None

    def _lies_before(self, at: NumberedOffset, end: NumberedOffset) -> bool:
        return at.number < end.number

    def _cut(self, first: NumberedOffset, last: NumberedOffset, max_bytes: int) -> NumberedOffset | None:
        end = first.number + max_bytes
        return NumberedOffset(number=end) if end < last.number else None

    def _before_planning(self, at: NumberedOffset) -> None:
        self.prepared.append(at.number)

    def _snapshot_split(self, start: Offset, at: NumberedOffset) -> Split:
        return Split(start, at.to_json(), "snapshot")

    def _log_split(self, start: Offset, at: NumberedOffset) -> Split:
        return Split(start, None, "log")

    def _plan_chunks(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        return [Split(start, end, "chunk")] * parallelism

    def _plan_range(self, start: Offset, end: Offset, parallelism: int) -> Sequence[Split]:
        return [Split(start, end, "range")]

    def bounded(self, split: Split, end: Offset) -> Sequence[Split]:
        return [replace(split, end=end)]

    def read(self, split: Split) -> Iterator[Batch]:
        def batches() -> Iterator[Batch]:
            yield Batch([], split.start)
            raise GoneError("1 is gone")

        return self._ranged(batches())


INITIAL = PlainMode("first")
WANTED = {"number": 2}


@pytest.fixture
def state(tmp_path: Path) -> Iterator[SqliteStateStore]:
    store = SqliteStateStore(tmp_path / "s")
    yield store
    store.close()


def opened(state: SqliteStateStore, mode: SnapshotMode = INITIAL, **context: Any) -> ToySource:
    source = ToySource(mode)
    source.open(SourceContext("toy", state, **context))
    return source


def planned(source: ToySource, start: Offset, end: Offset | None = None) -> list[tuple[Any, Offset | None]]:
    return [(split.payload, split.end) for split in source.plan(start, end, 2)]


def test_the_logs_end_is_given_as_soon_as_it_moves(state: SqliteStateStore) -> None:
    source = opened(state)
    source.grows_at, begun = 20, time.monotonic()
    assert source.latest_offset({"number": 3}, 60) == {"number": 4}
    assert source.asked == 20
    assert time.monotonic() - begun >= 19 * min(source.end_polls)


def test_a_still_log_gives_the_start_itself_and_a_wish_to_stop_ends_the_wait(state: SqliteStateStore) -> None:
    start = {"number": 3}
    assert opened(state).latest_offset(start, 0.05) is start
    begun = time.monotonic()
    assert opened(state, stopping=lambda: True).latest_offset(start, 60) is start
    assert time.monotonic() - begun < 30


def test_an_offset_is_located_once_and_anew_only_after_a_pause(state: SqliteStateStore) -> None:
    """To locate it at another server than before is told of each time."""
    source = opened(state)
    source.latest_offset({"number": 2}, 10)
    source.latest_offset({"number": 3})
    assert (source.located, source.asked) == (2, 2)
    source.latest_offset({"number": 3}, 0.05)
    assert source.located == source.asked


def test_what_signals_have_asked_for_stays_in_the_offset(
    state: SqliteStateStore, caplog: pytest.LogCaptureFixture
) -> None:
    source, left = opened(state), {"cdckit_incremental": {"wanted": [{"name": "d.t"}]}}
    end = source.latest_offset({"number": 1, **left})
    assert end == {"number": 3, **left}
    assert source.cut({"number": 1, **left}, end, 1) == {"number": 2, **left}
    for _ in range(2):
        source.plan({"number": 1, **left}, end)
    assert caplog.text.count("d.t: the snapshot that a signal has asked for waits") == 1


def test_a_snapshot_that_is_due_comes_first(state: SqliteStateStore) -> None:
    source = opened(state)
    start = source.initial_offset()
    assert planned(source, start) == [("snapshot", start)]
    point = source.latest_offset(start)
    assert point == {"number": 3, "cdckit_after_snapshot": True}
    assert planned(source, start, point) == [("chunk", point)] * 2
    assert source.prepared == [0, 0]


def test_behind_it_the_log_is_followed_unless_the_mode_ends_there(state: SqliteStateStore) -> None:
    assert planned(opened(state), WANTED) == [("log", None)]
    assert planned(opened(state), WANTED, {"number": 3}) == [("range", {"number": 3})]
    assert planned(opened(state), WANTED, WANTED) == []
    ends = opened(state, PlainMode("first", streams=False))
    assert planned(ends, WANTED) == []
    assert ends.latest_offset(WANTED) is WANTED


def test_tables_are_read_again_behind_the_log_as_it_was_when_that_was_seen(state: SqliteStateStore) -> None:
    source = opened(state)
    wanted = ask(state, WANTED, ["d.t"])
    assert source.owes_rows(WANTED)
    assert source.latest_offset(WANTED) == {"number": 3}
    source.length = 9  # what comes later does not put the rows off
    assert source.latest_offset({"number": 2}) == {"number": 3}
    rows = source.latest_offset({"number": 3})
    assert rows == {
        "number": 3,
        "cdckit_after_snapshot": True,
        "cdckit_resnapshot": {"id": wanted.id, "tables": ("d.t",), "done": True},
    }
    assert planned(source, {"number": 3}, rows) == [("chunk", rows)] * 2
    source.committed(rows)
    assert state.get(KEPT_AS) is None
    assert source.latest_offset(rows) == {"number": 9}


def test_so_does_a_runner_that_reads_the_whole_snapshot(state: SqliteStateStore) -> None:
    source = opened(state)
    wanted = ask(state, WANTED, ["d.t"])
    assert planned(source, WANTED) == [("log", {"number": 3})]
    [(payload, at)] = planned(source, {"number": 3})
    assert payload == "snapshot"
    assert at is not None
    assert NumberedOffset.from_json(at).resnapshot == wanted
    assert NumberedOffset.from_json(at).snapshot_due


def test_a_source_whose_snapshot_catches_up_reads_the_rows_at_once(
    state: SqliteStateStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToySource, "snapshot_catches_up", True)
    source = opened(state)
    ask(state, WANTED, ["d.t"])
    [(payload, _)] = planned(source, WANTED)
    assert payload == "snapshot"


def test_an_archive_is_read_up_to_its_end_and_tables_wait_for_the_database(
    state: SqliteStateStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ToySource, "archived", True)
    source = opened(state)
    assert planned(source, WANTED) == [("log", {"number": 3})]
    assert planned(source, {"number": 3}) == []
    assert source.latest_offset({"number": 3}, 3600) == {"number": 3}
    ask(state, WANTED, ["d.t"])
    for _ in range(2):
        assert not source.owes_rows(WANTED)
        assert planned(source, WANTED) == [("log", {"number": 3})]
        assert source.latest_offset(WANTED) == {"number": 3}
    assert [record.getMessage() for record in caplog.records] == [
        "d.t: not read again (cdc resnapshot) until the database itself is read"
    ]
    assert state.get(KEPT_AS) is not None


def test_what_another_runner_has_begun_to_read_again_is_begun_anew(state: SqliteStateStore) -> None:
    source = opened(state)
    wanted = ask(state, WANTED, ["d.t"])
    begun = NumberedOffset(number=3).before_rows(wanted).to_json()
    assert source.latest_offset(begun)["cdckit_resnapshot"]["done"] is True


def test_a_long_batch_is_cut_but_none_beside_a_snapshot(state: SqliteStateStore) -> None:
    source = opened(state)
    assert source.cut({"number": 1}, {"number": 9}, 4) == {"number": 5}
    end = {"number": 3}
    assert source.cut({"number": 1}, end, 4) is end
    assert source.cut({"number": 0, "due": True}, {"number": 9}, 4) == {"number": 9}
    chunks = {"number": 9, "cdckit_after_snapshot": True}
    assert source.cut({"number": 1}, chunks, 4) is chunks


def test_a_lost_log_is_a_snapshot_where_the_mode_says_so(state: SqliteStateStore) -> None:
    source = opened(state, PlainMode("first", on_data_error=True))
    batches = source.read(Split(WANTED, {"number": 3}, "range"))
    assert next(batches).offset == WANTED
    with pytest.raises(SnapshotDueError, match=r"^1 is gone$"):
        next(batches)
    assert [payload for payload, _ in planned(source, WANTED)] == ["snapshot"]


def test_else_it_ends_the_pipeline(state: SqliteStateStore) -> None:
    with pytest.raises(SourceError, match="1 is gone: that is all") as caught:
        list(opened(state).read(Split(WANTED, {"number": 3}, "range")))
    assert not isinstance(caught.value, SnapshotDueError)


def test_planning_needs_the_state_and_an_offset_that_can_be_read(state: SqliteStateStore) -> None:
    source = ToySource(INITIAL)
    source.open(SourceContext("worker"))
    with pytest.raises(StateError, match="planning needs the pipeline's state"):
        source.plan(WANTED, None)
    with pytest.raises(StateError, match="is not one of a row log source"):
        opened(state).latest_offset({"number": "x"})


def test_offsets_keep_what_every_database_has(state: SqliteStateStore) -> None:
    offset = NumberedOffset(
        number=1,
        transaction_id="x",
        counts={"d.t": 2},
        after_snapshot=True,
        incremental={"a": 1},
        resnapshot=Resnapshot("i", ("d.t",)),
    )
    assert NumberedOffset.from_json(offset.to_json()) == offset
    assert offset.to_json()["transaction_data_collection_order_d.t"] == 2


def test_what_the_kits_options_name_they_have() -> None:
    named = {*ToyConfig.shaping, *ToyConfig.choosing, *ToyConfig.identifying}
    assert named <= ToyConfig.model_fields.keys()
