"""Messages recorded as JSON lines, in the forms that are about.

- `{"key", "value", "topic", …}` with texts, and `key_encoding`/`value_encoding` `base64` for bytes;
- what `kcat -J` prints: `{"topic", "partition", "offset", "ts", "headers", "key", "payload"}`;
- what the file sink writes: key and value as JSON documents;
- a value alone, such as `kafka-console-consumer` prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from cdckit import DecodeError
from cdckit_ticdc.columns.binary import from_base64
from cdckit_ticdc.message import Message, RawHeaders

_KCAT = frozenset({"topic", "partition", "offset", "payload"})


def read_line(line: bytes, file: str, offset: int) -> Message:
    """The message of a line.

    Args:
        line: the line; not empty.
        file: the file's path, whose name stands for a topic that the line does not tell.
        offset: where the line begins, which stands for the message's offset.

    Raises:
        DecodeError: it is no JSON object.
    """
    try:
        found = orjson.loads(line)
        if not isinstance(found, dict):
            raise TypeError("no JSON object")
        if found.keys() >= _KCAT:
            return _kcat(found, file, offset)
        if "value" in found and ("key" in found or "topic" in found):
            return _recorded(found, file, offset)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise DecodeError(f"{file}, byte {offset}: no message as a line of JSON ({error})") from error
    return Message(_name(file), 0, offset, None, line, file=file)


def _name(file: str) -> str:
    return Path(file).stem


def _kcat(found: Mapping[str, Any], file: str, offset: int) -> Message:
    return Message(
        found["topic"],
        found["partition"],
        offset,
        _bytes(found.get("key"), "utf8"),
        _bytes(found["payload"], "utf8"),
        found.get("ts"),
        _paired(found.get("headers") or ()),
        file,
    )


def _paired(flat: Any) -> RawHeaders:
    """Headers as kcat prints them, names and values in turn."""
    return tuple((name, _bytes(value, "utf8")) for name, value in zip(flat[::2], flat[1::2], strict=True))


def _recorded(found: Mapping[str, Any], file: str, offset: int) -> Message:
    return Message(
        found.get("topic") or _name(file),
        found.get("partition") or 0,
        offset,
        _bytes(found.get("key"), found.get("key_encoding", "")),
        _bytes(found["value"], found.get("value_encoding", "")),
        found.get("timestamp"),
        tuple((header["key"], _header(header.get("value"))) for header in found.get("headers") or ()),
        file,
    )


def _bytes(part: Any, encoding: str) -> bytes | None:
    """A key or value. A string of no known encoding is a document itself, unless it holds one."""
    if part is None:
        return None
    if not isinstance(part, str) or (not encoding and part[:1] not in {"{", "["}):
        return orjson.dumps(part)
    return from_base64(part) if encoding == "base64" else part.encode()


def _header(value: Any) -> bytes | None:
    return value.encode() if isinstance(value, str) else None if value is None else orjson.dumps(value)
