"""What a sink that keeps tables is told, by either runner."""

from __future__ import annotations

from collections.abc import Callable

from cdckit.api.state_store import Json
from cdckit.connector.resnapshot import KEPT_AS as RESNAPSHOT, Resnapshot
from cdckit.engine.accepted import KEPT_AS as ACCEPTED, acceptances
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.tables.context import TableContext
from cdckit.tables.made_tables import MadeTables


def table_context(
    pipeline: ResolvedPipeline,
    generation: str,
    kept: Callable[[str], Json],
    activity: Callable[[str], None],
    made: MadeTables,
    *,
    marks: bool,
) -> TableContext:
    """The context, with what the user asks for by commands read from the state whenever the sink asks.

    Args:
        pipeline: the sink's.
        generation: tells batch numbers of one checkpoint from those of another.
        kept: gives what the state has under a key.
        activity: is told what everything waits for.
        made: the tables that the pipeline has rows in.
        marks: whether the source tells table marks.
    """

    def read_again() -> dict[str, str]:
        wanted = Resnapshot.from_json(kept(RESNAPSHOT))
        return {} if wanted is None else dict.fromkeys(wanted.tables, wanted.id)

    source = pipeline.source_config
    return TableContext(
        pipeline.name,
        generation,
        skipped=source.skipped,
        partial_updates=source.partial_updates,
        marks=marks,
        read_again=read_again,
        accepted=lambda: acceptances(kept(ACCEPTED)),
        activity=activity,
        made=made,
    )
