"""The tables of lakes that Spark's pipelines keep: by Spark itself, and by the sinks that its driver commits with."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import psutil
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.runners.direct import DirectRunner
from cdckit.errors import CdcError, StateError
from cdckit.tables.passing import passes
from histories.lakes import Folders, IcebergTables, Keys, LoggedRows, MirroredRows, Tables
from histories.switches import MAINTENANCE, VACUUM
from spark.checkpoints import in_hand
from testkit.background import repeated
from testkit.descendants import descendants, halted
from testkit.running import Pipeline, Running
from testkit.topology import wait_until

log = logging.getLogger(__name__)

PROCESSES = {"kill worker": "pyspark.daemon", "kill planner": "python_streaming_source_runner"}
"""The modules of the processes that are killed."""
_LONGEST_WORK = 4.0
"""How many seconds one on Spark lives at the most once it has begun to write."""
_LONGEST_START = 240.0
"""How many seconds it may take until then."""
_LOOKS = 0.005
"""How many seconds lie between two looks for a batch, which takes longer."""
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"
"""Delta's setting which keeps files that somebody may still read."""


class OnSpark(Tables):
    """Tables of a pipeline on Spark.

    Args:
        session: where the pipeline runs, but for one that is killed.
        folder: of the history.
        prefix: what the topics' names begin with.
        database: the source's.
    """

    runner: ClassVar[str] = "spark"
    signals: ClassVar[bool] = False

    def __init__(self, session: SparkSession, folder: Path, prefix: str, database: str) -> None:
        super().__init__(folder, prefix, database)
        self.session = session
        self._due: list[tuple[str, Random]] = []
        self._killed: list[psutil.Process] = []

    def run(self, pipeline: Path) -> None:
        """Delivers all that there is, in a query of the session, beside what was asked for.

        A run that loses a process is followed by another one.
        """
        due, self._due = self._due, []
        for what, chance in due:
            if what == VACUUM:
                wait_until(lambda: not any(map(_lives, self._killed)), "the end of what a killed driver had begun")
                self.vacuum()
            if what in MAINTENANCE:
                with repeated(partial(self._maintain, what), 0.2):
                    self._once(pipeline)
            else:
                self._once_killing(what, chance, pipeline)
        self._once(pipeline)

    def run_and_kill(self, pipeline: Pipeline, chance: Random) -> None:
        """Delivers with a driver of its own, which is killed after it has begun to write, or ends before."""
        before = self._files(pipeline)
        with _alone(pipeline).running("--once") as running:
            until = time.monotonic() + _LONGEST_START
            while running.process.poll() is None and self._files(pipeline) <= before and time.monotonic() < until:
                time.sleep(0.1)
            self._kill(running, chance)

    def run_and_lose(self, pipeline: Pipeline, chance: Random, fail_over: Callable[[], None]) -> bool:
        """The same where a batch is planned and not committed: all stands still there while another server takes over.

        Every other time nothing of the run lives on. Else it goes on for a while: with what it has got, and with the
        old server, which is a replica by then.
        """
        with _alone(pipeline).running("--once") as running:
            with _halted_in_batch(running) as processes:
                fail_over()
                if processes and chance.random() < 0.5:
                    for one in processes:
                        one.kill()
            self._kill(running, chance)
        return bool(processes)

    def _kill(self, running: Running, chance: Random) -> None:
        """Kills a driver after a while, unless it has ended; what it has started then ends by itself."""
        time.sleep(chance.uniform(0, _LONGEST_WORK))
        if running.process.poll() is None:
            self._killed += descendants(running.process.pid)
            running.kill()

    def disturb(self, what: str, chance: Random) -> None:
        """Notes it for the next delivery."""
        self._due.append((what, chance))

    def _files(self, pipeline: Pipeline) -> set[Path]:
        return {path for folder in (pipeline.state / "spark", self.folder) for path in folder.rglob("*")}

    def _once(self, pipeline: Path) -> None:
        from cdckit.engine.runners.spark import SparkRunner

        runner = DirectRunner if self.setting.runner == "direct" else SparkRunner
        runner(load_pipeline(pipeline)).run(once=True)

    def _maintain(self, what: str) -> None:
        """Does it to each table; nothing where they are none of Delta's."""

    def _once_killing(self, what: str, chance: Random, pipeline: Path) -> None:
        """A run of which processes are killed; it may end with an error, or go on."""
        ended = threading.Event()

        def kill() -> None:
            ended.wait(chance.uniform(0, 3))
            java = self.session.sparkContext._gateway.proc.pid  # type: ignore[union-attr]
            for process in descendants(java, PROCESSES[what]):
                process.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            self._once(pipeline)
        except CdcError as error:
            log.info("after %s: %s", what, error)
        finally:
            ended.set()
            killer.join()


