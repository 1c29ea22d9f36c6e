"""The contract of a sink."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import orjson

from cdckit.api.held import HeldMessages, Images
from cdckit.api.messages import Form, Messages
from cdckit.api.state_store import Json
from cdckit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SinkContext:
    """What a runner gives a sink.

    Attributes:
        name: the pipeline's name.
        once: whether the pipeline ends by itself: then an unreachable sink is an error after its timeout.
        stopping: once true, waiting for an unreachable sink gives up.
        key_form: what keys are.
        value_form: what values are.
        header_form: what headers are.
        around_position: what stands before and behind a position that becomes a message's header.
        refused: takes one message that the target will never take, and why; None: the sink raises. It is called before
            `flush` returns; a sink that cannot tell such messages from other faults raises in any case.
        parsed: of a message that is read back: what the JSON of its key or value would say, of its topic, `key` or
            `value`, and the bytes; raises ValueError where the serializer has not written that.
        resumes: whether all that comes behind the place of the sink's last transaction is written again.
    """

    name: str
    once: bool = False
    stopping: Callable[[], bool] = field(default=lambda: False)
    key_form: Form = "json"
    value_form: Form = "json"
    header_form: Form = "json"
    around_position: tuple[str, str] = ("", "")
    refused: Callable[[Messages, str], None] | None = None
    parsed: Callable[[str, str, bytes], Any] = field(default=lambda _topic, _part, data: orjson.loads(data))
    resumes: bool = True


@dataclass(frozen=True, slots=True)
class QueueFill:
    """How full a sink's buffer is.

    Attributes:
        messages: how many messages were written and are not acknowledged yet.
        capacity: how many there may be.
        capacity_bytes: how many bytes they may take together.
    """

    messages: int
    capacity: int
    capacity_bytes: int


class Transactions(ABC):
    """What a sink has that keeps the offset together with the messages: both arrive, or neither does.

    What is written between two commits is one transaction. A sink's may be asked for before the sink is open, and used
    once it is.
    """

    @property
    @abstractmethod
    def interval_ms(self) -> int | None:
        """For how long, in milliseconds, batches are gathered for one transaction; None: each has one of its own."""

    @abstractmethod
    def committed(self) -> Json:
        """The place that was committed last, by whichever process; None where there is none.

        Raises:
            SinkError: it cannot be read.
        """

    @abstractmethod
    def commit(self, place: Json) -> None:
        """Makes all that was written since the last commit, and the place behind it, visible at once.

        Raises:
            RetriableSinkError: it was lost, or it is not known whether it was: roll back, and go on from the place that
                gives.
            SinkError: it was lost, and would be again; or another process has taken over.
        """

    @abstractmethod
    def rollback(self) -> Json:
        """Takes back all that was written since the last commit, and gives the place that was committed last.

        Raises:
            SinkError: another process has taken over, or nobody answers.
        """


class Sink(ABC):
    """Delivers messages. It is constructed with its config model's instance alone.

    Obligations: messages of one key arrive in the order in which they were written; after `flush` returns, all that
    was written survives a crash of this process. A sink that cannot take a message raises and loses nothing silently.
    """

    in_tasks: ClassVar[bool] = False
    """Whether several processes may each write their own share at the same time, as Spark's tasks do."""

    keeps_all: ClassVar[bool] = False
    """Whether what it was given stays there whatever comes later, so that what it held at a place can be read back."""

    tells_ends: ClassVar[bool] = False
    """Whether `ends` may tell where topics end, so that what it held there can be read back."""

    reads_bytes: ClassVar[bool] = False
    """Whether `read_back` reads keys and values by `SinkContext.parsed`, so that they need not be JSON."""

    @property
    def transactions(self) -> Transactions | None:
        """For a sink that keeps the offset itself; None: the runner saves it after a flush.

        Within them a write and a flush, too, may raise `RetriableSinkError`: the runner rolls back and writes again.
        """
        return None

    @abstractmethod
    def open(self, context: SinkContext) -> None:
        """Gets ready.

        Raises:
            SinkError: it cannot be reached or written; the message says what to do.
        """

    @abstractmethod
    def write(self, messages: Messages) -> None:
        """Takes a batch in order; may hold it in a bounded buffer."""

    @abstractmethod
    def flush(self) -> None:
        """Returns once everything written is safe.

        Raises:
            SinkError: something was not taken.
        """

    def queue_fill(self) -> QueueFill | None:
        """How full the buffer is now, or None for a sink without one. Asked from any thread, at any time."""
        return None

    def read_back(self, context: SinkContext, topics: Collection[str]) -> HeldMessages:
        """What it holds of some topics, for `cdc diff`. It need not be open, and another process may write meanwhile.

        Not known by default. Asked only where keys and values are JSON, or it `reads_bytes`.

        Raises:
            ConfigError: this sink cannot be read back.
            SinkError: it cannot be reached.
        """
        raise ConfigError("sink.type: what this sink has written cannot be read back, and so not be compared")

    def ends(self, topics: Collection[str]) -> Mapping[str, Json] | None:
        """Where topics end now, in the sink's own words; asked behind a flush or a commit, where nothing is under way.

        Returns:
            By topic; None: it cannot tell now. It raises nothing, as the pipeline goes on all the same.
        """
        return None

    def read_back_to(self, context: SinkContext, topics: Collection[str], ends: Mapping[str, Json]) -> HeldMessages:
        """As `read_back`, up to ends that `ends` told.

        Topics in which what stands behind may have taken away what stood before are read to their present ends, and
        named by `HeldMessages.passing`.

        Raises:
            SinkError: it cannot be reached.
        """
        raise NotImplementedError

    @abstractmethod
    def close(self) -> None:
        """Lets go of all resources without a flush. May be called twice."""


class TableSink:
    """A sink that keeps tables and needs the Spark runner: it takes records with their schemas, not messages.

    Its contract is `cdckit.tables.sink`; this class lets a runner tell the two kinds apart without importing Spark.
    """

    def images(self) -> Images:
        """What reads its tables back for `cdc diff`, without Spark. Not known by default.

        Raises:
            ConfigError: its tables cannot be read back.
        """
        raise ConfigError("sink.type: the tables of this sink cannot be read back, and so not be compared")
