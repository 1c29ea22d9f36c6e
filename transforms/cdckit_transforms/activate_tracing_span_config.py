"""Options of ActivateTracingSpan."""

from __future__ import annotations

from cdckit import PluginConfig


class ActivateTracingSpanConfig(PluginConfig):
    """Which events become spans, and what these are called."""

    tracing_span_context_field: str = "tracingspancontext"
    """The field of the row, a text, in which the application has left the context of its span: the lines of a Java
    properties file, such as `traceparent=00-…`.
    """
    tracing_operation_name: str = "debezium-read"
    """The name of the span of the event itself, inside `db-log-write`, the one of its change."""
    tracing_with_context_field_only: bool = False
    """Whether events alone become spans whose row has a context."""
