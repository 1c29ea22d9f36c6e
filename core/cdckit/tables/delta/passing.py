"""Faults of delta-rs that pass: somebody else has committed first, or a store is away for the moment."""

from __future__ import annotations

import re

from deltalake.exceptions import CommitFailedError, DeltaError

from cdckit.tables.lake.faults import is_invalid

ERRORS = (DeltaError,)
"""What delta-rs raises."""

_AWAY = re.compile(
    r"error sending request|request or response body error|connection (?:refused|reset|closed)|timed? ?out|dns error"
    r"|max_retries|SlowDown|ServerBusy"
    r"|ServiceUnavailable|TooManyRequests|InternalError|status(?: code)?:? 50[0234]\b",
    re.IGNORECASE,
)
"""Of object stores, as delta-rs tells them."""
_UNWRITTEN = re.compile(r"unsupported table features required: \[([^\]]*)\]", re.IGNORECASE)
_NO_CHANGES = re.compile(r"table is append-only", re.IGNORECASE)
"""Of tables that it does not write, told by the kind of error that it has for commits which another one came before."""
_CAUSE = re.compile(r"\s*\n\s*(?:\x1b\[\d+m)*↳(?:\x1b\[\d+m)*\s*")
"""A cause is a line of its own, with an arrow in colours before it."""


def passes(error: Exception) -> bool:
    """Whether the same work, done once more, may succeed."""
    if _remedy(str(error)):
        return False
    return isinstance(error, CommitFailedError) or _AWAY.search(str(error)) is not None


_REFUSED = re.compile(r"rows failed validation check|violat", re.IGNORECASE)
"""What delta-rs says of rows that break a constraint, or are null where that is not allowed."""


def refuses_rows(error: Exception) -> bool:
    """Whether it is said of what rows hold."""
    return is_invalid(error) or _REFUSED.search(str(error)) is not None


def reason(error: Exception) -> str:
    """The first line of what is said, with the causes that delta-rs writes below it, and what helps."""
    return _CAUSE.sub(": ", str(error).strip()).partition("\n")[0] + _remedy(str(error))


def _remedy(text: str) -> str:
    """What helps where a table is not written whatever happens; "" of other faults."""
    if found := _UNWRITTEN.search(text):
        return (
            f"; delta-rs does not write tables with {found[1]}: have Spark take it out of this one (ALTER TABLE … DROP "
            "FEATURE), or keep the table with 'sink.type: spark'"
        )
    if _NO_CHANGES.search(text):
        return "; while 'delta.appendOnly' is true no row that is there can change: only 'mode: changelog' writes such"
    return ""
