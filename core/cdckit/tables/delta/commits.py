"""What commits of delta-rs carry beside their rows, and what is done behind them."""

from __future__ import annotations

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction

from cdckit.tables.lake.target import PLACE
from cdckit.tables.target import BatchId

_CLEANED_EVERY = 100
"""With so many versions old ones are removed from the log: there is a checkpoint then, by default."""


def committed_as(batch: BatchId) -> CommitProperties:
    """What makes a commit that of a batch, and notes in its metadata where in the source's log it ends."""
    noted = {PLACE: batch.place} if batch.place else None
    return CommitProperties(noted, app_transactions=[Transaction(batch.application, batch.number)])


def kept_up(table: DeltaTable) -> PostCommitHookProperties:
    """What delta-rs does behind the next commit: it makes checkpoints, and now and then removes old versions.

    Before it removes any it lists the whole log, of 30 days, which by default it does with each commit.
    """
    versions = table.version() + 2
    return PostCommitHookProperties(cleanup_expired_logs=False if versions % _CLEANED_EVERY else None)
