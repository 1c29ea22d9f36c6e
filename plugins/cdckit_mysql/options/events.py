"""Options: what records there are beside the changes of rows, and what they say more."""

from __future__ import annotations

from pydantic import NonNegativeInt

from cdckit import SourceConfig
from cdckit.connector.heartbeat import NOT_ON_SPARK


class EventOptions(SourceConfig):
    """Records."""

    include_query: bool = False
    """Whether `source.query` holds the statement; the server must log it (`binlog_rows_query_log_events`)."""
    provide_transaction_metadata: bool = False
    """Whether there are records for begin and end of transactions, and a `transaction` block in each event."""
    tombstones_on_delete: bool = True
    """Whether a delete is followed by a record without value, so that Kafka's compaction forgets the key."""
    extended_headers_enabled: bool = True
    """Whether records carry the four `__debezium.context.*` headers."""
    heartbeat_interval_ms: NonNegativeInt = 0
    """How often a heartbeat record is sent, in milliseconds; 0: never."""
    heartbeat_action_query: str = ""
    """A statement that is run at each heartbeat, such as one that writes to a table, so that the log of a quiet
    database moves; the user needs the privilege. Only the direct runner has heartbeats.
    """

    def without_effect_on_spark(self) -> dict[str, str]:
        """Heartbeats."""
        beats = {"heartbeat.interval.ms": NOT_ON_SPARK} if self.heartbeat_interval_ms else {}
        return {**super().without_effect_on_spark(), **beats}
