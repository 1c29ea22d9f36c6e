"""Faults of the pipeline's process."""

from __future__ import annotations

import random
import signal
import time

from cdckit_faults.drivers.driver import Start
from cdckit_faults.harm.memory import limited
from cdckit_faults.history.findings import BrokenPromiseError, Verdict
from cdckit_faults.kinds.kind import Kind
from cdckit_faults.stage import PATIENCE, Stage

_DAY = 86_400


def _kill(stage: Stage, chance: random.Random) -> None:
    stage.driver.kill()
    time.sleep(chance.uniform(0, 0.1))
    stage.start()


def _terminate(stage: Stage, chance: random.Random) -> None:
    code = stage.driver.stop()
    if code:
        raise BrokenPromiseError(Verdict.ENDED, f"with {code} on SIGTERM, not 0: {stage.driver.log[-500:]}")
    time.sleep(chance.uniform(0, 0.1))
    stage.start()


def _hang(stage: Stage, chance: random.Random) -> None:
    seconds = chance.uniform(0.1, 3.0)
    stage.driver.signal(signal.SIGSTOP)
    time.sleep(seconds)
    stage.driver.signal(signal.SIGCONT)
    stage.notes.append(f"{seconds:.1f} s")


def _little_memory(stage: Stage, chance: random.Random) -> None:
    """It is stopped, and started with too little of it, perhaps with just enough."""
    mib = int(stage.driver.memory_mib * chance.uniform(0.4, 1.0))
    stage.driver.kill()
    with limited(mib) as limit:
        stage.start(Start(wrapper=limit.wrapper))
        stage.wait_until(lambda: stage.driver.code is not None, chance.uniform(1.0, 3.0))
        code = stage.driver.code
        if code == 0:
            raise BrokenPromiseError(Verdict.UNREFUSED, "it ended with 0 where it had no memory")
        stage.driver.kill()
    stage.notes.append(f"{mib} MiB by {limit.how}: {'killed' if code == -signal.SIGKILL else code or 'lived'}")
    stage.start()


def _clock(stage: Stage, chance: random.Random) -> None:
    """It runs on with a clock that is right again, and libfaketime beneath it."""
    seconds = chance.choice((-1, 1)) * int(chance.choice((chance.uniform(2, 90), chance.uniform(1, 400) * _DAY)))
    stage.clock.jump(0)
    stage.driver.kill()
    stage.start(Start(environment=stage.clock.environment))
    _delivers(stage)
    stage.clock.jump(seconds)
    time.sleep(chance.uniform(0.2, 0.8))
    stage.clock.jump(0)
    stage.notes.append(f"{seconds:+d} s")


def _delivers(stage: Stage) -> None:
    """Waits until something has arrived of the run that has begun."""
    if not stage.wait_until(lambda: bool(stage.take()) or stage.driver.code is not None, PATIENCE):
        raise BrokenPromiseError(Verdict.STUCK, "nothing came of it after a start")


KINDS = (
    Kind("kill", "process", "SIGKILL, and a new start", "", _kill, weight=4),
    Kind("terminate", "process", "SIGTERM, and a new start", "ends with 0", _terminate, weight=2),
    Kind("hang", "process", "SIGSTOP, and SIGCONT after 0.1 to 3 s", "", _hang, weight=8),
    Kind("memory", "process", "started with 40 to 100 % of the memory that it needs", "", _little_memory),
    Kind("clock", "process", "its clock jumps by seconds to a year, and back (libfaketime)", "", _clock),
)
