"""Tables that are to be read again: `cdc resnapshot` asks for it, and the next run of the pipeline does it.

What was asked for is kept in the state. The offset behind which the rows come carries it, too, so that a batch which is
planned again reads the same tables; and it says of a later offset whether it was done.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from cdckit.api.plugin_config import did_you_mean
from cdckit.api.record import Offset
from cdckit.api.state_store import Json, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import ConfigError, StateError

KEPT_AS = "resnapshot"
"""The key of what was asked for in the state store."""

MEMBER = "cdckit_resnapshot"
"""The member of an offset that tells of it, in the offsets of every source that can read tables again."""


@dataclass(frozen=True, slots=True)
class Resnapshot:
    """Tables to read again.

    Attributes:
        id: tells it from others.
        tables: their full names, as the source shows them.
        done: whether the rows lie before the offset that carries this, or are still to be read.
    """

    id: str
    tables: tuple[str, ...]
    done: bool = False

    def to_json(self) -> Json:
        """What state and offsets keep."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any] | None) -> Self | None:
        """Reads what `to_json` gave.

        Raises:
            StateError: it is nothing of that kind.
        """
        if not kept:
            return None
        try:
            return cls(str(kept["id"]), tuple(map(str, kept["tables"])), bool(kept.get("done")))
        except DAMAGE as error:
            raise StateError(f"{kept} names no tables that are to be read again: {reason_of(error)}") from error

    def finished(self) -> Self:
        """This, once the rows are read."""
        return replace(self, done=True)


def ask(state: StateStore, offset: Offset, tables: Sequence[str]) -> Resnapshot:
    """Keeps that tables are to be read again, besides those that were asked for and are not begun.

    Args:
        state: the pipeline's, held.
        offset: how far it has come.
        tables: their full names.
    """
    before, begun = pending(state, offset), _carried(offset)
    # A batch that is planned already reads what its offset names: what is asked for meanwhile waits for the next one.
    waiting = before.tables if before is not None and (begun is None or begun.id != before.id) else ()
    made = Resnapshot(uuid.uuid4().hex, tuple(dict.fromkeys([*waiting, *tables])))
    state.put(KEPT_AS, made.to_json())
    return made


def pending(state: StateStore, offset: Offset | None) -> Resnapshot | None:
    """What was asked for and is not done at `offset`, or None."""
    return of(state.get(KEPT_AS), offset)


def of(kept: Json, offset: Offset | None) -> Resnapshot | None:
    """The same of what a state keeps under `KEPT_AS`."""
    wanted, carried = Resnapshot.from_json(kept), _carried(offset or {})
    if carried is not None and not carried.done:
        return carried if wanted is None or wanted.id == carried.id else replace(wanted, tables=_both(carried, wanted))
    done = wanted is None or (carried is not None and carried.id == wanted.id)
    return None if done else wanted


def settle(state: StateStore, offset: Offset) -> None:
    """Forgets what was asked for where everything before `offset` is safe, and it lies there."""
    wanted, carried = Resnapshot.from_json(state.get(KEPT_AS)), _carried(offset)
    if wanted is not None and carried is not None and carried.done and carried.id == wanted.id:
        state.put(KEPT_AS, None)


def named(
    tables: Sequence[str], captured: Collection[str], gone: Collection[str] = (), option: str = "--table"
) -> list[str]:
    """The names as the source has them.

    Args:
        tables: as the user writes them.
        captured: the tables that there are.
        gone: those that there were.
        option: where the user writes them.

    Raises:
        ConfigError: with each name that is none of a captured table.
    """
    known = {*captured, *gone}
    by_case = {name.lower(): name for name in (*gone, *captured)}
    problems = [
        f"{option}: '{name}' is no captured table{did_you_mean(name, captured)}{_known(captured)}"
        for name in tables
        if name not in known and name.lower() not in by_case
    ]
    if problems:
        raise ConfigError(*problems, number="CDC2502")
    return [name if name in known else by_case[name.lower()] for name in tables]


_MOST_NAMES = 10


def _known(captured: Collection[str]) -> str:
    if not captured:
        return "; there is none: check the include lists, and what the user may read"
    names = sorted(captured)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f" (captured: {', '.join(names[:_MOST_NAMES])}{more})"


def _carried(offset: Offset) -> Resnapshot | None:
    return Resnapshot.from_json(offset.get(MEMBER))


def _both(carried: Resnapshot, wanted: Resnapshot) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*carried.tables, *wanted.tables]))
