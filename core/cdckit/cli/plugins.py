"""`cdc plugins`: what is installed, where it comes from, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import click

from cdckit.api.plugin_origins import plugin_origins
from cdckit.api.plugins import KINDS, broken_plugins, missing_packages, registrations
from cdckit.cli.settings import Command
from cdckit.cli.tables import print_table


@dataclass(frozen=True, slots=True)
class Installed:
    """A component, or a plugin that cannot be used.

    Attributes:
        kind: `source`, `sink` …, or `plugin` for one that cannot be used.
        name: what stands behind `type:`.
        summary: one line.
        plugin: the entry point that brings it.
        distribution: the installed package of that entry point and its version, or the file.
        missing: what must be installed before it can be used; "" where nothing is.
    """

    kind: str
    name: str
    summary: str
    plugin: str
    distribution: str
    missing: str


@click.command("plugins", cls=Command)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def plugins(as_json: bool) -> None:
    """List sources, sinks, transforms and more: what is installed, where from, which extra is missing."""
    found = list(_installed())
    if as_json:
        click.echo(json.dumps([asdict(component) for component in found], indent=2))
        return
    rows = [(c.kind, c.name, c.distribution, c.missing, c.summary) for c in found]
    print_table(("kind", "type", "from", "missing", "what it does"), rows)


def _installed() -> Iterator[Installed]:
    origins = {origin.name: origin.distribution for origin in plugin_origins()}
    for kind in KINDS:
        for plugin, component in registrations(kind):
            missing = missing_packages(component)
            extra = f"cdckit[{component.extra}]" if component.extra else ", ".join(missing)
            origin = origins.get(plugin, "")
            yield Installed(kind, component.name, component.summary, plugin, origin, extra if missing else "")
    for plugin, why in broken_plugins().items():
        yield Installed("plugin", plugin, f"cannot be used: {why}", plugin, origins.get(plugin, ""), "")
