"""What TiCDC's storage sink writes, as a log: `SCHEMA/TABLE/VERSION/[DATE/]CDCn.csv` or `.json`, each file a partition.

TiCDC's manual, "Replicate Data to Storage Services". Files are never changed once they are there; definitions stand
beside them in `SCHEMA/TABLE/meta/schema_VERSION_HASH.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from cdckit import SourceError
from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.definitions import ColumnDefinition, Definition
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.files_in_order import FilesInOrder
from cdckit_ticdc.reading.folders import Folder
from cdckit_ticdc.reading.log import Chunk, Range

_DATA = re.compile(r"([^/]+)/([^/]+)/(\d+)/(?:(.*)/)?CDC(\d+)\.(csv|json)")
_SCHEMA = re.compile(r"[^/]+/[^/]+/meta/schema_(\d+)_\d+\.json")
_TEMPORAL = frozenset({"time", "datetime", "timestamp"})
_LINES = 2000


class StorageLog(FilesInOrder):
    """Reads the files of a folder.

    Args:
        folder: where TiCDC writes.
        quote: the character around CSV's values, inside which lines may end; "" for JSON and unquoted CSV.
    """

    poll_seconds = 1.0

    def __init__(self, folder: Folder, quote: str) -> None:
        self._folder = folder
        self._quote = quote.encode()

    def ranges(self) -> dict[Partition, Range]:
        """Every data file with its size."""
        return {Partition(path, 0): Range(0, size) for path, size in self._folder.files() if _DATA.fullmatch(path)}

    def order(self, partition: Partition) -> tuple[Any, ...]:
        """Table by table, and of each table versions, days and files in their order."""
        found = _DATA.fullmatch(partition.topic)
        assert found is not None
        return found[1], found[2], int(found[3]), found[4] or "", int(found[5])

    def definitions(self) -> Iterator[Definition]:
        """The definitions that stand beside the data, each from its table version on."""
        for path, _ in self._folder.files():
            if _SCHEMA.fullmatch(path):
                yield _definition(path, self._folder.content(path))

    def chunks(self, partition: Partition, start: int, end: int) -> Iterator[Chunk]:
        """The lines of a file between two places, some thousand at a time."""
        if start >= end:
            return
        found = _DATA.fullmatch(partition.topic)
        assert found is not None
        topic, number = f"{found[1]}.{found[2]}", _number_of_file(found)
        messages: list[Message] = []
        at = begin = start
        for line in _lines(self._folder.content(partition.topic)[start:end], self._quote):
            text = line.rstrip(b"\r\n")
            if text:
                messages.append(Message(topic, number, at, None, text, file=partition.topic))
            at += len(line)
            if len(messages) >= _LINES:
                yield Chunk(partition, messages, at, at - begin)
                messages, begin = [], at
        yield Chunk(partition, messages, end, end - begin)


def table_of(path: str) -> tuple[str, str, int]:
    """Database, table and table version of a data file.

    Raises:
        ValueError: it is none.
    """
    found = _DATA.fullmatch(path)
    if found is None:
        raise ValueError(f"{path} is no data file of TiCDC's storage sink")
    return found[1], found[2], int(found[3])


def _number_of_file(found: re.Match[str]) -> int:
    """A number that sorts a table's files as `StorageLog.order` does: the days' digits, then the file's own number."""
    return int("".join(re.findall(r"\d", found[4] or "")) + f"{int(found[5]):09d}")


def _lines(content: bytes, quote: bytes) -> Iterator[bytes]:
    """Lines with their ends; one that ends inside quotes goes on with the next."""
    held = b""
    for line in content.splitlines(keepends=True):
        held += line
        if not quote or held.count(quote) % 2 == 0:
            yield held
            held = b""
    if held:
        yield held


def _definition(path: str, content: bytes) -> Definition:
    try:
        found = orjson.loads(content)
        columns = found["TableColumns"] or ()
        return Definition(
            found["Schema"],
            found["Table"],
            int(found["TableVersion"]),
            tuple(_column(column) for column in columns),
            tuple(column["ColumnName"] for column in columns if column.get("ColumnIsPk") == "true"),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(f"source.storage.url: {path} is no schema file of TiCDC's ({error})") from error


def _column(column: Mapping[str, Any]) -> ColumnDefinition:
    type = parse_type(column["ColumnType"])
    length = _number(column.get("ColumnPrecision") or column.get("ColumnLength"))
    scale = _number(column.get("ColumnScale"))
    if type.name in _TEMPORAL:
        length, scale = scale or 0, None
    made = MySqlType(type.name, type.unsigned, length, scale, type.labels).declared
    return ColumnDefinition(column["ColumnName"], made, column.get("ColumnIsPk") != "true")


def _number(text: Any) -> int | None:
    return int(text) if text else None
