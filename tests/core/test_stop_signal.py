"""A wish to stop, whenever it comes."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

from cdckit.engine.runners.stop import StopSignal

_ASKED_AT_ANY_STEP = """
import os, random, signal, time
from cdckit.engine.runners.stop import StopSignal

asked, asks = os.pipe()
if not os.fork():
    os.close(asks)
    while os.read(asked, 1):
        end = time.perf_counter() + random.random() / 1000
        while time.perf_counter() < end:
            pass
        os.kill(os.getppid(), signal.SIGTERM)
    os._exit(0)
os.close(asked)
for _ in range(100):
    with StopSignal() as stopping:
        os.write(asks, b"x")
        while not stopping.wait(0):
            pass
print("heard", flush=True)
"""


def test_a_signal_is_heard_at_any_step_of_a_wait() -> None:
    """Its handler runs in the thread that waits, which must not wait for itself."""
    command = [sys.executable, "-c", _ASKED_AT_ANY_STEP]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (ended.returncode, ended.stdout) == (0, "heard\n"), ended.stderr


def test_every_thread_that_waits_is_woken() -> None:
    stopping, woken = StopSignal(), list[bool]()
    threads = [threading.Thread(target=lambda: woken.append(stopping.wait(60))) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    stopping.stop()
    for thread in threads:
        thread.join(30)
    assert woken == [True] * 3
    assert stopping()
    assert stopping.wait(60)


def test_a_wait_ends_by_itself() -> None:
    stopping = StopSignal()
    assert not stopping.wait(0)
    assert not stopping.wait(-1)
    assert not stopping()
