"""What TiCDC's storage sink writes, as a log: `SCHEMA/TABLE/VERSION/[DATE/]CDCn.csv` or `.json`, each file a partition.

TiCDC's manual, "Replicate Data to Storage Services". Files are never changed once they are there; definitions stand
beside them in `SCHEMA/TABLE/meta/schema_VERSION_HASH.json`.
"""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from cdckit.errors import ConfigError, RetriableSourceError, SourceError
from cdckit_ticdc.columns.types import MySqlType, parse_type
from cdckit_ticdc.definitions import ColumnDefinition, Definition
from cdckit_ticdc.message import Message
from cdckit_ticdc.offsets import Partition
from cdckit_ticdc.reading.log import Chunk, MessageLog, Range

_DATA = re.compile(r"([^/]+)/([^/]+)/(\d+)/(?:(.*)/)?CDC(\d+)\.(csv|json)")
_SCHEMA = re.compile(r"[^/]+/[^/]+/meta/schema_(\d+)_\d+\.json")
_TEMPORAL = frozenset({"time", "datetime", "timestamp"})
_LINES = 2000


class StoredFile(NamedTuple):
    """A file below the folder, by its path from there."""

    path: str
    size: int


class Folder(ABC):
    """A folder on this machine or in an object store."""

    @abstractmethod
    def files(self) -> list[StoredFile]:
        """All files below it."""

    @abstractmethod
    def content(self, path: str) -> bytes:
        """A file's content."""


class LocalFolder(Folder):
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def files(self) -> list[StoredFile]:
        """All files below it."""
        if not self._path.is_dir():
            raise SourceError(f"source.storage.url: there is no folder {self._path}")
        found = (path for path in self._path.rglob("*") if path.is_file())
        return [StoredFile(path.relative_to(self._path).as_posix(), path.stat().st_size) for path in found]

    def content(self, path: str) -> bytes:
        """A file's content."""
        return (self._path / path).read_bytes()


class ObjectStore(Folder):
    """A folder in an object store, through Arrow's file systems.

    Raises:
        ConfigError: PyArrow is not installed, or knows no such store.
    """

    def __init__(self, url: str) -> None:
        try:
            from pyarrow import fs  # noqa: PLC0415 - an extra's
        except ImportError as error:
            raise ConfigError("source.storage.url: object stores need pyarrow: pip install 'cdckit[spark]'") from error
        self._fs: Any = fs
        try:
            self._store, self._root = fs.FileSystem.from_uri(url)
        except (ValueError, OSError) as error:
            raise ConfigError(f"source.storage.url: {error}") from error

    def files(self) -> list[StoredFile]:
        """All files below it."""
        found = self._store.get_file_info(self._fs.FileSelector(self._root, recursive=True))
        below = len(self._root.rstrip("/")) + 1
        return [StoredFile(one.path[below:], one.size) for one in found if one.is_file]

    def content(self, path: str) -> bytes:
        """A file's content."""
        with self._store.open_input_stream(f"{self._root.rstrip('/')}/{path}") as stream:
            content: bytes = stream.read()
        return content


def open_folder(url: str) -> Folder:
    """The folder at a path or URL.

    Raises:
        ConfigError: there is no such kind of store.
    """
    scheme = urlsplit(url).scheme
    return LocalFolder(Path(url.removeprefix("file://"))) if scheme in {"", "file"} else ObjectStore(url)


class StorageLog(MessageLog):
    """Reads the files of a folder.

    Args:
        folder: where TiCDC writes.
        quote: the character around CSV's values, inside which lines may end; "" for JSON and unquoted CSV.
    """

    def __init__(self, folder: Folder, quote: str) -> None:
        self._folder = folder
        self._quote = quote.encode()

    def ranges(self) -> dict[Partition, Range]:
        """Every data file with its size."""
        return {Partition(path, 0): Range(0, size) for path, size in self._files() if _DATA.fullmatch(path)}

    def read(
        self, start: Mapping[Partition, int], end: Mapping[Partition, int] | None, idle_seconds: float
    ) -> Iterator[list[Chunk]]:
        """The files' lines: table by table, versions, days and files in their order."""
        at = dict(start)
        while True:
            ends = {partition: held.high for partition, held in self.ranges().items()} if end is None else end
            for partition in sorted(ends, key=_order):
                if at.get(partition, 0) < ends[partition]:
                    for chunk in self._chunks(partition, at.get(partition, 0), ends[partition]):
                        at[partition] = chunk.next
                        yield [chunk]
            if end is not None:
                return
            yield []
            time.sleep(idle_seconds)

    def definitions(self) -> Iterator[Definition]:
        """The definitions that stand beside the data, each from its table version on."""
        for path, _ in self._files():
            if _SCHEMA.fullmatch(path):
                yield _definition(path, self._content(path))

    def _chunks(self, partition: Partition, start: int, end: int) -> Iterator[Chunk]:
        found = _DATA.fullmatch(partition.topic)
        assert found is not None
        topic, number = f"{found[1]}.{found[2]}", int(found[5])
        messages: list[Message] = []
        at = begin = start
        for line in _lines(self._content(partition.topic)[start:end], self._quote):
            text = line.rstrip(b"\r\n")
            if text:
                messages.append(Message(topic, number, at, None, text, file=partition.topic))
            at += len(line)
            if len(messages) >= _LINES:
                yield Chunk(partition, messages, at, at - begin)
                messages, begin = [], at
        yield Chunk(partition, messages, end, end - begin)

    def _files(self) -> list[StoredFile]:
        try:
            return self._folder.files()
        except OSError as error:
            raise RetriableSourceError(f"source.storage.url: the files cannot be listed: {error}") from error

    def _content(self, path: str) -> bytes:
        try:
            return self._folder.content(path)
        except OSError as error:
            raise RetriableSourceError(f"source.storage.url: {path} cannot be read: {error}") from error


def table_of(path: str) -> tuple[str, str, int]:
    """Database, table and table version of a data file.

    Raises:
        ValueError: it is none.
    """
    found = _DATA.fullmatch(path)
    if found is None:
        raise ValueError(f"{path} is no data file of TiCDC's storage sink")
    return found[1], found[2], int(found[3])


def _order(partition: Partition) -> tuple[Any, ...]:
    found = _DATA.fullmatch(partition.topic)
    assert found is not None
    return found[1], found[2], int(found[3]), found[4] or "", int(found[5])


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
