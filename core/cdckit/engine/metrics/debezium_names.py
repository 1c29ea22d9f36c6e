"""The metrics under the names that Prometheus's JMX exporter gives those of Debezium's connectors.

As the exporter's configuration in Debezium's examples makes them: `debezium_metrics_` and the attribute's name, with
the labels `plugin`, `name` and `context`, of tables `table`; numbers as Debezium gives them, in milliseconds, and -1
where there is none yet. Texts have no series there, and so none here. `SecondsSinceLastEvent`, `SecondsBehindMaster`
and `NumberOfEventsSkipped` are older than the attributes of today, and boards still ask for them. The last ones count
by table, as connectors with `advanced.metrics.enable` do; the example of those has its own name for one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from cdckit.engine.metrics.engine import operations
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.metric import Metric, Sample
from cdckit.engine.metrics.snapshot_figures import now

PREFIX = "debezium_metrics_"
DEBEZIUM_LABELS = frozenset({"plugin", "name", "context", "table"})
"""Labels that mean something on Debezium's boards."""
NONE_YET = -1
"""What Debezium tells where nothing has happened."""

Value = Callable[[Figures], float | None]
_MYSQL = ("mysql", "mariadb")


@dataclass(frozen=True, slots=True)
class _Attribute:
    """One attribute of one of the contexts.

    Attributes:
        name: Debezium's.
        value: its number now; None: it has none.
        sources: the sources that have it; empty: all.
    """

    name: str
    value: Value
    sources: tuple[str, ...] = ()


def _since(value: Value, unit: int = 1000) -> Value:
    def passed(figures: Figures) -> float:
        when = value(figures)
        return NONE_YET if when is None else int((now() - when) * unit)

    return passed


def _seconds(figures: Figures) -> float:
    return NONE_YET if figures.lag_seconds is None else int(figures.lag_seconds)


def _milliseconds(figures: Figures) -> float:
    return NONE_YET if figures.lag_seconds is None else int(figures.lag_seconds * 1000)


def _capacity(figures: Figures) -> float | None:
    fill = figures.queue()
    return None if fill is None else float(fill.capacity)


def _room(figures: Figures) -> float | None:
    fill = figures.queue()
    return None if fill is None else float(fill.capacity - fill.messages)


def _bytes(figures: Figures) -> float | None:
    fill = figures.queue()
    return None if fill is None else float(fill.capacity_bytes)


def _changes(figures: Figures, *wanted: str) -> float:
    seen = operations(figures)
    return sum(seen[operation] for operation in wanted)


def _skipped(figures: Figures) -> float:
    return sum(figures.counts.skipped.values())


def _erroneous(figures: Figures) -> float:
    return sum(figures.faults.quarantined.values()) + sum(figures.faults.left_out.values())


def _tables_left(figures: Figures) -> float:
    return sum(not table.finished for table in list(figures.snapshot.tables.values()))


def _is(state: str) -> Value:
    return lambda figures: figures.snapshot.state == state


def _recovery(figures: Figures) -> float:
    began = figures.history.recovery_began
    return NONE_YET if began is None else int(began)


_QUEUE = (
    _Attribute("QueueTotalCapacity", _capacity),
    _Attribute("QueueRemainingCapacity", _room),
    _Attribute("MaxQueueSizeInBytes", _bytes),
)

_SNAPSHOT = (
    _Attribute("MilliSecondsSinceLastEvent", _since(lambda f: f.snapshot.told)),
    _Attribute("TotalNumberOfEventsSeen", lambda f: f.snapshot.rows),
    _Attribute("NumberOfEventsFiltered", lambda _: 0),
    _Attribute("NumberOfEventsSkipped", lambda _: 0),
    _Attribute("NumberOfErroneousEvents", lambda _: 0),
    *_QUEUE,
    _Attribute("TotalTableCount", lambda f: len(f.snapshot.tables)),
    _Attribute("RemainingTableCount", _tables_left),
    _Attribute("SnapshotRunning", _is("running")),
    _Attribute("SnapshotPaused", lambda f: f.snapshot.paused_since is not None),
    _Attribute("SnapshotAborted", _is("aborted")),
    _Attribute("SnapshotCompleted", _is("completed")),
    _Attribute("SnapshotDurationInSeconds", lambda f: int(f.snapshot.seconds)),
    _Attribute("SnapshotPausedDurationInSeconds", lambda f: int(f.snapshot.seconds_paused)),
    _Attribute("HoldingGlobalLock", lambda f: f.snapshot.locked, _MYSQL),
    _Attribute("NumberOfDisconnects", lambda f: f.disconnects, ("mongodb",)),
)

