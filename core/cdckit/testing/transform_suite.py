"""What holds for every transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from cdckit.api.plugins import Kind
from cdckit.api.record import Record
from cdckit.api.transform import Transform
from cdckit.engine.chain import LiveStep, TransformChain
from cdckit.engine.grouped import GroupedSteps, takes_groups
from cdckit.testing.events import change_events
from cdckit.testing.record_suite import RecordSuite
from cdckit.testing.written import written


class TransformSuite(RecordSuite):
    """Holds a transform to `cdckit.api.transform.Transform`.

    ```python
    class TestUpperCase(TransformSuite):
        type_name = "UpperCase"
    ```
    """

    kind: ClassVar[Kind] = "transform"

    def test_what_it_makes_can_be_written(self) -> None:
        for record in self.applied(self.events()):
            assert isinstance(record, Record)
            assert written(record)["topic"], "every record has a topic"

    def test_positions_stay(self) -> None:
        """Sinks keep the newest state of a key by its position."""
        for event in self.events():
            assert {made.position for made in self.applied([event])} <= {event.position}

    def test_it_remembers_nothing_that_a_restart_would_lose(self) -> None:
        events = self.events()
        at_once = [written(made) for made in self.applied(events)]
        each_anew = [written(made) for event in events for made in self.applied([event])]
        assert each_anew == at_once

    def test_the_same_record_becomes_the_same_again(self) -> None:
        events = self.events()
        twice = [written(made) for made in self.applied([*events, *events])]
        assert twice[: len(twice) // 2] == twice[len(twice) // 2 :]

    def test_envelopes_of_a_template_are_read_as_plain_ones_are(self) -> None:
        plain = [written(made) for made in self.applied(change_events())]
        assert [written(made) for made in self.applied(change_events(templates=True))] == plain

    def test_what_becomes_of_a_group_is_what_becomes_of_each(self) -> None:
        """Where it says by `of_group` what it does to all records of a group, `apply` does the same to each."""
        for event in change_events(templates=True) if takes_groups(self.component()) else ():
            group = [event.replace(position=f"{number:08d}") for number in range(20)]
            together = GroupedSteps([self.component()], self.applied)
            each = [written(made) for record in group for made in self.applied([record])]
            assert [written(made) for made in together(group)] == each

    def test_it_can_be_closed_twice(self) -> None:
        transform: Transform = self.component()
        transform.close()
        transform.close()

    def applied(self, records: Sequence[Record]) -> Sequence[Record]:
        """What a new transform makes of the records."""
        return TransformChain([LiveStep(self.type_name, self.component())]).apply(records)

    def _work(self, component: Any) -> Callable[[list[Record]], object]:
        return TransformChain([LiveStep(self.type_name, component)]).apply
