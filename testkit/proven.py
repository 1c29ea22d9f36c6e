"""`cdc diff` at the end of a test: what a pipeline has delivered equals its source, as the proof finds it."""

from __future__ import annotations

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.report import TableProof
from testkit.running import Pipeline


def proven(pipeline: Pipeline, *, undecided: bool = False) -> dict[str, TableProof]:
    """Proves the tables of a pipeline that runs, or has delivered all there is.

    Args:
        pipeline: the pipeline.
        undecided: whether tables may be of a kind that cannot be compared.

    Returns:
        What was found, by the tables' names without their database.
    """
    found = Proof(load_pipeline(pipeline.written()), Wishes(), lambda: False).tables()
    for table in found:
        allowed = ("equal", "undecided") if undecided else ("equal",)
        assert table.outcome in allowed, (table, table.differences[:5])
    return {table.table.rpartition(".")[2]: table for table in found}
