"""Entries by the buckets of their keys: in memory while they are few, then in files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy

from cdckit.engine.proof.entries import Block

BUCKETS = 256
"""A key's bucket is the first byte of its hash."""
_HELD_BYTES = 32 << 20
"""So much is held in memory, besides what Python needs for it."""
_ALL = bytes(16)


class Spill:
    """The entries of one side.

    Args:
        folder: where the files are made once there are any.
        name: what their names begin with.
        width: the bytes of an entry.
        held_bytes: how much is held in memory.
    """

    def __init__(self, folder: Path, name: str, width: int, held_bytes: int = _HELD_BYTES) -> None:
        self._folder = folder
        self._name = name
        self._most = max(1, held_bytes // (width + 60))
        self._parts: list[list[bytes]] = [[] for _ in range(BUCKETS)]
        self._held = 0
        self._written = False

    def add(self, entries: Iterable[bytes] | Block) -> None:
        """Takes entries; those of one bucket stay in their order. One without a key goes into every bucket."""
        if isinstance(entries, numpy.ndarray):
            self._add_block(entries)
        else:
            self._add_each(entries)
        if self._held >= self._most:
            self._write()

    def _add_block(self, block: Block) -> None:
        """Takes entries that have keys, put in the order of their buckets at once."""
        bucket, width = block[:, 0], block.shape[1]
        data = block[bucket.argsort(kind="stable")].tobytes()
        at = 0
        for part, count in zip(self._parts, numpy.bincount(bucket, minlength=BUCKETS).tolist(), strict=True):
            if count:
                part.append(data[at : at + count * width])
                at += count * width
        self._held += len(block)

    def _add_each(self, entries: Iterable[bytes]) -> None:
        parts, before = self._parts, self._held
        for entry in entries:
            if not entry[0] and entry[:16] == _ALL:
                for part in parts:
                    part.append(entry)
            else:
                parts[entry[0]].append(entry)
            before += 1
        self._held = before

    def bucket(self, number: int) -> bytes:
        """All entries of a bucket."""
        held = b"".join(self._parts[number])
        file = self._file(number)
        return file.read_bytes() + held if self._written and file.exists() else held

    def flush(self) -> list[int]:
        """Writes all that is held, and tells how large the bucket's files are."""
        self._write()
        files = (self._file(number) for number in range(BUCKETS))
        return [file.stat().st_size if file.exists() else 0 for file in files]

    def restore(self, sizes: Sequence[int]) -> None:
        """Takes up files of an earlier process as they were when they had these sizes; of none it begins anew."""
        for number, size in enumerate(sizes or [0] * BUCKETS):
            file = self._file(number)
            if not size:
                file.unlink(missing_ok=True)
            else:
                os.truncate(file, size)
        self._written = bool(sizes)

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        for number, part in enumerate(self._parts):
            if part:
                with self._file(number).open("ab") as file:
                    file.write(b"".join(part))
                part.clear()
        self._held, self._written = 0, True

    def _file(self, number: int) -> Path:
        return self._folder / f"{self._name}-{number:03d}"