_STREAMING = (
    _Attribute("MilliSecondsSinceLastEvent", _since(lambda f: f.delivered)),
    _Attribute("SecondsSinceLastEvent", _since(lambda f: f.delivered, 1)),
    _Attribute("TotalNumberOfEventsSeen", lambda f: _changes(f, "c", "u", "d", "t")),
    _Attribute("TotalNumberOfCreateEventsSeen", lambda f: _changes(f, "c")),
    _Attribute("TotalNumberOfUpdateEventsSeen", lambda f: _changes(f, "u")),
    _Attribute("TotalNumberOfDeleteEventsSeen", lambda f: _changes(f, "d")),
    _Attribute("NumberOfEventsFiltered", lambda f: f.counts.filtered),
    _Attribute("NumberOfEventsSkipped", _skipped),
    _Attribute("NumberOfErroneousEvents", _erroneous),
    *_QUEUE,
    _Attribute("Connected", lambda f: f.connected),
    _Attribute("MilliSecondsBehindSource", _milliseconds),
    _Attribute("SecondsBehindMaster", _seconds),
    _Attribute("NumberOfCommittedTransactions", lambda f: f.counts.transactions),
    _Attribute("NumberOfDisconnects", lambda f: f.disconnects),
    _Attribute("NumberOfSkippedEvents", _skipped, _MYSQL),
    _Attribute("NumberOfRolledBackTransactions", lambda f: f.counts.rolled_back, _MYSQL),
    _Attribute("NumberOfNotWellFormedTransactions", lambda _: 0, _MYSQL),
    _Attribute("NumberOfLargeTransactions", lambda _: 0, _MYSQL),
    _Attribute("BinlogPosition", lambda f: (f.offset or {}).get("pos", NONE_YET), _MYSQL),
    _Attribute("IsGtidModeEnabled", lambda f: bool((f.offset or {}).get("gtids")), _MYSQL),
    _Attribute("NumberOfPrimaryElections", lambda f: f.counts.elections, ("mongodb",)),
)

_HISTORY = (
    _Attribute("RecoveryStartTime", _recovery, _MYSQL),
    _Attribute("ChangesRecovered", lambda f: f.history.recovered, _MYSQL),
    _Attribute("ChangesApplied", lambda f: f.history.applied, _MYSQL),
    _Attribute("MilliSecondsSinceLastRecoveredChange", _since(lambda f: f.history.recovered_at), _MYSQL),
    _Attribute("MilliSecondsSinceLastAppliedChange", _since(lambda f: f.history.applied_at), _MYSQL),
)

_CONTEXTS: Mapping[str, tuple[_Attribute, ...]] = {
    "snapshot": _SNAPSHOT,
    "streaming": _STREAMING,
    "schema-history": _HISTORY,
}


def _told(attribute: str) -> Callable[[Figures], Iterator[Sample]]:
    places = [(name, one) for name, context in _CONTEXTS.items() for one in context if one.name == attribute]

    def samples(figures: Figures) -> Iterator[Sample]:
        for context, one in places:
            if not one.sources or figures.source in one.sources:
                value = one.value(figures)
                if value is not None:
                    yield {"context": context}, float(value)

    return samples


def _rows(figures: Figures) -> Iterator[Sample]:
    for name, table in list(figures.snapshot.tables.items()):
        yield {"context": "snapshot", "table": name}, float(table.rows)


def _by_table(operation: str) -> Callable[[Figures], Iterator[Sample]]:
    def samples(figures: Figures) -> Iterator[Sample]:
        for name, counts in list(figures.tables.counts.items()):
            yield {"context": "streaming", "table": name}, float(counts[operation])

    return samples


def _counted(attribute: str, operation: str, name: str = "") -> Metric:
    about = f"Debezium's attribute {attribute}."
    return Metric(PREFIX + (name or attribute), "gauge", about, _by_table(operation), ("context", "table"))


def _named(attribute: str) -> Metric:
    about = f"Debezium's attribute {attribute}."
    return Metric(PREFIX + attribute, "gauge", about, _told(attribute), ("context",))


DEBEZIUM_NAMES: tuple[Metric, ...] = (
    *map(_named, dict.fromkeys(one.name for context in _CONTEXTS.values() for one in context)),
    Metric(f"{PREFIX}RowsScanned", "gauge", "Debezium's attribute RowsScanned.", _rows, ("context", "table")),
    _counted("NumberOfCreateEventsSeen", "c"),
    _counted("NumberOfUpdateEventsSeen", "u"),
    _counted("NumberOfDeleteEventsSeen", "d"),
    _counted("NumberOfTruncateEventsSeen", "t"),
    _counted("NumberOfCreateEventsSeen", "c", "create_events_count"),
)
"""All of them; each with its samples of every context that has it."""


def debezium_labels(figures: Figures) -> dict[str, str]:
    """The labels of every sample: the connector's kind, and its `topic.prefix`."""
    return {"plugin": figures.source, "name": figures.server}
