"""What a runner sees to before it reads: that the state is this pipeline's, and what has changed since it was saved."""

from __future__ import annotations

import logging
from contextlib import suppress

from cdckit.api.source import Source
from cdckit.api.state_store import StateStore
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.newly_captured import settle_lists
from cdckit.engine.notices import RunNotices
from cdckit.engine.pipeline import make_source
from cdckit.engine.runners.retries import Retries
from cdckit.engine.runners.stop import StopSignal
from cdckit.engine.state.made_for import MadeFor, keep, require_fitting
from cdckit.errors import CdcError, ConfigError, RetriableSourceError, StoppedError

log = logging.getLogger("cdckit.runner")


def claim(state: StateStore, pipeline: ResolvedPipeline, stopping: StopSignal, *, mirrors: bool = False) -> None:
    """Makes a state this pipeline's, where its offset is, or has none.

    Args:
        state: held by the runner.
        pipeline: what is to run.
        stopping: ends waiting for a source that is away.
        mirrors: whether the sink keeps mirrors.

    Raises:
        ConfigError: the offset was saved for another source or target.
        SourceError: the lists have changed, and the source cannot be asked what they choose.
    """
    made = require_fitting(state, pipeline)
    if made is not None and made.lists != MadeFor.of(pipeline).lists:
        _settle(state, pipeline, made, stopping, mirrors=mirrors)
    keep(state, pipeline)


def look_at_lists(source: Source, notices: RunNotices) -> None:
    """Says which entries of the include lists match nothing, as far as the source can tell."""
    with suppress(CdcError):
        found = list(map(str, source.unmatched()))
        for said in found:
            log.warning("%s", said)
        notices.unmatched(found)


def _settle(
    state: StateStore, pipeline: ResolvedPipeline, made: MadeFor, stopping: StopSignal, *, mirrors: bool
) -> None:
    retries = Retries(make_source(pipeline).retry_schedule(), stopping)
    while not stopping():
        try:
            settle_lists(state, state.load_offset() or {}, pipeline, made.lists, mirrors=mirrors)
        except RetriableSourceError as error:
            if not retries.due:
                raise
            retries.pause(error)
        except ConfigError:  # a source of another kind (archived files) cannot tell
            return
        else:
            return
    raise StoppedError
