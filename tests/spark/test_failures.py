"""Errors that cross Spark's processes as text."""

from __future__ import annotations

import pytest

from cdckit.engine.spark.failures import LostProcessError, WorkerError, recover, sealed_errors
from cdckit.errors import CdcError, ConfigError, DecodeError, RetriableSourceError, SinkError


class TooWideError(SinkError):
    """A plugin's own."""


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (DecodeError("row 3 of 'a'\nsecond line: ü"), DecodeError),
        (RetriableSourceError("gone"), RetriableSourceError),
        (TooWideError("too wide"), SinkError),
        (CdcError("x"), CdcError),
    ],
)
def test_class_and_message_survive(error: CdcError, kind: type[CdcError]) -> None:
    with pytest.raises(WorkerError) as raised, sealed_errors():
        raise error
    found = recover(f"org.apache.spark.SparkException: Traceback …\n  {raised.value}\n\tat java.lang")
    assert type(found) is kind
    assert str(found) == str(error)


def test_all_problems_of_a_configuration_survive() -> None:
    with pytest.raises(WorkerError) as raised, sealed_errors():
        raise ConfigError("one: wrong", "two: wrong")
    found = recover(str(raised.value))
    assert isinstance(found, ConfigError)
    assert found.problems == ("one: wrong", "two: wrong")


def test_other_errors_pass_and_other_texts_hold_none() -> None:
    with pytest.raises(KeyError), sealed_errors():
        raise KeyError("x")
    assert recover("java.lang.IllegalStateException: [cdckit]") is None


def test_a_python_process_that_did_not_start_in_time_is_tried_again() -> None:
    found = recover("org.apache.spark.SparkException: Python worker failed to connect back.\n\tat org.apache.spark")
    assert type(found) is LostProcessError


FACTORY = "\tat org.apache.spark.api.python.PythonWorkerFactory.$anonfun$stopWorker$1(PythonWorkerFactory.scala:501)"


@pytest.mark.parametrize("said", ["java.io.IOException: Stream closed", "SparkException: EOFException occurred while"])
def test_a_python_process_that_was_killed_is_tried_again(said: str) -> None:
    found = recover(f"An error occurred while calling o3210.load.\n: {said}\n\tat java.io.DataOutputStream\n{FACTORY}")
    assert type(found) is LostProcessError
    assert "is gone" in str(found)


@pytest.mark.parametrize("said", ["java.io.EOFException", "java.net.SocketException: Broken pipe"])
def test_a_planner_that_was_killed_is_tried_again(said: str) -> None:
    runner = "org.apache.spark.sql.execution.python.streaming.PythonStreamingSourceRunner"
    found = recover(f"{said}\n\tat java.io\n\tat {runner}.latestOffset(PythonStreamingSourceRunner.scala:235)")
    assert type(found) is LostProcessError
    assert "is gone" in str(found)


def test_a_worker_that_was_killed_within_a_task_is_tried_again() -> None:
    found = recover("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n\tat org.apache")
    assert type(found) is LostProcessError
    assert "is gone" in str(found)


def test_an_executor_that_is_lost_too_often_is_tried_again() -> None:
    reason = "ExecutorLostFailure (executor 2 exited caused by one of the running tasks) Reason: exited with 137"
    found = recover(f"Job aborted: Task 0 in stage 0.0 failed 4 times, most recent failure: Lost task 0.3: {reason}\nD")
    assert type(found) is LostProcessError
    assert str(found) == "Spark has lost an executor: exited with 137"


def test_a_python_that_is_not_there_is_not() -> None:
    said = 'java.io.IOException: Cannot run program "python9": error=2, No such file or directory'
    assert recover(f"{said}\n{FACTORY}") is None
