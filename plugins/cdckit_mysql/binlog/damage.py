"""What damaged bytes raise, and the error that it becomes: one for every layer that reads events.

An event is read when it is asked for, so the readers of its members are many and look at nothing twice. Each layer that
goes over events catches what they raise in one place, around its loop.
"""

from __future__ import annotations

from cdckit import DecodeError
from cdckit.connector import damage

DAMAGE: tuple[type[Exception], ...] = (*damage.DAMAGE, DecodeError)
"""What reading bytes that are not what they should be may end in, an error without a place among it."""
_SHOWN = 32
"""So many bytes of an event's body are shown."""
_HEADER = 19
_TYPE = 4


def misread(file: str, start: int, event: bytes, error: Exception) -> DecodeError:
    """The error for an event that cannot be understood; one that tells its place already is left as it is.

    Args:
        file: the file that the event stands in.
        start: where in it.
        event: the event's bytes, header and all.
        error: what reading it has raised.
    """
    place = f"{file}:"
    if isinstance(error, DecodeError) and place in str(error):
        return error
    reason = str(error) if isinstance(error, DecodeError) else damage.reason_of(error)
    kind = f"type {event[_TYPE]}, " if len(event) > _TYPE else ""
    body = event[_HEADER : _HEADER + _SHOWN].hex(" ") or "no body"
    return DecodeError(f"{place}{start}: the event ({kind}{len(event)} bytes, {body}) cannot be understood: {reason}")
