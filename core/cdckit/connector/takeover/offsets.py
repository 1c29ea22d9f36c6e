"""Offsets that Kafka Connect keeps: the embedded engine's file, or a dump of a Connect cluster's offset topic.

And offsets as it takes them: that file, and the body of `PATCH /connectors/NAME/offsets`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cdckit.api.takeover import ConnectOffset
from cdckit.connector.damage import DAMAGE
from cdckit.connector.takeover.java_map import MAGIC, read_byte_map, write_byte_map
from cdckit.errors import StateError


def offsets_of(path: Path, prefix: str) -> list[ConnectOffset]:
    """The newest offsets of the connector whose `topic.prefix` is `prefix`; one for each of its partitions.

    Args:
        path: the file `offset.storage.file.filename`, or a dump of the offset topic with a message a line: `KEY TAB
            VALUE` as Kafka's console consumer prints it, or a JSON object with `key` and `value`.
        prefix: which connector.

    Raises:
        StateError: there is none, two connectors have that prefix, or the file is none of these.
    """
    newest = {(each.connector, _text(each.partition)): each for each in _read(path)}
    living = [each for each in newest.values() if each.offset]
    fitting = [each for each in living if prefix in each.partition.values()]
    if len({each.connector for each in fitting}) == 1:
        return fitting
    known = "; ".join(f"{each.connector} {_text(each.partition)}" for each in living) or "none"
    raise StateError(
        f"{path}: {len(fitting)} connectors have topic.prefix '{prefix}', one is needed; found: {known}",
        number="CDC7403",
    )


def offsets_body(offset: ConnectOffset) -> str:
    """What a Connect cluster is asked to set a stopped connector's offset to."""
    return json.dumps({"offsets": [{"partition": offset.partition, "offset": offset.offset}]}, indent=2)


def write_offsets(path: Path, offset: ConnectOffset) -> None:
    """Makes the file `offset.storage.file.filename` of one connector.

    Raises:
        StateError: there is one already, or it cannot be written.
    """
    key = _as_connect_does([offset.connector, offset.partition])
    try:
        with path.open("xb") as file:
            try:
                file.write(write_byte_map([(key, _as_connect_does(offset.offset))]))
                file.flush()
            except OSError:
                path.unlink()  # half of it would be taken for one that was there
                raise
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}", number="CDC7403") from error


def _as_connect_does(value: Any) -> bytes:
    """Keys are compared by their bytes."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _text(partition: Mapping[str, Any]) -> str:
    return json.dumps(partition, sort_keys=True)


def _read(path: Path) -> Iterator[ConnectOffset]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StateError(f"{path}: {error.strerror}", number="CDC7403") from error
    pairs = read_byte_map(data) if data.startswith(MAGIC) else _lines(data, path)
    for key, value in pairs:
        try:
            yield _offset(json.loads(key or b""), json.loads(value) if value else None)
        except DAMAGE as error:
            raise StateError(
                f"{path}: {(key or b'')[:80]!r} is no key of an offset of Kafka Connect", number="CDC7403"
            ) from error


def _offset(key: Any, offset: Any) -> ConnectOffset:
    """Raises TypeError or ValueError where key and value are none of an offset."""
    connector, partition = key
    if not isinstance(connector, str) or not isinstance(partition, dict) or not isinstance(offset, dict | None):
        raise TypeError("a part has another type")
    return ConnectOffset(connector, partition, offset)


def _lines(data: bytes, path: Path) -> Iterator[tuple[bytes | None, bytes | None]]:
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            yield _pair(line, f"{path}, line {number}")


def _pair(line: bytes, place: str) -> tuple[bytes | None, bytes | None]:
    key, tab, value = line.partition(b"\t")
    if tab:
        return key, None if value.strip() == b"null" else value
    try:
        message = json.loads(line)
        return _bytes(message["key"]), _bytes(message.get("value"))
    except DAMAGE as error:
        raise StateError(
            f"{place}: no message of an offset topic: KEY TAB VALUE, or JSON with key and value", number="CDC7403"
        ) from error


def _bytes(part: Any) -> bytes | None:
    if part is None:
        return None
    return part.encode() if isinstance(part, str) else json.dumps(part).encode()
