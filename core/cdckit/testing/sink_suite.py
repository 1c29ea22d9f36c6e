"""What holds for every sink that takes messages."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from cdckit.api.messages import Messages
from cdckit.api.plugins import Kind, find
from cdckit.api.sink import Sink, SinkContext
from cdckit.testing.component_suite import ComponentSuite
from cdckit.testing.killed import rounds_told, working

_BATCH = 20


class Delivered(NamedTuple):
    """One message as it is found where the sink put it; key and value as parsed JSON."""

    topic: str
    key: Any
    value: Any


class SinkSuite(ComponentSuite):
    """Holds a sink to `cdckit.api.sink.Sink`. Each test begins with an empty target (a fixture of the subclass).

    ```python
    class TestFolderSink(SinkSuite):
        type_name = "folder"

        @pytest.fixture(autouse=True)
        def _folder(self, tmp_path):
            self.folder = tmp_path

        def options(self):
            return {"path": str(self.folder)}

        def delivered(self):
            return [Delivered(…) for path in sorted(self.folder.iterdir())]
    ```
    """

    kind: ClassVar[Kind] = "sink"
    topic = "suite.shop.orders"
    """Where the messages go; a subclass whose target outlives a test gives each test another one."""
    newest_only: ClassVar[bool] = False
    """Whether the sink keeps of each key the newest value alone, and nothing of a deleted key."""

    def delivered(self) -> Sequence[Delivered]:
        """All that has been delivered; the messages of each key in the order in which they lie there."""
        raise NotImplementedError

    def test_what_was_flushed_is_delivered_in_the_order_of_each_key(self) -> None:
        with self.opened() as sink:
            for batch in range(5):
                sink.write(self._messages([(n % 7, {"n": n}) for n in range(batch * 200, batch * 200 + 200)]))
            sink.flush()
            found = self.delivered()
        for key in range(7):
            values = [message.value["n"] for message in found if message.key == {"id": key}]
            assert values == self._kept(range(key, 1000, 7)), f"of key {key}"

    def test_tombstones_are_delivered(self) -> None:
        with self.opened() as sink:
            sink.write(self._messages([(1, {"n": 1}), (2, {"n": 2}), (1, None)]))
            sink.flush()
            found = self.delivered()
        assert [message.value for message in found if message.key == {"id": 1}] == self._kept([{"n": 1}, None])
        assert [message.value for message in found if message.key == {"id": 2}] == [{"n": 2}]
        assert {message.topic for message in found} == {self.topic}

    def test_texts_of_any_length_and_script_stay_what_they_are(self) -> None:
        texts = dict(enumerate(["", "é Ω 漢字 😀", 'quotes " and \\ and \n line ends', "x" * 300_000]))
        with self.opened() as sink:
            sink.write(self._messages([(key, {"text": text}) for key, text in texts.items()]))
            sink.flush()
            assert {message.key["id"]: message.value["text"] for message in self.delivered()} == texts

    def test_a_second_run_goes_on_after_the_first(self) -> None:
        for run in range(2):
            with self.opened() as sink:
                sink.write(self._messages([(1, {"run": run})]))
                sink.flush()
        assert [message.value for message in self.delivered()] == self._kept([{"run": 0}, {"run": 1}])

    def test_nothing_can_be_written_and_flushed(self) -> None:
        with self.opened() as sink:
            sink.flush()
            sink.write(self._messages([]))
            sink.flush()
            assert list(self.delivered()) == []

    def test_what_was_flushed_survives_a_kill(self, record_property: Callable[[str, object], None]) -> None:
        """And a sink that is given the rest again, from what was flushed on, lacks nothing."""
        record_property("check", "kill")
        changes = [(number % 3, {"n": number}) for number in range(100 * _BATCH)]
        batches = [self._messages(changes[at : at + _BATCH]) for at in range(0, len(changes), _BATCH)]
        with working("cdckit.testing.sink_writer", find(self.kind, self.type_name), self.config(), batches) as writing:
            process, lines = writing
            flushed = _BATCH * max(rounds_told(lines) for _ in range(3))
            process.kill()
            flushed = max([flushed, *(_BATCH * int(line) for line in lines.read().splitlines())])
        with self.opened() as sink:
            sink.write(self._messages(changes[flushed:]))
            sink.flush()
            found = self.delivered()
        for key in range(3):
            values = [message.value["n"] for message in found if message.key == {"id": key}]
            assert self._goes_on(values, range(key, len(changes), 3), flushed), f"of key {key}, {flushed} flushed"

    def test_it_can_be_closed_twice_and_without_having_been_opened(self) -> None:
        self.component().close()
        with self.opened() as sink:
            sink.close()

    def _kept(self, values: Iterable[Any]) -> list[Any]:
        """What stays of the values that one key had in turn."""
        all_of_them = list(values)
        return [value for value in all_of_them[-1:] if value is not None] if self.newest_only else all_of_them

    def check_speed(self, record_property: Callable[[str, object], None]) -> None:
        """`cdc plugin check` alone runs it: messages a second, a flush for each thousand."""
        record_property("check", "speed")
        batches = [self._messages([(n % 100, {"n": n, "text": "x" * 500}) for n in range(1000)]) for _ in range(10)]
        with self.opened() as sink:
            begin = time.perf_counter()
            for batch in batches:
                sink.write(batch)
                sink.flush()
            spent = time.perf_counter() - begin
        record_property("speed", f"{10_000 / spent:,.0f} messages a second")

    def _goes_on(self, values: list[int], all_of_them: Sequence[int], flushed: int) -> bool:
        """Whether a key's values are those of a process that was killed, and then all that was not flushed by it."""
        again = [value for value in all_of_them if value >= flushed]
        if self.newest_only:
            return values == again[-1:]
        before = values[: len(values) - len(again)]
        whole = len(before) >= len(all_of_them) - len(again)
        return whole and values == [*all_of_them[: len(before)], *again]

    @contextmanager
    def opened(self) -> Iterator[Sink]:
        """A new sink, opened; it is closed at the end without a flush."""
        sink: Sink = self.component()
        sink.open(SinkContext("suite", once=True))
        try:
            yield sink
        finally:
            sink.close()

    def _messages(self, changes: Sequence[tuple[int, Any]]) -> Messages:
        """Messages as the JSON serializer makes them, of keys' ids and values."""
        text: Callable[[Any], bytes] = lambda value: json.dumps(value, ensure_ascii=False).encode()  # noqa: E731
        count = len(changes)
        return Messages(
            topics=[self.topic] * count,
            partitions=[None] * count,
            keys=[text({"id": key}) for key, _ in changes],
            values=[None if value is None else text(value) for _, value in changes],
            headers=[(("suite", b'"x"'),)] * count,
            positions=[f"{number:08d}" for number in range(count)],
            timestamps=[1_700_000_000_000 + number for number in range(count)],
        )
