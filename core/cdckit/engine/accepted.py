"""Changes of definitions that the user has accepted: `cdc schema accept` says so, and tables of a lake use it once.

A sink notes with its table which acceptance it has made use of, so that nothing has to be taken back here.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from cdckit.api.state_store import Json, StateStore
from cdckit.errors import StateError

KEPT_AS = "accepted_definitions"
"""The key of the acceptances in the state store."""


def accept(state: StateStore, tables: Sequence[str]) -> None:
    """Keeps that the next change of each of these tables is accepted.

    Args:
        state: the pipeline's, held.
        tables: their full names, as messages show them.
    """
    state.put(KEPT_AS, {**acceptances(state.get(KEPT_AS)), **{table: uuid.uuid4().hex for table in tables}})


def acceptances(kept: Json) -> dict[str, str]:
    """The tables, each with what tells its acceptance from the next one.

    Raises:
        StateError: what is kept is nothing of that kind.
    """
    if kept is None:
        return {}
    if not isinstance(kept, dict):
        raise StateError(f"{kept} names no tables whose definitions are accepted")
    return {str(table): str(one) for table, one in kept.items()}
