"""A place at which a running pipeline and whoever compares its sink agree: asked for by a file, answered by another.

The pipeline answers with an offset that it has just saved: all before it is in the sink, and the answer says how to
tell that from what comes behind it. It runs on at once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cdckit.api.held import Barrier
from cdckit.connector.damage import DAMAGE, reason_of
from cdckit.errors import StateError, StoppedError

_REQUEST, _ANSWER = "barrier.request", "barrier.json"
_STEP_SECONDS = 0.05


class BarrierRequests:
    """What a running pipeline is asked for.

    Args:
        folder: the pipeline's.
    """

    def __init__(self, folder: Path) -> None:
        self._request, self._answer = folder / _REQUEST, folder / _ANSWER

    @property
    def waiting(self) -> bool:
        """Whether somebody asks; cheap."""
        return self._request.exists()

    def answer(self, barrier: Barrier, ends: Callable[[Collection[str]], Mapping[str, Any] | None]) -> None:
        """Tells the place to whoever asks.

        Args:
            barrier: the place.
            ends: tells where the topics end that are asked for, now.

        Raises:
            StateError: it cannot be written.
        """
        try:
            token = self._request.read_text()
            if (topics := _topics(token)) and (ended := ends(topics)) is not None:
                barrier = replace(barrier, ends=ended)
            draft = self._answer.with_suffix(".draft")
            draft.write_text(json.dumps({"token": token, **barrier.to_json()}))
            draft.replace(self._answer)
            self._request.unlink()
        except FileNotFoundError:  # nobody waits any more
            return
        except OSError as error:
            raise StateError(f"{self._answer}: the place cannot be told there: {error}") from error


def asked_for(
    folder: Path, seconds: float, stopping: Callable[[], bool], topics: Collection[str] = ()
) -> Barrier | None:
    """Asks a running pipeline for a place; None: it told none in time.

    Args:
        folder: the pipeline's.
        seconds: how long it may take.
        stopping: whether waiting is to end.
        topics: whose ends are asked for.

    Raises:
        StateError: the answer cannot be read, or nobody can be asked.
        StoppedError: it was to end.
    """
    number, request, answer = uuid.uuid4().hex, folder / _REQUEST, folder / _ANSWER
    token = json.dumps({"request": number, "topics": sorted(topics)})
    draft = request.with_suffix(f".{number}")
    try:
        draft.write_text(token)
        draft.replace(request)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if (found := _answered(answer, token)) is not None:
                return found
            if stopping():
                raise StoppedError
            time.sleep(_STEP_SECONDS)
    except OSError as error:
        raise StateError(f"{folder}: the pipeline cannot be asked for a place: {error}") from error
    finally:
        request.unlink(missing_ok=True)
    return None


def _topics(request: str) -> list[str]:
    """The topics whose ends are asked for; a request of another version names none."""
    try:
        return [str(topic) for topic in json.loads(request)["topics"]]
    except DAMAGE:
        return []


def _answered(answer: Path, token: str) -> Barrier | None:
    try:
        told = json.loads(answer.read_text())
        return Barrier.from_json(told) if told["token"] == token else None
    except FileNotFoundError:
        return None
    except DAMAGE as error:
        raise StateError(f"{answer}: is damaged ({reason_of(error)}): remove it, and compare again") from error
