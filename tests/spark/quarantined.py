"""What a pipeline on Spark has set aside, and what becomes of it in a replay."""

from __future__ import annotations

from cdckit.cli.held import held
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.quarantine.replay import replay
from cdckit.engine.quarantine.store import kept_records


def set_aside(pipeline: ResolvedPipeline) -> list[tuple[str, str, str]]:
    """Stage, the sink, and what was said without the table's name."""
    assert pipeline.errors.folder is not None
    return [(one.stage, one.by, one.reason.rpartition(": ")[2]) for one in kept_records(pipeline.errors.folder)]


def replayed(pipeline: ResolvedPipeline) -> list[str]:
    """Whether each record stays, and why."""
    with held(pipeline) as state:
        return [reason.rpartition(": ")[2] for _, reason in replay(pipeline, state, lambda _: True)]
