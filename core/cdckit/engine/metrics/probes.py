"""What an orchestrator asks: whether the process answers, and whether its pipeline does its work."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from cdckit.engine.metrics.figures import Figures

LIVE, READY = "/livez", "/readyz"
Probe = Callable[[], str | None]
"""Says why not, in words that show nothing of a server; None where all is well."""


def probes(figures: Figures, away_seconds: float) -> dict[str, Probe]:
    """The probes of a pipeline by path.

    Args:
        figures: the pipeline's.
        away_seconds: how long source or sink may be away.
    """
    return {LIVE: lambda: None, READY: partial(unready, figures, away_seconds)}


def unready(figures: Figures, away_seconds: float) -> str | None:
    """Why the pipeline does not do its work now; None where it does."""
    if figures.state != "running":
        return f"the pipeline is {figures.state}"
    for name, absence in (("source", figures.source_away), ("sink", figures.sink_away)):
        if absence.seconds > away_seconds:
            return f"the {name} has been away for {absence.seconds:.0f} s"
    if not _has_begun(figures):
        return "the snapshot has not begun"
    return None


def _has_begun(figures: Figures) -> bool:
    return figures.offset is not None or figures.snapshot.state != "none" or figures.connected
