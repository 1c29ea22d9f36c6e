"""The format of what a state's values mean, whichever store has them: a newer one is refused by an older program.

A store has a format of its own for its tables, keys or objects. This is the number of what the engine and the sources
put into them. It grows when an older version would go wrong with what a newer one has saved; older states are read.
"""

from __future__ import annotations

from cdckit.api.state_store import Json, StateStore
from cdckit.errors import StateError

STATE_FORMAT = 1
"""What this version writes. States without a number are of versions before there was one, and are read as well."""

KEPT_AS = "state_format"
"""Its key in the state store."""


def require_readable(state: StateStore, pipeline: str) -> None:
    """Makes sure that this version understands a state.

    Args:
        state: held.
        pipeline: whose.

    Raises:
        StateError: a newer version has saved it, or the number is none.
    """
    found = state.get(KEPT_AS)
    if found is None or (_is_number(found) and found <= STATE_FORMAT):
        return
    raise StateError(
        f"the state of pipeline '{pipeline}' has format {found}, and this version of cdckit reads formats up to "
        f"{STATE_FORMAT}: run the version that saved it, or a newer one. To go back to this version, restore the copy "
        "of the state from before the upgrade"
    )


def keep_format(state: StateStore) -> None:
    """Notes that this version saves into it from now on."""
    if state.get(KEPT_AS) != STATE_FORMAT:
        state.put(KEPT_AS, STATE_FORMAT)


def _is_number(found: Json) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and found > 0
