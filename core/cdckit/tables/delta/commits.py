"""What commits of delta-rs carry beside their rows."""

from __future__ import annotations

from deltalake import CommitProperties, Transaction

from cdckit.tables.lake.target import PLACE
from cdckit.tables.target import BatchId


def committed_as(batch: BatchId) -> CommitProperties:
    """What makes a commit that of a batch, and notes in its metadata where in the source's log it ends."""
    noted = {PLACE: batch.place} if batch.place else None
    return CommitProperties(noted, app_transactions=[Transaction(batch.application, batch.number)])
