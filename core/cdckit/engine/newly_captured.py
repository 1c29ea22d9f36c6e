"""Tables that the include and exclude lists capture now, and did not when the pipeline's offset was saved."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from cdckit.api.record import Offset
from cdckit.api.source import SourceContext
from cdckit.api.state_store import StateStore
from cdckit.connector.resnapshot import ask
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.pipeline import make_source

log = logging.getLogger("cdckit.runner")


class Captured(NamedTuple):
    """How the lists' choice has changed: names of tables as the source shows them.

    Attributes:
        new: captured now, and not before.
        gone: captured before, and not now.
        readable: whether the source can read tables again.
    """

    new: Sequence[str]
    gone: Sequence[str]
    readable: bool


def compared(pipeline: ResolvedPipeline, lists: Mapping[str, str]) -> Captured:
    """What is captured of the tables that there are, and what would have been by other lists.

    Raises:
        SourceError: the system cannot be reached, or refuses.
    """
    config = pipeline.source.config.model_copy(update=lists)
    now, readable = _captured(pipeline)
    before, _ = _captured(replace(pipeline, source=replace(pipeline.source, config=config)))
    known, left = set(before), set(now)
    return Captured([one for one in now if one not in known], [one for one in before if one not in left], readable)


def settle_lists(
    state: StateStore, offset: Offset, pipeline: ResolvedPipeline, lists: Mapping[str, str], *, mirrors: bool
) -> None:
    """Has newly captured tables read, or says that they are not.

    Args:
        state: the pipeline's, held.
        offset: how far it has come.
        pipeline: with the lists of today.
        lists: those of the time when the offset was saved, by field.
        mirrors: whether the sink keeps mirrors.

    Raises:
        SourceError: as `compared`.
    """
    found = compared(pipeline, lists)
    if found.gone:
        log.info("no longer captured: %s; what the sink has of them stays there", ", ".join(found.gone))
    config = pipeline.source_config
    wanted = config.new_tables or ("snapshot" if mirrors and config.snapshot_takes_rows else "warn")
    if not found.new or wanted == "off":
        return
    names = ", ".join(found.new)
    if wanted == "snapshot" and found.readable:
        tables = list(filter(config.snapshot_takes, found.new))
        if tables:
            ask(state, offset, tables)
        log.info("newly captured, and read as by a snapshot (snapshot.new.tables): %s", ", ".join(tables) or "none")
        return
    log.warning(
        "newly captured from the saved offset on, without the rows that they have: %s; "
        "`cdc resnapshot FILE --table NAME` reads those of a table, source.snapshot.new.tables=snapshot those of all",
        names,
    )


def _captured(pipeline: ResolvedPipeline) -> tuple[Sequence[str], bool]:
    """The captured tables that there are, and whether they can be read again behind the log."""
    source = make_source(pipeline)
    try:
        source.open(SourceContext(pipeline.name))
        return source.readable(), source.streams
    finally:
        source.close()
