"""Collections that a history has read again: by signals of every channel, and by the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdckit.connector.incremental import Chunk, Wanted
from cdckit.connector.signals.signal import EXECUTE_SNAPSHOT
from cdckit_mongodb.incremental.collection_chunks import CollectionChunks
from cdckit_mongodb.snapshot.collections import Document
from histories.elections import Client
from histories.steps import Step
from testkit.running import Pipeline
from testkit.warm_command.starting import call_command

INCREMENTAL, BLOCKING, RESNAPSHOT = "incremental snapshot", "blocking snapshot", "resnapshot"
SNAPSHOTS = INCREMENTAL, BLOCKING, RESNAPSHOT
"""How collections are read again: in chunks while the stream is followed, while it waits, or by `cdc resnapshot`."""
SOURCE, FILE, IN_PROCESS = "source", "file", "in-process"
CHANNELS = SOURCE, FILE, IN_PROCESS
"""By what a signal comes."""
SIGNALS = "signals"
"""The collection of signals, which is not captured."""
COLLECTIONS = ("c1", "c1", "c2", "with space", ".*")
"""What is read again: one collection, or all of them."""


def requested(chance: Random, kinds: tuple[str, ...]) -> Step:
    """A step that has a collection read again in one of these ways."""
    kind = chance.choice(kinds)
    collection = chance.choice(COLLECTIONS[:-1] if kind == RESNAPSHOT else COLLECTIONS)
    facts = {"chance": chance.getrandbits(30), "collection": collection, "changes": chance.choice((0, 3))}
    return Step(kind, facts=facts if kind == RESNAPSHOT else {**facts, "channel": chance.choice(CHANNELS)})


def signal_options(database: str, folder: Path, chunk: int) -> dict[str, Any]:
    """The options by which a source takes signals, and reads so many documents at once."""
    return {
        "signal.data.collection": f"{database}.{SIGNALS}",
        "signal.enabled.channels": ",".join(CHANNELS),
        "signal.poll.interval.ms": 10,
        "signal.file": str(folder / "signals.txt"),
        "incremental.snapshot.chunk.size": chunk,
    }


def request(step: Step, pipeline: Pipeline, client: Client, database: str) -> None:
    """Asks for what a step says; before the first offset there is nothing to read again by the command.

    Raises:
        AssertionError: a command refuses.
    """
    if step.kind == RESNAPSHOT:
        if pipeline.offset() is not None:
            _called("resnapshot", str(pipeline.written()), "--table", f"{database}.{step.facts['collection']}")
        return
    kind = "blocking" if step.kind == BLOCKING else "incremental"
    data = {"data-collections": [rf"{database}\.{step.facts['collection']}"], "type": kind}
    if step.facts["channel"] == SOURCE:
        client[database][SIGNALS].insert_one({"type": EXECUTE_SNAPSHOT, "data": data})
    elif step.facts["channel"] == IN_PROCESS:
        _called("signal", str(pipeline.written()), EXECUTE_SNAPSHOT, "--data", json.dumps(data))
    else:
        with Path(pipeline.source["signal.file"]).open("a") as file:
            file.write(json.dumps({"id": "of a file", "type": EXECUTE_SNAPSHOT, "data": data}) + "\n")


def _called(*words: str) -> None:
    done = call_command(words)
    assert done.returncode == 0, f"cdc {' '.join(words)} ended with {done.returncode}: {done.stderr}"


@contextmanager
def between_marks(act: Callable[[], None]) -> Iterator[None]:
    """Has something happen in this process behind the reading of each chunk, before its second mark."""
    read = CollectionChunks.read

    def reading(self: CollectionChunks, wanted: Wanted, after: str | None, last: str) -> Chunk[Document]:
        chunk = read(self, wanted, after, last)
        act()
        return chunk

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CollectionChunks, "read", reading)
        yield
