"""One pipeline in all that its state folder tells."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cdckit.engine.metrics.details_file import read_details
from cdckit.engine.metrics.status import PipelineStatus, pipeline_status
from cdckit.engine.metrics.trend import Sample, kept
from cdckit.engine.quarantine.store import kept_by_topic
from cdckit.engine.state.file import FileBackend
from cdckit.engine.state.file_config import FileStateConfig
from cdckit.engine.state.place import StatePlace
from cdckit.errors import StateError
from cdckit.ui.actions import refusals
from cdckit.ui.fleet import Member, quarantine_of, row

PROOF = "proof.json"
PROOF_VERSION = 1
_LONGEST_GAP = 60.0
"""Between samples further apart than this nothing is known, in seconds."""
_MOST_ROWS = 2_000
"""So many tables are sent to the page."""


def details(member: Member, stale_after: int) -> dict[str, Any]:
    """What the page shows of a pipeline.

    Raises:
        StateError: its state cannot be read.
    """
    told = row(member)
    if member.status is None:
        return {**told, "tables": [], "timeline": [], "trend": {}}
    found = _with_state(member, stale_after)
    run, written = found.run or {}, read_details(member.folder)
    quarantine = quarantine_of(member.folder, found.run)
    by_topic = kept_by_topic(quarantine)
    return {
        **told,
        "file": run.get("file"),
        "as_written": run.get("as_written", True),
        "store": run.get("store", "file"),
        "pid": found.pid if found.state == "running" else None,
        "metrics": found.metrics,
        "offset": found.offset,
        "source_lag": run.get("source_lag"),
        "sink_lag": run.get("sink_lag"),
        "log_time": run.get("log_time"),
        "log_bytes": run.get("log_bytes"),
        "disconnects": run.get("disconnects"),
        "forecast": run.get("forecast"),
        "quarantined": found.quarantined,
        "left_out": found.left_out,
        "skipped": found.skipped,
        "unmatched": found.unmatched,
        "resnapshot": list(found.resnapshot),
        "histories": [{"name": name, "entries": entries, "bytes": size} for name, entries, size in found.histories],
        "snapshot_tables": _snapshot(found),
        "timeline": written.get("timeline", []),
        "trend": trend([list(sample) for sample in kept(written.get("samples", ()))]),
        "tables": _tables(found, written, by_topic),
        "by_topic": by_topic,
        "proof": proof(member.folder),
        "signals": run.get("signals", []),
        "refusals": refusals(member),
    }


def _with_state(member: Member, stale_after: int) -> PipelineStatus:
    """The status with what the state store tells, where that is in the folder."""
    assert member.status is not None
    run = member.status.run or {}
    if run.get("store", "file") != "file":
        return member.status
    backend = FileBackend(FileStateConfig(path=member.folder))
    # Of a quarantine in a topic the last run has told how much there is.
    kept = None if run.get("quarantine_topic") else quarantine_of(member.folder, run)
    place = StatePlace(member.name, member.folder, backend, kept)
    return pipeline_status(place, stale_after)


def _snapshot(found: PipelineStatus) -> dict[str, Any] | None:
    snapshot = found.snapshot
    if snapshot is None:
        return None
    unfinished = [table for table in snapshot.tables if not table.finished]
    shown = [*unfinished, *(table for table in snapshot.tables if table.finished)][:_MOST_ROWS]
    return {
        "state": snapshot.state,
        "seconds": round(snapshot.seconds),
        "count": len(snapshot.tables),
        "done": len(snapshot.tables) - len(unfinished),
        "tables": [table._asdict() for table in shown],
    }


def trend(samples: list[list[Any]]) -> dict[str, list[Any]]:
    """Columns for charts: what grows as so much a second between two samples; None where that is not known."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("at", "rate", "rows", "bytes", "lag", "source_lag", "sink_lag", "cpu", "memory")
    }
    before: Sample | None = None
    for one in (Sample(*each) for each in samples):
        if before is not None and one.at - before.at > _LONGEST_GAP:
            _add(columns, before.at + 1, None)
            before = None
        _add(columns, one.at, (before, one))
        before = one
    return columns


def _add(columns: dict[str, list[Any]], at: float, pair: tuple[Sample | None, Sample] | None) -> None:
    columns["at"].append(at)
    if pair is None:
        for name in columns.keys() - {"at"}:
            columns[name].append(None)
        return
    before, one = pair
    columns["rate"].append(_speed(before, one, "records"))
    columns["rows"].append(_speed(before, one, "rows"))
    columns["bytes"].append(_speed(before, one, "log_bytes"))
    columns["cpu"].append(_speed(before, one, "cpu_seconds"))
    columns["lag"].append(one.lag_seconds)
    columns["source_lag"].append(one.source_lag)
    columns["sink_lag"].append(one.sink_lag)
    columns["memory"].append(one.memory_bytes)


def _speed(before: Sample | None, one: Sample, member: str) -> float | None:
    """How fast it grew; None at a run's first sample, where it began anew."""
    if before is None or before.run != one.run or one.at <= before.at:
        return None
    grown: float = getattr(one, member) - getattr(before, member)
    return round(max(0.0, grown) / (one.at - before.at), 3)


def _tables(found: PipelineStatus, written: dict[str, Any], by_topic: dict[str, int]) -> list[dict[str, Any]]:
    """Changes by table, those first that were longest without one; of a table that was never changed nothing tells."""
    counted: dict[str, Any] = written.get("tables") or {}
    read = {table.name: table for table in found.snapshot.tables} if found.snapshot is not None else {}
    names = dict.fromkeys([*counted, *(written.get("captured") or ()), *read])
    tables = [
        {
            "name": name,
            "c": counted.get(name, {}).get("c", 0),
            "u": counted.get(name, {}).get("u", 0),
            "d": counted.get(name, {}).get("d", 0),
            "t": counted.get(name, {}).get("t", 0),
            "changed": counted.get(name, {}).get("changed"),
            "rows": read[name].rows if name in read else None,
            "quarantined": sum(
                count for topic, count in by_topic.items() if topic == name or topic.endswith(f".{name}")
            ),
            "skipped": found.skipped.get(name, 0),
        }
        for name in names
    ]
    return sorted(tables, key=lambda table: (table["changed"] or 0, table["name"]))[:_MOST_ROWS]


def proof(folder: Path) -> dict[str, Any] | None:
    """What `cdc diff` has found last: whether each table is equal to its source's; None where it was never asked."""
    try:
        found = json.loads((folder / PROOF).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, RecursionError, ValueError) as error:
        raise StateError(f"{folder / PROOF}: {error}; the next `cdc diff` writes it anew", number="CDC7102") from error
    if not isinstance(found, dict) or found.get("version") != PROOF_VERSION:
        raise StateError(
            f"{folder / PROOF}: another version of cdckit wrote it; the next `cdc diff` writes it anew",
            number="CDC7102",
        )
    tables = found.get("tables")
    named = tables.items() if isinstance(tables, dict) else ()
    rows = [{"name": name, **told} for name, told in named if isinstance(told, dict)]
    order = {"unequal": 0, "undecided": 1}
    rows.sort(key=lambda each: (order.get(str(each.get("outcome")), 2), str(each["name"])))
    return {"finished": found.get("finished"), "tables": rows[:_MOST_ROWS]}
