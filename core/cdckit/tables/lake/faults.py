"""Faults of the libraries that read and write tables, as a sink tells them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cdckit.errors import RetriableSinkError, RowsRefusedError, SinkError


def arrow_faults() -> tuple[type[Exception], ...]:
    """The errors of pyarrow; none where it is not loaded."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)


def is_invalid(error: Exception) -> bool:
    """Whether pyarrow says that values have no place in their type."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(error, arrow.ArrowInvalid)


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
        except Exception as error:
            if not isinstance(error, (*self.kinds, OSError, *arrow_faults())):
                raise
            lasting = RowsRefusedError if self.refuses_rows(error) else SinkError
            kind = RetriableSinkError if self.passes(error) else lasting
            raise kind(f"table of topic {topic}: {self.reason(error)}") from self.cause(error)

    def cause(self, error: Exception) -> Exception | None:
        """The error as the cause of one that is told; None where it may not be shown."""
        return error if self.shows(error) else None
