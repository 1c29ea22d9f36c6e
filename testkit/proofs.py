"""`cdc diff` at the end of each test: what its pipelines have delivered equals their sources, as the proof finds it.

Which pipelines that can be said of shows by what they did: one that ended with an error, or stands behind its source,
is left out, and so is one whose source or sink is gone by then, or can never be compared. How many were, and why, is
told when all tests are done, so that none is taken for proven that was never looked at.

A test that leaves a difference on purpose says why: `@pytest.mark.unequal("rows are forged")`, and where it is in some
tables alone, `tables=["orders"]`. It fails where the proof finds none; where that is left to chance nothing is proven:
`@pytest.mark.unequal("it is killed", always=False)`.
"""

from __future__ import annotations

import json
import re
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.metrics.status import pipeline_status
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.engine.proof.report import TableProof
from cdckit.engine.state.place import StatePlace
from cdckit.engine.state.runner_handover import current_offset
from cdckit.errors import CdcError, ConfigError
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_mongodb.config import MongoDbConfig
from testkit.started import STARTED, Start, watch_runners

MARK = "unequal"
_WAIT_SECONDS = 10.0
"""How long a pipeline that still runs may take to come up to its source."""
_AWAY_SECONDS = 5
_SHOWN = 5
_TAKEN = "what it has delivered was taken away"


