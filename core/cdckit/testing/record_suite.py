"""What holds for every component that makes something of one record at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from cdckit.api.plugins import find
from cdckit.api.record import Record
from cdckit.testing.component_suite import ComponentSuite
from cdckit.testing.events import change_events
from cdckit.testing.restart import made_elsewhere, made_of
from cdckit.testing.written import written

_MEASURED_SECONDS = 0.3


class RecordSuite(ComponentSuite):
    """The base of the suites for transforms, predicates and serializers."""

    def events(self) -> Sequence[Record]:
        """The records to try it on; by default those of `change_events`. It must take them all."""
        return change_events()

    def made(self, records: Sequence[Record]) -> Any:
        """What a new instance makes of the records, to be compared."""
        return made_of(self.kind, self.component(), records)

    def test_the_records_given_are_not_changed(self) -> None:
        events = self.events()
        before = [written(event) for event in events]
        self.made(events)
        assert [written(event) for event in events] == before

    def check_restart(self, record_property: Callable[[str, object], None]) -> None:
        """`cdc plugin check` alone runs it: a process that starts again goes on as the former one did."""
        record_property("check", "kill")
        events = self.events()
        here = self.made(events)
        for seed in (1, 2):
            there = made_elsewhere(self.kind, find(self.kind, self.type_name), self.config(), events, seed)
            assert there == here, "a process that starts again makes something else of the same records"

    def check_speed(self, record_property: Callable[[str, object], None]) -> None:
        """`cdc plugin check` alone runs it: microseconds a record."""
        record_property("check", "speed")
        events, component = list(self.events()) * 100, self.component()
        work = self._work(component)
        work(events)
        begin, rounds = time.perf_counter(), 0
        while (spent := time.perf_counter() - begin) < _MEASURED_SECONDS:
            work(events)
            rounds += 1
        record_property("speed", f"{spent / rounds / len(events) * 1e6:.1f} µs a record")

    def _work(self, component: Any) -> Callable[[list[Record]], object]:
        """What is measured."""
        raise NotImplementedError
