"""State folders of many pipelines, as their runs would have left them: written by what runs write them by."""

from __future__ import annotations

import json
import math
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from cdckit import errors
from cdckit.engine.metrics.details_file import DETAILS, FORMAT
from cdckit.engine.metrics.figures import Figures
from cdckit.engine.metrics.forecast import Forecast
from cdckit.engine.metrics.run_place import RunPlace
from cdckit.engine.metrics.status_file import StatusFile
from cdckit.engine.metrics.trend import Sample
from cdckit.engine.quarantine.store import Quarantined, QuarantineStore
from cdckit.engine.state.sqlite import SqliteStateStore

_HOUR = 3600.0
_TEAMS = ("billing", "catalog", "crm", "fleet", "identity", "inventory", "ledger", "orders", "search", "stock")


class Planted:
    """Plants pipelines below a folder; those that run hold their locks until it is closed.

    Args:
        root: below it each pipeline gets its state folder.
        files: where their pipeline files would be.
    """

    def __init__(self, root: Path, files: Path | None = None) -> None:
        self.root = root
        self._files = files or root
        (root / "state").mkdir(parents=True, exist_ok=True)
        self._random = random.Random(7)
        self._stack = ExitStack()
        self._running: dict[str, StatusFile] = {}
        self._rewritten: dict[str, Callable[[dict[str, Any]], None]] = {}

    def close(self) -> None:
        """The pipelines run no longer."""
        self._stack.close()

    def folder(self, name: str) -> Path:
        """The state folder of a pipeline."""
        return self.root / "state" / name

    def figures(self, name: str, source: str = "mysql", runner: str = "direct", sink: str = "kafka") -> Figures:
        """Those of a pipeline that follows its log, three hours old."""
        file = self._files / f"{name}.yaml"
        made = Figures(name, source, name, runner, state="running", started=time.time() - 3 * _HOUR)
        signals = ("execute-snapshot", "stop-snapshot", "pause-snapshot", "resume-snapshot", "log")
        quarantine = self.folder(name) / "quarantine"
        made.place = RunPlace(file, True, "file", quarantine, signals if runner == "direct" else (), sink)
        made.connected = True
        made.saved = made.delivered = time.time() - 1
        made.log_time = time.time() - 1.2
        made.lag_seconds = 0.0 if self._random.random() < 0.4 else round(self._random.uniform(0.1, 4.0), 2)
        made.lag_bytes = int(made.lag_seconds * self._random.randrange(2_000, 90_000))
        made.pace.source_lag, made.pace.sink_lag = round(made.lag_seconds * 0.4 + 0.01, 3), 0.012
        made.records = self._random.randrange(10_000, 9_000_000)
        made.commits.append((time.time() - 1, self._random.randrange(10, 30_000)))
        return made

    def running(self, name: str, figures: Figures | None = None) -> Figures:
        """A pipeline that runs."""
        figures = figures or self.figures(name)
        status = StatusFile(self.folder(name), figures)
        self._running[name] = status
        self._stack.callback(status.close)
        return figures

    def change(self, name: str) -> None:
        """Has a running pipeline's figures written, as they are now."""
        self._running[name].write()

    def breathe(self) -> None:
        """Each pipeline that runs has delivered something just now."""
        for name, status in self._running.items():
            figures, now = status._figures, time.time()
            figures.saved = figures.delivered = now
            figures.commits.append((now, self._random.randrange(5, 3_000)))
            figures.records += figures.commits[-1][1]
            status.write()
            if name in self._rewritten:
                self.rewritten(name, self._rewritten[name])

    def ended(self, name: str, error: BaseException | None = None, figures: Figures | None = None) -> None:
        """A pipeline that has ended, by an error or by itself."""
        figures = figures or self.figures(name)
        status = StatusFile(self.folder(name), figures)
        figures.stop(error)
        status.close()

    def killed(self, name: str) -> None:
        """A pipeline whose process was killed: it said nothing more."""
        status = StatusFile(self.folder(name), self.figures(name))
        assert status._lock is not None  # a process that is gone holds no lock
        os.close(status._lock)

    def rewritten(self, name: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Changes what a pipeline's status says."""
        self._rewritten[name] = change
        path = self.folder(name) / "status.json"
        status = json.loads(path.read_text(encoding="utf-8"))
        change(status)
        path.write_text(json.dumps(status), encoding="utf-8")

    def quarantine(self, name: str, reasons: list[str], value: dict[str, Any], first: int = 0) -> None:
        """Records in a pipeline's quarantine, a reason each, numbered from `first`."""
        store = QuarantineStore(self.folder(name) / "quarantine")
        for number, reason in enumerate(reasons, first):
            row = value | {"id": number}
            topic, key = f"{name}.shop.orders", {"id": number}
            content = {"form": "record", "topic": topic, "key": key, "value": row, "headers": []}
            kept = time.time() - 60.0 * (len(reasons) - number)
            position = f"0001-binlog.000042-{number:012d}"
            args = ("transform", "Cast$Value", reason, topic, position, f"record {number}")
            store.add(Quarantined(f"{name}-{number}", kept, *args, json.dumps(content).encode()))  # type: ignore[arg-type]
        store.sync()
        store.close()

    def state(self, name: str, offset: dict[str, Any]) -> None:
        """A pipeline's saved offset."""
        store = SqliteStateStore(self.folder(name))
        store.save_offset(offset)
        store.close()

    def details(self, name: str, tables: dict[str, dict[str, Any]], timeline: list[list[Any]]) -> None:
        """A pipeline's last hour, with a hump of load in it."""
        began, records, rows, read, cpu = time.time() - 3 * _HOUR, 0.0, 0.0, 0.0, 0.0
        samples = []
        for at in range(360):
            hump = math.exp(-(((at - 250) / 28) ** 2))
            speed = 900 + 350 * math.sin(at / 23) + 5200 * hump + self._random.uniform(-120, 120)
            records, read = records + 10 * speed, read + 10 * speed * 210
            cpu += 10 * (0.06 + speed * 5.5e-5)
            source, sink = 0.02 + 2.6 * hump + self._random.uniform(0, 0.04), 0.012 + 0.15 * hump
            memory = int(61e6 + 9e6 * hump + self._random.uniform(0, 4e5))
            when = time.time() - 10 * (359 - at)
            samples.append(
                Sample(when, began, int(records), int(rows), int(read), source + sink, source, sink, cpu, memory)
            )
        written = {"format": FORMAT, "samples": samples, "timeline": timeline, "tables": tables, "captured": []}
        (self.folder(name) / DETAILS).write_text(json.dumps(written), encoding="utf-8")

    def proof(self, name: str, tables: dict[str, dict[str, Any]]) -> None:
        """What `cdc diff` has found."""
        found = {"version": 1, "finished": "2026-05-04T06:00:12Z", "tables": tables}
        (self.folder(name) / "proof.json").write_text(json.dumps(found), encoding="utf-8")


@contextmanager
def planted(root: Path, files: Path | None = None) -> Iterator[Planted]:
    """Plants pipelines; those that run do so while the context lasts."""
    made = Planted(root, files)
    try:
        yield made
    finally:
        made.close()


def names(number: int) -> list[str]:
    """So many names of pipelines."""
    return [f"{_TEAMS[at % len(_TEAMS)]}-{at // len(_TEAMS) + 1:02}" for at in range(number)]


ILL = ("crm-02", "orders-03", "billing-01", "search-04", "stock-05", "catalog-02", "ledger-01")
"""The pipelines of `plant_fleet` that are not well, from the worst; those of one grade by name."""
STALE_SECONDS = 3_600
"""After so long a planted pipeline is stale: nobody goes on writing what those that are well say."""


def plant_fleet(made: Planted, number: int) -> None:
    """A fleet of so many pipelines, seven of them ill, two that were stopped, and one with all that can be shown."""
    ills: dict[str, Callable[[str], None]] = {
        "orders-03": lambda name: made.ended(
            name,
            errors.SourceError(
                "the server has purged binlog.000117, which the pipeline needs next; it holds the log from "
                "binlog.000120 on: begin anew with a snapshot (cdc offsets reset FILE), and have the server keep "
                "its log for longer (binlog_expire_logs_seconds)"
            ),
        ),
        "crm-02": made.killed,
        "stock-05": lambda name: _away(made, name),
        "billing-01": lambda name: _purged(made, name),
        "search-04": lambda name: _stale(made, name),
        "catalog-02": lambda name: _kept(made, name),
        "ledger-01": lambda name: _behind(made, name),
        "identity-02": made.ended,
        "fleet-03": made.ended,
        "inventory-01": lambda name: _rich(made, name),
    }  # fmt: skip
    for name in names(number):
        if name in ills:
            ills[name](name)
        else:
            _well(made, name)


def _well(made: Planted, name: str) -> None:
    source, runner, sink = made._random.choice(
        [("mysql", "direct", "kafka"), ("mysql", "spark", "spark"), ("mongodb", "direct", "kafka"),
         ("mariadb", "direct", "file"), ("ticdc", "direct", "kafka")]
    )  # fmt: skip
    made.running(name, made.figures(name, source, runner, sink))


def _away(made: Planted, name: str) -> None:
    figures = made.figures(name)
    figures.connected, figures.disconnects = False, 4
    figures.disconnected_by = "127.0.0.1:3306: connection refused (2003)"
    made.running(name, figures)


def _purged(made: Planted, name: str) -> None:
    figures = made.figures(name)
    figures.lag_seconds, figures.lag_bytes = 5_400.0, 48_000_000_000
    now, by = time.time(), "binlog_expire_logs_seconds"
    remedy = f"SET GLOBAL {by} = 604800"
    figures.forecast = Forecast(now, "binlog.000311", now + 7_300, 10_900, by, remedy)
    made.running(name, figures)


def _stale(made: Planted, name: str) -> None:
    figures = made.figures(name, "mongodb")
    figures.lag_seconds = 44.0
    made.running(name, figures)
    made.rewritten(name, lambda status: status.update(written=time.time() - STALE_SECONDS - 1_260))


def _kept(made: Planted, name: str) -> None:
    made.running(name)
    reasons = [f"Cast$Value: number, amount: 'n/a {at}' is no int32" for at in range(12)]
    made.quarantine(name, reasons, {"amount": "n/a", "customer": "Ada Lovelace"})


def _behind(made: Planted, name: str) -> None:
    figures = made.figures(name, "mysql", "spark", "spark")
    figures.lag_seconds, figures.lag_bytes = 1_510.0, 3_100_000_000
    made.running(name, figures)


def _rich(made: Planted, name: str) -> None:
    """One that shows all that can be shown: a snapshot beside the log, tables, changes of definitions, a proof."""
    figures = made.figures(name)
    figures.lag_seconds, figures.lag_bytes, figures.records = 0.43, 12_300, 4_204_311
    figures.pace.source_lag, figures.pace.sink_lag = 0.412, 0.018
    figures.forecast = Forecast(time.time(), "binlog.000042", time.time() + 3.01 * 86_400, 30)
    snapshot = figures.snapshot
    snapshot.begin({"shop.orders": 4_000_000, "shop.lines": 9_200_000, "shop.customers": 180_000})
    snapshot.began = time.time() - 340
    snapshot.read("shop.customers", 180_204, 180_000, finished=True)
    snapshot.read("shop.orders", 0, 4_000_000, finished=False)
    snapshot.tables["shop.orders"].began = time.time() - 200
    snapshot.read("shop.orders", 2_610_000, 4_000_000, finished=False)
    made.running(name, figures)
    made.state(name, {"file": "binlog.000042", "pos": 1988, "gtids": "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-90210"})
    now = time.time()
    tables = {
        f"shop.{table}": dict(Counter(c=c, u=u, d=d)) | {"changed": now - ago}
        for table, c, u, d, ago in (
            ("countries", 2, 0, 0, 3_100_000), ("suppliers", 12, 41, 1, 93_000), ("customers", 180, 2_204, 12, 640),
            ("prices", 0, 40_118, 0, 31), ("stock", 310, 1_204_118, 4, 2), ("orders", 204_311, 410_020, 0, 1),
            ("lines", 911_204, 0, 11_020, 1),
        )
    }  # fmt: skip
    made.details(
        name,
        tables,
        [
            [now - 3 * _HOUR, "started", "started on the runner direct", "", 1],
            [now - 9_800, "lost", "127.0.0.1:3306: server has gone away (2006)", "", 3],
            [now - 9_770, "back", "the source is back", "", 1],
            [now - 5_300, "schema", "ALTER TABLE `orders` ADD COLUMN `channel` varchar(32) NULL", "shop.orders", 1],
            [now - 2_100, "schema", "ALTER TABLE `lines` MODIFY `quantity` decimal(12,3) NOT NULL", "shop.lines", 1],
            [now - 340, "snapshot", "a snapshot of 3 tables began", "", 1],
        ],
    )
    counts = dict.fromkeys(("rows", "missing", "extra", "changed"), 0)
    proof = {"topic": "", "position": None, "seconds": 1.2, "note": "", **counts}
    made.proof(
        name,
        {
            "shop.customers": proof | {"outcome": "equal", "rows": 180_204},
            "shop.orders": proof | {"outcome": "unequal", "rows": 4_011_202, "missing": 3, "changed": 1,
                                    "note": "first missing key: 3999120", "seconds": 41.0},
            "shop.lines": proof | {"outcome": "undecided", "rows": 9_204_118, "seconds": 90.4,
                                   "note": "rows changed while they were read; asked again three times"},
        },
    )  # fmt: skip
