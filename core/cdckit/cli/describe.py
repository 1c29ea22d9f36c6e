"""`cdc describe`: the options of one component, or of a pipeline file itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

import click

from cdckit.cli.settings import Command
from cdckit.cli.tables import print_table
from cdckit.config.model import PluginConfig, did_you_mean
from cdckit.config.options import Option, options_of
from cdckit.config.pipeline import PipelineConfig
from cdckit.errors import ConfigError
from cdckit.hookspecs import Registration
from cdckit.plugins import KINDS, config_model, registrations

PIPELINE = "pipeline"


@click.command("describe", cls=Command)
@click.argument("type_name", metavar="TYPE")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def describe(type_name: str, as_json: bool) -> None:
    """Show the options of TYPE: a source, sink, transform, predicate or serializer, or `pipeline`.

    Where two kinds share a name, `sink.NAME` means one of them.
    """
    found = list(_found(type_name))
    if not found:
        names = [PIPELINE, *(registration.name for kind in KINDS for _, registration in registrations(kind))]
        hint = did_you_mean(type_name, names) or f" (there are: {', '.join(dict.fromkeys(names))})"
        raise ConfigError(f"nothing installed is called '{type_name}'{hint}")
    if as_json:
        click.echo(json.dumps([_as_json(*described) for described in found], indent=2, ensure_ascii=False))
        return
    for title, summary, model in found:
        rows = [_row(option) for option in options_of(model)]
        click.echo(f"{title}: {summary}")
        print_table(("option", "type", "default", "what it does"), rows)


def _found(name: str) -> Iterator[tuple[str, str, type[PluginConfig]]]:
    """Every component that `name` means, as its kind and name, its summary and its model."""
    if name == PIPELINE:
        yield PIPELINE, "the options of a pipeline file", PipelineConfig
    for kind in KINDS:
        for _, registration in registrations(kind):
            if name.removeprefix(f"{kind}.") in _names(registration):
                yield f"{kind} {registration.name}", registration.summary, config_model(registration)


def _names(registration: Registration) -> set[str]:
    last_parts = {alias.rpartition(".")[2] for alias in registration.aliases}
    return {registration.name, *registration.aliases, *last_parts}


def _row(option: Option) -> tuple[str, str, str, str]:
    default = "required" if option.required else option.default
    return option.name, " | ".join(option.choices) or option.type, default, option.description


def _as_json(title: str, summary: str, model: type[PluginConfig]) -> dict[str, object]:
    kind, _, name = title.partition(" ")
    options = [asdict(option) for option in options_of(model)]
    return {"kind": kind, "name": name or kind, "summary": summary, "options": options}
