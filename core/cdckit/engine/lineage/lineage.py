"""Tells OpenLineage of one run: what the lifecycle hooks say, gathered, and sent from a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from cdckit.api.hookspecs import hookimpl
from cdckit.api.notices import DefinedColumn
from cdckit.api.plugins import factory, plugin_manager
from cdckit.api.sink import TableSink
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.lineage.outputs import OutputField, OutputWatch
from cdckit.engine.lineage.transport import open_client, require_lineage

log = logging.getLogger("cdckit.lineage")

AGAIN_SECONDS = 120.0
"""So often an event says that the run goes on."""
_GATHER_SECONDS = 0.5
"""For so long what is told is gathered for one event: a thousand tables come at once."""
_RETRY_SECONDS = 10.0
_CLOSE_SECONDS = 5.0
_END_SECONDS = 15.0
"""A pipeline waits so long for its last events at the most."""

MakeEvent = Callable[..., Any]
"""Makes an event of a state, inputs, outputs and an error (`RunEvents.event`)."""


class Client(Protocol):
    """What OpenLineage's client can."""

    def emit(self, event: Any) -> None:
        """Sends an event; raises where that fails."""

    def close(self, timeout: float = -1.0) -> bool:
        """Sends what it holds."""


class Lineage:
    """What is known of one run, and not told yet. Hooks, and whoever sees records, may tell it at the same time.

    Args:
        pipeline: the name of the pipeline; what others tell is left out.
        event: makes the events.
        client: sends them.
        inputs: what is read, as far as options say it.
        rows: whether the sink keeps rows, not events.
    """

    def __init__(
        self, pipeline: str, event: MakeEvent, client: Client, inputs: Sequence[str] = (), *, rows: bool = False
    ) -> None:
        self._pipeline = pipeline
        self._event = event
        self._client = client
        self._begun = False
        self._inputs: dict[str, tuple[DefinedColumn, ...]] = dict.fromkeys(inputs, ())
        self._outputs: dict[str, tuple[OutputField, ...]] = {}
        self._known: dict[str, tuple[DefinedColumn, ...]] = {}
        self._written: dict[str, tuple[OutputField, ...]] = {}
        self._states: deque[Any] = deque()
        self._lock = threading.Lock()
        self._new = threading.Event()
        self._ended = threading.Event()
        self._failing = False
        self.watch = OutputWatch(self.writes, rows=rows)
        """Looks at the records of a runner that has them in this process."""
        self._thread = threading.Thread(target=self._follow, name="cdckit-lineage", daemon=True)
        self._thread.start()

    def writes(self, topic: str, fields: tuple[OutputField, ...]) -> None:
        """Records go to this topic."""
        with self._lock:
            if self._written.get(topic) != fields:
                self._written[topic] = self._outputs[topic] = fields
                self._new.set()

    def _reads(self, tables: Mapping[str, tuple[DefinedColumn, ...]]) -> None:
        with self._lock:
            for name, columns in tables.items():
                if name not in self._known or (columns and self._known[name] != columns):
                    self._known[name] = self._inputs[name] = columns
                    self._new.set()

    @hookimpl
    def cdckit_started(self, pipeline: str) -> None:
        """The run begins; on Spark it may begin more than once."""
        if pipeline == self._pipeline:
            self._begin()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._states.append(self._event("START", {}, {}))
            self._new.set()

    @hookimpl
    def cdckit_captured(self, pipeline: str, data_collections: Sequence[str]) -> None:
        """These are read."""
        if pipeline == self._pipeline:
            self._reads(dict.fromkeys(data_collections, ()))

    @hookimpl
    def cdckit_snapshot_started(self, pipeline: str, data_collections: Mapping[str, int | None]) -> None:
        """These, too."""
        if pipeline == self._pipeline:
            self._reads(dict.fromkeys(data_collections, ()))

    @hookimpl
    def cdckit_table_defined(self, pipeline: str, data_collection: str, columns: Sequence[DefinedColumn]) -> None:
        """It has these columns."""
        if pipeline == self._pipeline:
            self._reads({data_collection: tuple(columns)})

    @hookimpl
    def cdckit_stopped(self, pipeline: str, error: BaseException | None) -> None:
        """The run is over."""
        if pipeline == self._pipeline:
            self._begin()
            with self._lock:
                self._gathered()
            self._states.append(self._event("COMPLETE" if error is None else "FAIL", {}, {}, error))
            self._new.set()

    def close(self) -> None:
        """Sends what is left, for some seconds at the most."""
        self._ended.set()
        self._new.set()
        self._thread.join(_END_SECONDS)

    def _gathered(self) -> None:
        """Makes an event of what is not told yet."""
        if self._inputs or self._outputs:
            self._states.append(self._event("RUNNING", self._inputs, self._outputs))
            self._inputs, self._outputs = {}, {}

    def _follow(self) -> None:
        while not self._ended.is_set():
            told = self._new.wait(_RETRY_SECONDS if self._failing else AGAIN_SECONDS)
            self._ended.wait(_GATHER_SECONDS)
            self._new.clear()
            with self._lock:
                if not self._states:
                    self._gathered()
                if not self._states and not told:
                    self._states.append(self._event("RUNNING", {}, {}))
            self._drain()
        self._drain()
        with suppress(Exception):
            self._client.close(_CLOSE_SECONDS)

    def _drain(self) -> None:
        """Sends what there is, in order, as long as it is taken."""
        while self._states:
            if not self._sent(self._states[0]):
                return
            self._states.popleft()
            with self._lock:
                if not self._states:
                    self._gathered()

    def _sent(self, event: Any) -> bool:
        try:
            self._client.emit(event)
        # Whatever it is: a pipeline goes on without. The words may hold what the client logs in with.
        except Exception as error:  # noqa: BLE001
            if not self._failing:
                status = getattr(getattr(error, "response", None), "status_code", "")
                log.warning("OpenLineage cannot be told (%s); tried again", f"{type(error).__name__} {status}".strip())
            self._failing = True
            return False
        if self._failing:
            log.info("OpenLineage is told again")
        self._failing = False
        return True


@contextmanager
def telling(lineage: Lineage | None) -> Iterator[None]:
    """Has it hear the hooks while the context lasts."""
    if lineage is None:
        yield
        return
    manager = plugin_manager()
    manager.register(lineage)
    try:
        yield
    finally:
        manager.unregister(lineage)
        lineage.close()


def lineage_of(pipeline: ResolvedPipeline) -> Lineage | None:
    """What tells OpenLineage of a run that is about to start; None where nobody is to be told.

    Raises:
        ConfigError: the client is not installed, or its file does not do.
    """
    if pipeline.lineage is None:
        return None
    require_lineage(pipeline.lineage)
    from cdckit.engine.lineage.events import RunEvents  # noqa: PLC0415 - imports the client

    client, events = open_client(pipeline.lineage), RunEvents(pipeline)
    return Lineage(pipeline.name, events.event, client, pipeline.source_config.inputs, rows=keeps_tables(pipeline))


def keeps_tables(pipeline: ResolvedPipeline) -> bool:
    """Whether the sink keeps rows, not messages."""
    made_by = factory(pipeline.sink.registration)
    return isinstance(made_by, type) and issubclass(made_by, TableSink)
