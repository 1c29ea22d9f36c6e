"""The contract of a driver: how a product's pipeline is started, what it has saved, delivered and refused."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from cdckit_faults.history.gtids import GtidSet
from cdckit_faults.history.record import Record
from testkit.servers.process import end, spawn

_GRACE = 60.0
"""How many seconds a pipeline may take to end when it is asked to."""


@dataclass(frozen=True, slots=True)
class Systems:
    """What stands around a pipeline: the database that it captures, and what it delivers to and runs on.

    Attributes:
        host: of the line to the MySQL server.
        port: of the line to the MySQL server.
        user: has the privileges that capturing needs.
        password: the user's.
        database: the one database that is captured.
        bootstrap: of Kafka, in its lane.
        master: of the cluster of Spark, in its lane.
    """

    host: str
    port: int
    user: str
    password: str
    database: str
    bootstrap: str = ""
    master: str = ""


@dataclass(frozen=True, slots=True)
class Folders:
    """Where a pipeline's files are.

    Attributes:
        own: its configuration and its log.
        data: its state and, where it writes files, what it delivers; the disk that may be full.
    """

    own: Path
    data: Path


@dataclass(frozen=True, slots=True)
class Start:
    """How a pipeline is started.

    Attributes:
        new_snapshot: it may take a new snapshot where its position is gone.
        poison_passes: it may leave out, or keep, a record that it cannot deliver.
        environment: variables beside its own.
        wrapper: words before its command line.
    """

    new_snapshot: bool = False
    poison_passes: bool = False
    environment: Mapping[str, str] = field(default_factory=dict)
    wrapper: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a product refuses.

    Attributes:
        codes: the exit codes that say so.
        named: what its log says, as a regular expression: what is wrong, and where it can be known what to do.
    """

    codes: frozenset[int]
    named: str


class Driver(ABC):
    """One pipeline, of which one process runs at a time.

    Attributes:
        runs: how many processes it has had.
        name: of the product, for the command line.
        lane: the kinds of faults that fit it: `file`, `kafka` or `spark`.
        repeats_in_run: whether a connection that is lost has the product repeat within a run what it has not saved.
        refusals: how it refuses, by the kind of the fault. A kind that has none here is not taken where it needs one.
        memory_mib: about what it needs.
        patience: how many seconds it may take, on a busy machine, to come to the end of the log.
    """

    name: ClassVar[str]
    lane: ClassVar[str] = "file"
    repeats_in_run: ClassVar[bool] = False
    refusals: ClassVar[Mapping[str, Refusal]] = {}
    memory_mib: ClassVar[int] = 64
    patience: ClassVar[float] = 60.0

    def __init__(self, folders: Folders, systems: Systems) -> None:
        self.folders = folders
        self.systems = systems
        self._process: subprocess.Popen[bytes] | None = None
        self.runs = 0

    @abstractmethod
    def command(self, how: Start) -> Sequence[str | Path]:
        """The command line of a start; it writes the configuration."""

    @abstractmethod
    def saved(self) -> GtidSet:
        """The transactions behind which the next start goes on."""

    @abstractmethod
    def delivered(self) -> Iterator[Record]:
        """The records that have arrived since the last call, those of each key in order."""

    def environment(self) -> Mapping[str, str]:
        """Variables that the product needs."""
        return {}

    @property
    def log(self) -> str:
        """What the newest run has said so far."""
        return self.said()

    @property
    def pid(self) -> int | None:
        """Of the process, while it runs."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def code(self) -> int | None:
        """The exit code of the newest run, below 0 where a signal ended it; None while it runs."""
        return self.ended_with()

    def said(self) -> str:
        """See `log`."""
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""

    def ended_with(self) -> int | None:
        """See `code`."""
        return self._process.poll() if self._process is not None else None

    def start(self, how: Start) -> None:
        """Starts the pipeline."""
        assert self.pid is None, "one process at a time"
        self._log.unlink(missing_ok=True)
        self.runs += 1
        command = [*how.wrapper, *self.command(how)]
        self._process = spawn(command, self._log, env={**self.environment(), **how.environment}, cwd=self.folders.own)

    def signal(self, number: signal.Signals) -> None:
        """Sends the process a signal, where it runs."""
        if (pid := self.pid) is not None:
            os.kill(pid, number)

    def kill(self) -> None:
        """Ends the process at once."""
        self.signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()

    def stop(self) -> int | None:
        """Asks the pipeline to end, and returns its exit code."""
        if self._process is not None:
            end(self._process, grace=_GRACE)
        return self.code

    def close(self) -> None:
        """Ends the process, and whatever the driver has open."""
        self.kill()

    def refuses(self, kind: str) -> bool:
        """Whether the newest run has ended as the product refuses in this case, and has said why."""
        refusal = self.refusals[kind]
        return self.code in refusal.codes and re.search(refusal.named, self.log) is not None

    @property
    def _log(self) -> Path:
        return self.folders.own / f"run-{self.runs}.log"
