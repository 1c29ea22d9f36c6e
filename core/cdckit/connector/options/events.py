"""Options: what records there are beside the changes, and what those say more."""

from __future__ import annotations

from pydantic import NonNegativeInt

from cdckit.api.source_config import SourceConfig
from cdckit.connector.avro_names import NameAdjustment


class EventOptions(SourceConfig):
    """Records."""

    provide_transaction_metadata: bool = False
    """Whether there are records for begin and end of transactions, and a `transaction` block in each event."""
    tombstones_on_delete: bool = True
    """Whether a delete is followed by a record without value, so that Kafka's compaction forgets the key."""
    extended_headers_enabled: bool = True
    """Whether records carry the four `__debezium.context.*` headers."""
    schema_name_adjustment_mode: NameAdjustment = "none"
    """What replaces characters that Avro does not allow in schema names: nothing, `_`, or `_uXXXX`."""
    heartbeat_interval_ms: NonNegativeInt = 0
    """How often a heartbeat record is sent, in milliseconds; 0: never."""
