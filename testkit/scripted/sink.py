"""Sinks that take nothing."""

from __future__ import annotations

from cdckit.api.messages import Messages
from cdckit.api.sink import Sink, SinkContext, TableSink
from cdckit.errors import SinkError
from testkit.scripted.config import FailingConfig, NoOptions


class FailingSink(Sink):
    """Refuses whatever is written."""

    def __init__(self, config: FailingConfig) -> None:
        self.config = config

    def open(self, context: SinkContext) -> None:
        pass

    def write(self, messages: Messages) -> None:
        raise SinkError("the sink is full")

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


class Tables(TableSink):
    """Keeps tables, or would."""

    def __init__(self, config: NoOptions) -> None:
        self.config = config
