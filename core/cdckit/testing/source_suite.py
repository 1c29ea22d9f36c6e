"""What holds for every source."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from cdckit.api.batch import Batch
from cdckit.api.plugins import Kind, find
from cdckit.api.record import Offset, Record
from cdckit.api.source import Source, SourceContext, Split
from cdckit.engine.state.sqlite import SqliteStateStore
from cdckit.testing.component_suite import ComponentSuite
from cdckit.testing.killed import working

Seen = tuple[int, str, str]
"""A change's token, its record's topic and position."""


class SourceSuite(ComponentSuite):
    """Holds a source to `cdckit.api.source.Source`.

    A subclass makes changes in the real system, each with a token, and finds the tokens again in records. Each test
    begins with a fresh place for them (a fixture of the subclass).

    ```python
    class TestTicks(SourceSuite):
        type_name = "ticks"

        def change(self, tokens):
            for token in tokens:
                self.clock.tick(token)

        def token(self, record):
            return record.value["after"]["id"] if record.topic == "ticks" else None
    ```
    """

    kind: ClassVar[Kind] = "source"

    def change(self, tokens: Sequence[int]) -> None:
        """Commits one change for each token, in their order, each in a transaction of its own."""
        raise NotImplementedError

    def token(self, record: Record) -> int | None:
        """The token of the change that a record tells of; None for a record that is none of the suite's changes."""
        raise NotImplementedError

    def test_changes_before_and_after_the_start_all_come(self, tmp_path: Path) -> None:
        """Nothing is missing between what was there (where the source takes a snapshot) and what came after."""
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(10, 30))
            found = [token for token, _, _ in self._seen(_read_to_end(source, begin))]
        assert found == list(range(10, 30))

    def test_offsets_are_json(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change([1])
            for offset in (source.initial_offset(), begin, source.latest_offset(begin)):
                assert json.loads(json.dumps(offset)) == offset

    def test_nothing_lies_between_an_offset_and_itself(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            end = self._begun(source)
            assert list(source.plan(end, end)) == []

    def test_the_log_ends_where_it_ended_while_nothing_changes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change([1, 2])
            end = source.latest_offset(begin)
            assert source.latest_offset(end) == end
            assert [token for token, _, _ in self._seen(_read_range(source, begin, end))] == [1, 2]

    def test_positions_are_unique_and_sort_in_commit_order(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(50))
            records = [record for batch in _read_to_end(source, begin) for record in batch.records]
        positions = [record.position for record in records if record.position]
        assert positions == sorted(set(positions))

    def test_a_range_read_again_gives_the_same_again(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(20))
            end = source.latest_offset(begin)
            first = self._seen(_read_range(source, begin, end))
            self.change(range(20, 25))
            assert self._seen(_read_range(source, begin, end)) == first
        assert [token for token, _, _ in first] == list(range(20))

    def test_reading_goes_on_from_every_offset_that_a_batch_gave(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(30))
            end = source.latest_offset(begin)
            batches = list(_read_range(source, begin, end))
            whole = self._seen(batches)
            done = 0
            for batch in batches:
                done += len(self._seen([batch]))
                if batch.offset is not None:
                    rest = self._seen(_read_range(source, batch.offset, end))
                    assert rest == whole[done:], f"after {done} changes, from {batch.offset}"

    def test_a_range_can_be_shared_out_among_processes(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(40))
            end = source.latest_offset(begin)
            splits = [pickle.loads(pickle.dumps(split)) for split in source.plan(begin, end, 4)]  # noqa: S301
        found = [seen for split in splits for seen in self._seen(self._read_elsewhere(split))]
        assert sorted(token for token, _, _ in found) == list(range(40))
        by_position = sorted(found, key=lambda seen: seen[2])
        assert [token for token, _, _ in by_position] == list(range(40)), "positions restore the order of splits"

    def test_an_open_end_gives_empty_batches_and_stops_when_asked(self, tmp_path: Path) -> None:
        asked: list[bool] = []
        context = {"stopping": lambda: bool(asked), "idle_seconds": 0.05}
        with self.opened(tmp_path, **context) as source:
            begin = self._begun(source)
            splits = source.plan(begin, None)
            assert [split.end for split in splits] == [None]
            for batch in source.read(splits[0]):
                if not batch.records:
                    asked.append(True)
        assert asked

    def test_a_killed_process_is_gone_on_from(
        self, tmp_path: Path, record_property: Callable[[str, object], None]
    ) -> None:
        """From the offset of the last batch that it gave: nothing is missing, and nothing comes twice."""
        record_property("check", "kill")
        with self.opened(tmp_path) as source:
            offset = self._begun(source)
        self.change(range(20))
        given = find(self.kind, self.type_name), self.config(), tmp_path / "state", offset
        found: list[int] = []
        with working("cdckit.testing.source_reader", *given) as (_, output):
            while not found:
                batch = pickle.load(output)  # noqa: S301 - our own bytes
                found += [token for token, _, _ in self._seen([batch])]
                offset = offset if batch.offset is None else batch.offset
        self.change(range(20, 25))
        with self.opened(tmp_path) as source:
            found += [token for token, _, _ in self._seen(_read_to_end(source, offset))]
        assert found == list(range(25))

    def check_speed(self, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
        """`cdc plugin check` alone runs it: changes of a transaction each, a second."""
        record_property("check", "speed")
        with self.opened(tmp_path) as source:
            begin = self._begun(source)
            self.change(range(500))
            end = source.latest_offset(begin)
            started = time.perf_counter()
            found = self._seen(_read_range(source, begin, end))
            spent = time.perf_counter() - started
        assert len(found) == 500
        record_property("speed", f"{500 / spent:,.0f} changes a second")

    def test_it_can_be_closed_twice_and_without_having_been_opened(self) -> None:
        source: Source = self.component()
        source.close()
        source.close()

    @contextmanager
    def opened(self, folder: Path, **context: Any) -> Iterator[Source]:
        """A source with a state store of its own, which already stands behind what there was at first."""
        state = SqliteStateStore(folder / "state")
        source: Source = self.component()
        try:
            source.open(SourceContext("suite", state, **context))
            yield source
        finally:
            source.close()
            state.close()

    def _begun(self, source: Source) -> Offset:
        """Where the log goes on after what there was at first: after the snapshot, where one is taken."""
        offset = source.initial_offset()
        for batch in _read_to_end(source, offset):
            offset = offset if batch.offset is None else batch.offset
        return offset

    def _read_elsewhere(self, split: Split) -> Iterator[Batch]:
        """Reads a split as a worker process does: with a new source and no state."""
        source: Source = self.component()
        try:
            source.open(SourceContext("suite"))
            yield from source.read(split)
        finally:
            source.close()

    def _seen(self, batches: Iterator[Batch] | Sequence[Batch]) -> list[Seen]:
        found = [(self.token(record), record) for batch in batches for record in batch.records]
        return [(token, record.topic, record.position) for token, record in found if token is not None]


def _read_range(source: Source, start: Offset, end: Offset) -> Iterator[Batch]:
    for split in source.plan(start, end):
        yield from source.read(split)


def _read_to_end(source: Source, offset: Offset) -> Iterator[Batch]:
    """All up to the log's end as it stands when the snapshot is over: what `cdc run --once` reads."""
    while splits := source.plan(offset, None):
        open_ended = any(split.end is None for split in splits)
        if open_ended:
            splits = source.plan(offset, source.latest_offset(offset))
        for split in splits:
            for batch in source.read(split):
                offset = offset if batch.offset is None else batch.offset
                yield batch
        if open_ended:
            return
