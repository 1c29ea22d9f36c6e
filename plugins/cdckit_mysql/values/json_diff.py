"""Changes of parts of a JSON document, as the log has them under `binlog_row_value_options=PARTIAL_JSON`.

The format: MySQL source documentation, "class Json_diff" (`sql/json_diff.h`); paths are MySQL's JSON path expressions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from cdckit import DecodeError
from cdckit_mysql.binlog.compression import packed_integer
from cdckit_mysql.values.json_binary import Json, parse_json

_REPLACE, _INSERT, _REMOVE = range(3)
_LEG = re.compile(r'\.("(?:[^"\\]|\\.)*"|[^.\[]+)|\[(\d+)\]')


def apply_diffs(document: Json, diffs: bytes) -> Json:
    """Give the document after all of the changes in `diffs`; the one given is changed in place.

    Raises:
        DecodeError: the changes are damaged or do not fit the document.
    """
    for operation, path, value in _read(diffs):
        legs = list(_legs(path))
        if not legs:
            document = value
            continue
        try:
            _apply(_parent(document, legs), operation, legs[-1], value)
        except (KeyError, IndexError, TypeError) as error:
            raise DecodeError(f"a change of the JSON path {path} does not fit the document before it") from error
    return document


def _read(diffs: bytes) -> Iterator[tuple[int, str, Json]]:
    """Each change: what to do, the path's length and text, and but for a removal the value's length and bytes."""
    at = 0
    while at < len(diffs):
        operation = diffs[at]
        if operation > _REMOVE:
            raise DecodeError(f"operation {operation} on a part of a JSON document is not known")
        size, at = packed_integer(diffs, at + 1)
        path, at = diffs[at : at + size].decode("utf-8"), at + size
        value: Json = None
        if operation != _REMOVE:
            size, at = packed_integer(diffs, at)
            value, at = parse_json(diffs[at : at + size]), at + size
        yield operation, path, value


def _legs(path: str) -> Iterator[str | int]:
    at = 1
    while at < len(path):
        leg = _LEG.match(path, at)
        if leg is None or path[0] != "$":
            raise DecodeError(f"{path} is no JSON path that the log may hold")
        name, cell = leg.groups()
        yield int(cell) if cell is not None else json.loads(name) if name.startswith('"') else name
        at = leg.end()


def _parent(document: Json, legs: list[str | int]) -> Json:
    for leg in legs[:-1]:
        document = document[leg]  # type: ignore[index]
    return document


def _apply(parent: Json, operation: int, leg: str | int, value: Json) -> None:
    if isinstance(parent, list) and isinstance(leg, int):
        if operation == _INSERT:
            parent.insert(leg, value)
        elif operation == _REMOVE:
            del parent[leg]
        else:
            parent[leg] = value
    elif isinstance(parent, dict) and isinstance(leg, str):
        if operation == _REMOVE:
            del parent[leg]
        else:
            # A member keeps its place where it was there; a new one stands where the server's binary form sorts it,
            # which the next difference, and the text that is shown, go by.
            new = leg not in parent
            parent[leg] = value
            if new:
                _sort_keys(parent)
    else:
        raise TypeError(leg)


def _sort_keys(members: dict[str, Json]) -> None:
    """The server keeps an object's keys by length in bytes, then by their bytes."""
    ordered = sorted(members.items(), key=lambda member: (len(member[0].encode()), member[0].encode()))
    members.clear()
    members.update(ordered)
