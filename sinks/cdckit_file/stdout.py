"""The sink `stdout`: prints a JSON line for each record."""

from __future__ import annotations

import sys

from cdckit import Messages, Sink, SinkContext, SinkError
from cdckit_file.config import StdoutConfig
from cdckit_file.lines import LineWriter
from cdckit_file.writing import write_whole


class StdoutSink(Sink):
    """Prints lines to standard output as they come."""

    def __init__(self, config: StdoutConfig) -> None:
        self.config = config

    def open(self, context: SinkContext) -> None:
        """Learns how keys and values are written."""
        self._lines = LineWriter(context.key_form, context.value_form, context.header_form)
        self._stopping = context.stopping

    def write(self, messages: Messages) -> None:
        """Prints the batch, past Python's buffer: what that does with a short write depends on how it was started.

        Raises:
            SinkError: it was not all taken; of a file no part of a line is left.
        """
        lines = self._lines.lines(messages)
        try:
            sys.stdout.flush()
            write_whole(sys.stdout.fileno(), lines, self._stopping)
        except BrokenPipeError as error:
            raise SinkError(
                f"standard output: {error.strerror}; who read it has gone away", number="CDC4302"
            ) from error
        except OSError as error:
            raise SinkError(
                f"standard output: {error.strerror}; start again when it is: nothing is lost", number="CDC4302"
            ) from error

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Nothing to close."""
