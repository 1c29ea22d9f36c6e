"""Rows that a table does not take, found by the sink that has written it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cdckit.errors import RowsRefusedError


class RowsFoundError(RowsRefusedError):
    """As `RowsRefusedError`, and these are the rows.

    Args:
        said: the message.
        reasons: why the rows of a position are refused.
    """

    def __init__(self, said: str, reasons: Mapping[str, str]) -> None:
        super().__init__(said)
        self.reasons = reasons

    @classmethod
    def of(cls, errors: Sequence[RowsFoundError]) -> RowsFoundError:
        """That of several tables, which says what the first of them says."""
        reasons = {position: said for error in reversed(errors) for position, said in error.reasons.items()}
        return cls(str(errors[0]), reasons)
