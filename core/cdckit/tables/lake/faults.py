"""Faults of the libraries that read and write tables, as a sink tells them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa

from cdckit.errors import RetriableSinkError, RowsRefusedError, SinkError


def _everything(_error: Exception) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Faults:
    """How a library that writes tables tells what is wrong.

    Attributes:
        kinds: its errors.
        passes: whether the same work, done once more, may succeed.
        refuses_rows: whether it is said of what rows hold.
        reason: what is said, in a line.
        shows: whether its own text, and those of its causes, may be shown.
    """

    kinds: tuple[type[Exception], ...]
    passes: Callable[[Exception], bool]
    refuses_rows: Callable[[Exception], bool]
    reason: Callable[[Exception], str]
    shows: Callable[[Exception], bool] = _everything

    @contextmanager
    def told(self, topic: str) -> Iterator[None]:
        """Faults of the library, of Arrow and of the file system as a sink's own."""
        try:
            yield
        except (*self.kinds, OSError, pa.ArrowException, pa.ArrowInvalid) as error:
            lasting = RowsRefusedError if self.refuses_rows(error) else SinkError
            kind = RetriableSinkError if self.passes(error) else lasting
            raise kind(f"table of topic {topic}: {self.reason(error)}") from self.cause(error)

    def cause(self, error: Exception) -> Exception | None:
        """The error as the cause of one that is told; None where it may not be shown."""
        return error if self.shows(error) else None
