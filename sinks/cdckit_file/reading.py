"""The lines of a file, read back."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import orjson

from cdckit import POSITION_HEADER, UNAVAILABLE_HEADER, HeldMessage, SinkError

_PARTIAL = UNAVAILABLE_HEADER.encode()
_BATCH_BYTES = 1 << 20


def held_lines(path: Path, topics: Collection[str]) -> Iterator[list[HeldMessage]]:
    """The messages of some topics, up to where the file ends now; a line that is not whole is not there yet.

    Raises:
        SinkError: the file cannot be read, or has a line that this sink did not write.
    """
    line, left = 0, path.stat().st_size if path.exists() else 0
    try:
        with path.open("rb") as file:
            while left > 0 and (lines := file.readlines(min(left, _BATCH_BYTES))):
                left -= sum(map(len, lines))
                whole = lines if lines[-1].endswith(b"\n") else lines[:-1]
                yield [message for message in _messages(path, whole, line) if message.topic in topics]
                line += len(lines)
    except FileNotFoundError:
        return
    except OSError as error:
        raise SinkError(f"sink.path {path}: {error.strerror}; nothing can be compared with it") from error


def _messages(path: Path, lines: list[bytes], before: int) -> Iterator[HeldMessage]:
    for number, line in enumerate(lines, before + 1):
        try:
            yield _message(orjson.loads(line), partial=_PARTIAL in line)
        except (ValueError, TypeError, KeyError) as error:
            raise SinkError(
                f"sink.path {path}, line {number}: is none that this sink wrote ({type(error).__name__}); restore the "
                "file, or have the pipeline write to another one from its beginning"
            ) from error


def _message(found: dict[str, Any], *, partial: bool) -> HeldMessage:
    """The position is the last header, where there is one."""
    headers = found["headers"]
    position = headers[-1]["value"] if headers and headers[-1]["key"] == POSITION_HEADER else ""
    if partial:
        partial = any(header["key"] == UNAVAILABLE_HEADER for header in headers)
    return HeldMessage(found["topic"], found["key"], found["value"], position, partial)
