"""What the commands for records in quarantine share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, TypeVar, get_args

import click

from cdckit.engine.config.error_handling import ErrorHandling
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.condition import condition
from cdckit.engine.quarantine.places import records_kept, shown_place
from cdckit.engine.quarantine.store import Quarantined, Stage
from cdckit.errors import ConfigError

_Command = TypeVar("_Command", bound=Callable[..., Any])


def choosing(command: _Command) -> _Command:
    """Adds the options that choose among the records in quarantine: the arguments `topics`, `stages`, `where`."""
    for option in (
        click.option("--topic", "topics", multiple=True, metavar="TOPIC", help="Those of a topic alone."),
        click.option(
            "--stage", "stages", multiple=True, type=click.Choice(get_args(Stage)), help="Those of a stage alone."
        ),
        click.option(
            "--where",
            metavar="EXPRESSION",
            help="Those for which it is true: Groovy, as of ScriptFilter, such as value.reason.contains('amount').",
        ),
    ):
        command = option(command)
    return command


def quarantine_of(pipeline: ResolvedPipeline) -> ErrorHandling:
    """What says where the pipeline's quarantine is.

    Raises:
        ConfigError: it has none.
    """
    if pipeline.errors.folder is None and pipeline.errors.topic is None:
        raise ConfigError(
            f"errors.tolerance: is '{pipeline.errors.tolerance}', so the pipeline has no quarantine; for what an "
            "earlier run has kept: --set errors.tolerance=quarantine",
            number="CDC2507",
        )
    return pipeline.errors


def chosen(
    place: ErrorHandling,
    numbers: Collection[int] = (),
    topics: Collection[str] = (),
    stages: Collection[str] = (),
    where: str | None = None,
) -> Iterator[Quarantined]:
    """The records that are among the numbers, of the topics, of the stages and true, where any of that is asked for.

    Raises:
        ConfigError: `where` is no expression, or cannot be evaluated for a record.
    """
    true = condition(where) if where is not None else None
    for record in records_kept(place):
        if (
            (not numbers or record.number in numbers)
            and (not topics or record.topic in topics)
            and (not stages or record.stage in stages)
            and (true is None or true(record))
        ):
            yield record


def require_there(place: ErrorHandling, numbers: Collection[int]) -> None:
    """Looks whether there is a record of each number.

    Raises:
        ConfigError: there is none; it says which.
    """
    if missing := set(numbers) - ({record.number for record in records_kept(place)} if numbers else set()):
        shown = ", ".join(map(str, sorted(missing)))
        raise ConfigError(
            f"quarantine {shown_place(place)}: holds no record {shown} (cdc quarantine list FILE)", number="CDC2507"
        )
