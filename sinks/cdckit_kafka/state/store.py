"""The state store `kafka`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from typing import Any

from cdckit import ConfigError, Finding, HistoryEntry, HistorySize, StateBackend, StateError, StateStore, StateView
from cdckit.waiting import let_go
from cdckit_kafka.state.clients import StateClients
from cdckit_kafka.state.config import KafkaStateConfig
from cdckit_kafka.state.hold import Hold
from cdckit_kafka.state.messages import SavedState
from cdckit_kafka.state.topics import TopicReader, has_topics, make_topics
from cdckit_kafka.state.writer import Saved, StateWriter


class KafkaBackend(StateBackend):
    """Keeps states in topics."""

    def __init__(self, config: KafkaStateConfig) -> None:
        self._config = config

    @classmethod
    def check(cls, config: KafkaStateConfig) -> Sequence[Finding]:
        """Asks the brokers whether the topics are there."""
        clients = StateClients(config, "")
        try:
            made = has_topics(clients, clients.admin)
        except (ConfigError, StateError) as error:
            return [Finding.of("state store", error)]
        found = "its topics are there" if made else "its topics are made at first use"
        return [Finding("state store", "ok", f"{clients.place}: {found}")]

    def open(self, pipeline: str) -> StateStore:
        """The state, held."""
        return KafkaStateStore(StateClients(self._config, pipeline))

    def view(self, pipeline: str) -> StateView:
        """A look at it."""
        return KafkaStateView(StateClients(self._config, pipeline))


class KafkaStateStore(StateStore):
    """A state that is held. It is read once, behind whatever other processes had saved, and then known.

    Args:
        clients: what it is read and written by.

    Raises:
        StateHeldError: another process holds it.
        StateError: it cannot be opened.
    """

    def __init__(self, clients: StateClients) -> None:
        self._topics = clients.config.topic, clients.config.histories
        self._saved = SavedState(clients.pipeline, clients.place)
        self._changes = 0
        admin = clients.admin
        make_topics(clients, admin)
        with ExitStack() as opened:
            hold = Hold(clients, admin)
            opened.callback(hold.end)
            # Before anything is read: from here on no other process adds to the topics, so what is read is the last
            # state.
            self._writer = StateWriter(clients, hold.other)
            for topic in self._topics:
                reader = TopicReader(clients, topic, self._saved.take)
                with ExitStack() as reading:
                    reading.callback(reader.close)
                    reader.catch_up(there=True)
            if not self._saved.require_format():
                self._write(self._topics[0], [self._saved.format_saved()])
            self._opened = opened.pop_all()

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        self._writer.require()
        return self._saved.offset()

    def save_offset(self, offset: dict[str, Any] | None) -> None:
        """Makes `offset` the saved one, durably; None forgets it."""
        self._write(self._topics[0], [self._saved.offset_saved(offset)])

    def append_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Adds entries durably; an entry at a position that is already there replaces it."""
        self._write(self._topics[1], self._saved.entries_saved(history, entries))

    def read_history(self, history: str, up_to: str | None = None) -> Iterator[HistoryEntry]:
        """The entries in order of position, those after `up_to` left out."""
        self._writer.require()
        return self._saved.entries(history, up_to)

    def replace_history(self, history: str, entries: Iterable[HistoryEntry]) -> None:
        """Puts `entries` in the place of the whole history at once."""
        new = self._saved.entries_saved(history, entries)
        self._write(self._topics[1], [*new, *self._saved.others_removed(history, new)])

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        self._writer.require()
        return self._saved.value(key)

    def put(self, key: str, value: Any) -> None:
        """Keeps a value under `key` durably; None removes it."""
        self._write(self._topics[0], [self._saved.value_saved(key, value)])

    @property
    def changes(self) -> int:
        """How often it was saved."""
        return self._changes

    def close(self) -> None:
        """Lets go of the state, and of the brokers."""
        let_go(self._opened.close)

    def _write(self, topic: str, messages: Sequence[Saved]) -> None:
        if messages:
            self._writer.write(topic, messages)
            self._saved.take_all(messages)
        self._changes += 1


class KafkaStateView(StateView):
    """A look at a state, which reads on in the topics each time.

    Args:
        clients: what it is read by.
    """

    def __init__(self, clients: StateClients) -> None:
        self._saved = SavedState(clients.pipeline, clients.place)
        self._values = TopicReader(clients, clients.config.topic, self._saved.take)
        self._histories = TopicReader(clients, clients.config.histories, self._saved.take)

    def load_offset(self) -> dict[str, Any] | None:
        """The last saved offset, or None."""
        self._look(self._values)
        return self._saved.offset()

    def get(self, key: str) -> Any:
        """A value kept under `key`, or None."""
        self._look(self._values)
        return self._saved.value(key)

    def history_sizes(self) -> Sequence[HistorySize]:
        """The histories that have entries, by name."""
        self._look(self._values)
        self._look(self._histories)
        return self._saved.sizes()

    def _look(self, reader: TopicReader) -> None:
        reader.catch_up()
        self._saved.require_format()

    def close(self) -> None:
        """Ends the connections."""
        self._values.close()
        self._histories.close()
