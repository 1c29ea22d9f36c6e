"""What becomes of records that cannot be decoded, transformed, serialized or written, as a pipeline's options say."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cdckit.engine.config.quarantine_topic import QuarantineTopic

Tolerance = Literal["none", "all", "quarantine"]
LaterChanges = Literal["pass", "wait"]


@dataclass(frozen=True, slots=True)
class ErrorHandling:
    """The options, checked.

    Attributes:
        tolerance: `none`: such a record stops the pipeline; `quarantine`: it is kept; `all`: it is left out.
        log_each: whether each is logged, not only the first of a topic.
        log_messages: whether keys and values are logged with them.
        folder: where the quarantine is; None: there is none, or it is in a topic.
        max_records: how many records it may hold.
        max_share: which share of the last records may go there.
        later_changes: what becomes of later changes of their keys.
        topic: where the quarantine is instead of in a folder.
    """

    tolerance: Tolerance = "none"
    log_each: bool = False
    log_messages: bool = False
    folder: Path | None = None
    max_records: int = 10_000
    max_share: float = 0.5
    later_changes: LaterChanges = "pass"
    topic: QuarantineTopic | None = None

    @property
    def waits(self) -> bool:
        """Whether later changes wait for those of their keys that are in quarantine."""
        return self.tolerance == "quarantine" and self.later_changes == "wait"

    @property
    def keeps_undecoded(self) -> bool:
        """Whether what a source cannot decode goes to the quarantine. Its key is not known, so that no change waits."""
        return self.tolerance == "quarantine" and self.later_changes == "pass"
