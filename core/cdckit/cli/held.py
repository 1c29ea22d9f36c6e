"""The state of a pipeline that is not running, for commands that change it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import open_state
from cdckit.errors import StateHeldError


@contextmanager
def held(pipeline: ResolvedPipeline) -> Iterator[StateStore]:
    """The state, which nobody else can use meanwhile.

    Raises:
        StateHeldError: the pipeline is running.
        StateError: the state cannot be opened.
    """
    try:
        state = open_state(StatePlace.of(pipeline))
    except StateHeldError as error:
        raise StateHeldError(
            f"the pipeline is running ({str(error).partition(':')[0]}): stop it, ask again, and start it; "
            "it then goes on from where it was"
        ) from error
    try:
        yield state
    finally:
        state.close()
