"""Tells the lifecycle hooks of every plugin what happens to a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from cdckit.api.notices import Notice, Notices
from cdckit.api.plugins import tell
from cdckit.api.record import Offset
from cdckit.api.source_counts import SourceCounts


class RunNotices(Notices):
    """What a source tells, and what only the runner knows.

    Args:
        pipeline: the pipeline's name.
        definitions: whether hooks are told of tables' definitions.
    """

    def __init__(self, pipeline: str, *, definitions: bool = False) -> None:
        self._pipeline = pipeline
        self._definitions = definitions

    @property
    def wants_definitions(self) -> bool:
        """Whether hooks are told of them."""
        return self._definitions

    def tell(self, notice: Notice) -> None:
        """Calls the hook of the notice's name."""
        tell(f"cdckit_{notice.name}", pipeline=self._pipeline, **notice.facts)

    def snapshot_part(self, data_collection: str, part: int, parts: int, rows: int, finished: bool) -> None:
        """No hook hears of parts."""

    def started(self, runner: str, offset: Offset | None) -> None:
        """The pipeline starts on `runner`; `offset` is the saved one, or None."""
        self.tell(Notice("started", {"runner": runner, "offset": offset}))

    def activity(self, activity: str) -> None:
        """The runner is at something for which everything waits; empty: that is done."""
        self.tell(Notice("activity", {"activity": activity}))

    def unmatched(self, entries: Sequence[str]) -> None:
        """Sentences about the entries of the include lists that match nothing."""
        self.tell(Notice("unmatched", {"entries": entries}))

    def batch_committed(
        self,
        records: int,
        offset: Offset,
        log_time_ms: int | None,
        log_bytes: int,
        lag_bytes: int | None,
        lag_messages: int | None,
        counts: SourceCounts,
    ) -> None:
        """The sink holds `records` more, and `offset` is saved; the rest is as the hook says."""
        facts = {
            "records": records, "offset": offset, "log_time_ms": log_time_ms, "log_bytes": log_bytes,
            "lag_bytes": lag_bytes, "lag_messages": lag_messages, "counts": counts,
        }  # fmt: skip
        self.tell(Notice("batch_committed", facts))

    def stopped(self, error: BaseException | None) -> None:
        """The pipeline has ended: by itself or a signal (None), or by an error."""
        self.tell(Notice("stopped", {"error": error}))
