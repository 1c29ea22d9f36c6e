"""What every process of a query of one's own needs to know that writes messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from cdckit.api.plugins import make
from cdckit.api.sink import Sink, SinkContext
from cdckit.engine.config.pipeline import Component


@dataclass(frozen=True, slots=True)
class WriteJob:
    """What becomes of the rows. It can be pickled.

    Attributes:
        name: the job's.
        sink: where messages go.
        topic: the topic of all of them; None: rows name theirs.
        in_tasks: whether tasks write, each its share, and not the driver all of a batch.
        position_header: whether messages keep their positions.
        around_position: what stands before and behind a position that becomes a header.
    """

    name: str
    sink: Component
    topic: str | None = None
    in_tasks: bool = False
    position_header: bool = True
    around_position: tuple[str, str] = ("", "")

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """The sink, for one batch or share of one; it gives up on brokers that are away after its own time.

        Raises:
            ConfigError: a package that it needs is missing.
            SinkError: as `Sink.open`.
        """
        sink = make(self.sink.registration, self.sink.config)
        assert isinstance(sink, Sink)  # no job is made for others
        try:
            sink.open(SinkContext(self.name, once=True, around_position=self.around_position, resumes=False))
            yield sink
        finally:
            sink.close()
