"""What the commands for records in quarantine share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import click

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.store import Quarantined, kept_records
from cdckit.errors import ConfigError

topic_option = click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Those of a topic alone.")


def folder_of(pipeline: ResolvedPipeline) -> Path:
    """Where the pipeline's quarantine is.

    Raises:
        ConfigError: it has none.
    """
    if pipeline.errors.folder is None:
        raise ConfigError(
            f"errors.tolerance: is '{pipeline.errors.tolerance}', so the pipeline has no quarantine; for what an "
            "earlier run has kept: --set errors.tolerance=quarantine"
        )
    return pipeline.errors.folder


def chosen_by(numbers: Collection[int], topics: Collection[str]) -> Callable[[Quarantined], bool]:
    """Tells whether a record is among the numbers and of the topics, where any are given."""
    return lambda record: (not numbers or record.number in numbers) and (not topics or record.topic in topics)


def require_there(folder: Path, numbers: Collection[int]) -> None:
    """Looks whether there is a record of each number.

    Raises:
        ConfigError: there is none; it says which.
    """
    if missing := set(numbers) - ({record.number for record in kept_records(folder)} if numbers else set()):
        shown = ", ".join(map(str, sorted(missing)))
        raise ConfigError(f"quarantine {folder}: holds no record {shown} (cdc quarantine list FILE)")
