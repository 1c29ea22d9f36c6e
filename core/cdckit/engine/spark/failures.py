"""Carries a `CdcError` out of Spark's Python processes: through the JVM only its text survives."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

from cdckit import errors
from cdckit.engine.blame import plugin_at_fault, unexpected
from cdckit.errors import CdcError, ConfigError, Problem, RetriableSourceError, numbered

_NOT_STARTED = "Python worker failed to connect back"
"""What Spark says of a Python process that did not get going within its limit, as on a machine that is overloaded."""

_OVERLOADED = "Spark could not start a Python process in time: the machine is overloaded"

_FACTORY = "org.apache.spark.api.python.PythonWorkerFactory"
_KILLED = "IOException: Stream closed", "IOException: Broken pipe", "EOFException"
"""What Spark says, with that class below, where the process is gone that starts its Python workers: it learns of it by
asking it.
"""

_GONE = "a Python process that Spark kept is gone: killed, perhaps by a system that was out of memory"

_CRASHED = "Python worker exited unexpectedly"
_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \([^)\n]{0,200}\) Reason: ([^\n]{0,200})")
"""What Spark says, and why, where a task's executors were lost more often than `spark.task.maxFailures` allows."""

_CAUSES = 20
"""How deep causes of causes are looked for."""

_SEALED = re.compile(r"\[cdckit:([A-Za-z0-9+/=]+)\]")


class WorkerError(Exception):
    """A `CdcError` of another process: its class and message for people, and once more sealed for `recover`."""

    def __init__(self, error: CdcError) -> None:
        parts = list(error.problems) if isinstance(error, ConfigError) else [str(error)]
        kind = nearest_kind(type(error))
        numbers = [number for number, _ in numbered(error)]
        sealed = base64.b64encode(json.dumps([kind, parts, numbers]).encode()).decode()
        super().__init__(f"{kind}: {error} [cdckit:{sealed}]")


@contextmanager
def sealed_errors() -> Iterator[None]:
    """Lets a `CdcError`, or what a plugin raised else, leave this process in a form that `recover` understands."""
    try:
        yield
    except CdcError as error:
        raise WorkerError(error) from error
    except Exception as error:
        if plugin_at_fault(error) is None:
            raise
        raise WorkerError(unexpected(error)) from error


def recover(text: str) -> CdcError | None:
    """The first `CdcError` sealed in the text of an exception from Spark, or what the text means, or None."""
    found = _SEALED.search(text)
    if found is None:
        return _of_processes(text)
    kind, parts, numbers = json.loads(base64.b64decode(found[1]))
    if kind == ConfigError.__name__:
        return ConfigError(*map(Problem, parts, numbers))
    error: CdcError = getattr(errors, kind)(*parts, number=numbers[0])
    return error


def behind(failure: BaseException, more: str = "") -> CdcError | None:
    """As `recover`, of an exception of PySpark's with what its text leaves out: where it and its causes come from.

    Args:
        failure: the exception.
        more: what else is known.
    """
    said = [more, str(failure)]
    # PySpark keeps the JVM's stack and causes beside the message, which names only the last of them.
    at: object = failure
    while at is not None and len(said) < _CAUSES:
        said.append(str(getattr(at, "_stackTrace", "")))
        at = getattr(at, "_cause", None)
    return recover("\n".join(said))


def _of_processes(text: str) -> CdcError | None:
    if _NOT_STARTED in text:
        return RetriableSourceError(_OVERLOADED)
    if lost := _EXECUTOR_LOST.search(text):
        return RetriableSourceError(f"Spark has lost an executor: {lost[1].rstrip()}")
    killed = _CRASHED in text or (_FACTORY in text and any(said in text for said in _KILLED))
    return RetriableSourceError(_GONE) if killed else None


def nearest_kind(kind: type[CdcError]) -> str:
    """The class's own name where `cdckit.errors` defines it, else that of the base which it does define."""
    names = (base.__name__ for base in kind.__mro__)
    return next(name for name in names if hasattr(errors, name))
