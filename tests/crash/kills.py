"""One pipeline that is killed again and again, and the proof of what it has delivered."""

from __future__ import annotations

import random
import time
from bisect import bisect
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from cdckit.api.record import Offset
from crash.proof import assert_begins_behind, assert_complete, without_repeats
from crash.targets import Delivered, Target
from testkit.journal import Journal, Key
from testkit.running import Pipeline, Running
from testkit.servers.mysql_family import SQLServer

ROWS = 20_000
"""Rows that are there when the first pipeline begins."""
LONGEST_RUN = 1.5
"""How many seconds a streaming pipeline lives at the most."""


@dataclass
class Kills:
    """What happens to one pipeline.

    Attributes:
        known: how many changes of each key there were when the first point was noted.
        saved: the offset that was saved when each run began.
        began: when each run began, in seconds since 1970.
        killed_in: what each killed run was doing.
    """

    pipeline: Pipeline
    target: Target
    journal: Journal
    random: random.Random
    known: dict[Key, int] = field(default_factory=dict)
    saved: list[Offset | None] = field(default_factory=list)
    began: list[float] = field(default_factory=list)
    killed_in: list[str] = field(default_factory=list)

    def in_snapshot(self, held: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Kills a run after a random part of the rows has arrived.

        Args:
            held: once the point is noted, keeps the snapshot from ending.
        """
        part = self.random.uniform(0.01, 0.7)
        before = self.target.size()
        with self._run() as process:
            self._note_point(process)
            with held():
                process.wait_until(lambda: self.target.size() - before >= part * ROWS)
                self._kill(process)

    def in_stream(self) -> None:
        """Kills a run after a random time, the first one once its snapshot is over."""
        with self._run() as process:
            self._note_point(process)
            process.wait_until(lambda: _past_snapshot(self.pipeline.offset()), "the end of the snapshot")
            time.sleep(self.random.uniform(0, LONGEST_RUN))
            self._kill(process)

    def in_transaction(self) -> None:
        """Kills a run soon after it has saved an offset inside a transaction."""
        with self._run() as process:
            process.wait_until(lambda: bool((self.pipeline.offset() or {}).get("event")), "the inside of a transaction")
            time.sleep(self.random.uniform(0, 0.1))
            self._kill(process)

    def to_the_end(self) -> None:
        """Lets a run come to the log's end."""
        with self._run("--once") as process:
            ended = process.ended()
            assert ended.code == 0, ended.stderr

    def prove(self, server: SQLServer) -> None:
        """Compares what has arrived with what was committed."""
        runs: dict[int, list[Delivered]] = defaultdict(list)
        delivered = list(self.target.delivered())
        for record in delivered:
            runs[self._number_of(record.run)].append(record)
        for number, records in runs.items():
            if self.target.in_order or number == len(self.saved) - 1:
                assert_begins_behind(server, self.saved[number], records, delivered)
        assert_complete(self.journal.changes(), without_repeats(delivered), self.known)

    @contextmanager
    def _run(self, *arguments: str) -> Iterator[Running]:
        self.saved.append(self.pipeline.offset())
        self.began.append(time.time())
        with self.pipeline.running(*arguments) as process:
            yield process

    def _note_point(self, process: Running) -> None:
        if not self.known:
            process.wait_for("snapshot at")
            self.known = self.journal.lengths()

    def _kill(self, process: Running) -> None:
        process.kill()
        offset = self.pipeline.offset()
        place = "transaction" if (offset or {}).get("event") else "log"
        self.killed_in.append(place if _past_snapshot(offset) else "snapshot")

    def _number_of(self, run: str) -> int:
        """Which run it was: its id is a UUID of version 7, which begins with the time in milliseconds."""
        moment = int(run.replace("-", "")[:12], 16) / 1000
        return bisect(self.began, moment) - 1


def _past_snapshot(offset: Offset | None) -> bool:
    return offset is not None and not offset.get("snapshot")
