"""Messages that will never fit into Kafka, given to whoever the runner says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from confluent_kafka import KafkaError, Message

from cdckit import POSITION_HEADER, Messages
from cdckit_kafka.refusals import refusal_of

Report = Callable[[KafkaError | None, Message], None]
_ANY_PARTITION = -1


class SetAside:
    """Gives messages away as they were before the sink prepared them for the client.

    Args:
        refused: takes one message, and why.
        otherwise: hears of what is refused for another reason.
        around_position: what the sink puts before and behind a position in its header.
        alone_from: messages of so many bytes are sent alone, so that no other one is to blame for their size.
    """

    def __init__(
        self,
        refused: Callable[[Messages, str], None],
        otherwise: Report,
        around_position: tuple[str, str],
        alone_from: int,
    ) -> None:
        self._refused = refused
        self._otherwise = otherwise
        self._around = around_position
        self._alone_from = alone_from

    def parts(self, messages: Messages) -> Iterator[tuple[Messages, Report | None]]:
        """The messages in their order; each that is sent alone by itself, with what hears of it when it is refused."""
        start = 0
        for at, value in enumerate(messages.values):
            if value is not None and len(value) >= self._alone_from:
                yield messages.part(start, at), None
                alone = messages.part(at, at + 1)
                yield alone, partial(self._reported, alone)
                start = at + 1
        yield (messages.part(start, len(messages)) if start else messages), None

    def _reported(self, sent: Messages, error: KafkaError | None, message: Message) -> None:
        if error is None:
            return
        refusal = refusal_of(error, message)
        if refusal.never_fits:
            self._refused(sent, refusal.sentence())
        else:
            self._otherwise(error, message)

    def give(self, produced: Sequence[Any], reason: str) -> None:
        """Takes the arguments of `Producer.produce`, which the client itself refuses."""
        topic, value, key, partition, _, _, timestamp, headers = produced
        positions = [text for name, text in headers if name == POSITION_HEADER]
        before, behind = self._around
        message = Messages(
            [topic],
            [None if partition == _ANY_PARTITION else partition],
            [key],
            [value],
            [tuple((name, text) for name, text in headers if name != POSITION_HEADER)],
            [positions[-1].removeprefix(before).removesuffix(behind) if positions else ""],
            [timestamp or None],
        )
        self._refused(message, reason)
