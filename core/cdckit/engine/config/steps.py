"""The chain of transforms out of what a file says, each with the predicate that it names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cdckit.api.plugin_config import did_you_mean
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.pipeline import Component, Step

STEP_OPTIONS = ("name", "predicate", "negate")
"""What stands beside a transform's own options and its type."""

_Predicates = Mapping[str, Component | None]


def read_steps(transforms: Any, predicates: Any, reader: ComponentReader) -> tuple[Step, ...]:
    """The steps in order; what is wrong with them is in `reader.problems`.

    Args:
        transforms: a list, each item with `type`, its options, and optionally `name`, `predicate` and `negate`.
        predicates: by name, each with `type` and its options.
        reader: checks each of them.
    """
    if not isinstance(predicates, Mapping):
        reader.problems.append("predicates: must give each predicate a name; its `type` names the kind")
        predicates = {}
    if not isinstance(transforms, list | tuple):
        reader.problems.append("transforms: must be a list; each item's `type` names a transform")
        transforms = ()
    named = {name: reader.component("predicate", f"predicates.{name}", given) for name, given in predicates.items()}
    steps = [_step(f"transforms.{index}", given, named, reader) for index, given in enumerate(transforms)]
    return tuple(step for step in steps if step is not None)


def _step(path: str, options: Any, predicates: _Predicates, reader: ComponentReader) -> Step | None:
    given = options if isinstance(options, Mapping) else {}
    own = {name: value for name, value in given.items() if name not in STEP_OPTIONS}
    transform = reader.component("transform", path, own)
    where = reader.label(path)
    predicate = _predicate(where, given, predicates, reader.problems)
    negate = _negate(where, given, reader.problems)
    if transform is None:
        return None
    return Step(given.get("name") or transform.registration.name, transform, predicate, negate)


def _predicate(
    where: str, options: Mapping[str, Any], predicates: _Predicates, problems: list[str]
) -> Component | None:
    name = options.get("predicate")
    if name is None or str(name) in predicates:
        return predicates.get(str(name or ""))
    hint = did_you_mean(str(name), predicates) or f" (there are: {', '.join(predicates) or 'none'})"
    problems.append(f"{where}.predicate: no predicate is called '{name}'{hint}")
    return None


def _negate(where: str, options: Mapping[str, Any], problems: list[str]) -> bool:
    text = str(options.get("negate", "false")).strip().lower()
    if text not in ("true", "false"):
        problems.append(f"{where}.negate: should be true or false")
    if text == "true" and not options.get("predicate"):
        problems.append(f"{where}.negate: there is no {where}.predicate to negate; give one, or remove it")
    return text == "true"
