"""ActivateTracingSpan with OpenTelemetry's own SDK, held to Debezium's class with Java's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from cdckit.api.record import Header, Record, SchemaAndValue
from cdckit.api.schema import INT64, OPTIONAL_INT64, OPTIONAL_STRING, STRING, struct_schema
from cdckit.api.struct import Struct
from cdckit.errors import TransformError
from transforms.change_events import applied
from transforms.jvm import jpype, own_classes
from transforms.recorded import written

DEBEZIUMS = "io.debezium.transforms.tracing.ActivateTracingSpan"
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CONTEXT = f"# of the application\ntraceparent=00-{TRACE}-{SPAN}-01\n"
ROW = struct_schema("s.t.Value", {"id": INT64, "tracingspancontext": OPTIONAL_STRING, "other": OPTIONAL_STRING})
SOURCE = struct_schema(
    "source", {"connector": STRING, "name": STRING, "db": STRING, "ts_ms": OPTIONAL_INT64, "gtid": OPTIONAL_STRING}
)
ENVELOPE = struct_schema(
    "s.t.Envelope", {"after": ROW.as_optional(), "source": SOURCE, "op": STRING, "ts_ms": OPTIONAL_INT64}
)
OF_SOURCE = {"db.type": "mysql", "db.cdc-name": "s", "db.instance": "shop", "db.ts_ms": "1700000000000"}


@pytest.fixture(scope="session")
def exporter() -> InMemorySpanExporter:
    """Of the process's own provider, which a pipeline that an earlier test ran here may have set: it stays."""
    made = InMemorySpanExporter()
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(SimpleSpanProcessor(made))
    return made


@pytest.fixture
def spans(exporter: InMemorySpanExporter) -> Iterator[InMemorySpanExporter]:
    exporter.clear()
    yield exporter


def event(context: str | None = CONTEXT, other: str | None = None) -> Record:
    source = Struct(SOURCE, ("mysql", "s", "shop", 1_700_000_000_000, None))
    value = Struct(ENVELOPE, (Struct(ROW, (1, context, other)), source, "c", 1_700_000_000_500))
    return Record("s.t", None, value, (Header("traceparent", "old"), Header("h", "x")), "0001")


def traced(record: Record, **options: Any) -> Record:
    named = {name.replace("_", "."): value for name, value in options.items()}
    return applied(record, DEBEZIUMS, named)


def test_a_change_and_its_reading_become_spans_behind_the_applications(spans: InMemorySpanExporter) -> None:
    given = event()
    made = traced(given)
    reading, writing = spans.get_finished_spans()
    assert (writing.name, reading.name) == ("db-log-write", "debezium-read")
    assert writing.attributes == OF_SOURCE
    assert reading.attributes == {"op": "c", "ts_ms": "1700000000500"}
    assert writing.parent is not None
    assert (f"{writing.parent.trace_id:032x}", f"{writing.parent.span_id:016x}") == (TRACE, SPAN)
    assert reading.parent is not None
    assert reading.parent.span_id == writing.context.span_id
    assert (writing.start_time, reading.start_time) == (1_700_000_000_000_000_000, 1_700_000_000_500_000_000)
    assert made.headers == (
        Header("h", "x"), Header("traceparent", f"00-{TRACE}-{writing.context.span_id:016x}-01", STRING)
    )  # fmt: skip
    assert (made.topic, made.value, made.position) == (given.topic, given.value, given.position)
    assert given.headers[0] == Header("traceparent", "old")


def test_an_event_without_a_context_begins_a_trace(spans: InMemorySpanExporter) -> None:
    made = traced(event(None))
    _, writing = spans.get_finished_spans()
    assert writing.parent is None
    header = made.header("traceparent")
    assert header is not None
    assert header.value.startswith(f"00-{writing.context.trace_id:032x}-")


def test_options(spans: InMemorySpanExporter) -> None:
    only = {"tracing_with_context_field_only": "true"}
    plain = event(None)
    assert traced(plain, **only) is plain
    assert not spans.get_finished_spans()
    options = {**only, "tracing_span_context_field": "other", "tracing_operation_name": "read"}
    assert traced(event(None, CONTEXT), **options).header("traceparent")
    reading, _ = spans.get_finished_spans()
    assert (reading.name, f"{reading.context.trace_id:032x}") == ("read", TRACE)


@pytest.mark.parametrize(
    "value", [None, SchemaAndValue(None, {"op": "c"}), Struct(SOURCE, ("a", "b", "c", None, None))]
)
def test_what_is_no_change_event_passes(spans: InMemorySpanExporter, value: Any) -> None:
    record = Record("t", None, value)
    assert traced(record) is record
    assert not spans.get_finished_spans()


