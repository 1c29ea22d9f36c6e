"""What holds for every serializer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import orjson

from cdckit.api.messages import Form, Messages
from cdckit.api.plugins import Kind
from cdckit.api.record import Record
from cdckit.api.serializer import Serializer
from cdckit.testing.events import change_events
from cdckit.testing.record_suite import RecordSuite
from cdckit.testing.written import written


class SerializerSuite(RecordSuite):
    """Holds a serializer to `cdckit.Serializer`.

    ```python
    class TestCsv(SerializerSuite):
        type_name = "csv"
    ```
    """

    kind: ClassVar[Kind] = "serializer"

    def test_each_record_has_its_key_its_value_and_its_headers(self) -> None:
        events = self.events()
        messages = self.messages(events)
        columns = (messages.keys, messages.values, messages.headers)
        assert [len(column) for column in columns] == [len(events)] * 3
        assert {type(part) for part in (*messages.keys, *messages.values)} <= {bytes, type(None)}
        for headers in messages.headers:
            assert isinstance(headers, tuple)
            assert all(isinstance(name, str) for name, _ in headers)
            assert {type(text) for _, text in headers} <= {bytes, type(None)}

    def test_what_is_not_there_is_none(self) -> None:
        """A tombstone deletes its key in Kafka, and a message without a key goes to any partition."""
        events = self.events()
        messages = self.messages(events)
        for event, key, value in zip(events, messages.keys, messages.values, strict=True):
            assert event.value is not None or value is None, "a tombstone has no value"
            assert event.key is not None or key is None, "a record without a key has none"

    def test_its_bytes_are_of_the_form_that_it_says(self) -> None:
        serializer: Serializer = self.component()
        messages = serializer.serialize(self.events())
        _require(serializer.key_form, messages.keys)
        _require(serializer.value_form, messages.values)
        own = serializer.headers(self.events())
        _require(serializer.header_form, [text for headers in own for _, text in headers])
        assert {type(part) for part in serializer.around_position} == {str}

    def test_a_record_is_written_alike_alone_among_others_and_again(self) -> None:
        events = self.events()
        alone = [_row(self.messages([event]), 0) for event in events]
        assert _rows(self.messages([*events, *events])) == alone * 2
        assert _rows(self.messages(list(reversed(events)))) == list(reversed(alone))

    def test_a_part_that_is_asked_for_alone_is_that_of_the_whole(self) -> None:
        events = self.events()
        whole = self.messages(events)
        first: Serializer = self.component()
        assert first.keys(events) == whole.keys
        assert self.component().values(events) == whole.values
        if not first.adds_headers:
            assert self.component().headers(events) == whole.headers

    def test_other_keys_are_written_otherwise(self) -> None:
        """Kafka keeps the newest value of a key, and a sink the order of each."""
        events = [event for event in self.events() if event.key is not None]
        told = {str((event.topic, written(event)["key"])) for event in events}
        messages = self.messages(events)
        assert len(set(zip(messages.topics, messages.keys, strict=True))) == len(told)

    def test_envelopes_of_a_template_are_written_as_plain_ones_are(self) -> None:
        if self.takes_change_events:
            assert self.messages(change_events(templates=True)) == self.messages(change_events())

    @property
    def takes_change_events(self) -> bool:
        """Whether it takes the records of `change_events`: by default, where `events` gives no others."""
        return type(self).events is RecordSuite.events

    def messages(self, records: Sequence[Record]) -> Messages:
        """What a new serializer makes of the records."""
        serializer: Serializer = self.component()
        return serializer.serialize(records)

    def _work(self, component: Any) -> Callable[[list[Record]], object]:
        work: Callable[[list[Record]], object] = component.serialize
        return work


def _row(messages: Messages, number: int) -> tuple[Any, ...]:
    return messages.keys[number], messages.values[number], messages.headers[number]


def _rows(messages: Messages) -> list[tuple[Any, ...]]:
    return [_row(messages, number) for number in range(len(messages))]


def _require(form: Form, parts: Sequence[bytes | None]) -> None:
    """That they are of the form: JSON texts, texts in UTF-8, or anything."""
    for part in parts:
        if part is not None and form == "json":
            orjson.loads(part)
        elif part is not None and form == "text":
            part.decode()
