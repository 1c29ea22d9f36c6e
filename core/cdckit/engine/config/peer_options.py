"""What becomes of each option that a connector of Debezium has: a table for the docs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cdckit.api.ignored_options import IgnoredOptions
from cdckit.api.plugin_config import PluginConfig, placement
from cdckit.engine.config.options import Option, options_of


@dataclass(frozen=True, slots=True)
class PeerOption:
    """One of Debezium's options.

    Attributes:
        name: its name there.
        default: its default there.
        old_names: names that it had before and that still work.
        state: what it is here, in words for people.
        known: whether it has a place here: supported, translated, or without meaning for a reason.
    """

    name: str
    default: str
    old_names: tuple[str, ...]
    state: str
    known: bool


def peer_options(model: type[PluginConfig]) -> Iterator[PeerOption]:
    """Each of the options that `model.peer_options` names, in that order."""
    own = {option.name: option for option in options_of(model)}
    for name, default in model.peer_options.items():
        now = model.present_name(name)
        old_names = tuple(old for old, new in model.renamed.items() if new == name)
        state, known = _translated(now) if now != name else _state(name, default, model, own)
        yield PeerOption(name, default, old_names, state, known)


def _translated(now: str) -> tuple[str, bool]:
    return f"translated: `{now}`", True


def _state(name: str, default: str, model: type[PluginConfig], own: dict[str, Option]) -> tuple[str, bool]:
    match placement(model, name):
        case IgnoredOptions() as found:
            only = (
                f" (only {', '.join(f'`{value}`' for value in found.taken)} is taken)"
                if found.taken and found.refused
                else ""
            )
            return f"no meaning: {found.why}{only}", True
        case "option":
            return f"supported{_other_default(default, own[name])}", True
        case (_, _, _):
            return "supported", True
        case "not yet":
            return "not supported yet: only its default is taken", False
        case _:
            return "unknown", False


def _other_default(default: str, option: Option) -> str:
    same = {default, default.lower(), default.rpartition(".")[2]}
    if not option.default or option.default in same or option.required:
        return ""
    return f"; by default `{option.default}`"


def peer_table(model: type[PluginConfig]) -> str:
    """The table in Markdown."""
    rows = [_row(option) for option in peer_options(model)]
    return "\n".join(["| Debezium's option | its default | old names | here |", "| --- | --- | --- | --- |", *rows])


def _row(option: PeerOption) -> str:
    old = ", ".join(f"`{name}`" for name in option.old_names)
    cells = (f"`{option.name}`", f"`{option.default}`" if option.default else "", old, option.state)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
