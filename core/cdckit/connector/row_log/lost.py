"""A log that does not hold what is to be read next."""

from __future__ import annotations

from cdckit.connector.row_log.options import RowLogOptions
from cdckit.errors import SourceError


class LogLostError(SourceError):
    """Rows that were not read are gone from the log, or it is another one."""

    number = "CDC3101"


def lost(config: RowLogOptions, number: int, begin: int) -> LogLostError:
    """The error for a log that is to be read on behind `number`, and begins behind `begin`, or ends before."""
    if begin > number:
        said = f"has lost rows up to {begin}: snapshot.mode=when_needed reads the tables anew"
    else:
        said = (
            "ends before that: is it another database's, or was this one restored? snapshot.mode=when_needed reads the "
            "tables anew"
        )
    return LogLostError(f"{config.topic_prefix}: reading goes on behind row {number} of the log, which {said}")
