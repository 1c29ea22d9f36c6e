"""Rows that were too large for Kafka: the changefeed's `large-message-handle-option` sends their keys alone."""

from __future__ import annotations

from cdckit import DecodeError


def refuse_parted(table: tuple[str, str], *, place: str | None, only_key: bool | None) -> None:
    """Refuses a message that does not hold its whole row.

    Args:
        table: database and table.
        place: where the changefeed put the row (`claim-check`); none where it did not.
        only_key: whether the message holds the key alone (`handle-key-only`).

    Raises:
        DecodeError: a part of the row is elsewhere.
    """
    remedy = "raise the changefeed's max-message-bytes, or set large-message-handle-option to none"
    if place:
        raise DecodeError(
            f"table {'.'.join(table)}: the row is too large for Kafka and was put at {place}, which is not read: "
            f"{remedy}",
            number="CDC5201",
        )
    if only_key:
        raise DecodeError(
            f"table {'.'.join(table)}: the row is too large for Kafka, so only its key was sent: {remedy}",
            number="CDC5201",
        )
