"""Many pipelines at once: a row for each, the ill ones first, read from their folders and nothing else."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cdckit.engine.metrics.status import PipelineStatus
from cdckit.engine.metrics.status_file import read_status
from cdckit.engine.quarantine.store import FILE, kept_count
from cdckit.errors import StateError
from cdckit.ui.folders import state_folders
from cdckit.ui.ills import Ill, forecast_of, ill, unreadable

_SETTLED_NS = 2_000_000_000
_LOOK_ANEW_SECONDS = 5.0
"""How often new folders are looked for."""


@dataclass(frozen=True, slots=True)
class Member:
    """One pipeline of the fleet.

    Attributes:
        folder: its state folder.
        status: what is known; None: it cannot be read.
        ill: what is wrong.
    """

    folder: Path
    status: PipelineStatus | None
    ill: Ill

    @property
    def id(self) -> str:
        """What addresses call it."""
        return identify(self.folder)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.folder.name if self.status is None else self.status.pipeline

    @property
    def order(self) -> tuple[int, str, str]:
        """The ill ones first, then by name."""
        return self.ill.rank, self.name, str(self.folder)


def identify(folder: Path) -> str:
    """The same for a folder whenever it is asked."""
    return hashlib.sha256(str(folder).encode()).hexdigest()[:16]


@dataclass(slots=True)
class Fleet:
    """Reads the pipelines below some folders.

    Attributes:
        roots: where to look.
        stale_after: for how many seconds a pipeline with work to do may say nothing.
    """

    roots: Sequence[Path]
    stale_after: int
    _folders: dict[str, Path] = field(default_factory=dict)
    _looked: float = float("-inf")
    _kept: dict[Path, tuple[tuple[int, ...], int]] = field(default_factory=dict)

    def members(self) -> list[Member]:
        """All of them, the ill ones first."""
        if time.monotonic() - self._looked >= _LOOK_ANEW_SECONDS:
            self._folders = {identify(folder): folder for folder in state_folders(self.roots)}
            self._kept = {folder: kept for folder, kept in self._kept.items() if identify(folder) in self._folders}
            self._looked = time.monotonic()
        return sorted((self._read(folder) for folder in self._folders.values()), key=lambda member: member.order)

    def member(self, identifier: str) -> Member | None:
        """One of them; None where there is none of that id."""
        if identifier not in self._folders:
            self.members()
        folder = self._folders.get(identifier)
        return None if folder is None else self._read(folder)

    def _read(self, folder: Path) -> Member:
        try:
            run = read_status(folder)
            in_topic = run is not None and run.get("quarantine_topic") is not None
            said = (run or {}).get("quarantine_kept") or 0
            kept = said if in_topic else self._count(quarantine_of(folder, run), folder)
        except StateError as error:
            return Member(folder, None, unreadable(str(error)))
        name = str(run["pipeline"]) if run is not None else folder.name
        status = PipelineStatus(name, None, (), (), run, kept, self.stale_after)
        return Member(folder, status, ill(status))

    def _count(self, quarantine: Path, folder: Path) -> int:
        """How many records it holds, counted anew where its files have changed."""
        seen = tuple(_changed(quarantine / name) for name in (FILE, f"{FILE}-wal"))
        known = self._kept.get(folder)
        if known is not None and known[0] == seen:
            return known[1]
        count = kept_count(quarantine) if seen[0] else 0
        # What is written within one tick of a file system's clock bears the same time: so fresh a file may change yet.
        if time.time_ns() - max(seen) > _SETTLED_NS:
            self._kept[folder] = seen, count
        return count


def quarantine_of(folder: Path, run: Mapping[str, Any] | None) -> Path:
    """Where a pipeline's quarantine is: where its last run says, else where it is by default."""
    named = (run or {}).get("quarantine_folder")
    return Path(named) if isinstance(named, str) else folder / "quarantine"


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def row(member: Member) -> dict[str, Any]:
    """What the page shows of it in the fleet. Times are in seconds since 1970, so that time alone changes nothing."""
    told = {
        "id": member.id,
        "name": member.name,
        "folder": str(member.folder),
        "grade": member.ill.grade,
        "what": member.ill.what,
        "remedy": member.ill.remedy,
        "command": member.ill.command,
    }
    found = member.status
    if found is None:
        return {**told, "state": "unreadable"}
    run = found.run or {}
    forecast = forecast_of(found)
    return {
        **told,
        "state": "stale" if found.stale else found.state,
        "away": found.state == "running" and found.away,
        "error_number": run.get("error_number") if found.state == "failed" else None,
        "source": run.get("source"),
        "sink": run.get("sink"),
        "runner": run.get("runner"),
        "since": run.get("started") if found.state == "running" else run.get("written"),
        "lag_seconds": found.lag_seconds,
        "lag_bytes": found.lag_bytes,
        "lag_messages": found.lag_messages,
        "saved": run.get("saved"),
        "rate": round(found.events_per_second, 1),
        "records": found.records,
        "quarantine": found.quarantine,
        "purged_at": None if forecast is None else forecast.purged_at,
        "snapshot": _share(found),
    }


def _share(found: PipelineStatus) -> dict[str, Any] | None:
    """How far a snapshot is that runs."""
    snapshot = found.snapshot
    if snapshot is None or snapshot.state not in ("running", "paused") or found.state != "running":
        return None
    rows = sum(table.rows for table in snapshot.tables)
    known = [max(table.rows, table.rows if table.finished else table.estimate or 0) for table in snapshot.tables]
    return {
        "state": snapshot.state,
        "tables": len(snapshot.tables),
        "done": sum(table.finished for table in snapshot.tables),
        "rows": rows,
        "of": sum(known),
        "seconds_left": max((table.seconds_left for table in snapshot.tables if table.seconds_left), default=None),
    }
