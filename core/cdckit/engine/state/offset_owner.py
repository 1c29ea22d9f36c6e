"""Who knows how far a pipeline has come: its state, or a sink that keeps the offset together with the records."""

from __future__ import annotations

from cdckit.api.state_store import StateStore

KEPT_AS = "offset_owner"
"""Its key in the state store; nothing there: the state, unless that has no offset and a sink has."""
STATE, SINK = "state", "sink"


def leave_to_state(state: StateStore, *, chosen: bool = False) -> None:
    """Notes that the state's offset counts from now on.

    Args:
        state: held.
        chosen: whether the user has said so, be it that there is to be no offset; else it is so where a sink has it.
    """
    if chosen or state.get(KEPT_AS) == SINK:
        state.put(KEPT_AS, STATE)
