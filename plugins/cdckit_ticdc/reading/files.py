"""Files of recorded messages as a log: each file a partition, a line a message, its place in bytes the offset."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path

from cdckit import SourceError
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.files_in_order import FilesInOrder
from cdckit_ticdc.reading.lines import read_line
from cdckit_ticdc.reading.log import Chunk, Range

_BLOCK = 1 << 20


class FileLog(FilesInOrder):
    """Reads files of JSON lines.

    Args:
        patterns: paths, in which `*`, `?` and `**` stand for others.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        self._patterns = patterns

    def ranges(self) -> dict[Partition, Range]:
        """The whole lines of every file that the patterns name now."""
        return {Partition(path, 0): Range(0, _end_of_lines(path)) for path in self._paths()}

    def order(self, partition: Partition) -> Partition:
        """By their paths."""
        return partition

    def chunks(self, partition: Partition, start: int, end: int) -> Iterator[Chunk]:
        """The lines between two places, about a megabyte at a time."""
        try:
            with Path(partition.topic).open("rb") as file:
                file.seek(start)
                while start < end:
                    lines = file.readlines(min(_BLOCK, end - start))
                    messages, at = [], start
                    for line in lines:
                        if at >= end:
                            break
                        if line.strip():
                            messages.append(read_line(line.strip(), partition.topic, at))
                        at += len(line)
                    if at == start:
                        raise SourceError(
                            f"source.files: {partition.topic} became shorter while it was read", number="CDC3402"
                        )
                    yield Chunk(partition, messages, at, at - start)
                    start = at
        except OSError as error:
            raise SourceError(f"source.files: {partition.topic}: {error.strerror}", number="CDC3402") from error

    def tail(self, partition: Partition, messages: int) -> list[Message]:
        """The last few lines of a file."""
        end = _end_of_lines(partition.topic)
        with Path(partition.topic).open("rb") as file:
            start = file.seek(max(0, end - _BLOCK))
            lines = file.read(end - start).splitlines()
        whole = lines[1:] if start else lines
        return [read_line(line, partition.topic, start) for line in whole[-messages:] if line.strip()]

    def _paths(self) -> list[str]:
        found: set[str] = set()
        for pattern in self._patterns:
            matching = glob.glob(pattern, recursive=True)  # noqa: PTH207 - patterns may be absolute
            if not matching and not glob.has_magic(pattern):
                raise SourceError(f"source.files: there is no file {pattern}", number="CDC3401")
            found.update(path for path in matching if Path(path).is_file())
        return sorted(found)


def _end_of_lines(path: str) -> int:
    """Where the last whole line ends."""
    try:
        with Path(path).open("rb") as file:
            end = file.seek(0, 2)
            while end > 0:
                start = max(0, end - _BLOCK)
                file.seek(start)
                at = file.read(end - start).rfind(b"\n")
                if at >= 0:
                    return start + at + 1
                end = start
    except OSError as error:
        raise SourceError(f"source.files: {path}: {error.strerror}", number="CDC3402") from error
    return 0
