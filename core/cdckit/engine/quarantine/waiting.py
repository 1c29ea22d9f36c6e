"""Which changes wait behind an earlier one of their key that is in quarantine."""

from __future__ import annotations

from collections.abc import Mapping

from cdckit.api.messages import Messages
from cdckit.api.record import Record
from cdckit.engine.quarantine.contents import key_of, key_of_message
from cdckit.engine.quarantine.entries import digest_of

SAID = "an earlier change of its key is in quarantine"
"""What is said of each."""


def note_first(waiting: dict[str, str], key: str, position: str) -> None:
    """Notes that later changes of a key wait for the one at a position, unless they wait for an earlier one.

    Args:
        waiting: the keys, each with the position of what is waited for.
        key: of the change; "" where it has none.
        position: the change's own. What comes first need not be the earliest: see `cdckit.engine.quarantine.order`.
    """
    if key:
        waiting[key] = min(position, waiting.get(key, position))


def record_waits(waiting: Mapping[str, str], record: Record) -> bool:
    """Whether a record does.

    Args:
        waiting: the keys, each with the position of what is waited for.
        record: as the source gave it.
    """
    plain = key_of(record)
    # What was kept under another chain may have its key in the other form.
    return any(_is_behind(waiting, key, record.position) for key in (plain, digest_of(plain)))


def message_waits(waiting: Mapping[str, str], message: Messages) -> bool:
    """The same of the first of some messages."""
    return _is_behind(waiting, key_of_message(message.topics[0], message.keys[0]), message.positions[0])


def _is_behind(waiting: Mapping[str, str], key: str, position: str) -> bool:
    """Whether it waits; what comes once more from before the record that is waited for does not."""
    first = waiting.get(key)
    # Behind a rewind the log is read again from before the record that waits: what came before it was delivered then,
    # and is once more.
    return first is not None and (not position or position >= first)
