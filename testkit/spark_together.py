"""Which of pytest's workers run the tests of the shared Spark session: one of them, all, from the begin.

Spark keeps a processor busy and takes a gigabyte, where most other tests wait for servers and clocks: beside each other
they use a machine better than one after the other, and Spark starts once. Files whose tests start Spark in processes of
their own are dealt out as others are.
"""

from __future__ import annotations

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_SPARK = "tests/spark/"
_APART = frozenset(
    f"{_SPARK}test_{name}.py" for name in ("cluster", "connect", "kill_exactly_once", "pipelines", "session")
)
"""Files in which no test asks for the shared session; `refuse_session` holds them to it."""
_LONG = frozenset(("tests/test_third_party_plugin.py", f"{_SPARK}test_connect.py", f"{_SPARK}test_pipelines.py"))
"""Files of a minute and more whose names come last: the other workers would wait for the one that has them."""
_FIRST = "gw0"
"""The worker that is dealt the first tests: those of Spark."""
_NICE = 3


class SparkTogether(LoadFileScheduling):  # type: ignore[misc]
    """Deals out files, those of Spark as if they were one."""

    @property
    def nodes(self) -> list[WorkerController]:
        """The workers by number, whichever was ready first: the first one is dealt the first scope."""
        return sorted(super().nodes, key=lambda worker: int(worker.gateway.id.removeprefix("gw")))

    def _split_scope(self, nodeid: str) -> str:
        file = str(super()._split_scope(nodeid))
        return _SPARK if begins(file) else file


def begins(nodeid: str) -> bool:
    """Whether a test, or a file of tests, is one of the shared session's, which take longest."""
    return nodeid.startswith(_SPARK) and nodeid.partition("::")[0] not in _APART


def turn(nodeid: str) -> int:
    """When a test has its turn: those of the shared session first, then the long files, then all others."""
    return 0 if begins(nodeid) else 1 if nodeid.partition("::")[0] in _LONG else 2


def make_scheduler(config: pytest.Config, log: Producer) -> SparkTogether | None:
    """What deals out the tests; None where xdist's own does: in long series Spark is most of the work."""
    return SparkTogether(config, log) if _together(config) else None


def give_way(config: pytest.Config) -> None:
    """Has a worker let Spark's go first, which has the longest way: a run is over when that one is.

    Called in each worker; the servers that it starts give way, too.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", _FIRST)
    if worker != _FIRST and not config.getoption("--nightly"):
        os.nice(_NICE)


def refuse_session(request: pytest.FixtureRequest) -> None:
    """Fails a test that asks for the shared session in a file that is dealt out apart from it.

    Another worker would start a second session for it.
    """
    file = request.node.nodeid.partition("::")[0]
    if file in _APART and "session" in request.fixturenames:
        pytest.fail(f"{file} stands in testkit/spark_together.py as one that does without the shared session")


def _together(config: pytest.Config) -> bool:
    return config.getoption("dist") == "loadfile" and not config.getoption("--nightly")
