"""Spark's notes of what it has done, as they are where a run was killed."""

from __future__ import annotations

from pathlib import Path

from cdckit.engine.state.spark_checkpoint import batch_in_hand


def forget_commit(state: Path) -> None:
    """As if Spark had been killed before it noted that its last batch was done."""
    [commits] = (state / "spark").glob("*/commits")
    last = max((path for path in commits.iterdir() if path.name.isdecimal()), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)


def in_hand(state: Path) -> int | None:
    """The number of the batch that a pipeline has planned and not committed."""
    found = (batch_in_hand(checkpoint) for checkpoint in (state / "spark").glob("*"))
    return next((batch for batch in found if batch is not None), None)
