"""The contract of a serializer: records to bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from cdckit.api.messages import Messages
from cdckit.api.record import Record


class Serializer(ABC):
    """Turns keys, values and headers into bytes. It is constructed with its config model's instance alone."""

    writes_json: ClassVar[bool] = False
    """Whether keys and values are JSON texts, which a sink may put into JSON as they are."""

    @property
    def json_headers(self) -> bool:
        """Whether headers are JSON texts, too; where keys and values alone are, headers are plain texts in UTF-8."""
        return self.writes_json

    @property
    def around_position(self) -> tuple[str, str]:
        """What stands before and behind a position in a message's header, which sinks write without a serializer."""
        return "", ""

    @abstractmethod
    def serialize(self, records: Sequence[Record]) -> Messages:
        """The batch as columns of bytes.

        Raises:
            TransformError: a record's value does not fit its schema; the message names topic and field.
        """
