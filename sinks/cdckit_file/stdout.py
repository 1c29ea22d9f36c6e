"""The sink `stdout`: prints a JSON line for each record."""

from __future__ import annotations

import sys

from cdckit.errors import SinkError
from cdckit.messages import Messages
from cdckit.sink import Sink, SinkContext
from cdckit_file.config import StdoutConfig
from cdckit_file.lines import LineWriter


class StdoutSink(Sink):
    """Prints lines to standard output as they come."""

    def __init__(self, config: StdoutConfig) -> None:
        self.config = config

    def open(self, context: SinkContext) -> None:
        """Learns how keys and values are written."""
        self._lines = LineWriter(json_texts=context.json_texts)

    def write(self, messages: Messages) -> None:
        """Prints the batch."""
        try:
            sys.stdout.buffer.write(self._lines.lines(messages))
            sys.stdout.buffer.flush()
        except OSError as error:
            raise SinkError(f"standard output: {error.strerror}; who read it has gone away") from error

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing to close."""
