"""What can be told of a pipeline from its state and its folder, whether it runs or not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from cdckit.api.record import Offset
from cdckit.api.state_store import HistorySize
from cdckit.connector.resnapshot import KEPT_AS, of
from cdckit.engine.metrics.figures import rate
from cdckit.engine.metrics.forecast import Forecast
from cdckit.engine.metrics.snapshot_figures import now
from cdckit.engine.metrics.status_file import read_status
from cdckit.engine.quarantine.store import kept_count
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset

STALE_SECONDS = 300
"""How long a pipeline that has work to do may say nothing: it tells of every batch."""

State = Literal["never run", "running", "stopped", "failed", "killed"]


class TableStatus(NamedTuple):
    """The snapshot of one table: its rows so far, about how many it has, whether all were read, and seconds left."""

    name: str
    rows: int
    estimate: int | None
    finished: bool
    seconds_left: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotStatus:
    """The last snapshot of the last run: its state, how many seconds it took so far, and its tables."""

    state: str
    seconds: float
    tables: tuple[TableStatus, ...]


@dataclass(frozen=True, slots=True)
class PipelineStatus:
    """What is known.

    What concerns the last run is as its process has last written it: at most a second old while anything happens.

    Attributes:
        pipeline: its name.
        offset: how far it has come, or None.
        histories: the histories in the state store.
        resnapshot: the tables that are asked for to be read again, until that is done.
        run: what the last run has written, or None.
        quarantine: how many records its quarantine holds; None where it has none.
        stale_after: for how many seconds it may say nothing while it has work to do.
        at: when this was found out, in seconds since 1970.
    """

    pipeline: str
    offset: Offset | None
    histories: tuple[HistorySize, ...]
    resnapshot: tuple[str, ...]
    run: Mapping[str, Any] | None
    quarantine: int | None = None
    stale_after: int = STALE_SECONDS
    at: float = field(default_factory=now)

    @property
    def state(self) -> State:
        """What became of the last run; `killed` when its process is gone and did not say why."""
        if self.run is None:
            return "never run"
        written: State = self.run["state"]
        if written in ("stopped", "failed"):
            return written
        return "running" if self.run["alive"] else "killed"

    @property
    def runner(self) -> str:
        """Who drove it."""
        return str(self._said("runner"))

    @property
    def pid(self) -> int | None:
        """The process of the last run."""
        pid: int | None = self._said("pid")
        return pid

    @property
    def error(self) -> str | None:
        """What the last run failed by."""
        error: str | None = self._said("error")
        return error

    @property
    def error_type(self) -> str:
        """That error's class."""
        return str(self._said("error_type"))

    @property
    def error_number(self) -> str:
        """That error's number."""
        return str(self._said("error_number") or "")

    @property
    def metrics(self) -> str | None:
        """Where the running pipeline serves its metrics."""
        url: str | None = self._said("metrics")
        return url if self.state == "running" else None

    @property
    def away(self) -> bool:
        """Whether the source's connection is lost."""
        return bool(self._said("disconnects")) and not self._said("connected")

    @property
    def stale(self) -> bool:
        """Whether it runs, had work to do, and has not been heard of for long; an idle one has nothing to say."""
        if self.state != "running" or self.age <= self.stale_after:
            return False
        reads_tables = self.snapshot is not None and self.snapshot.state == "running"
        return self.away or reads_tables or bool(self.lag_seconds)

    @property
    def disconnected_by(self) -> str | None:
        """What was said when it was last lost."""
        reason: str | None = self._said("disconnected_by")
        return reason

    @property
    def seconds(self) -> int:
        """For how long it runs."""
        return self._ago("started") or 0

    @property
    def age(self) -> int:
        """How long ago the last run was heard of."""
        return self._ago("written") or 0

    @property
    def saved_ago(self) -> int | None:
        """How long ago its offset was saved; None where it saved none."""
        return self._ago("saved")

    @property
    def lag_seconds(self) -> float | None:
        """How old the newest delivered change was when the offset was saved; 0 at the log's end."""
        lag: float | None = self._said("lag_seconds")
        return lag

    @property
    def lag_bytes(self) -> int | None:
        """How much of the log lay behind it."""
        lag: int | None = self._said("lag_bytes")
        return lag

    @property
    def lag_messages(self) -> int | None:
        """The same in messages."""
        lag: int | None = self._said("lag_messages")
        return lag

    @property
    def records(self) -> int:
        """How many records the last run delivered."""
        return int(self._said("records") or 0)

    @property
    def events_per_second(self) -> float:
        """Over the last seconds."""
        if self.state != "running":
            return 0.0
        commits: list[tuple[float, int]] = self._said("commits") or []
        return rate(commits, float(self._said("started")), self.at)

    @property
    def operations(self) -> dict[str, int]:
        """Changes by operation, where metrics are on."""
        return dict(self._said("operations") or {})

    @property
    def skipped(self) -> dict[str, int]:
        """How many events of each table were left out because they could not be decoded."""
        return dict(self._said("skipped") or {})

    @property
    def quarantined(self) -> dict[str, int]:
        """How many records went to the quarantine in the last run, by stage."""
        return dict(self._said("quarantined") or {})

    @property
    def left_out(self) -> dict[str, int]:
        """How many records could not be delivered in the last run and were left out, by stage."""
        return dict(self._said("left_out") or {})

    @property
    def unmatched(self) -> list[str]:
        """A sentence about each entry of the include lists that matched nothing when it started."""
        return list(self._said("unmatched") or ())

    @property
    def forecast(self) -> Forecast | None:
        """When the log is purged that is to be read, as the last run has last told; None where it cannot be."""
        kept: Mapping[str, Any] | None = self._said("forecast")
        return None if kept is None else Forecast.from_json(kept)

    @property
    def snapshot(self) -> SnapshotStatus | None:
        """The last run's snapshot, or None where it took none."""
        found: Mapping[str, Any] | None = self._said("snapshot")
        if found is None:
            return None
        tables = tuple(TableStatus(name, **table) for name, table in found["tables"].items())
        state = "broken off" if found["state"] == "aborted" or self.state == "killed" else found["state"]
        running = found["state"] == "running" and self.state == "running"
        seconds = self.at - found["began"] if running else found["seconds"]
        return SnapshotStatus("paused" if running and found["paused"] else state, seconds, tables)

    def to_json(self) -> dict[str, Any]:
        """All of it for programs."""
        snapshot = self.snapshot
        return {
            "pipeline": self.pipeline,
            "state": self.state,
            "stale": self.stale,
            "runner": self._said("runner"),
            "pid": self.pid,
            "error": self.error,
            "error_type": self.error_type if self.error else None,
            "error_number": self.error_number if self.error else None,
            "started": self._said("started"),
            "written": self._said("written"),
            "metrics": self.metrics,
            "connected": self._said("connected") if self.state == "running" else False,
            "disconnects": self._said("disconnects"),
            "offset": self.offset,
            "offset_saved": self._said("saved"),
            "last_event_time": self._said("log_time"),
            "lag_seconds": self.lag_seconds,
            "lag_bytes": self.lag_bytes,
            "lag_messages": self.lag_messages,
            "records": self.records,
            "log_bytes": self._said("log_bytes"),
            "events_per_second": round(self.events_per_second, 1),
            "operations": self.operations,
            "snapshot": None if snapshot is None else _json(snapshot),
            "resnapshot": list(self.resnapshot),
            "histories": {name: {"entries": entries, "bytes": size} for name, entries, size in self.histories},
            "skipped": self.skipped,
            "quarantine": self.quarantine,
            "quarantined": self.quarantined,
            "left_out": self.left_out,
            "unmatched": self.unmatched,
            "forecast": None if self.forecast is None else self.forecast.to_json(self.at),
        }

    def _said(self, member: str) -> Any:
        return None if self.run is None else self.run.get(member)

    def _ago(self, member: str) -> int | None:
        when = self._said(member)
        return None if when is None else max(0, round(self.at - when))


def _json(snapshot: SnapshotStatus) -> dict[str, Any]:
    return {**asdict(snapshot), "tables": [table._asdict() for table in snapshot.tables]}


def pipeline_status(place: StatePlace, stale_after: int = STALE_SECONDS) -> PipelineStatus:
    """The status of the pipeline whose state is there, which may be running.

    Raises:
        StateError: the state cannot be read.
    """
    offset = current_offset(place)
    with place.view() as view:
        wanted, histories = of(view.get(KEPT_AS), offset), tuple(view.history_sizes())
    again = wanted.tables if wanted is not None else ()
    run = read_status(place.folder)
    # Of a topic, what the last run has said: nobody is asked here.
    kept = (run or {}).get("quarantine_kept") if place.quarantine is None else kept_count(place.quarantine)
    return PipelineStatus(place.pipeline, offset, histories, again, run, kept, stale_after)
