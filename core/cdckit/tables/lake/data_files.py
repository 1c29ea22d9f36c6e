"""Data files of a table that no version of it has yet: written where the rows are, until a commit gives them to one."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, ClassVar, Self

from arro3.core import RecordBatch

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("cdckit.tables")


@dataclass(frozen=True, slots=True)
class DataFile:
    """What a commit needs to know of a data file.

    Attributes:
        name: below the table's folder.
        size: in bytes.
        rows: how many it has.
        written_ms: when it was written, in milliseconds since 1970.
        statistics: what the table's format says of its rows.
    """

    name: str
    size: int
    rows: int
    written_ms: int
    statistics: str

    BEGIN: ClassVar[bytes] = b"{"
    """What `dumps` begins with."""

    def dumps(self) -> bytes:
        """As a packet's data, which begins otherwise than rows do."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def loads(cls, data: bytes) -> Self | None:
        """What `dumps` gave; None: the data are something else."""
        return cls(**json.loads(data)) if data.startswith(cls.BEGIN) else None


class DataFileWriter(ABC):
    """Writes one data file, of which nobody knows before it is closed."""

    @abstractmethod
    def write(self, rows: pa.Table) -> None:
        """Adds rows, which become groups of their own."""

    @abstractmethod
    def close(self) -> DataFile:
        """Ends the file."""

    @abstractmethod
    def drop(self) -> None:
        """Removes what there is of the file, closed or not."""


class DataFiles(ABC):
    """Those of one table."""

    @abstractmethod
    def writer(self, schema: pa.Schema) -> DataFileWriter:
        """Begins one."""

    @abstractmethod
    def any(self) -> bool:
        """Whether there is one, whoever has written it."""

    @abstractmethod
    def read(self, name: str) -> pa.Buffer:
        """All bytes of one."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Removes one that no version has.

        Raises:
            OSError: it cannot.
        """


@dataclass(slots=True)
class FiledRows:
    """Rows in a data file.

    Attributes:
        file: the file.
        files: where it is.
        offered: whether a commit may have it: then it is not removed any more.
    """

    file: DataFile
    files: DataFiles
    offered: bool = False
    _data: pa.Buffer | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.file.rows

    def fetch(self) -> None:
        """Reads the file into memory, where the rows are then taken from."""
        if self._data is None:
            self._data = self.files.read(self.file.name)

    def __iter__(self) -> Iterator[RecordBatch]:
        import pyarrow as pa  # noqa: PLC0415 - it takes memory, and is needed here alone
        import pyarrow.parquet as pq  # noqa: PLC0415

        self.fetch()
        yield from map(RecordBatch.from_arrow, pq.ParquetFile(pa.BufferReader(self._data)).iter_batches())

    def discard(self) -> None:
        """Removes the file, unless a version may have it; where that fails, VACUUM does."""
        if self.offered:
            return
        try:
            self.files.remove(self.file.name)
        except OSError as error:
            log.info("file %s, which no table has, is left for VACUUM: %s", self.file.name, error)
