"""Client libraries repeat themselves, many times a second where a server hangs up: said once, then counted."""

from __future__ import annotations

import logging
import re
import time
from dataclasses import dataclass

_SECONDS_BETWEEN_ALIKE = 60.0
_KINDS = 1000
"""So many are told apart; then all are forgotten."""
_OWN, _CLIENTS = "cdckit", ".client"
_VARYING = re.compile(r"0x[0-9a-f]+|\d+")
"""What differs between messages that say the same: ports, times, counts, addresses."""


@dataclass(slots=True)
class _Kind:
    """When a kind may be said again, and how often it was not said since the last time."""

    due: float
    unsaid: int = 0


class SaidOnce(logging.Filter):
    """Lets one message of each kind pass a minute, with the number of those that did not.

    Its own messages this program says as often as they are true; loggers whose names end in `.client` are libraries'.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: dict[tuple[str, str], _Kind] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is said."""
        if record.name.startswith(_OWN) and not record.name.endswith(_CLIENTS):
            return True
        message, now = record.getMessage(), time.monotonic()
        key = record.name, _VARYING.sub("0", message)
        kind = self._kinds.get(key)
        if kind is not None and now < kind.due:
            kind.unsaid += 1
            return False
        if kind is not None and kind.unsaid:
            record.msg, record.args = f"{message} ({kind.unsaid} more like it since)", ()
        if len(self._kinds) >= _KINDS:
            self._kinds.clear()
        self._kinds[key] = _Kind(now + _SECONDS_BETWEEN_ALIKE)
        return True
