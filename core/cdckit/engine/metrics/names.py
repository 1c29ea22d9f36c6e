"""The option `metrics.names`: by whose names metrics are served."""

from __future__ import annotations

from typing import Literal

Names = Literal["cdckit", "debezium", "both"]
"""Our own, those of Debezium's connectors behind the JMX exporter, or both."""
