"""What holds for every transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import orjson

from cdckit.api.plugins import Kind
from cdckit.api.record import Record
from cdckit.api.transform import Transform
from cdckit.engine.chain import LiveStep, TransformChain
from cdckit.engine.serializers.json import JsonSerializer
from cdckit.engine.serializers.json_config import JsonConfig
from cdckit.testing.component_suite import ComponentSuite
from cdckit.testing.events import change_events


class TransformSuite(ComponentSuite):
    """Holds a transform to `cdckit.api.transform.Transform`.

    ```python
    class TestUpperCase(TransformSuite):
        type_name = "UpperCase"
    ```
    """

    kind: ClassVar[Kind] = "transform"

    def events(self) -> Sequence[Record]:
        """The records to transform; by default those of `change_events`. The transform must take them all."""
        return change_events()

    def test_the_records_given_are_not_changed(self) -> None:
        events = self.events()
        before = [_written(event) for event in events]
        self.applied(events)
        assert [_written(event) for event in events] == before

    def test_what_it_makes_can_be_written(self) -> None:
        for record in self.applied(self.events()):
            assert isinstance(record, Record)
            assert _written(record)["topic"], "every record has a topic"

    def test_positions_stay(self) -> None:
        """Sinks keep the newest state of a key by its position."""
        for event in self.events():
            assert {made.position for made in self.applied([event])} <= {event.position}

    def test_it_remembers_nothing_that_a_restart_would_lose(self) -> None:
        events = self.events()
        at_once = [_written(made) for made in self.applied(events)]
        each_anew = [_written(made) for event in events for made in self.applied([event])]
        assert each_anew == at_once

    def test_the_same_record_becomes_the_same_again(self) -> None:
        events = self.events()
        twice = [_written(made) for made in self.applied([*events, *events])]
        assert twice[: len(twice) // 2] == twice[len(twice) // 2 :]

    def test_envelopes_of_a_template_are_read_as_plain_ones_are(self) -> None:
        plain = [_written(made) for made in self.applied(change_events())]
        assert [_written(made) for made in self.applied(change_events(templates=True))] == plain

    def test_it_can_be_closed_twice(self) -> None:
        transform: Transform = self.component()
        transform.close()
        transform.close()

    def applied(self, records: Sequence[Record]) -> Sequence[Record]:
        """What a new transform makes of the records."""
        return TransformChain([LiveStep(self.type_name, self.component())]).apply(records)


_SERIALIZER = JsonSerializer(JsonConfig.model_validate({"schemas.enable": True, "replace.null.with.default": False}))


def _written(record: Record) -> dict[str, Any]:
    """Everything that a record says, schemas included."""
    messages = _SERIALIZER.serialize([record])
    return {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "position": record.position,
        "headers": [(name, text and orjson.loads(text)) for name, text in messages.headers[0]],
        "key": messages.keys[0] and orjson.loads(messages.keys[0]),
        "value": messages.values[0] and orjson.loads(messages.values[0]),
    }
