"""The examples of docs/spark-jobs.md, and the notebooks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "spark-jobs.md").read_text(encoding="utf-8")


def examples_of(heading: str, told: Mapping[str, str], language: str = "python") -> list[str]:
    """The programs below a heading of the second level, with some words replaced, in this order."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n##")[0]
    return _here(re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL), told)


def notebook(name: str) -> dict[str, Any]:
    """A notebook among the examples."""
    found: dict[str, Any] = json.loads((ROOT / "examples" / name).read_text(encoding="utf-8"))
    return found


def cells_of(name: str, told: Mapping[str, str], *, driver: bool = True) -> list[str]:
    """The programs in a notebook's cells, with some words replaced, in this order.

    Args:
        name: the notebook's.
        told: the words, and what takes their places.
        driver: whether those are among them that need a session of the process itself.
    """
    cells = [cell for cell in notebook(name)["cells"] if cell["cell_type"] == "code"]
    wanted = [cell for cell in cells if driver or "driver" not in cell["metadata"].get("tags", ())]
    return _here(["".join(cell["source"]) for cell in wanted], told)


def _here(programs: Sequence[str], told: Mapping[str, str]) -> list[str]:
    found = list(programs)
    for text, here in told.items():
        found = [program.replace(text, here) for program in found]
    return found
