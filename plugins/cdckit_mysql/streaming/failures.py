"""What becomes of events that cannot be decoded."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from cdckit import DecodeError, SourceCounts, Undecoded
from cdckit.connector.damage import reason_of
from cdckit_mysql.binlog.tables import TableMap
from cdckit_mysql.options.events import ProcessingOptions

log = logging.getLogger("cdckit.mysql")


class InconsistentSchemaError(DecodeError):
    """The tracked definition of a table is missing, or is not the one that the log announces."""

    number = "CDC5101"


class Failures:
    """Stops at an event that cannot be decoded, gives it away, or counts those that the user wants left out.

    Args:
        options: `event.deserialization.failure.handling.mode` and `inconsistent.schema.handling.mode`.

    Attributes:
        skipped: how many events of each table were left out.
        counts: told of each of them, too.
        undecoded: takes events at which the pipeline would stop; None: nobody does.
    """

    def __init__(self, options: ProcessingOptions) -> None:
        self._options = options
        self.skipped: Counter[str] = Counter()
        self.counts = SourceCounts()
        self.undecoded: Callable[[Undecoded], None] | None = None

    def met(self, error: Exception, table: TableMap, place: str, piece: Callable[[str], Undecoded]) -> None:
        """Takes a failure; the first of each table is logged whatever the mode is called.

        Args:
            error: what was raised.
            table: the table.
            place: where in the log.
            piece: makes out of the reason what is given away.

        Raises:
            DecodeError: with the place and the table.
        """
        name = f"{table.database}.{table.name}"
        reason = str(error) if isinstance(error, DecodeError) else reason_of(error)
        message = f"{place}: rows of {name} cannot be decoded: {reason}"
        option, handling = self._handling(error)
        if handling == "fail" and self.undecoded is not None:
            self.undecoded(piece(message))
            return
        if handling == "fail":
            raise DecodeError(f"{message}; {option}=warn leaves such events out") from error
        self.skipped[name] += 1
        self.counts.skipped[name] += 1
        if self.skipped[name] == 1 or handling == "warn":
            log.warning("%s; left out, %d so far of this table", message, self.skipped[name])

    def _handling(self, error: Exception) -> tuple[str, str]:
        if isinstance(error, InconsistentSchemaError):
            return "inconsistent.schema.handling.mode", self._options.inconsistent_schema_handling_mode
        return (
            "event.deserialization.failure.handling.mode",
            self._options.event_deserialization_failure_handling_mode,
        )
