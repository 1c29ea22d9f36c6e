"""`cdc describe`: the options of one component, or of a pipeline file itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase

import click

from cdckit.api.hookspecs import Registration
from cdckit.api.plugin_config import did_you_mean
from cdckit.api.plugins import KINDS, config_model, registrations
from cdckit.cli.settings import Command
from cdckit.cli.suggestions import PIPELINE, complete_options, complete_types, type_names
from cdckit.cli.tables import print_entry
from cdckit.engine.config.options import Option, options_of
from cdckit.engine.config.pipeline import PipelineConfig
from cdckit.errors import ConfigError


@click.command("describe", cls=Command)
@click.argument("type_name", metavar="TYPE", shell_complete=complete_types)
@click.argument("wanted", metavar="[OPTION|PATTERN]", required=False, shell_complete=complete_options)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def describe(type_name: str, wanted: str | None, as_json: bool) -> None:
    """Show the options of TYPE: a source, sink, transform, predicate, serializer or state store, or `pipeline`.

    Where two kinds share a name, `sink.NAME` means one of them. OPTION shows one option alone, by its name or an old
    one; a PATTERN such as `snapshot.*` those that it matches.
    """
    found = list(_found(type_name))
    if not found:
        hint = did_you_mean(type_name, type_names()) or "; `cdc plugins` lists what there is"
        raise ConfigError(f"nothing installed is called '{type_name}'{hint}", number="CDC2204")
    if wanted is not None:
        found = [replace(described, options=_matching(described.options, wanted)) for described in found]
        _require_any(type_name, wanted, found)
    if as_json:
        click.echo(json.dumps([_as_json(described) for described in found], indent=2, ensure_ascii=False))
        return
    for described in found:
        click.echo(f"{described.title}: {described.summary}")
        for option in described.options:
            click.echo()
            print_entry(_heading(option), option.description)


@dataclass(frozen=True, slots=True)
class Described:
    """A component: its kind and name, its summary and its options."""

    title: str
    summary: str
    options: list[Option]


def _found(name: str) -> Iterator[Described]:
    """Every component that `name` means."""
    if name == PIPELINE:
        yield Described(PIPELINE, "the options of a pipeline file", options_of(PipelineConfig))
    for kind in KINDS:
        for _, registration in registrations(kind):
            if name.removeprefix(f"{kind}.") in _names(registration):
                options = options_of(config_model(registration))
                yield Described(f"{kind} {registration.name}", registration.summary, options)


def _matching(options: list[Option], wanted: str) -> list[Option]:
    """The options of that name, or that the pattern matches; `NAME.*` stands for its members, too."""
    return [
        option
        for option in options
        if any(fnmatchcase(name, wanted) or fnmatchcase(wanted, name) for name in _spellings(option))
    ]


def _spellings(option: Option) -> list[str]:
    return [*option.name.split(", "), *option.old_names]


def _require_any(type_name: str, wanted: str, found: list[Described]) -> None:
    if not any(described.options for described in found):
        names = [name for described in _found(type_name) for option in described.options for name in _spellings(option)]
        hint = did_you_mean(wanted, names) or f"; `cdc describe {type_name}` lists what there is"
        raise ConfigError(f"'{type_name}' has no option '{wanted}'{hint}", number="CDC2201")


def _names(registration: Registration) -> set[str]:
    last_parts = {alias.rpartition(".")[2] for alias in registration.aliases}
    return {registration.name, *registration.aliases, *last_parts}


def _heading(option: Option) -> str:
    kind = " | ".join(option.choices) or option.type
    default = "required" if option.required else f"default {option.default}" if option.default else ""
    old = f"formerly {', '.join(option.old_names)}" if option.old_names else ""
    return f"{option.name}  ({'; '.join(filter(None, (kind, default, old)))})"


def _as_json(described: Described) -> dict[str, object]:
    kind, _, name = described.title.partition(" ")
    options = [asdict(option) for option in described.options]
    return {"kind": kind, "name": name or kind, "summary": described.summary, "options": options}
