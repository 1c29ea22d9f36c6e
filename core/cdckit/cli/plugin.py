"""`cdc plugin`: writes the distribution of a new plugin, and checks one."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from cdckit.api.plugins import Kind
from cdckit.cli.authoring.check import check_plugin
from cdckit.cli.authoring.distribution import KINDS, write_distribution
from cdckit.cli.settings import Command
from cdckit.cli.tables import print_table


@click.group("plugin")
def plugin() -> None:
    """Write a new plugin, and check one as others will find it."""


@plugin.command("new", cls=Command)
@click.argument("name")
@click.option("--kind", type=click.Choice(list(KINDS)), required=True, help="What it is.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Where the folder NAME is made; by default here.",
)
def new(name: str, kind: Kind, folder: Path) -> None:
    """Write the distribution NAME: a component that works, its tests, and what packages it."""
    for path in write_distribution(name, kind, folder):
        click.echo(path)
    home = folder / name
    click.echo(f"next: pip install -e '{home}[test]' && pytest {home}/tests && cdc plugin check {home}")


@plugin.command("check", cls=Command)
@click.argument("what", metavar="WHEEL|FOLDER", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--tests",
    type=click.Path(exists=True, path_type=Path, file_okay=False),
    help="The folder with the plugin's suites; by default FOLDER's `tests`.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=600,
    show_default=True,
    help="How long its tests may take, in seconds.",
)
def check(what: Path, tests: Path | None, timeout: float) -> int:
    """Install a plugin in an environment of its own, and hold what it registers to its contract.

    For each component: the suite of its contract, a kill, and how fast it is. Ends with 1 where one of them fails.
    """
    with tempfile.TemporaryDirectory(prefix="cdc-plugin-") as folder:
        found = check_plugin(what, tests, Path(folder), timeout)
    print_table(("what", "check", "verdict", "why"), found)
    return int(any(verdict.status == "fail" for verdict in found))
