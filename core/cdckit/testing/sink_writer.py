"""Writes into a sink until the process is killed: `python -m cdckit.testing.sink_writer`, as a suite calls it.

What is to be written, and the sink, come by standard input, pickled; a line is printed once a batch is flushed.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence

from cdckit.api.messages import Messages
from cdckit.api.plugins import make
from cdckit.api.sink import Sink, SinkContext


def write_all(sink: Sink, batches: Sequence[Messages]) -> None:
    """Writes and flushes one batch after another, and says how many are safe."""
    sink.open(SinkContext("suite", once=True))
    for number, batch in enumerate(batches):
        sink.write(batch)
        sink.flush()
        sys.stdout.write(f"{number + 1}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    registration, config, given = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - the suite's own bytes
    write_all(make(registration, config), given)
