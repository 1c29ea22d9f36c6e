"""How long a source's log is kept: what a forecast of its purge is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from cdckit.api.record import Offset


@dataclass(frozen=True, slots=True)
class Retention:
    """How long the log is kept from an offset on.

    Attributes:
        oldest_needed: what of the log holds the place, as people call it: `binlog.000812`.
        purged_in: in how many seconds the system may drop that at the earliest; None: never, as far as is known.
        because: the setting that says so, with its value; "" where nothing is dropped.
        remedy: the command that has the log kept for longer; "" likewise.
        lag_bytes: how much of the log lies behind the offset; None where that is not known.
        lag_seconds: how old the offset's newest change is, 0 at the log's end; None likewise.
        written: how many bytes a second the system has written lately; None likewise.
    """

    oldest_needed: str
    purged_in: float | None
    because: str = ""
    remedy: str = ""
    lag_bytes: int | None = None
    lag_seconds: float | None = None
    written: float | None = None


@runtime_checkable
class RetentionChecks(Protocol):
    """What the class of a source may offer besides: how long its log is kept, asked while no pipeline runs here."""

    @classmethod
    def check_retention(cls, config: Any, offset: Offset) -> Retention | None:
        """Connects, looks, and changes nothing; None where it cannot be told.

        Raises:
            SourceError: the system cannot be reached, or refuses.
        """
        ...
