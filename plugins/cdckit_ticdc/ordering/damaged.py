"""Messages that cannot be understood, or whose rows cannot be put into order."""

from __future__ import annotations

from typing import NoReturn

from cdckit import DecodeError
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit_ticdc.message import Message, shown

UNREADABLE: tuple[type[Exception], ...] = (*DAMAGE, DecodeError)
"""What a message may end in whose values are of other types than their columns."""


def stopped_at(message: Message, error: Exception) -> NoReturn:
    """Stops at a message.

    Raises:
        DecodeError: with its place.
    """
    raise damaged(message, error) from error


def damaged(message: Message, error: Exception) -> DecodeError:
    """The error for a message, with its place."""
    if isinstance(error, DecodeError):
        return error
    return DecodeError(f"{message.place}: {reason_of(error)} in the message {shown(message)}")
