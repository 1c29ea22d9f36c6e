"""What a state was made for: the source and the target that its offset stands between, and the tables chosen there.

An offset says how far the changes of one source have come to one target. Another target would lack what came before,
and another source has other changes; so neither is gone on with from the saved offset unless the user says so.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from cdckit.api.plugin_config import dotted
from cdckit.api.state_store import Json, StateStore
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.engine.config.pipeline import Component, ResolvedPipeline
from cdckit.engine.state.made_tables import forget
from cdckit.engine.state.state_format import keep_format
from cdckit.errors import ConfigError, StateError

log = logging.getLogger("cdckit.runner")

KEPT_AS = "made_for"
"""Its key in the state store."""

Identity = Mapping[str, str | list[str]]
"""Options that identify something, by name. Of a list one member is enough: brokers come and go."""


@dataclass(frozen=True, slots=True)
class MadeFor:
    """What a pipeline's state belongs to.

    Attributes:
        source: what identifies the source; empty: whichever runs next.
        sink: what identifies the target; the same.
        lists: which tables are captured: the lists, by the names of the config's fields.
        form: what events look like.
    """

    source: Identity
    sink: Identity
    lists: Mapping[str, str]
    form: Identity

    @classmethod
    def of(cls, pipeline: ResolvedPipeline) -> Self:
        """That of a pipeline."""
        source = pipeline.source_config
        form = {"serializer.type": pipeline.serializer.registration.name}
        if pipeline.key_serializer is not None:
            form["serializer.key.type"] = pipeline.key_serializer.registration.name
        form |= {f"source.{dotted(name)}": str(getattr(source, name)) for name in source.shaping}
        lists = {name: str(getattr(source, name)) for name in source.choosing}
        return cls(_identity("source", pipeline.source), _identity("sink", pipeline.sink), lists, form)

    @classmethod
    def from_json(cls, kept: Json) -> Self | None:
        """Reads what `to_json` gave; None where nothing is kept.

        Raises:
            StateError: it is nothing of that kind.
        """
        if kept is None:
            return None
        try:
            return cls(**{name: _texts(kept[name]) for name in ("source", "sink", "lists", "form")})
        except DAMAGE as error:
            raise StateError(
                f"what the state keeps of the pipeline that it was made for is damaged ({reason_of(error)}): "
                f"{str(kept)[:200]}; restore the state from a copy",
                number="CDC7106",
            ) from error

    def to_json(self) -> Json:
        """What the state keeps."""
        return asdict(self)


def require_fitting(state: StateStore, pipeline: ResolvedPipeline) -> MadeFor | None:
    """Makes sure that a state's offset may be gone on from.

    Args:
        state: the pipeline's, held.
        pipeline: the one that is to run.

    Returns:
        what the state was made for; None where nothing was saved yet, or by a version that did not keep it.

    Raises:
        ConfigError: it was made for another source or target.
        StateError: what is kept is damaged.
    """
    made = MadeFor.from_json(state.get(KEPT_AS))
    if made is None or state.load_offset() is None:
        return None
    now = MadeFor.of(pipeline)
    if others := [*_changes(made.source, now.source), *_changes(made.sink, now.sink)]:
        place = pipeline.shown_state
        raise ConfigError(
            *(f"{change}, and the offset in the state {place} was saved for the former" for change in others),
            f"pipeline '{pipeline.name}': what came before that offset would be missing. Begin anew with a snapshot "
            "(`cdc offsets reset FILE`, or another name or state), or, where nothing is missing, go on from "
            "the offset (`cdc offsets keep FILE`)",
            number="CDC2501",
        )
    for change in _changes(made.form, now.form):
        log.warning("%s: events from now on are unlike those before", change)
    return made


def keep(state: StateStore, pipeline: ResolvedPipeline) -> None:
    """Notes that a state is this pipeline's, in this version's format."""
    keep_format(state)
    wanted = MadeFor.of(pipeline).to_json()
    if state.get(KEPT_AS) != wanted:
        state.put(KEPT_AS, wanted)


def keep_offset(state: StateStore) -> None:
    """Notes that a state's offset holds for whichever source and target run next; newly chosen tables stay new.

    Which tables there are is seen anew, and none is missed.
    """
    forget(state)
    made = MadeFor.from_json(state.get(KEPT_AS))
    if made is not None:
        state.put(KEPT_AS, replace(made, source={}, sink={}, form={}).to_json())


def _texts(kept: Json) -> dict[str, Any]:
    for value in kept.values():
        if not all(isinstance(each, str) for each in (value if isinstance(value, list) else [value])):
            raise TypeError(f"{value} is no text")
    return dict(kept)


def _identity(part: str, component: Component) -> Identity:
    named: dict[str, Any] = {"type": component.registration.name, **component.config.identity()}
    return {f"{part}.{name}": value for name, value in named.items()}


def _changes(before: Identity, now: Identity) -> list[str]:
    """What is otherwise; nothing where nothing is known of before. Another type has other options."""
    names = dict.fromkeys([*before, *now] if before else [])
    types = [name for name in names if name.endswith(".type") and before.get(name) != now.get(name)]
    pairs = ((name, before.get(name), now.get(name)) for name in types or names)
    return [f"{name}: was {_shown(old)}, and is {_shown(new)} now" for name, old, new in pairs if not _same(old, new)]


def _same(old: str | list[str] | None, new: str | list[str] | None) -> bool:
    if isinstance(old, list) and isinstance(new, list):
        return old == new or not set(old).isdisjoint(new)
    return old == new


def _shown(value: str | list[str] | None) -> str:
    if value is None:
        return "not set"
    return f"'{value if isinstance(value, str) else ','.join(value)}'"
