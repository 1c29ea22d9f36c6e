"""Pipelines run as their users run them: by the command, in a process of their own, with a password never to show."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from cdckit.api.record import Offset
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from testkit.servers.mariadb import MariaDBServer
from testkit.servers.mysql_family import CAPTURE_PRIVILEGES, SQLServer
from testkit.started import STARTED
from testkit.states import offset_in
from testkit.warm_command.process import Process
from testkit.warm_command.starting import start_command

USER = "reader"
PASSWORD = "Zq8-never-shown-41"
"""What no pipeline may ever show."""
_SECONDS = 120.0
_LONGEST_PAUSE = 0.5
_FAILED = range(1, 128)
"""Exit codes of errors; those of a process that was killed are negative."""


def whole_lines(path: Path) -> list[dict[str, Any]]:
    """What the file sink has written; a last line that it is writing, or that a kill has torn, is none yet."""
    with path.open("rb") as lines:
        return [json.loads(line) for line in lines if line.endswith(b"\n")]


@dataclass(frozen=True, slots=True)
class Ended:
    """A call of the command that is over: its exit code, what it printed, what it logged."""

    code: int
    stdout: str
    stderr: str

    @property
    def errors(self) -> str:
        """The errors that it ended with, without their numbers and the trace behind them."""
        return "\n".join(f"error: {said}" for said in re.findall(r"^error CDC\d{4}: (.*)$", self.stderr, re.MULTILINE))


@dataclass(frozen=True)
class Pipeline:
    """A pipeline file and its folder. Every run of it shows the trace of an error, where secrets could be, too.

    Attributes:
        folder: where its files are.
        source: options of the source.
        sink: the sink, type and all.
        others: members of the file's top level.
        variables: of the environment.
    """

    folder: Path
    source: Mapping[str, Any]
    sink: Mapping[str, Any]
    others: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        """The folder of its state."""
        return self.folder / "state"

    @property
    def output(self) -> Path:
        """What the file sink writes."""
        return self.folder / "out.jsonl"

    def run(self, *arguments: str, seconds: float = _SECONDS) -> Ended:
        """Calls `cdc run` and waits for its end."""
        with self.running(*arguments) as process:
            return process.ended(seconds)

    @contextmanager
    def running(self, *arguments: str, limit: Callable[[], None] | None = None) -> Iterator[Running]:
        """Calls `cdc run`; it is killed where the context ends before it does.

        Args:
            arguments: more of the command line.
            limit: called in the new process before the command.
        """
        words = ["run", str(self.written()), *arguments]
        logs = self.folder / "stderr.log", self.folder / "stdout.log"
        output = Path(self.sink["path"]) if self.sink.get("type") == "file" else None
        start = STARTED.note(self.state, lambda: self.resolved(*arguments), output)
        with logs[0].open("wb") as errors, logs[1].open("wb") as out:
            variables = {**os.environ, "CDC_DEBUG": "1", **self.variables}
            process = start_command(words, out, errors, folder=self.folder, environment=variables, limit=limit)
            try:
                yield Running(self, process, *logs)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                start.end(failed=process.returncode in _FAILED)
        self.assert_secret()

    def resolved(self, *arguments: str) -> ResolvedPipeline:
        """The pipeline as `cdc run` takes it with these arguments."""
        given = dict[str, list[str]]()
        for name, value in pairwise(arguments):
            given.setdefault(name, []).append(value)
        runner, sink = (given.get(name, [None])[-1] for name in ("--runner", "--sink"))
        variables = {**os.environ, **self.variables}
        return load_pipeline(self.written(), given.get("--set", ()), runner=runner, sink=sink, environment=variables)

    def offset(self) -> Offset | None:
        """The saved offset, as `cdc offsets show` prints it."""
        return offset_in(self.state)

    def events(self) -> list[dict[str, Any]]:
        """What the file sink has written."""
        return whole_lines(self.output)

    def assert_secret(self) -> None:
        """The password stands in no file but those that it was written into.

        What goes meanwhile shows nothing: behind a killed driver Spark's own processes still tidy up.
        """
        secret = PASSWORD.encode()
        for folder, _, names in os.walk(self.folder):
            for path in (Path(folder) / name for name in names if name != self._path.name):
                with suppress(FileNotFoundError):
                    assert not path.is_file() or secret not in path.read_bytes(), f"{path} shows the password"

    @property
    def _path(self) -> Path:
        return self.folder / "pipeline.json"

    def written(self) -> Path:
        """The pipeline file, written."""
        content = {
            "runner": "direct",
            "state": str(self.state),
            **self.others,
            "source": self.source,
            "sink": self.sink,
        }
        self._path.write_text(json.dumps(content))
        return self._path


@dataclass(frozen=True, slots=True)
class Running:
    """A call of the command that is not over yet."""

    pipeline: Pipeline
    process: Process
    stderr: Path
    stdout: Path

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return self.stderr.read_text(encoding="utf-8")

    def wait_for(self, text: str, times: int = 1) -> None:
        """Waits until the log says something, so often."""
        self.wait_until(lambda: self.log.count(text) >= times, f"{text!r} in its log")

    def wait_until(
        self, holds: Callable[[], bool], what: str = "what was waited for", seconds: float = _SECONDS
    ) -> None:
        """Waits until something holds; fails when the command ends before, or never gets there."""
        begun = looked = time.monotonic()
        while not holds():
            waited, look = time.monotonic() - begun, time.monotonic() - looked
            assert self.process.poll() is None, f"ended with {self.process.returncode} before {what}:\n{self.log}"
            assert waited < seconds, f"never came to {what}:\n{self.log}"
            # A look takes longer than a short pause: one that looked all the time would take the processor from it.
            time.sleep(max(min(look, _LONGEST_PAUSE), min(max(waited / 20, 0.005), 0.05)))
            looked = time.monotonic()

    def kill(self) -> None:
        """Kills it at once (SIGKILL)."""
        self.process.kill()
        self.process.wait()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> Ended:
        """Asks it to stop, and waits until it has."""
        self.process.send_signal(number)
        return self.ended()

    def ended(self, seconds: float = _SECONDS) -> Ended:
        """Waits for its end."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {seconds:.0f} s:\n{self.log}") from None
        return Ended(code, self.stdout.read_text(encoding="utf-8"), self.log)


def create_reader(server: SQLServer, *privileges: str) -> None:
    """Makes the user anew, with what capturing needs unless privileges are named."""
    server.run_sql(f"SET sql_log_bin = 0; DROP USER IF EXISTS {USER}")
    server.create_user(USER, PASSWORD, privileges or CAPTURE_PRIVILEGES)


def source_of(server: SQLServer, database: str, **options: Any) -> dict[str, Any]:
    """Options of a source that captures one database; underscores stand for dots."""
    return {
        "type": "mariadb" if isinstance(server, MariaDBServer) else "mysql",
        "topic.prefix": "p",
        "database.hostname": server.host,
        "database.port": server.port,
        "database.user": USER,
        "database.password": PASSWORD,
        "database.include.list": database,
        "include.schema.changes": False,
        **{name.replace("_", "."): value for name, value in options.items()},
    }


def to_file(folder: Path, source: Mapping[str, Any], **others: Any) -> Pipeline:
    """A pipeline to the file sink, without schemas in its events."""
    sink = {"type": "file", "path": str(folder / "out.jsonl")}
    return Pipeline(folder, source, sink, {"serializer": {"schemas.enable": False}, **others})
