"""Messages in JSON as images of rows: what of them tells of the row itself, in one form whatever the order of members.

A field that is null and one that is not there are the same: a topic keeps events from before a column was added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from cdckit.api.held import Image, Shown
from cdckit.tables.document_order import identifier_first
from cdckit.tables.floats import six_digits
from cdckit.tables.json_texts import parsed

DOCUMENT = "document"
"""The field of a row that is one text, as MongoDB's documents are in events."""
_FRACTION = re.compile(r"\.(\d*[1-9])?0*(?=[Z+-]|$)")
_SORTED = orjson.OPT_SORT_KEYS
_TRUNCATE = "t"


def document_row(text: str) -> dict[str, str]:
    """The row of a document: one text, with `_id` first, as its collection stores it."""
    return {DOCUMENT: identifier_first(text)}


OfRow = Callable[[Mapping[str, Any]], bytes]
"""Makes the hash of a row."""


class RowReader:
    """Reads the rows out of the messages of one topic.

    Args:
        topic: its name.
        envelope: whether values are change events; None: as each looks.
        shown: what of a row is compared; None: all of it.
        told: makes the hash of a row that the ledger has; None: there is no ledger.
    """

    def __init__(
        self, topic: str, envelope: bool | None = None, shown: Shown | None = None, told: OfRow | None = None
    ) -> None:
        self._told = told
        self.topic = topic
        self._envelope = envelope
        self._columns = None if shown is None or shown.columns is None else sorted(shown.columns)
        columns = self._columns or ()
        self._documents = [at for at, name in enumerate(columns) if shown is not None and name in shown.documents]
        self._times = [at for at, name in enumerate(columns) if shown is not None and name in shown.times]
        self._floats = [at for at, name in enumerate(columns) if shown is not None and name in shown.floats]

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
        told = b""
        if self._told is not None and type(value) is dict:
            row = value.get("after")
            if type(row) is dict:
                told = self._told(row)
            elif type(row) is str:
                told = self._told(document_row(row))
        return Image(self.topic, orjson.dumps(key, option=_SORTED), self._row(value), position, told)

    def columns(self, keys: Iterable[Any], values: Iterable[Any]) -> tuple[list[bytes], list[bytes]] | None:
        """The keys and rows of messages, as `image` gives them one by one.

        Returns:
            None where one is no change event with a row of known columns, or the ledger's hashes are wanted.
        """
        names, dumps, shown = self._columns, orjson.dumps, self._values
        if names is None or not self._envelope or self._told is not None:
            return None
        plain = not self._documents and not self._times and not self._floats
        found, rows = [], []
        for key, event in zip(keys, values, strict=True):
            if type(key) is not dict or type(event) is not dict:
                return None
            value = event["payload"] if event.keys() == _WITH_SCHEMA else event
            row = value.get("after") if type(value) is dict else None
            if type(row) is not dict:
                return None
            wanted = list(map(row.get, names))
            found.append(dumps(key["payload"] if key.keys() == _WITH_SCHEMA else key, option=_SORTED))
            rows.append(dumps(wanted if plain else shown(wanted), option=_SORTED))
        return found, rows

    def _row(self, value: Any) -> bytes | None:
        if value is None:
            return None
        if type(value) is not dict:
            return _of_document(value)
        row: Any = value
        if self._envelope or (self._envelope is None and _is_event(value)):
            row = value.get("after")
            if type(row) is not dict:
                return None if row is None else _of_document(row)
        elif row.get("__deleted") in ("true", True):
            return None
        if self._columns is None:
            return orjson.dumps({name: item for name, item in row.items() if item is not None}, option=_SORTED)
        return orjson.dumps(self._values(list(map(row.get, self._columns))), option=_SORTED)

    def _values(self, values: list[Any]) -> list[Any]:
        for at in self._documents:
            if isinstance(text := values[at], str):
                values[at] = parsed(text)
        for at in self._times:
            text = values[at]
            if isinstance(text, str) and "." in text and not (text[-1] == "Z" and text[-2] != "0"):
                values[at] = shortened(text)
        for at in self._floats:
            if isinstance(number := values[at], float):
                values[at] = float(six_digits(number))
        return values

    def fields(self, row: bytes) -> dict[str, Any]:
        """The values of an image's row by their names; of one that is a single document, those in it."""
        found = orjson.loads(row)
        if isinstance(found, list):
            return dict(zip(self._columns or (), found, strict=True))
        if found.keys() == {DOCUMENT} and isinstance(text := found[DOCUMENT], str):
            inside = parsed(text)
            return inside if isinstance(inside, dict) else found
        return dict(found)


_WITH_SCHEMA = {"schema", "payload"}


def _of_document(value: Any) -> bytes:
    """The row of a message that is one value, as a document's text is."""
    return orjson.dumps(document_row(value) if isinstance(value, str) else {DOCUMENT: value}, option=_SORTED)


def _is_event(value: dict[str, Any]) -> bool:
    return "op" in value and "source" in value and "after" in value


def shortened(time: str) -> str:
    """A time as text without zeros at the end of its fraction."""
    return _FRACTION.sub(_without_zeros, time)


def _without_zeros(fraction: re.Match[str]) -> str:
    return f".{fraction[1]}" if fraction[1] else ""