def test_events_without_schemas_are_traced(spans: InMemorySpanExporter) -> None:
    value = {"before": None, "after": {"tracingspancontext": CONTEXT}, "source": {"snapshot": True}, "op": "c"}
    assert traced(Record("t", None, SchemaAndValue(None, value))).header("traceparent")
    reading, writing = spans.get_finished_spans()
    assert (dict(writing.attributes or {}), dict(reading.attributes or {})) == ({"db.snapshot": "true"}, {"op": "c"})


@pytest.mark.parametrize("context", ["traceparent=\\u12", 5])
def test_a_context_that_cannot_be_read_is_named(context: Any) -> None:
    with pytest.raises(TransformError, match="tracingspancontext"):
        traced(event(context))


class Kept:
    """What Java's SDK asks of a processor: it keeps each span that ended; and the loader of that SDK's classes."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.spans: list[Any] = []

    def onStart(self, _parent: Any, _span: Any) -> None:  # noqa: N802 - Java's names
        pass

    def isStartRequired(self) -> bool:  # noqa: N802
        return False

    def onEnd(self, span: Any) -> None:  # noqa: N802
        self.spans.append(span.toSpanData())

    def isEndRequired(self) -> bool:  # noqa: N802
        return True


@pytest.fixture(scope="session")
def java() -> Kept:
    """Java's SDK, set up once, for a class of Debezium's of its own: it asks for the SDK once, when it is loaded."""
    kept, api, sdk = Kept(own_classes()), "io.opentelemetry", "io.opentelemetry.sdk"
    jpype.JClass(DEBEZIUMS)()  # as other tests of this process may have
    found = partial(jpype.JClass, loader=kept.loader)
    processor = jpype.JProxy(found(f"{sdk}.trace.SpanProcessor"), inst=kept)
    provider = found(f"{sdk}.trace.SdkTracerProvider").builder().addSpanProcessor(processor).build()
    w3c = found(f"{api}.api.trace.propagation.W3CTraceContextPropagator").getInstance()
    propagators = found(f"{api}.context.propagation.ContextPropagators").create(w3c)
    builder = found(f"{sdk}.OpenTelemetrySdk").builder().setTracerProvider(provider).setPropagators(propagators)
    builder.buildAndRegisterGlobal()
    return kept


def told_there(span: Any) -> tuple[Any, ...]:
    """A span's name, kind, time, attributes, and whether it is the child of one."""
    attributes = {
        str(entry.getKey().getKey()): str(entry.getValue()) for entry in span.getAttributes().asMap().entrySet()
    }
    kind, parent = str(span.getKind()), str(span.getParentSpanId())
    return str(span.getName()), kind, int(span.getStartEpochNanos()), attributes, parent.strip("0") != ""


def told_here(span: ReadableSpan) -> tuple[Any, ...]:
    return span.name, span.kind.name, span.start_time, dict(span.attributes or {}), span.parent is not None


def context_of(answer: Any) -> tuple[str, bool, str]:
    """What the header says: the trace, where it is the application's; whether it is sampled; and the span."""
    [header] = [header for header in answer["headers"] if header["key"] == "traceparent"]
    _, trace_part, span, flags = header["value"]["payload"].split("-")
    header["value"]["payload"] = ""
    return trace_part if trace_part == TRACE else "", bool(int(flags, 16) & 1), span


@pytest.mark.parametrize(
    "context", [CONTEXT, None, "", "traceparent=no", f"traceparent : 00-{TRACE}", CONTEXT[:-2] + "0"]
)
@pytest.mark.parametrize("options", [{}, {"tracing.with.context.field.only": "true", "tracing.operation.name": "read"}])
def test_spans_and_headers_are_debeziums(
    spans: InMemorySpanExporter, java: Kept, context: str | None, options: dict[str, str]
) -> None:
    from transforms.recordings.record import Peer

    given, name = event(context), DEBEZIUMS
    java.spans.clear()
    there: Any = Peer([{"type": name, **options}], java.loader).answer(written(given) or {})
    here = written(applied(given, name, options))
    ended = spans.get_finished_spans()
    assert [told_here(span) for span in ended] == [told_there(span) for span in java.spans]
    if context is None and options:
        assert here == there == written(given)
        return
    (*told, span), (*told_java, span_java) = context_of(here), context_of(there)
    assert (here, told) == (there, told_java)
    if ended:
        assert span == f"{ended[-1].context.span_id:016x}"
        assert span_java == str(java.spans[-1].getSpanId())
