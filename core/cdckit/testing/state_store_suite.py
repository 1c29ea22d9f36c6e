"""What holds for every state store."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from typing import IO, Any, ClassVar

import pytest

from cdckit.api.plugins import Kind, find
from cdckit.api.state_store import HistoryEntry, StateBackend, StateStore
from cdckit.errors import StateHeldError
from cdckit.testing.component_suite import ComponentSuite
from cdckit.testing.killed import rounds_told, working
from cdckit.testing.state_saver import ENTRIES

_SAVES = 200

VALUES: Sequence[Any] = (
    *("", "é Ω 漢字 😀", "quotes \" ' and \\ and \n line ends", "\0", "%s ${x} {y} ?"),
    *(0, -1, 2**63 - 1, 2**80, 0.1, 1e300, True, False),
    *([], {}, [[None]], {"": None, "a.b": {"c": [1, "1", 1.5]}, "$ref": "Ž"}),
)
"""What JSON can say, and stores have been known to change."""


class StateStoreSuite(ComponentSuite):
    """Holds a state store to `cdckit.StateBackend`, `StateStore` and `StateView`.

    Each test begins with a store that has nothing (a fixture of the subclass).

    ```python
    class TestTableStore(StateStoreSuite):
        type_name = "table"

        @pytest.fixture(autouse=True)
        def _table(self, server):
            self.table = server.new_table()

        def options(self):
            return {"host": …, "table": self.table}
    ```
    """

    kind: ClassVar[Kind] = "state-store"
    pipeline = "suite"
    """The pipeline whose state it is."""
    release_seconds: ClassVar[float] = 30.0
    """Within what time a killed process lets go of what it held."""
    one_pipeline: ClassVar[bool] = False
    """Whether the options name a place for one pipeline's state, so that each pipeline has others."""
    kills: ClassVar[int] = 3
    """How often a process is killed while it saves."""
    large: ClassVar[int] = 1_000_000
    """How many characters a large value has."""

    def test_an_offset_is_there_for_the_next_run_until_it_is_forgotten(self) -> None:
        with self.held() as store:
            assert store.load_offset() is None
            store.save_offset({"file": "log.000001", "pos": 4})
            store.save_offset({"file": "log.000002", "pos": 157})
            assert store.load_offset() == {"file": "log.000002", "pos": 157}
        with self.held() as store:
            assert store.load_offset() == {"file": "log.000002", "pos": 157}
            store.save_offset(None)
            assert store.load_offset() is None
        with self.held() as store:
            assert store.load_offset() is None

    def test_a_history_is_read_in_order_of_position(self) -> None:
        with self.held() as store:
            store.append_history("ddl", [HistoryEntry("002", "b"), HistoryEntry("010", "c")])
            store.append_history("ddl", iter([HistoryEntry("001", "a")]))
            store.append_history("ddl", [])
        with self.held() as store:
            assert list(store.read_history("ddl")) == [("001", "a"), ("002", "b"), ("010", "c")]
            assert list(store.read_history("ddl", up_to="002")) == [("001", "a"), ("002", "b")]
            assert list(store.read_history("ddl", up_to="000")) == []
            assert list(store.read_history("none")) == []

    def test_positions_sort_as_texts_do(self) -> None:
        """By code points: neither by a language's rules nor without regard to case."""
        positions = ["B", "a", "10", "9", "a:1", "a 1", "\u00e9", "e\u0301"]
        with self.held() as store:
            store.append_history("ddl", [HistoryEntry(position, None) for position in positions])
            assert [entry.position for entry in store.read_history("ddl")] == sorted(positions)

    def test_an_entry_at_a_known_position_replaces_what_was_there(self) -> None:
        with self.held() as store:
            store.append_history("ddl", [HistoryEntry("001", {"a": 1}), HistoryEntry("002", {"b": 1})])
            store.append_history("ddl", [HistoryEntry("002", {"b": 2})])
            assert list(store.read_history("ddl")) == [("001", {"a": 1}), ("002", {"b": 2})]

    def test_a_history_can_be_replaced_and_others_stay(self) -> None:
        with self.held() as store:
            store.append_history("ddl", [HistoryEntry(f"{n:03d}", n) for n in range(100)])
            store.append_history("other", [HistoryEntry("001", "kept")])
            newest = [entry for entry in store.read_history("ddl") if entry.position >= "098"]
            store.replace_history("ddl", newest)
            assert list(store.read_history("ddl")) == [("098", 98), ("099", 99)]
            store.replace_history("gone", [HistoryEntry("1", 1)])
            store.replace_history("gone", [])
        with self.held() as store:
            assert list(store.read_history("ddl")) == [("098", 98), ("099", 99)]
            assert list(store.read_history("other")) == [("001", "kept")]
            assert list(store.read_history("gone")) == []

    def test_values_are_kept_by_key_until_they_are_removed(self) -> None:
        with self.held() as store:
            assert store.get("a") is None
            store.put("a", 1)
            store.put("A", 2)
            store.put("a ", 3)
            store.put("none", None)
        with self.held() as store:
            assert [store.get(key) for key in ("a", "A", "a ", "none")] == [1, 2, 3, None]
            store.put("a", None)
            assert [store.get(key) for key in ("a", "A")] == [None, 2]

    def test_what_json_can_say_stays_what_it_is(self) -> None:
        with self.held() as store:
            for number, value in enumerate(VALUES):
                store.put(f"key {number}", value)
            store.append_history("é 😀", [HistoryEntry(f"{n:03d}", value) for n, value in enumerate(VALUES)])
            store.save_offset({"values": list(VALUES)})
        with self.held() as store:
            assert list(map(repr, VALUES)) == [repr(store.get(f"key {n}")) for n in range(len(VALUES))]
            assert list(map(repr, VALUES)) == [repr(found.entry) for found in store.read_history("é 😀")]
            assert repr(store.load_offset()) == repr({"values": list(VALUES)})

    def test_large_values_and_long_histories_are_kept(self) -> None:
        text = "é1" * (self.large // 2)
        entries = [HistoryEntry(f"{n:09d}", {"n": n, "ddl": "CREATE TABLE t (id INT)"}) for n in range(5000)]
        with self.held() as store:
            store.save_offset({"text": text})
            store.put("text", text)
            store.append_history("long", entries)
            store.append_history("large", [HistoryEntry("1", text)])
        with self.held() as store:
            assert store.load_offset() == {"text": text}
            assert store.get("text") == text
            assert list(store.read_history("long")) == entries
            assert list(store.read_history("large")) == [("1", text)]

    def test_changes_grow_with_each_save_and_by_nothing_else(self) -> None:
        with self.held() as store:
            saves: Sequence[Callable[[], None]] = (
                lambda: store.save_offset({"n": 1}),
                lambda: store.put("a", 1),
                lambda: store.append_history("ddl", [HistoryEntry("1", 1)]),
                lambda: store.replace_history("ddl", [HistoryEntry("2", 2)]),
            )
            seen = [store.changes]
            for save in saves:
                save()
                seen.append(store.changes)
            assert (store.load_offset(), store.get("a"), list(store.read_history("ddl"))) == ({"n": 1}, 1, [("2", 2)])
            assert store.changes == seen[-1]
        assert seen == sorted(set(seen))

    def test_it_may_be_used_by_another_thread_than_it_was_opened_by(self) -> None:
        with self.held() as store:
            other = threading.Thread(target=store.save_offset, args=({"n": 1},))
            other.start()
            other.join()
            assert store.load_offset() == {"n": 1}

    def test_one_at_a_time_holds_it(self) -> None:
        with self.held(), pytest.raises(StateHeldError):
            self.backend().open(self.pipeline)
        with self.held():
            pass

    def test_each_pipeline_has_a_state_of_its_own(self) -> None:
        if self.one_pipeline:
            return
        with self.held() as store, closing(self.backend().open("Suite")) as other:
            store.save_offset({"n": 1})
            store.put("a", 1)
            store.append_history("ddl", [HistoryEntry("1", 1)])
            assert (other.load_offset(), other.get("a"), list(other.read_history("ddl"))) == (None, None, [])
            other.save_offset({"n": 2})
            other.replace_history("ddl", [])
            assert store.load_offset() == {"n": 1}
            assert list(store.read_history("ddl")) == [("1", 1)]

    def test_a_look_at_a_state_that_is_not_there_finds_nothing(self) -> None:
        for _ in range(2):
            with closing(self.backend().view(self.pipeline)) as view:
                assert (view.load_offset(), view.get("a"), list(view.history_sizes())) == (None, None, [])

    def test_a_state_can_be_looked_at_while_it_is_held(self) -> None:
        with self.held() as store:
            store.append_history("ddl", [HistoryEntry("1", "é"), HistoryEntry("2", {"a": [1, 2]})])
            store.append_history("b", [HistoryEntry("1", None)])
            for number in range(3):
                store.save_offset({"n": number})
                store.put("a", [number])
                with closing(self.backend().view(self.pipeline)) as view:
                    assert (view.load_offset(), view.get("a"), view.get("b")) == ({"n": number}, [number], None)
                    sizes = list(view.history_sizes())
                    assert [(size.name, size.entries) for size in sizes] == [("b", 1), ("ddl", 2)]
                    assert 15 <= sizes[1].bytes < 100
                    view.close()

    def test_it_can_be_closed_twice(self) -> None:
        store = self.backend().open(self.pipeline)
        store.close()
        store.close()
        with self.held():
            pass

    def test_a_killed_process_leaves_all_that_it_saved_and_lets_go(
        self, record_property: Callable[[str, object], None]
    ) -> None:
        record_property("check", "kill")
        rounds = 0
        for kill in range(self.kills):
            with self._saving() as (process, lines):
                for _ in range(4 + 3 * kill):
                    rounds = rounds_told(lines)
                with pytest.raises(StateHeldError):
                    self.backend().open(self.pipeline)
                process.kill()
                rounds = max([rounds, *map(int, lines.read().splitlines())])
            self._assert_whole(rounds)

    def _assert_whole(self, rounds: int) -> None:
        """All rounds are there that were said to be saved, and of the next one any part that is whole."""
        with self.held() as store:
            offset, value = store.load_offset(), store.get("value")
            assert offset is not None
            grown = [found.entry["round"] for found in store.read_history("grown")]
            replaced = [found.entry["round"] for found in store.read_history("replaced")]
        assert rounds <= offset["round"] <= value["round"] <= replaced[0] <= grown[-1] <= rounds + 1
        assert grown == list(range(1, grown[-1] + 1))
        assert replaced == [replaced[0]] * ENTRIES

    def backend(self) -> StateBackend:
        """A new instance, made as a pipeline makes it."""
        made: StateBackend = self.component()
        return made

    @contextmanager
    def held(self) -> Iterator[StateStore]:
        """The state, held; a process that was killed may hold it some time longer."""
        deadline = time.monotonic() + self.release_seconds
        while True:
            try:
                store = self.backend().open(self.pipeline)
            except StateHeldError:
                assert time.monotonic() < deadline, f"still held after {self.release_seconds} s"
                time.sleep(0.1)
            else:
                break
        with closing(store):
            yield store

    @contextmanager
    def _saving(self) -> Iterator[tuple[subprocess.Popen[bytes], IO[bytes]]]:
        """A process that saves until it is killed, and the numbers of the rounds that it has saved."""
        given = find(self.kind, self.type_name), self.config(), self.pipeline
        with working("cdckit.testing.state_saver", *given) as saving:
            yield saving

    def check_speed(self, record_property: Callable[[str, object], None]) -> None:
        """`cdc plugin check` alone runs it: saved offsets a second."""
        record_property("check", "speed")
        with self.held() as store:
            begin = time.perf_counter()
            for number in range(_SAVES):
                store.save_offset({"n": number})
            spent = time.perf_counter() - begin
        record_property("speed", f"{_SAVES / spent:,.0f} saves a second")
