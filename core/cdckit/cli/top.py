"""`cdc top`: the pipelines of some folders in the terminal, those first that are ill."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cdckit.cli.progress_line import lag_text
from cdckit.cli.settings import Command
from cdckit.cli.status import stale_after
from cdckit.cli.ui import folders
from cdckit.connector.durations import duration
from cdckit.engine.metrics.status import PipelineStatus
from cdckit.ui.fleet import Fleet, Member
from cdckit.ui.ills import GRADES, Grade

_STYLES: dict[Grade, str] = {"down": "bold red", "bad": "yellow", "warn": "yellow", "fine": "green", "idle": "dim"}
_WORDS: dict[Grade, str] = {
    "down": "down",
    "bad": "in trouble",
    "warn": "to look at",
    "fine": "fine",
    "idle": "stopped",
}
_LOOK_SECONDS = 1.0
_HEADING_LINES = 6
_OTHER_COLUMNS = 72
"""About so wide are those before the last."""
_NO_END = 100_000
"""As wide, and as long, as it needs to be."""


@click.command("top", cls=Command)
@folders
@click.option("--once", is_flag=True, help="Print them once, and end.")
@stale_after
def top(folders: tuple[Path, ...], once: bool, stale_after: int) -> int:
    """Show the pipelines whose state folders stand in DIR or below it, those first that are ill; q ends it.

    With --once it ends with 1 where one is down or in trouble.
    """
    fleet = Fleet(folders or (Path(),), stale_after)
    console = Console() if sys.stdout.isatty() else Console(width=_NO_END)
    if once or not (sys.stdin.isatty() and console.is_terminal):
        members = fleet.members()
        with console.capture() as captured:
            console.print(shown(members, _NO_END, console.width))
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))
        return 1 if any(member.ill.grade in ("down", "bad") for member in members) else 0
    with _keys(), Live(console=console, screen=True, auto_refresh=False) as live:
        while True:
            lines = max(3, console.height - _HEADING_LINES)
            live.update(shown(fleet.members(), lines, console.width), refresh=True)
            if _pressed(_LOOK_SECONDS) in ("q", "Q", "\x03"):
                return 0


def shown(members: list[Member], lines: int, columns: int) -> RenderableType:
    """The fleet, in so many lines; those that find no room are counted."""
    table = Table(box=SIMPLE_HEAD, expand=columns < _NO_END, pad_edge=False)
    for name, justify in (("state", "left"), ("pipeline", "left"), ("lag", "right"), ("events/s", "right")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    table.add_column("what is wrong, and what to do", ratio=1, overflow="fold")
    used = count = 0
    for member in members:
        told = _told(member)
        used += sum(1 + len(line) // max(20, columns - _OTHER_COLUMNS) for line in told.plain.splitlines()) or 1
        if used > lines:
            break
        table.add_row(*_facts(member), told)
        count += 1
    left = [Text(f"and {len(members) - count} more", style="dim")] if count < len(members) else []
    return Group(_heading(members), table, *left)


def _heading(members: list[Member]) -> Text:
    parts = [Text(time.strftime("%H:%M:%S")), Text(f"{len(members):,} pipelines", style="bold")]
    for grade in GRADES:
        if number := sum(member.ill.grade == grade for member in members):
            parts.append(Text(f"{number:,} {_WORDS[grade]}", style=_STYLES[grade]))
    return Text("  ").join(parts)


def _facts(member: Member) -> tuple[Text, Text, Text, Text]:
    style = _STYLES[member.ill.grade]
    found = member.status
    if found is None:
        return Text("unreadable", style=style), Text(member.name, style="bold"), Text(""), Text("")
    rate = f"{found.events_per_second:,.0f}" if found.state == "running" else ""
    return Text(_state(found), style=style), Text(member.name, style="bold"), Text(_lag(found)), Text(rate)


def _state(found: PipelineStatus) -> str:
    if found.stale:
        return "stale"
    return "source away" if found.state == "running" and found.away else found.state


def _lag(found: PipelineStatus) -> str:
    seconds = found.lag_seconds
    if seconds is None or seconds < 60:
        return lag_text(seconds, found.lag_bytes or None, found.lag_messages)
    more = lag_text(None, found.lag_bytes or None, found.lag_messages)
    return duration(round(seconds)) + (f" and {more}" if more else "")


def _told(member: Member) -> Text:
    ill = member.ill
    lines = [Text(ill.what)] if ill.what else []
    lines += [Text(f"{ill.remedy}: " if ill.command else ill.remedy, style="dim")] if ill.remedy else []
    if ill.command:
        lines[-1].append(ill.command, style="not dim cyan")
    return Text("\n").join(lines)


@contextmanager
def _keys() -> Iterator[None]:
    """Keys come at once, and are not shown, while the context lasts."""
    import termios  # noqa: PLC0415 - a terminal's
    import tty  # noqa: PLC0415

    before = termios.tcgetattr(sys.stdin)
    tty.setcbreak(sys.stdin)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


def _pressed(seconds: float) -> str:
    """The key that was pressed within this time; empty: none. The input's end is taken for `q`."""
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return (os.read(sys.stdin.fileno(), 1).decode(errors="replace") or "q") if ready else ""
