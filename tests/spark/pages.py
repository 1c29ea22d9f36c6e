"""The examples of docs/spark.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "spark.md").read_text(encoding="utf-8")


def examples_of(heading: str, told: Mapping[str, str]) -> list[str]:
    """The programs below a heading of the third level, with some words replaced, in this order."""
    section = PAGE.partition(f"\n### {heading}\n")[2].partition("\n##")[0]
    found = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for text, here in told.items():
        found = [example.replace(text, here) for example in found]
    return found
