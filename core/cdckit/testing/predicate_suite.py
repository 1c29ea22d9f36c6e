"""What holds for every predicate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from cdckit.api.plugins import Kind
from cdckit.api.record import Record
from cdckit.api.transform import Predicate, Sought
from cdckit.testing.events import change_events
from cdckit.testing.record_suite import RecordSuite


class PredicateSuite(RecordSuite):
    """Holds a predicate to `cdckit.Predicate`.

    `events` must hold a record that is meant, and one that is not.

    ```python
    class TestIsDelete(PredicateSuite):
        type_name = "IsDelete"
    ```
    """

    kind: ClassVar[Kind] = "predicate"

    def test_its_answers_are_true_and_false_themselves(self) -> None:
        answers = self.made(self.events())
        assert {type(answer) for answer in answers} == {bool}, "a chain compares the answer with `is`"

    def test_it_tells_records_apart(self) -> None:
        answers = {bool(answer) for answer in self.made(self.events())}
        assert answers == {True, False}, "`events` holds a record that is meant and one that is not"

    def test_a_record_has_the_same_answer_alone_among_others_and_again(self) -> None:
        events = self.events()
        alone = [answer for event in events for answer in self.made([event])]
        assert self.made([*events, *events]) == alone * 2
        assert self.made(list(reversed(events))) == list(reversed(alone))

    def test_envelopes_of_a_template_are_read_as_plain_ones_are(self) -> None:
        assert self.made(change_events(templates=True)) == self.made(change_events())

    def test_it_says_from_the_beginning_whether_it_looks_for_topics(self) -> None:
        predicate: Predicate = self.component()
        before = predicate.sought()
        for event in self.events():
            predicate.test(event)
        after = predicate.sought()
        if before is None:
            assert after is None, "who looks for something says so before the first record"
        else:
            assert before.found is None, "nothing was seen yet"
            assert isinstance(after, Sought)
            assert after == Sought(before.pattern, bool(after.found)), "records were seen"

    def _work(self, component: Any) -> Callable[[list[Record]], object]:
        test = component.test
        return lambda records: [test(record) for record in records]
