"""The source `folder`.

Its offset is an object of file name to bytes read. All that `read` needs stands in the split and the config, so that
Spark's workers can read as well as the direct runner.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from cdckit import Batch, Offset, Source, SourceContext, SourceError, Split
from cdckit_example.config import FolderConfig
from cdckit_example.events import EventMaker
from cdckit_example.lines import end_of_lines, read_lines

_BATCH = 1000


class FolderSource(Source):
    """Reads each file `NAME.jsonl` to its last whole line, and follows it."""

    def __init__(self, config: FolderConfig) -> None:
        self.config = config
        self._events: dict[str, EventMaker] = {}

    def open(self, context: SourceContext) -> None:
        """Checks that the folder is there."""
        self._context = context
        if not self.config.path.is_dir():
            raise SourceError(f"source.path: {self.config.path} is no folder: create it, or name another")

    def initial_offset(self) -> Offset:
        """Before the first line of every file."""
        return {}

    def latest_offset(self, start: Offset, wait_seconds: float = 0.0) -> Offset:
        """After the last whole line of every file."""
        deadline = time.monotonic() + wait_seconds
        while (end := self._ends(start)) == start and time.monotonic() < deadline:
            time.sleep(min(self.config.poll_interval_ms / 1000, wait_seconds))
        return end

    def plan(self, start: Offset, end: Offset | None, parallelism: int = 1) -> Sequence[Split]:
        """The open-ended split, or up to `parallelism` splits of whole files.

        A key stands in one file alone: files may be read at the same time.
        """
        if end is None:
            return [Split(start, None)]
        grown = [name for name in end if end[name] > start.get(name, 0)]
        splits = []
        for number in range(min(parallelism, len(grown))):
            files = grown[number::parallelism]
            after = {**start, **{name: end[name] for name in files}}
            splits.append(Split(start, after, files))
            start = after
        return splits

    def read(self, split: Split) -> Iterator[Batch]:
        """The lines of the split's files; without an end, new lines as they come."""
        if split.end is not None:
            yield from self._between(split.start, split.end, split.payload)
            return
        offset = split.start
        while not self._context.stopping():
            end = self.latest_offset(offset, self._context.idle_seconds)
            yield from self._between(offset, end, list(end))
            yield Batch((), end)
            offset = end

    def close(self) -> None:
        """Nothing is kept open."""

    def _between(self, start: Offset, end: Offset, files: Sequence[str]) -> Iterator[Batch]:
        at = dict(start)
        for name in files:
            lines = read_lines(self._path(name), at.get(name, 0), end[name])
            while some := list(islice(lines, _BATCH)):
                maker = self._maker(name)
                records = [maker.record(line, position) for position, line in some]
                read = some[-1][0] - at.get(name, 0)
                at[name] = some[-1][0]
                yield Batch(records, dict(at), log_bytes=read)

    def _ends(self, start: Offset) -> Offset:
        files = {path.name for path in self.config.path.glob("*.jsonl")}
        ends = {name: end_of_lines(self._path(name)) for name in sorted(files | start.keys())}
        for name, read in start.items():
            if ends[name] < read:
                raise SourceError(
                    f"{self._path(name)} is shorter than the {read} bytes read from it: lines may only be appended. "
                    "Restore it, or forget the offset with `cdc offsets reset`"
                )
        return {name: end for name, end in ends.items() if end}

    def _path(self, name: str) -> Path:
        path = self.config.path / name
        if not path.exists():
            raise SourceError(f"{path} is gone, but the saved offset lies in it: restore it, or `cdc offsets reset`")
        return path

    def _maker(self, name: str) -> EventMaker:
        if name not in self._events:
            topic = f"{self.config.topic_prefix}.{name.removesuffix('.jsonl')}"
            self._events[name] = EventMaker(topic, name, self.config.key_field)
        return self._events[name]
