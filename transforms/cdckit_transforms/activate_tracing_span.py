"""ActivateTracingSpan: events as spans of OpenTelemetry (Debezium's transform of that name)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import javaproperties
from opentelemetry import propagate, trace

from cdckit import STRING, Header, Record, SchemaAndValue, Struct, Transform, TransformError
from cdckit_transforms.activate_tracing_span_config import ActivateTracingSpanConfig
from cdckit_transforms.envelope import AFTER, OPERATION, SOURCE, is_plain_envelope

LOG_WRITE = "db-log-write"
_TIME = "ts_ms"
_NAMED_OTHERWISE = {"db": "instance", "connector": "type", "name": "cdc-name"}


class ActivateTracingSpan(Transform):
    """Makes two spans of an event, of its change and of its reading, and puts the context of the first into headers."""

    def __init__(self, config: ActivateTracingSpanConfig) -> None:
        self._config = config
        self._tracer = trace.get_tracer("cdckit")

    def apply(self, record: Record) -> Record:
        """The record with the headers of the context; as it is where it is no change event.

        Raises:
            TransformError: the row's context cannot be read.
        """
        envelope = _envelope(record)
        if envelope is None:
            return record
        row, source = _members(envelope.get(AFTER)), _members(envelope.get(SOURCE))
        context = row.get(self._config.tracing_span_context_field)
        if context is None and self._config.tracing_with_context_field_only:
            return record
        span = self._tracer.start_span(
            LOG_WRITE, context=None if context is None else self._parent(context), start_time=_nanoseconds(source)
        )
        with trace.use_span(span, end_on_exit=True):
            for name, value in source.items():
                _tell(span, f"db.{_NAMED_OTHERWISE.get(name, name)}", value)
            self._tell_reading(envelope)
            carrier: dict[str, str] = {}
            propagate.inject(carrier)
        return _with_headers(record, carrier) if carrier else record

    def _parent(self, context: Any) -> Any:
        """The context that a row has."""
        option = self._config.tracing_span_context_field
        if not isinstance(context, str):
            raise TransformError(f"the row's field '{option}' is no text (tracing.span.context.field)")
        try:
            return propagate.extract(javaproperties.loads(context))
        except javaproperties.InvalidUEscapeError as error:
            raise TransformError(f"the row's field '{option}' holds no properties: {error}") from error

    def _tell_reading(self, envelope: Mapping[str, Any]) -> None:
        name = self._config.tracing_operation_name
        with self._tracer.start_as_current_span(name, start_time=_nanoseconds(envelope)) as span:
            for member in (OPERATION, _TIME):
                _tell(span, member, envelope.get(member))


def _envelope(record: Record) -> Mapping[str, Any] | None:
    """The members of a change event; None for any other record."""
    value = record.value
    if isinstance(value, Struct):
        return _members(value) if (value.schema.name or "").endswith(".Envelope") else None
    return value.value if isinstance(value, SchemaAndValue) and is_plain_envelope(value) else None


def _members(value: Any) -> Mapping[str, Any]:
    if isinstance(value, Struct):
        return dict(zip(value.schema.index, value.values, strict=True))
    return value if isinstance(value, dict) else {}


def _nanoseconds(members: Mapping[str, Any]) -> int | None:
    milliseconds = members.get(_TIME)
    return milliseconds * 1_000_000 if isinstance(milliseconds, int) else None


def _tell(span: trace.Span, name: str, value: Any) -> None:
    if value is not None:
        span.set_attribute(name, str(value).lower() if isinstance(value, bool) else str(value))


def _with_headers(record: Record, carrier: Mapping[str, str]) -> Record:
    """The record with texts in the place of the headers of the same names."""
    kept = tuple(header for header in record.headers if header.key not in carrier)
    return record.replace(headers=(*kept, *(Header(name, text, STRING) for name, text in carrier.items())))
