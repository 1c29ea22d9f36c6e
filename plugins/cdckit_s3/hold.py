"""Who holds a pipeline's state: the process that the object `state.json` names.

A holder writes that object anew with each save, and often enough without one: where it stays as it is for too long the
holder is gone. That says who may begin. That nobody else saves is settled by the writes themselves: each is for the
version that its writer knows, and fails where another process has written one.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from cdckit import StateError, StateHeldError
from cdckit.waiting import ended_by_stop
from cdckit_s3.head import NAME, Head
from cdckit_s3.objects import PipelineObjects, UnmetError

log = logging.getLogger("cdckit.s3")

_ATTEMPTS = 5
_LOOK = 0.5
"""How often, in seconds, to look whether another process gives a sign of life."""
_NO_VERSION = '"00000000000000000000000000000000"'


class Hold:
    """The hold on a pipeline's state, kept by signs of life from here on.

    One that was killed is given the time in which it would have given a sign of life.

    Args:
        objects: those of the pipeline.
        pipeline: its name.

    Attributes:
        head: the last version of `state.json`.
        turn: is held while the next version is made.

    Raises:
        StateHeldError: another process has it, and lives.
        StateError: it cannot be taken, or the store does not do conditional writes.
    """

    def __init__(self, objects: PipelineObjects, pipeline: str) -> None:
        self._objects = objects
        self._pipeline = pipeline
        self._timeout = objects.config.hold_timeout_ms
        self._own = {
            "id": uuid.uuid4().hex,
            "by": f"process {os.getpid()} on {socket.gethostname()}",
            "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            "timeout.ms": self._timeout,
        }
        self.turn = threading.RLock()
        self._ended = threading.Event()
        self._lost: StateError | None = None
        self._saved = time.monotonic()
        self.head, self._etag = self._take()
        self._require_conditions()
        threading.Thread(target=self._live, name="state-hold", daemon=True).start()

    def _take(self) -> tuple[Head, str]:
        while True:
            head, etag = self._free()
            head.holder = self._own
            try:
                if etag is None:
                    return head, self._objects.put(NAME, head.text(), IfNoneMatch="*")
                return head, self._objects.put(NAME, head.text(), IfMatch=etag)
            except UnmetError:  # another process was faster, or the answer to the first attempt was lost
                found = self._objects.get(NAME)
                if found is not None and self._is_own(written := Head.read(found.body, self._objects.place)):
                    return written, found.etag

    def _free(self) -> tuple[Head, str | None]:
        """The next version, and the ETag of the one before, once nobody holds the state."""
        first, deadline = "", 0.0
        while found := self._objects.get(NAME):
            head = Head.read(found.body, self._objects.place)
            patience = 0.0 if head.holder is None else head.holder["timeout.ms"] / 1000 + 1
            if head.holder is None or (found.age is not None and found.age > patience):
                return head.next(), found.etag
            if not first:
                deadline = time.monotonic() + patience - max(0.0, found.age or 0.0)
                log.info("waiting up to %.0f s for %s to let go of the state", patience, _shown(head.holder))
                first = found.etag
            if found.etag != first:
                raise self._held(head.holder)
            if time.monotonic() > deadline:
                return head.next(), found.etag
            with ended_by_stop():
                time.sleep(_LOOK)
        return Head(), None

    def _held(self, holder: dict[str, Any]) -> StateHeldError:
        return StateHeldError(
            f"the state of '{self._pipeline}' in {self._objects.place} is held by {_shown(holder)}: stop that one, or "
            "give this pipeline a name of its own; a process that is gone lets go within its hold.timeout.ms"
        )

    def _is_own(self, head: Head) -> bool:
        return head.holder is not None and head.holder["id"] == self._own["id"]

    def _require_conditions(self) -> None:
        """Makes sure that the store refuses what it should; what it takes by mistake is what is there."""
        for condition in ({"IfMatch": _NO_VERSION}, {"IfNoneMatch": "*"}):
            try:
                self._objects.put(NAME, self.head.text(), **condition)
            except UnmetError:
                continue
            raise StateError(
                f"state store, {self._objects.place}: the object store passes over the condition of a write "
                f"({next(iter(condition))}), so that two pipelines could save in the same state: use one that knows "
                "conditional writes, or a newer version of it",
                number="CDC7304",
            )

    def change(self, head: Head) -> None:
        """Makes `head` the version in force, if the state is still held.

        Raises:
            StateError: it is not, or the object cannot be written.
        """
        with self.turn:
            self.require()
            body = head.text()
            for _ in range(_ATTEMPTS):
                try:
                    self._etag = self._objects.put(NAME, body, IfMatch=self._etag)
                except UnmetError:
                    self._find_own()
                else:
                    self.head, self._saved = head, time.monotonic()
                    return
            raise StateError(
                f"state store, {self._objects.place}: {NAME} could not be written, since others are writing it all the "
                "time: look who does"
            )

    def _find_own(self) -> None:
        """The version that was written without an answer that arrived; the next write is for that one."""
        found = self._objects.get(NAME)
        head = None if found is None else Head.read(found.body, self._objects.place)
        if found is None or head is None or not self._is_own(head):
            self._lost = self._loss(head)
            raise self._lost
        self._etag = found.etag

    def require(self) -> None:
        """Makes sure that the hold was not found lost.

        Raises:
            StateError: it was.
        """
        if self._lost is not None:
            raise self._lost

    def _loss(self, head: Head | None) -> StateError:
        whose = f"{_shown(head.holder)} took it" if head else f"{NAME} is gone"
        return StateError(
            f"state store, {self._objects.place}: the hold on the state of '{self._pipeline}' was lost ({whose}), and "
            "nothing more is saved: start the pipeline again; it goes on from what was saved",
            number="CDC7302",
        )

    def _live(self) -> None:
        third = self._timeout / 3000
        while not self._ended.wait(max(0.1, self._saved + third - time.monotonic())):
            if time.monotonic() - self._saved < third:
                continue
            try:
                with self.turn:
                    if not self._ended.is_set():
                        self.change(self.head.next())
            except StateError as error:
                if not self._ended.is_set():
                    log.warning("%s", error)
                if self._lost is not None:
                    return
                self._ended.wait(third)

    def end(self) -> None:
        """Lets go, as far as the store can be told."""
        self._ended.set()
        with self.turn:
            if self._lost is None:
                head = self.head.next()
                head.holder = None
                self.change(head)


def _shown(holder: dict[str, Any] | None) -> str:
    """Who that is."""
    return "nobody" if holder is None else f"{holder.get('by')} since {holder.get('since')} UTC"
