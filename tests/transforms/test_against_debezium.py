"""The transforms answer what Debezium's and Kafka Connect's own classes answered, event by event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cdckit.api.record import Record
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.engine.chain import build_chain
from cdckit.errors import TransformError
from transforms.recorded import cases, recorded, written

CASES = cases("cases")

Make = Callable[[Record], Record]


def _as_read(record: Record) -> Record:
    return record


def _of_a_template(record: Record) -> Record:
    """The record as a source makes it: what its rows event shares is a template."""
    value = record.value
    if not isinstance(value, Struct) or not str(value.schema.name).endswith(".Envelope"):
        return record
    source = value["source"]
    rows = [name for name in ("before", "after") if value[name] is not None]
    holes = tuple((value.schema.index[name],) for name in rows)
    row_number = (value.schema.index["source"], source.schema.index["row"])
    template = Template(value.schema, value.replace(**dict.fromkeys(rows)).values, (*holes, row_number))
    fills = (*(value[name] for name in rows), source["row"])
    return record.replace(value=TemplateStruct(template, fills))


def _whole_in_a_hole(record: Record) -> Record:
    """A template whose source, operation and times are holes: nothing can be taken from the template itself."""
    value = record.value
    if not isinstance(value, Struct) or not str(value.schema.name).endswith(".Envelope"):
        return record
    holes = tuple((at,) for at in range(len(value.values)))
    return record.replace(value=TemplateStruct(Template(value.schema, value.values, holes), value.values))


@pytest.mark.parametrize("make", [_as_read, _of_a_template, _whole_in_a_hole])
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_event_becomes_what_it_becomes_there(case: dict[str, Any], make: Make) -> None:
    chain = build_chain(case["transforms"], {})
    for number, (record, answer) in enumerate(recorded(case)):
        where = f"event {number} of topic {record.topic}"
        if isinstance(answer, dict) and "unwritable" in answer:
            continue
        if isinstance(answer, dict) and "error" in answer:
            with pytest.raises(TransformError):
                chain.apply([make(record)])
            continue
        changed = chain.apply([make(record)])
        assert len(changed) == (0 if answer is None else 1), where
        wanted = written(record) if answer == "unchanged" else answer
        assert written(changed[0] if changed else None) == wanted, where