@dataclass(slots=True)
class Tally:
    """What was proven, and what was not.

    Attributes:
        tests: how many tests had a pipeline that was proven.
        pipelines: how many pipelines.
        tables: how many tables of them.
        rows: how many rows of them.
        seconds: how much processor time that took.
        left_out: how many pipelines were not, by reason.
        undecided: how many tables of proven pipelines were not, by reason.
        where: by reason, how often each test was left out for it.
    """

    tests: int = 0
    pipelines: int = 0
    tables: int = 0
    rows: int = 0
    seconds: float = 0.0
    left_out: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    where: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def counted(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def add(self, other: dict[str, Any]) -> None:
        """Adds what another process has counted."""
        for name, value in other.items():
            if name == "where":
                for why, tests in value.items():
                    self.where[why].update(tests)
            elif isinstance(value, dict):
                getattr(self, name).update(value)
            else:
                setattr(self, name, getattr(self, name) + value)

    def leave_out(self, test: str, why: str, pipelines: int = 1) -> None:
        """Counts pipelines that are not proven."""
        self.left_out[why] += pipelines
        self.where[why][test] += pipelines

    def take(self, test: str, found: list[TableProof]) -> None:
        """Counts a pipeline of which nothing is unequal."""
        equal = [table for table in found if table.outcome == "equal"]
        undecided = Counter(_short(table.note) for table in found if table.outcome == "undecided")
        if not equal:
            self.leave_out(test, next(iter(undecided)))
            return
        self.undecided.update(undecided)
        self.pipelines += 1
        self.tables += len(equal)
        self.rows += sum(table.rows for table in equal)

    def lines(self, *, tests: bool = False) -> Iterator[str]:
        """It in words; with the tests behind each reason, where that is asked for."""
        yield (
            f"{self.tests} tests ended with {self.pipelines} pipelines whose sinks equal their sources: "
            f"{self.tables} tables, {self.rows} rows, {self.seconds:.1f} s of processor time"
        )
        for what, counted in (("pipelines left out", self.left_out), ("tables undecided", self.undecided)):
            for why, times in counted.most_common():
                yield f"{times:6} {what}: {why}"
                if tests and counted is self.left_out:
                    yield from (f"       {times:6} in {test}" for test, times in sorted(self.where[why].items()))


class Proofs:
    """Proves, once a test has passed, the pipelines that it has started.

    Args:
        every: one test in so many is proven, chosen by its name; 1: all.
    """

    def __init__(self, every: int = 1) -> None:
        self.tally = Tally()
        self._every = every
        watch_runners()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """Forgets what earlier tests have started."""
        STARTED.taken()
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Proves while the test's servers and folders are still there."""
        result = yield
        if starts := STARTED.taken():
            begun = time.process_time()
            try:
                self._prove(item, starts)
            finally:
                self.tally.seconds += time.process_time() - begun
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker of xdist sends what it has counted."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output["proofs"] = json.dumps(self.tally.counted())  # xdist takes plain types alone

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Takes what a worker has counted; one that has died has sent nothing."""
        self.tally.add(json.loads(getattr(node, "workeroutput", {}).get("proofs", "{}")))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Tells what was proven, and what was not."""
        if self.tally.pipelines or self.tally.left_out:
            terminalreporter.section("proofs")
            for line in self.tally.lines(tests=terminalreporter.config.get_verbosity() > 0):
                terminalreporter.write_line(line)

    def _prove(self, item: pytest.Item, starts: list[Start]) -> None:
        mark = item.get_closest_marker(MARK)
        if (why := self._never(item, mark)) is not None:
            self.tally.leave_out(item.nodeid, why, len(starts))
            return
        pipelines, unequal = self.tally.pipelines, list[TableProof]()
        for pipeline, runs in self._provable(item.nodeid, starts):
            found = _found(pipeline, runs=runs)
            if isinstance(found, str):
                self.tally.leave_out(item.nodeid, found)
            elif differing := [table for table in found if table.outcome == "unequal"]:
                unequal += differing
            else:
                self.tally.take(item.nodeid, found)
        self.tally.tests += self.tally.pipelines > pipelines
        self._judge(item.nodeid, mark, unequal)

    def _never(self, item: pytest.Item, mark: pytest.Mark | None) -> str | None:
        """Why a test's pipelines are not looked at; None: they are."""
        if mark is not None and not mark.kwargs.get("always", True):
            return f"unequal on purpose: {mark.args[0]}"
        if zlib.crc32(item.nodeid.encode()) % self._every:
            return f"not one of the tests that are proven (one in {self._every})"
        return None

    def _provable(self, test: str, starts: list[Start]) -> Iterator[tuple[ResolvedPipeline, bool]]:
        """The pipelines of which it can be asked, each once, and whether it runs."""
        found: dict[tuple[str, str], tuple[ResolvedPipeline, bool]] = {}
        for start in starts:
            if start.failed:
                self.tally.leave_out(test, "its last run ended with an error")
                continue
            if start.taken:
                self.tally.leave_out(test, _TAKEN)
                continue
            try:
                pipeline = start.resolve()
            except CdcError as error:
                self.tally.leave_out(test, _refused(error))
            else:
                found[str(pipeline.folder), pipeline.name] = pipeline, start.runs
        yield from found.values()

    def _judge(self, test: str, mark: pytest.Mark | None, unequal: list[TableProof]) -> None:
        if mark is not None and not unequal:
            pytest.fail(f"@pytest.mark.{MARK}({mark.args[0]!r}), and the proof finds no difference", pytrace=False)
        names = () if mark is None else mark.kwargs.get("tables", ())
        other = [table for table in unequal if mark is None or (names and table.table.rpartition(".")[2] not in names)]
        if other:
            pytest.fail("\n".join(map(_told, other)), pytrace=False)
        if mark is not None:
            self.tally.leave_out(test, f"unequal on purpose: {mark.args[0]}")


def _found(pipeline: ResolvedPipeline, *, runs: bool) -> list[TableProof] | str:
    """What a proof finds; or why there is none."""
    pipeline = _waiting_shortly(pipeline)
    try:
        if why := _gone(pipeline):
            return why
        # A session of Spark that began here would be that of all tests behind this one.
        wishes = Wishes(wait_seconds=_WAIT_SECONDS if runs else 0, spark="never")
        return Proof(pipeline, wishes, lambda: False).tables()
    except CdcError as error:
        return _refused(error)


def _waiting_shortly(pipeline: ResolvedPipeline) -> ResolvedPipeline:
    """It without long waits for servers that have gone with their test."""
    source, sink = pipeline.source.config, pipeline.sink.config
    if isinstance(source, MongoDbConfig):
        source = source.model_copy(update={"mongodb_server_selection_timeout_ms": _AWAY_SECONDS * 1000})
    if isinstance(sink, KafkaSinkConfig):
        sink = sink.model_copy(update={"timeout": _AWAY_SECONDS})
    return replace(pipeline, source=replace(pipeline.source, config=source), sink=replace(pipeline.sink, config=sink))


def _gone(pipeline: ResolvedPipeline) -> str | None:
    """What of it the test has taken away, or may never have been there; None: nothing."""
    if pipeline.errors.tolerance != "none":
        return "records may be left out of it (errors.tolerance)"
    place = StatePlace.of(pipeline)
    if current_offset(place) is None:
        return "it has saved no offset"
    path = getattr(pipeline.sink.config, "path", None)
    if isinstance(path, Path) and not path.exists() and pipeline_status(place).records:
        return _TAKEN
    return None


def _refused(error: CdcError) -> str:
    """Why there is no proof: options by their words, what cannot be reached by the kind of error."""
    return (
        re.split("[,(]", str(error))[0] if isinstance(error, ConfigError) else f"{type(error).__name__} {error.number}"
    )


def _short(note: str) -> str:
    """A note without what is of this table alone."""
    return note.partition(":")[0].partition(" (")[0].partition(",")[0]


def _told(table: TableProof) -> str:
    """What differs, for people."""
    counts = f"{table.rows} rows, {table.missing} missing, {table.extra} extra, {table.changed} changed"
    lines = [f"cdc diff: {table.table} (topic {table.topic}): {counts} {table.note}"]
    lines += [
        f"  {one.fault} {one.key} {','.join(one.columns)}: source {one.source}, sink {one.sink} {one.sink_position}"
        for one in table.differences[:_SHOWN]
    ]
    return "\n".join(lines)
