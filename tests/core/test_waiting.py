"""Waits that a stop ends."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from cdckit.engine.runners.stop import StopSignal
from cdckit.errors import StoppedError
from cdckit.waiting import EndedByStop, answer_of


@pytest.fixture(autouse=True)
def stop_of_its_own() -> Iterator[None]:
    """A wish to stop is the process's: the next test's pipelines have not heard of it."""
    yield
    EndedByStop.begin()


def test_a_stop_leaves_a_call_behind() -> None:
    released = threading.Event()

    def stopped_meanwhile() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        released.wait()

    with StopSignal(), pytest.raises(StoppedError):
        answer_of(stopped_meanwhile)
    released.set()


def test_a_stop_while_the_calls_thread_starts_ends_it_no_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error in the middle of `Thread.start` met what the new thread had done by then: a KeyError."""
    begin, released = threading._start_new_thread, threading.Event()  # type: ignore[attr-defined]

    def begin_and_be_stopped(*arguments: Any) -> int:
        begun: int = begin(*arguments)
        time.sleep(0.05)  # so that the new thread runs
        signal.raise_signal(signal.SIGTERM)
        return begun

    with StopSignal():
        monkeypatch.setattr(threading, "_start_new_thread", begin_and_be_stopped)
        with pytest.raises(StoppedError):
            answer_of(released.wait)
        monkeypatch.undo()
    released.set()


def test_nothing_is_called_once_a_stop_is_wanted() -> None:
    called: list[bool] = []
    with StopSignal():
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(StoppedError):
            answer_of(lambda: called.append(True))
    assert not called
