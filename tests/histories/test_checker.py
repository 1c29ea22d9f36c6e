"""The check of a history: a fault that is planted in a sink is told of, by table and row."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from histories.endings import DivergedError
from histories.playing import Play
from histories.sinks import File
from histories.steps import CHECK, DELIVER, Step
from testkit.servers.mysql_family import SQLServer

Lines = list[dict[str, Any]]

STEPS = (
    Step("set up", ("CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9), n INT)", "CREATE TABLE free (a INT)")),
    Step("first rows", ("INSERT INTO t VALUES (1, 'x', 1), (2, 'y', 2)", "INSERT INTO free VALUES (1), (1)")),
    Step(DELIVER),
    Step(
        "rows", ("UPDATE t SET n = 7 WHERE id = 2", "INSERT INTO t VALUES (3, NULL, 3)", "DELETE FROM t WHERE id = 1")
    ),
    Step("rows", ("INSERT INTO free VALUES (5), (6)", "DELETE FROM free WHERE a = 6")),
)


class Damaged(File):
    """A file whose lines something happens to before they are looked at."""

    def __init__(self, folder: Path, damage: Callable[[Lines], Lines]) -> None:
        super().__init__(folder)
        self.damage = damage

    def events(self) -> Any:
        """The events after the damage."""
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        self.path.write_text("".join(json.dumps(line) + "\n" for line in self.damage(lines)))
        return super().events()


def _is(line: dict[str, Any], table: str, op: str) -> bool:
    payload = (line["value"] or {}).get("payload", {})
    return (payload.get("op"), payload.get("source", {}).get("table")) == (op, table)


def _without(table: str, op: str) -> Callable[[Lines], Lines]:
    return lambda lines: [line for line in lines if not _is(line, table, op)]


def _twice(lines: Lines) -> Lines:
    """An insert without a key comes once more, at a place of its own."""
    at = next(number for number, line in enumerate(lines) if _is(line, "free", "c"))
    again = json.loads(json.dumps(lines[at]))
    for header in again["headers"]:
        if header["key"] == "__cdckit.position":
            header["value"] += "9"
    return [*lines[: at + 1], again, *lines[at + 1 :]]


def _altered(lines: Lines) -> Lines:
    for line in lines:
        if _is(line, "t", "u"):
            line["value"]["payload"]["after"]["n"] = 8
    return lines


def _stale(lines: Lines) -> Lines:
    """A key's older event comes behind its newer one."""
    first = next(line for line in lines if _is(line, "t", "r") and line["key"]["payload"]["id"] == 2)
    return [*(line for line in lines if line is not first), first]


def _elsewhere(lines: Lines) -> Lines:
    for line in lines:
        if _is(line, "t", "u"):
            line["topic"] += "_other"
    return lines


@pytest.mark.unequal("the file is damaged, now and then beyond what a row comes to", always=False)
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (_without("t", "c"), r"t: 2 rows expected, 1 found.*missing  \('3', None, '3'\) x1"),
        (_without("t", "d"), r"t: 2 rows expected, 3 found.*extra    \('1', 'x', '1'\) x1"),
        (_without("t", "u"), r"t: .*changed  \('2', 'y', '7'\).*to  \('2', 'y', '2'\)"),
        (_without("t", "r"), None),
        (_without("free", "r"), r"free: .*missing  \('1',\) x2"),
        (_without("free", "d"), r"free: .*extra    \('6',\) x1"),
        (_twice, r"free: 3 rows expected, 4 found.*extra    \('5',\) x1"),
        (_altered, r"t: .*changed  \('2', 'y', '7'\).*to  \('2', 'y', '8'\)"),
        (_stale, r"came behind"),
        (_elsewhere, r"t in \{"),
        (lambda lines: lines, None),
    ],
)
def test_a_planted_fault_is_told_of(
    histories_server: SQLServer,
    unique_name: str,
    tmp_path: Path,
    damage: Callable[[Lines], Lines],
    said: str | None,
    afterwards: ExitStack,
) -> None:
    """Where the events of a snapshot are lost whose rows come again, nothing is wrong in the end."""
    histories_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(histories_server.execute, f"DROP DATABASE {unique_name}")
    play = Play(histories_server, unique_name, tmp_path, Damaged(tmp_path, damage))
    if said is None:
        play.all([*STEPS, Step(CHECK)])
    else:
        with pytest.raises(DivergedError, match=rf"(?s)step 6 \(check\): .*{said}"):
            play.all([*STEPS, Step(CHECK)])


def test_a_pipeline_that_stops_is_told_of(
    histories_server: SQLServer, unique_name: str, tmp_path: Path, afterwards: ExitStack
) -> None:
    histories_server.execute(f"CREATE DATABASE {unique_name}")
    afterwards.callback(histories_server.execute, f"DROP DATABASE {unique_name}")
    folder = tmp_path / "nowhere"
    play = Play(histories_server, unique_name, tmp_path, File(folder))
    folder.write_text("a file, and no folder")
    with pytest.raises(DivergedError, match=r"step 3 \(deliver\): the pipeline ended with SinkError"):
        play.all(STEPS)
