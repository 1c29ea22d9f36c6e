"""The command `cdckit-faults`."""

from __future__ import annotations

import json
import math
import secrets
import signal
import sys
import time
from collections.abc import Sequence

import click
import rich.box
from rich.console import Console
from rich.table import Table

from cdckit_faults import report
from cdckit_faults.drivers.twins import TWINS, twin_of
from cdckit_faults.history.findings import Verdict
from cdckit_faults.kinds.kind import Fault, Kind
from cdckit_faults.kinds.registry import KINDS, planned, read_fault, taken_by, takes
from cdckit_faults.products import PRODUCTS, product
from cdckit_faults.series import Outcome, Product, played
from testkit.servers.errors import ServerStartError, ServerUnavailableError

_driver = click.option("--driver", "name", type=click.Choice(list(PRODUCTS)), default="cdckit", show_default=True)
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object instead of tables.")
_twin = click.option(
    "--twin", type=click.Choice(list(TWINS)), help="A pipeline with this fault of its own, to be caught."
)


def program() -> None:
    """The command; SIGTERM ends it as Ctrl-C does, so that servers and file systems are cleared away."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    main()


@click.group()
def main() -> None:
    """Drives a pipeline under seeded faults, and judges what it delivers."""


@main.command("list")
@_driver
@_json
def list_kinds(name: str, *, as_json: bool) -> None:
    """Lists the kinds of faults, and whether a driver takes them."""
    taken = taken_by(product(name).drivers)
    if as_json:
        click.echo(json.dumps([_listed(kind, taken=kind in taken) for kind in KINDS.values()]))
        return
    table = Table("kind", "harms", "what happens", "what has to hold beside", name, box=rich.box.SIMPLE)
    for kind in KINDS.values():
        table.add_row(kind.name, kind.group, kind.summary, kind.holds, "taken" if kind in taken else "not taken")
    Console().print(table)


def _listed(kind: Kind, *, taken: bool) -> dict[str, object]:
    return {
        "kind": kind.name,
        "harms": kind.group,
        "what": kind.summary,
        "holds": kind.holds,
        "lane": kind.lane,
        "taken": taken,
    }


@main.command()
@_driver
@click.option("--faults", type=click.IntRange(1), default=30, show_default=True, help="So many are played.")
@click.option("--seed", type=int, help="Chooses the faults and makes the load; random where none is named.")
@click.option("--kinds", default="", help="Kinds or lanes (file, kafka, spark), with commas; else all but spark's.")
@click.option("--minutes", type=click.FloatRange(0, min_open=True), help="No fault begins after so long.")
@click.option("--markdown", is_flag=True, help="The table as a page has it.")
@_json
@_twin
def run(
    name: str,
    faults: int,
    seed: int | None,
    kinds: str,
    minutes: float | None,
    *,
    markdown: bool,
    as_json: bool,
    twin: str | None,
) -> None:
    """Plays a series of faults; ends with 1 where something did not hold."""
    seed = secrets.randbits(32) if seed is None else seed
    made = twin_of(product(name), twin)
    series = planned(_chosen(made, kinds), faults, seed)
    outcomes = _play(made, series, seed, quiet=as_json or markdown, minutes=minutes)
    if as_json:
        click.echo(json.dumps(report.as_json(name, seed, outcomes)))
    elif markdown:
        click.echo(report.markdown(outcomes))
    else:
        Console().print(report.table(outcomes))
    _end(outcomes)


@main.command()
@click.argument("faults", nargs=-1, required=True, metavar="KIND:SEED...")
@click.option("--seed", type=int, default=0, help="Of the load.")
@_driver
@_json
@_twin
def replay(faults: Sequence[str], seed: int, name: str, *, as_json: bool, twin: str | None) -> None:
    """Plays faults again, by the names that a series told."""
    try:
        found = [read_fault(one) for one in faults]
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    made = twin_of(product(name), twin)
    for fault in found:
        _require_taken(made, fault.kind)
    outcomes = _play(made, found, seed, quiet=as_json)
    if as_json:
        click.echo(json.dumps(report.as_json(name, seed, outcomes)))
    _end(outcomes)


def _play(
    made: Product, faults: Sequence[Fault], seed: int, *, quiet: bool, minutes: float | None = None
) -> list[Outcome]:
    """Plays them, and tells of each on the terminal as it ends; what was played counts where a server fails."""
    end = time.monotonic() + 60 * minutes if minutes else math.inf
    click.echo(f"seed {seed}: {len(faults)} faults", err=True)
    outcomes = []
    try:
        for number, outcome in enumerate(played(made, faults, seed), 1):
            outcomes.append(outcome)
            if not quiet or outcome.verdict is not Verdict.HELD:
                click.echo(report.line(number, outcome), err=quiet)
            if time.monotonic() > end:
                break
    except ServerUnavailableError as error:
        raise click.ClickException(str(error)) from error
    except ServerStartError as error:
        click.echo(f"ended after {len(outcomes)} faults: {error}", err=True)
        if not outcomes:
            sys.exit(1)
    return outcomes


def _chosen(made: Product, names: str) -> list[Kind]:
    there = taken_by(made.drivers)
    if not names:
        return [kind for kind in there if kind.lane != "spark"]
    wanted = [name.strip() for name in names.split(",")]
    for name in wanted:
        if name not in KINDS and name not in {kind.lane for kind in KINDS.values()}:
            raise click.BadParameter(f"there is no kind {name!r}: see `cdckit-faults list`", param_hint="--kinds")
        if name in KINDS:
            _require_taken(made, KINDS[name])
    return [kind for kind in there if kind.name in wanted or kind.lane in wanted]


def _require_taken(made: Product, kind: Kind) -> None:
    if not any(takes(driver, kind) for driver in made.drivers):
        raise click.UsageError(f"the driver does not take the kind {kind.name!r}: see `cdckit-faults list`")


def _end(outcomes: Sequence[Outcome]) -> None:
    sys.exit(any(outcome.verdict is not Verdict.HELD for outcome in outcomes))
