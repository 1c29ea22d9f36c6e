"""Waiting for Kafka: what is said meanwhile, and when it ends with an error."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from cdckit import SinkError

log = logging.getLogger("cdckit.kafka")

_FIRST_NOTICE = 3.0
_LONGEST_SILENCE = 60.0
_GRACE_AT_STOP = 1.0


class Wait:
    """One wait, for something that is counted down as Kafka takes it.

    It is patient as long as the count falls. While it does not, the log says so, ever more seldom.

    Args:
        what: what is waited for, as in "waiting for {what}".
        timeout: after how many seconds without progress it is an error; None: never. Asked again and again.
        stopping: once true, little more is waited.
        reason: what is known of the cause, or "".
    """

    def __init__(
        self, what: str, timeout: Callable[[], float | None], stopping: Callable[[], bool], reason: Callable[[], str]
    ) -> None:
        self._what = what
        self._timeout = timeout
        self._stopping = stopping
        self._reason = reason
        self._least: int | None = None
        self._since = time.monotonic()
        self._next_notice = _FIRST_NOTICE
        self._said = False

    def still(self, left: int) -> None:
        """Notes that `left` are left.

        Raises:
            SinkError: that has lasted too long.
        """
        if self._least is None:
            self._least = left
        elif left < self._least:
            self._least = left
            self.over()
            return
        idle = time.monotonic() - self._since
        timeout = self._timeout()
        if timeout is not None and idle >= timeout:
            raise SinkError(f"gave up waiting for {self._what} after {idle:.0f} s{self._because()}", number="CDC4101")
        if idle >= _GRACE_AT_STOP and self._stopping():
            raise SinkError(
                f"stopped while waiting for {self._what}{self._because()}. What Kafka has not acknowledged is sent "
                "again at the next start",
                number="CDC4101",
            )
        if idle >= self._next_notice:
            self._next_notice = idle + min(idle, _LONGEST_SILENCE)
            self._said = True
            log.warning("waiting for %s for %.0f s%s", self._what, idle, self._because())

    def over(self) -> None:
        """Notes that Kafka answers."""
        if self._said:
            log.info("Kafka answers again after %.0f s", time.monotonic() - self._since)
        self._said = False
        self._since = time.monotonic()
        self._next_notice = _FIRST_NOTICE

    def _because(self) -> str:
        reason = self._reason()
        return f": {reason}" if reason else ""
