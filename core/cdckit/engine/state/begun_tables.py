"""Who has begun a batch of tables that is not finished.

Some of the tables may have it and others not, and only the runner that has begun it knows which.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from cdckit.api.state_store import StateStore
from cdckit.engine.state.runner_handover import broken_off
from cdckit.engine.state.spark_checkpoint import Folder
from cdckit.engine.state.table_batches import TableBatches
from cdckit.errors import StateError

Begun = Literal["direct", "spark"]


def begun_by(store: StateStore, folder: Path, checkpoints: Folder | None = None) -> Begun | None:
    """The runner that was killed, or stopped by an error, in the middle of a batch behind the saved offset.

    Args:
        store: the pipeline's, as `open_state` gives it.
        folder: the pipeline's, on this machine.
        checkpoints: where Spark's checkpoints are, if not there.

    Raises:
        StateError: what is kept cannot be read.
    """
    # Where both have begun one there, the direct runner came later: Spark had left nothing when that began.
    if TableBatches(store, store.load_offset()).unfinished:
        return "direct"
    return "spark" if broken_off(store, folder, checkpoints) else None


def refuse_anothers(own: Begun, store: StateStore, folder: Path, checkpoints: Folder | None = None) -> None:
    """Refuses to go on behind a batch of tables that the other runner has begun.

    Args:
        own: which runner is to go on.
        store: the pipeline's, as `open_state` gives it.
        folder: the pipeline's, on this machine.
        checkpoints: where Spark's checkpoints are, if not there.

    Raises:
        StateError: the other one has; or what is kept cannot be read.
    """
    begun = begun_by(store, folder, checkpoints)
    if begun not in (None, own):
        raise StateError(
            f"the last run, with 'runner: {begun}', was broken off in the middle of a batch that some tables may have "
            f"and others not: the runner '{own}' cannot tell which, and would write changes twice. Let it finish that "
            f"batch: set 'runner: {begun}', cdc run FILE --once, then go on with 'runner: {own}'",
            number="CDC7110",
        )
