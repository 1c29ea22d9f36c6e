"""The channels of one source, looked at from time to time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from cdckit.connector.signals.channels import FileChannel, InProcessChannel, SignalChannel
from cdckit.connector.signals.inbox import InboxChannel
from cdckit.connector.signals.kafka import KafkaChannel
from cdckit.connector.signals.options import SignalOptions
from cdckit.connector.signals.signal import Signal
from cdckit.errors import SourceError


class Mailbox:
    """Gathers the signals of every channel besides the source's own log.

    Args:
        config: which channels are enabled.
        topic_prefix: the source's.
        inbox: the folder where `cdc signal` leaves signals; None where no runner takes them.

    Raises:
        ConfigError: a channel cannot be used as it is configured.
        RetriableSourceError: a channel's server is away.
        SourceError: it refuses the source's login, or its topic.
    """

    def __init__(self, config: SignalOptions, topic_prefix: str, inbox: Path | None) -> None:
        self._interval = config.signal_poll_interval_ms / 1000
        self._next = time.monotonic()
        self._channels: list[SignalChannel] = []
        self._waiting: deque[Signal] = deque()
        self._taken = self._known = False
        for name in config.outer_channels:
            if name == "file":
                self._channels.append(FileChannel(Path(config.signal_file)))
            elif name == "kafka":
                self._channels.append(KafkaChannel(config, topic_prefix))
            else:
                self._channels.append(InProcessChannel(topic_prefix))
                self._channels += [InboxChannel(inbox)] if inbox is not None else []

    def hand_out(self, act: Callable[[Signal], None]) -> bool:
        """Gives the signals that came to `act`, one by one, when it is time to look; whether there were any.

        One that `act` fails on, because a server is away, comes again at the next call, and those behind it. Behind
        others it fails at the next call only, so that an offset can tell of those first.
        """
        self._look()
        found = False
        while self._waiting:
            try:
                # It is taken from the queue behind the act: a server that goes away in between leaves it first in line.
                act(self._waiting[0])
            except SourceError:
                if found:
                    break
                raise
            self._waiting.popleft()
            found = True
        return found

    def _look(self) -> None:
        if not self._channels or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._interval
        found = [signal for channel in self._channels for signal in channel.poll()]
        self._waiting += found
        # A channel forgets its signals at `committed`. An offset that was made before these came knows nothing of them,
        # so its save must not count: not before `covered` has seen a batch that was made behind them.
        self._taken, self._known = self._taken or bool(found), False if found else self._known

    def covered(self) -> None:
        """The runner has a batch whose offset knows of every signal that was given out."""
        # One that failed and waits is in no offset yet.
        self._known = self._taken and not self._waiting

    def committed(self) -> None:
        """An offset is saved."""
        if self._known:
            self._taken = self._known = False
            for channel in self._channels:
                channel.committed()

    def close(self) -> None:
        """Lets go of the channels."""
        for channel in self._channels:
            channel.close()
        self._channels.clear()
