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
from cdckit.tables.lost_processes import lost_process

_CAUSES = 20
"""How deep causes of causes are looked for."""

_SEALED = re.compile(r"\[cdckit:([A-Za-z0-9+/=]+)\]")


class LostProcessError(RetriableSourceError):
    """A process of Spark's is gone, or did not start: the source has no part in it."""


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
    lost = lost_process(text)
    return None if lost is None else LostProcessError(lost)


def nearest_kind(kind: type[CdcError]) -> str:
    """The class's own name where `cdckit.errors` defines it, else that of the base which it does define."""
    names = (base.__name__ for base in kind.__mro__)
    return next(name for name in names if hasattr(errors, name))
