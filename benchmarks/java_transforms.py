"""The Java classes of transforms, measured by a program of their own beside ours."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks import debezium

PROGRAM = Path(__file__).parent / "java" / "Transforms.java"
ROWS, CHANGES = "rows", "changes"
"""What transforms are measured on: plain rows, or Debezium's change events of such rows."""

Steps = Sequence[tuple[str, dict[str, str]]]
"""Transforms in their order, each its class and its options."""


def measured(chains: Sequence[Steps], rows: int, readings: int, records: str = ROWS) -> list[float]:
    """Microseconds of CPU a record that each chain takes, the best of some readings."""
    lines = ["\t|\t".join(_step(name, options) for name, options in steps) for steps in chains]
    with tempfile.TemporaryDirectory(prefix="cdckit-bench-") as folder:
        path = Path(folder) / "chains.tsv"
        path.write_text("\n".join(lines))
        jvm = ["java", "-Xmx1g", "-cp", f"{debezium.libraries()}/*", str(PROGRAM)]
        command = [*jvm, str(path), str(rows), str(readings), records]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in told.split()]


def _step(name: str, options: dict[str, str]) -> str:
    return "\t".join([name, *(f"{option}={value}" for option, value in options.items())])
