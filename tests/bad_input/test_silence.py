"""Lines that fall silent at any byte, half open: noticed, said and gone on with; and a stop ends every wait."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest

from bad_input.lines import Line, mongodb_line, proxied_broker, sink_line, sql_line, topic_line
from bad_input.side_lines import history_line, registry_line, signals_line
from bad_input.stopping import LONGEST_WAIT, comes_to_its_wait, stopped
from bad_input.store_line import store_line
from testkit.running import Running
from testkit.servers.kafka import KafkaBroker
from testkit.servers.mongodb import MongoReplicaSet
from testkit.servers.mysql_family import SQLServer
from testkit.servers.object_store import ObjectStore
from testkit.servers.proxy import CuttingProxy

PATIENCE_MS = 1500
ENDLESS_MS = 240_000
"""So long nothing but a stop ends a wait."""
AGAIN = (60, 600)
"""At how many bytes behind a cut: while the servers greet, and while they tell of themselves; behind that, by night."""
PLACES, PLACES_NIGHTLY = 3, 40
"""At how many bytes a line falls silent, from the begin to half of what a first run passes, which also makes topics."""
LINES = [
    "mysql",
    pytest.param("mariadb", marks=pytest.mark.nightly),
    "mongodb",
    "topic",
    "sink",
    "registry",
    "signals",
    "store",
]
SAID_ONCE = {"signals"}
"""Lines of which only the client library tells, whose messages are said once a minute."""
TOPICS = {"sink": sink_line, "signals": signals_line, "history": history_line}
"""Lines to a broker beside a server."""


@pytest.fixture(scope="module")
def broker_and_proxy() -> Iterator[tuple[KafkaBroker, CuttingProxy]]:
    """A broker for the tests here."""
    with proxied_broker() as made:
        yield made


@pytest.fixture
def line(request: pytest.FixtureRequest, kind: str, patience_ms: int, unique_name: str, tmp_path: Path) -> Line:
    """A pipeline that has never run, with something to deliver."""
    made: Iterator[Line]
    if kind == "mongodb":
        replica_set: MongoReplicaSet = request.getfixturevalue("mongo")
        made = mongodb_line(replica_set, unique_name, tmp_path, patience_ms=patience_ms)
    elif kind == "store":
        store: ObjectStore = request.getfixturevalue("object_store")
        made = store_line(store, unique_name.replace("_", "-"), tmp_path, patience_ms=patience_ms)
    elif kind == "topic":
        broker, proxy = request.getfixturevalue("broker_and_proxy")
        made = topic_line(broker, proxy, unique_name, tmp_path, patience_ms=patience_ms)
    elif kind == "registry":
        broker, _ = request.getfixturevalue("broker_and_proxy")
        made = registry_line(broker, unique_name, tmp_path, patience_ms=patience_ms)
    else:
        server: SQLServer = request.getfixturevalue("mariadb_server" if kind == "mariadb" else "mysql_server")
        server.execute(f"CREATE DATABASE {unique_name}")
        request.addfinalizer(lambda: server.execute(f"DROP DATABASE {unique_name}"))
        if kind in TOPICS:
            broker, proxy = request.getfixturevalue("broker_and_proxy")
            made = TOPICS[kind](broker, proxy, server, unique_name, tmp_path, patience_ms=patience_ms)
        else:
            made = sql_line(server, unique_name, tmp_path, patience_ms=patience_ms)
    line = next(made)
    request.addfinalizer(made.close)  # type: ignore[attr-defined]
    line.write(1)
    return line


@pytest.mark.parametrize("kind", LINES)
@pytest.mark.parametrize("patience_ms", [PATIENCE_MS])
def test_a_silent_line_is_noticed_said_and_gone_on_with(line: Line, kind: str, nightly: bool) -> None:
    """It is cut, and falls silent while the pipeline connects again or is connected again."""
    numbers = count(2)

    def write() -> int:
        line.write(number := next(numbers))
        return number

    with line.pipeline.running() as process:
        _delivers(line, process, 1)
        for place in range(30, 3000, 45) if nightly else AGAIN[: 1 if kind in SAID_ONCE else None]:
            line.proxy.silence_after(place)
            write()
            _fall_silent(line, process, line.proxy.cut)
            said, number = len(process.log), write()  # a sink waits for an answer to this one at least
            process.wait_until(lambda begin=said: _says(process.log[begin:]), f"a word of it at {place}")  # type: ignore[misc]
            line.proxy.mend()
            _delivers(line, process, number)
        last = write()
        _delivers(line, process, last)  # by the line as it is now: what came before it is acknowledged
        ended = process.stop()
    assert ended.code == 0, ended.stderr
    assert list(dict.fromkeys(line.delivered())) == list(range(1, last + 1))


@pytest.mark.parametrize("kind", ["history"])
@pytest.mark.parametrize("patience_ms", [PATIENCE_MS])
def test_a_silent_history_topic_ends_the_pipeline_and_the_next_run_goes_on(line: Line, nightly: bool) -> None:
    """Nothing is delivered beyond a definition that the topic does not have."""
    last = 1
    for place in range(1, 1500, 45) if nightly else (1, 60):
        line.proxy.mend()
        with line.pipeline.running() as process:
            _delivers(line, process, last)
            line.proxy.silence_after(place)
            line.proxy.cut()
            line.write(last := last + 1)
            ended = process.ended()
        assert ended.code == 7, ended.stderr
        assert "schema.history.internal.kafka.topic: " in ended.errors
        assert last not in line.delivered()
    line.proxy.mend()
    assert line.pipeline.run("--once").code == 0
    assert list(dict.fromkeys(line.delivered())) == list(range(1, last + 1))


@pytest.mark.parametrize("kind", [*LINES, "history"])
@pytest.mark.parametrize("patience_ms", [ENDLESS_MS])
def test_a_stop_ends_every_wait_for_a_silent_line(line: Line, nightly: bool) -> None:
    """From a pipeline's first connection on; none of them has run before."""
    before = line.proxy.passed
    with line.pipeline.running() as process:
        _delivers(line, process, 1)
        line.write(2)
        _delivers(line, process, 2)
        assert process.stop().code == 0
    size = line.proxy.passed - before
    numbers = count(3)
    for place in _places(size, nightly):
        shutil.rmtree(line.pipeline.state)
        line.proxy.silence_after(place)
        with line.pipeline.running() as process:
            _fall_silent(line, process, lambda: line.write(next(numbers)))
            comes_to_its_wait(process)
            ended, waited = stopped(process)
        assert waited < LONGEST_WAIT, f"silent at {place} of {size}, waited for {waited:.1f} s:\n{ended.stderr}"
        assert ended.code in (0, 4), ended.stderr
        line.proxy.cut()  # the server lets go of what the connection had locked
        line.proxy.mend()


def _fall_silent(line: Line, process: Running, more: Callable[[], None]) -> None:
    """Sees to it that so many bytes come; or fewer, as a server may send more than a pipeline reads."""
    for attempt in range(9):
        if attempt == 5:
            line.proxy.silence_after(1)
        if attempt:  # at first it comes by itself, maybe behind a lock that a change would wait for
            more()
        until = time.monotonic() + 3
        while time.monotonic() < until:
            if line.proxy.silent:
                return
            time.sleep(0.01)
    raise AssertionError(f"the line never fell silent:\n{process.log}")


def _delivers(line: Line, process: Running, number: int) -> None:
    process.wait_until(lambda: number in line.delivered(), f"change {number}")


def _says(log: str) -> bool:
    return any(word in log.lower() for word in ("trying again", "waiting for", "timed out"))


def _places(size: int, nightly: bool) -> list[int]:
    most = PLACES_NIGHTLY if nightly else PLACES
    return [max(1, size * number // (2 * (most + 1))) for number in range(1, most + 1)]
