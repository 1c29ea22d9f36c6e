"""Reads a source until it is killed: `python -m cdckit.testing.source_reader`, as a suite calls it.

The source, the folder of its state and an offset come by standard input, pickled; batches leave by standard output.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from cdckit.api.batch import Batch
from cdckit.api.plugins import make
from cdckit.api.record import Offset
from cdckit.api.source import Source, SourceContext
from cdckit.engine.state.sqlite import SqliteStateStore


def read_on(source: Source, state: Path, offset: Offset) -> None:
    """Reads up to the end of the log; each batch is handed on before the next one is asked for."""
    source.open(SourceContext("suite", SqliteStateStore(state)))
    for split in source.plan(offset, source.latest_offset(offset)):
        for batch in source.read(split):
            sys.stdout.buffer.write(pickle.dumps(Batch(batch.records, batch.offset)))
            sys.stdout.flush()


if __name__ == "__main__":
    registration, config, folder, begin = pickle.loads(sys.stdin.buffer.read())  # noqa: S301 - the suite's own bytes
    read_on(make(registration, config), folder, begin)
