"""The stage: one pipeline between a server under load and the judge, whom everything that arrives is shown to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cdckit_faults.drivers.driver import Driver, Folders, Start, Systems
from cdckit_faults.harm.clock import Clock
from cdckit_faults.harm.disk import Disk
from cdckit_faults.harm.line import Line
from cdckit_faults.history.findings import BrokenPromiseError, Finding, Verdict
from cdckit_faults.history.judge import Judge
from cdckit_faults.tables import SCRIPT
from testkit.journal import Journal
from testkit.running import PASSWORD, USER
from testkit.servers.kafka import KafkaBroker
from testkit.servers.spark_cluster import SparkCluster
from testkit.topology import Topology
from testkit.writers import ShopWriter

PATIENCE = 60.0
"""How many seconds a pipeline may take to come to the end of the log, on a busy machine."""
_NAP = 0.03
_LOG = 2000
"""So many characters of its log are shown where changes are lost."""
_ROWS = 300
"""So many rows are there before the pipeline."""
_PAUSE = 0.03
"""So many seconds the load waits between transactions."""

NewDriver = Callable[[Folders, Systems], Driver]


@dataclass(frozen=True, slots=True)
class Place:
    """What a stage stands on.

    Attributes:
        topology: the servers.
        database: its own on them.
        folder: of the pipeline's configuration and log.
        disk: of its data.
        broker: of Kafka, where the pipeline delivers to it.
        cluster: of Spark, where the pipeline runs on it.
    """

    topology: Topology
    database: str
    folder: Path
    disk: Disk
    broker: KafkaBroker | None = None
    cluster: SparkCluster | None = None


class Stage:
    """A pipeline that is harmed; it is started when the stage is opened.

    Attributes:
        place: what it stands on.
        line: between the pipeline and the server.
        driver: of the pipeline.
        load: what changes the tables; it writes while a fault is played, and else holds.
        clock: for processes that are started with it.
        ends_as: the kind of fault by whose refusal the pipeline may end now, to be started again.
        notes: what has happened in the fault that is played, for the table.
    """

    def __init__(self, place: Place, new_driver: NewDriver, seed: int, patience: float | None = None) -> None:
        self.place = place
        self.line = Line(place.topology.primary.port)
        place.topology.primary.run_sql(f"CREATE DATABASE {place.database}; USE {place.database}; {SCRIPT}")
        journal = Journal()
        self.load = ShopWriter(place.topology.primary, place.database, journal, seed, accounts=_ROWS, pause=_PAUSE)
        systems = Systems(
            "127.0.0.1",
            self.line.port,
            USER,
            PASSWORD,
            place.database,
            place.broker.bootstrap if place.broker else "",
            place.cluster.url if place.cluster else "",
        )
        self.driver = new_driver(Folders(place.folder, place.disk.folder), systems)
        self.judge = Judge(journal)
        self.clock = Clock(place.folder)
        self._patience = patience or self.driver.patience
        self.ends_as: str | None = None
        self.notes: list[str] = []

    @contextmanager
    def opened(self) -> Iterator[Stage]:
        """Starts the load and the pipeline, and waits for the end of its snapshot."""
        self.load.hold()
        with self.load, self.line:
            try:
                self.start()
                self.drain()
                self.judge.snapshot_ends()
                self.require_clean()
                yield self
            finally:
                self.driver.close()
                self.line.cut()
                self.load.release()

    def execute(self, sql: str) -> None:
        """Runs a statement in the database."""
        self.place.topology.primary.execute(sql, database=self.place.database)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Holds the load, in whose time else a fault is played."""
        self.load.hold()
        try:
            yield
        finally:
            self.load.release()

    def start(self, how: Start | None = None) -> None:
        """Starts the pipeline; what the run before has delivered is judged first."""
        self.take()
        self.judge.run_begins(self.driver.saved())
        self.allow_reconnecting()
        self.driver.start(how or Start())

    def start_anew(self, how: Start) -> None:
        """Starts the pipeline so that it takes a new snapshot, and waits until that is over."""
        with self.quiet():
            self.take()
            self.judge.snapshot_begins()
            self.start(how)
            self.drain()
            self.judge.snapshot_ends()

    def may_repeat(self) -> None:
        """From now on the pipeline may repeat what it has not saved by now."""
        self.judge.may_repeat(self.driver.saved())

    def allow_reconnecting(self) -> None:
        """Products that begin anew by themselves, where a connection is lost, may repeat what is not saved by now."""
        if self.driver.repeats_in_run:
            self.may_repeat()

    def take(self) -> int:
        """Judges what has arrived since, and returns how much it was."""
        before = self.judge.records
        for record in self.driver.delivered():
            self.judge.take(record)
        return self.judge.records - before

    def drain(self) -> None:
        """Waits until everything has arrived; the load has to hold.

        Raises:
            BrokenPromiseError: the pipeline has ended, or delivers nothing more although it could.
        """
        deadline = time.monotonic() + self._patience
        while True:
            ended = self.driver.code is not None
            if self.take():
                deadline = max(deadline, time.monotonic() + self._patience / 3)
            elif not self.judge.missing():
                return
            elif ended:
                self._start_again()
            elif time.monotonic() > deadline:
                self._tell_stuck_from_lost()
                return
            else:
                time.sleep(_NAP)

    def go_on(self) -> None:
        """Waits for another transaction of the load: once it has arrived the pipeline is known to be up."""
        commits = self.load.commits
        self.wait_until(lambda: self.load.commits > commits, PATIENCE)

    def settle(self) -> list[Finding]:
        """What is wrong since the last time."""
        return self.judge.settle()

    def require_clean(self) -> None:
        """Raises where the pipeline did not even come through its beginning."""
        if found := self.settle():
            raise AssertionError(f"before any fault: {found}\n{self.driver.log[-2000:]}")

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Waits until something holds, for so long at the most; whether it does."""
        deadline = time.monotonic() + seconds
        while not (found := holds()) and time.monotonic() < deadline:
            time.sleep(_NAP)
        return found

    def require_refusal(self, kind: str) -> None:
        """Waits until the pipeline has refused.

        Raises:
            BrokenPromiseError: it goes on, or ends with another exit code, or without a word of the reason.
        """
        refusal = self.driver.refusals[kind]
        if not self.wait_until(lambda: self.driver.code is not None, PATIENCE):
            raise BrokenPromiseError(
                Verdict.UNREFUSED, f"{kind}: it goes on instead of ending with {_codes(refusal.codes)}"
            )
        self.notes.append(f"refused with {self.driver.code}")
        if self.driver.code not in refusal.codes:
            raise BrokenPromiseError(
                Verdict.UNREFUSED, f"{kind}: ended with {self.driver.code}, not {_codes(refusal.codes)}"
            )
        if not self.driver.refuses(kind):
            raise BrokenPromiseError(
                Verdict.UNNAMED, f"{kind}: its log does not say {refusal.named!r}: {self.driver.log[-500:]}"
            )

    def recover(self) -> None:
        """Starts the pipeline anew after something was wrong, so that the next fault is judged for itself."""
        self.driver.kill()
        self.place.disk.empty()
        self.line.mend()
        self.line.accept()
        self.start_anew(Start(new_snapshot=True, poison_passes=True))
        self.driver.stop()
        self.start()

    def _start_again(self) -> None:
        """The pipeline has ended while something is missing."""
        kind, code = self.ends_as, self.driver.code
        if kind is None or not self.driver.refuses(kind):
            raise BrokenPromiseError(Verdict.ENDED, f"with {code}: {self.driver.log[-500:]}")
        self.notes.append(f"refused with {code}, went on when started again")
        self.start()

    def _tell_stuck_from_lost(self) -> None:
        """What is only stuck arrives after a new start."""
        self.driver.kill()
        self.start()
        if self.wait_until(lambda: bool(self.take()) or not self.judge.missing(), self._patience / 3):
            self.wait_until(lambda: not self.take() and not self.judge.missing(), self._patience / 3)
            if not self.judge.missing():
                raise BrokenPromiseError(
                    Verdict.STUCK, f"nothing came for {self._patience:.0f} s, until it was started again"
                )
        # The next fault may play with another pipeline: what this one has said is gone by then.
        self.notes.append(f"its log ends:\n{self.driver.log[-_LOG:]}")


def _codes(codes: frozenset[int]) -> str:
    return " or ".join(map(str, sorted(codes)))
