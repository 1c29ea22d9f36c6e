"""Options: transactions by who numbered them."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from cdckit import PluginConfig, RegexList


class GtidOptions(PluginConfig):
    """Transactions by their GTIDs."""

    gtid_source_includes: RegexList = ""
    """Sources whose transactions are captured: regular expressions that match a whole UUID (MySQL; for one tag
    `UUID:TAG`) or number of a replication domain (MariaDB). Where to go on is found by them alone: that a server lacks
    others is no reason to stop.
    """
    gtid_source_excludes: RegexList = ""
    """Sources whose transactions are left out; not together with `gtid.source.includes`."""
    gtid_source_filter_dml_events: bool = True
    """Whether the rows of other sources' transactions are left out; else the two lists only say by which transactions
    to find where to go on.
    """
    gtid_ignore_on_recovery: bool = False
    """Whether reading goes on by file and position, though the server has GTIDs."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.gtid_source_includes and self.gtid_source_excludes:
            raise ValueError("gtid.source.includes and gtid.source.excludes exclude each other; keep one")
        return self
