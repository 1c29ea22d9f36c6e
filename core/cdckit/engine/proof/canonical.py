"""Messages in JSON as images of rows: what of them tells of the row itself, in one form whatever the order of members.

A field that is null and one that is not there are the same: a topic keeps events from before a column was added.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

from cdckit.api.held import Image, Shown

DOCUMENT = "document"
"""The field of a row that is one text, as MongoDB's documents are in events."""
_FRACTION = re.compile(r"\.(\d*?)0*(?=[Z+-]|$)")
_SORTED = orjson.OPT_SORT_KEYS
_TRUNCATE = "t"


class RowReader:
    """Reads the rows out of the messages of one topic.

    Args:
        topic: its name.
        envelope: whether values are change events; None: as each looks.
        shown: what of a row is compared; None: all of it.
    """

    def __init__(self, topic: str, envelope: bool | None = None, shown: Shown | None = None) -> None:
        self.topic = topic
        self._envelope = envelope
        self._columns = None if shown is None else shown.columns
        self._documents = () if shown is None else tuple(shown.documents)
        self._times = () if shown is None else tuple(shown.times)

    def image(self, key: Any, value: Any, position: str) -> Image | None:
        """The image of a message; None where it has no key, and so tells of no row that could be found again.

        Args:
            key: what the JSON of its key says.
            value: the same of its value.
            position: where in the source's log.
        """
        if type(value) is dict and value.keys() == _WITH_SCHEMA:
            value = value["payload"]
        if key is None:
            emptied = isinstance(value, dict) and value.get("op") == _TRUNCATE
            return Image(self.topic, None, None, position) if emptied else None
        if type(key) is dict and key.keys() == _WITH_SCHEMA:
            key = key["payload"]
        return Image(self.topic, orjson.dumps(key, option=_SORTED), self._row(value), position)

    def _row(self, value: Any) -> bytes | None:
        if value is None:
            return None
        if type(value) is not dict:
            return orjson.dumps({DOCUMENT: value}, option=_SORTED)
        row: Any = value
        if self._envelope or (self._envelope is None and _is_event(value)):
            row = value.get("after")
            if type(row) is not dict:
                return None if row is None else orjson.dumps({DOCUMENT: row})
        elif row.get("__deleted") in ("true", True):
            return None
        return orjson.dumps(self._shown(row), option=_SORTED)

    def _shown(self, row: dict[str, Any]) -> dict[str, Any]:
        columns = self._columns
        if columns is not None and not row.keys() <= columns:
            row = {name: item for name, item in row.items() if item is not None and name in columns}
        elif None in row.values():
            row = {name: item for name, item in row.items() if item is not None}
        for name in self._documents:
            if isinstance(text := row.get(name), str):
                row[name] = parsed(text)
        for name in self._times:
            if isinstance(text := row.get(name), str) and "." in text:
                row[name] = _FRACTION.sub(_without_zeros, text)
        return row


_WITH_SCHEMA = {"schema", "payload"}


def _is_event(value: dict[str, Any]) -> bool:
    return "op" in value and "source" in value and "after" in value


def _without_zeros(fraction: re.Match[str]) -> str:
    return f".{fraction[1]}" if fraction[1] else ""


def parsed(text: str) -> Any:
    """What a JSON text says; the text itself where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        return text


def changed_columns(before: bytes, after: bytes) -> list[str]:
    """The names of the fields in which two rows differ; of documents, of those inside them."""
    old, new = _fields(before), _fields(after)
    return sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))


def _fields(row: bytes) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(row)
    document = found.get(DOCUMENT)
    if len(found) == 1 and isinstance(document, str):
        inside = parsed(document)
        return inside if isinstance(inside, dict) else found
    return found
