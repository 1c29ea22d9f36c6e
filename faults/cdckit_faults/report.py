"""What a series has shown, as tables for people and as JSON for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import rich.box
from rich.table import Table

from cdckit_faults.history.findings import Verdict
from cdckit_faults.series import Outcome


def as_json(product: str, seed: int, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Everything, for programs."""
    return {
        "product": product,
        "seed": seed,
        "faults": len(outcomes),
        "verdicts": dict(Counter(str(one.verdict) for one in outcomes)),
        "outcomes": [_outcome(one) for one in outcomes],
    }


def _outcome(one: Outcome) -> dict[str, Any]:
    return {
        "fault": one.fault.name,
        "verdict": str(one.verdict),
        "findings": [{"verdict": str(found.verdict), "told": found.told} for found in one.findings],
        "notes": list(one.notes),
        "records": one.records,
        "repeated": one.repeated,
        "seconds": round(one.seconds, 2),
    }


def line(number: int, one: Outcome) -> str:
    """A fault in a line of text."""
    notes = "; ".join(one.notes)
    found = "".join(f"\n      {found.verdict}: {found.told}" for found in one.findings)
    return f"{number:5} {one.fault.name:<26} {one.verdict:<9} {one.seconds:5.1f} s {one.records:6} {notes}{found}"


def table(outcomes: Sequence[Outcome]) -> Table:
    """The kinds, for the terminal."""
    made = Table("kind", "faults", "held", "records", "repeated", "seeds of what did not hold", box=rich.box.SIMPLE)
    for row in _rows(outcomes):
        made.add_row(*row)
    return made


def markdown(outcomes: Sequence[Outcome]) -> str:
    """The kinds, as a table of a page."""
    head = ["kind", "faults", "held", "records", "repeated", "did not hold", "one of its seeds"]
    seeds = {one.fault.kind.name: f"`{one.fault.name}`" for one in outcomes}
    rows = [[*row, seeds.get(row[0], "")] for row in _rows(outcomes)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _rows(outcomes: Iterable[Outcome]) -> list[list[str]]:
    kinds: Mapping[str, list[Outcome]] = defaultdict(list)
    for one in outcomes:
        kinds[one.fault.kind.name].append(one)
    rows = [_row(name, found) for name, found in kinds.items()]
    return [*rows, _row("all", [one for found in kinds.values() for one in found])]


def _row(name: str, found: Sequence[Outcome]) -> list[str]:
    held = sum(one.verdict is Verdict.HELD for one in found)
    wrong = [f"{one.verdict} {one.fault.name}" for one in found if one.verdict is not Verdict.HELD]
    told = ", ".join(wrong[:4]) + (f" and {len(wrong) - 4} more" if len(wrong) > 4 else "")
    records, repeated = (sum(getattr(one, what) for one in found) for what in ("records", "repeated"))
    return [name, str(len(found)), str(held), f"{records:,}", f"{repeated:,}", told if name != "all" else ""]