def _alone(pipeline: Pipeline) -> Pipeline:
    """The pipeline in a session of its own."""
    from spark.conftest import FAST_JVM

    return replace(pipeline, others={**pipeline.others, "spark": {"spark.master": "local[2]", **FAST_JVM}})


@contextmanager
def _halted_in_batch(running: Running) -> Iterator[list[psutil.Process]]:
    """The processes of a run, which stand still meanwhile, in the middle of a batch; none where it has ended before."""
    until = time.monotonic() + _LONGEST_START
    while running.process.poll() is None and time.monotonic() < until:
        if in_hand(running.pipeline.state) is not None:
            with halted(running.process.pid) as processes:
                if in_hand(running.pipeline.state) is not None:  # still: until they stood, it went on
                    yield processes
                    return
        time.sleep(_LOOKS)
    yield []


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class DeltaFoldersOnSpark(OnSpark, Folders):
    """Delta tables in folders, which Spark reads and maintains."""

    def vacuum(self) -> None:
        """By Spark, which is to take the time of now for long enough ago."""
        self.session.conf.set(_CHECK, "false")
        try:
            for path in self.paths():
                self._tend(f"VACUUM delta.`{path}` RETAIN 0 HOURS", path)
        finally:
            self.session.conf.unset(_CHECK)

    def _maintain(self, what: str) -> None:
        for path in self.paths():
            self._tend(f"{what} delta.`{path}`", path)

    def _tend(self, statement: str, path: Path) -> None:
        """Nothing is done where a commit of the pipeline comes before it, or the table is removed meanwhile."""
        try:
            self.session.sql(statement)
        except (PySparkException, Py4JJavaError) as error:
            if not passes(error) and path.exists():
                raise
            log.info("%s: %s", statement, error)

    def read(self, path: Path) -> list[dict[str, Any]]:
        """By Spark."""
        return [row.asDict() for row in self.session.read.format("delta").load(str(path)).collect()]


class Lake(DeltaFoldersOnSpark):
    """Those that the sink `spark` keeps."""

    kind: ClassVar[str] = "spark"


class Mirror(MirroredRows, Lake):
    """Spark's mirrors."""


class SignalledMirror(Mirror):
    """The same where the planner takes signals, and so reads the log in order."""

    signals: ClassVar[bool] = True


class HandedOver(Lake):
    """Where a direct process has the tail: Spark delivers and that one, by turns, each from where the other has ended.

    What a delivery of a history has is too little for a hand-over in the middle of it.
    """

    others: ClassVar[Mapping[str, Any]] = {"tail": "direct"}
    sparks = False

    def _once(self, pipeline: Path) -> None:
        from cdckit.engine.runners.spark import SparkRunner
        from cdckit.engine.runners.tail import TailRunner

        loaded = load_pipeline(pipeline)
        try:
            (TailRunner if self.sparks else SparkRunner)(loaded).run(once=True)
        except StateError as error:
            if error.number != "CDC7110":
                raise
            TailRunner(loaded).run(once=True)  # which lets the direct process finish what that has begun
        self.sparks = not self.sparks


class HandedOverMirror(HandedOver, Mirror):
    """Mirrors that both write."""


class Changelog(LoggedRows, Lake):
    """Spark's changelogs."""

    def __init__(self, session: SparkSession, folder: Path, prefix: str, database: str, keys: Keys) -> None:
        super().__init__(session, folder, prefix, database)
        self.keys = keys


class FiledChangelog(Changelog):
    """The same whose data files workers write, be they ever so small."""

    sink: ClassVar[Mapping[str, Any]] = {"task.file.bytes": 1}


class SignalledChangelog(Changelog):
    """The same where the planner takes signals."""

    signals: ClassVar[bool] = True


class HandedOverChangelog(HandedOver, Changelog):
    """Changelogs that both write."""


class DriversMirror(MirroredRows, DeltaFoldersOnSpark):
    """Mirrors of the sink `delta`, whose commits are the driver's."""

    kind: ClassVar[str] = "delta"


class WorkersChangelog(LoggedRows, DeltaFoldersOnSpark):
    """Changelogs of the sink `delta`, whose data files workers write, be they ever so small."""

    kind: ClassVar[str] = "delta"
    sink: ClassVar[Mapping[str, Any]] = {"task.file.bytes": 1}

    def __init__(self, session: SparkSession, folder: Path, prefix: str, database: str, keys: Keys) -> None:
        super().__init__(session, folder, prefix, database)
        self.keys = keys


class DriversIcebergMirror(MirroredRows, OnSpark, IcebergTables):
    """Mirrors of the sink `iceberg`, whose commits are the driver's."""


class DriversIcebergChangelog(LoggedRows, OnSpark, IcebergTables):
    """Changelogs of the sink `iceberg`, whose commits are the driver's."""

    def __init__(self, session: SparkSession, folder: Path, prefix: str, database: str, keys: Keys) -> None:
        super().__init__(session, folder, prefix, database)
        self.keys = keys
