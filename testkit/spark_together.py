"""Which of pytest's workers run the tests of the shared Spark session: one of them, all, from the begin.

Spark keeps a processor busy and takes a gigabyte, where most other tests wait for servers and clocks: beside each other
they use a machine better than one after the other, and Spark starts once.
"""

from __future__ import annotations

import os

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

_SPARK = "tests/spark/"
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
        return _SPARK if nodeid.startswith(_SPARK) else str(super()._split_scope(nodeid))


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


def _together(config: pytest.Config) -> bool:
    return config.getoption("dist") == "loadfile" and not config.getoption("--nightly")
