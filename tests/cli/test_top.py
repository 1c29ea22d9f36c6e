"""`cdc top`: the fleet in a terminal."""

from __future__ import annotations

import os
import pty
import select
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from rich.console import Console

from cdckit import errors
from cdckit.cli.top import shown
from cdckit.ui.fleet import Fleet
from testkit.planted import ILL, plant_fleet, planted

PROGRAM = Path(sys.executable).parent / "cdc"
Cdc = Callable[..., Any]


def test_once(cdc: Cdc, tmp_path: Path) -> None:
    with planted(tmp_path) as made:
        plant_fleet(made, 50)
        called = cdc("top", str(tmp_path), "--once", "--stale-after", "3600")
    assert called.code == 1
    lines = called.stdout.splitlines()
    counts = ["50 pipelines", "2 down", "3 in trouble", "2 to look at", "41 fine", "2 stopped"]
    assert lines[0].split("  ")[1:] == counts
    order = [name for line in lines for name in ILL if f" {name} " in f"{line} "]
    assert order == list(ILL)
    assert f"cdc run {tmp_path}/crm-02.yaml" in called.stdout
    assert len(lines) > 50


def test_it_ends_with_0_where_nobody_is_ill(cdc: Cdc, tmp_path: Path) -> None:
    with planted(tmp_path) as made:
        made.running("alpha")
        assert cdc("top", str(tmp_path), "--once").code == 0


def test_a_low_terminal_counts_what_it_has_no_room_for(tmp_path: Path) -> None:
    with planted(tmp_path) as made:
        plant_fleet(made, 50)
        members = Fleet([tmp_path], 3600).members()
    console = Console(width=140, height=24, record=True, file=open(os.devnull, "w"))  # noqa: SIM115, PTH123
    console.print(shown(members, 18, 140))
    text = console.export_text()
    assert len(text.splitlines()) <= 24
    left = int(text.rpartition("and ")[2].partition(" more")[0])
    assert sum(f" {member.name} " in text for member in members) == 50 - left


def test_it_follows_the_fleet_until_q(tmp_path: Path) -> None:
    with planted(tmp_path) as made:
        made.running("alpha")
        child, terminal = pty.fork()
        if not child:
            os.environ["TERM"] = "xterm"
            os.execv(PROGRAM, [str(PROGRAM), "top", str(tmp_path)])
        seen = ""

        def wait_for(text: str) -> None:
            nonlocal seen
            deadline = time.monotonic() + 60
            while text not in seen:
                assert time.monotonic() < deadline, seen
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 65536).decode(errors="replace")

        wait_for("alpha")
        made.ended("beta", errors.SinkError("the topic is full"))
        wait_for("the topic is full")
        os.write(terminal, b"q")
        deadline = time.monotonic() + 60
        while not (ended := os.waitpid(child, os.WNOHANG))[0]:
            assert time.monotonic() < deadline
            with suppress(OSError):  # the terminal is gone with the program
                if select.select([terminal], [], [], 0.1)[0]:
                    os.read(terminal, 65536)
        os.close(terminal)
    assert os.waitstatus_to_exitcode(ended[1]) == 0
