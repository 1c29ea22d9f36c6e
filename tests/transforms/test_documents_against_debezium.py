"""ExtractNewDocumentState and MongoEventRouter answer what Debezium's own classes answered, event by event.

The former also answers what that of 1.9.7 did.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from cdckit.api.struct import Struct
from cdckit.engine.chain import build_chain
from cdckit.errors import TransformError
from transforms.recorded import Case, cases, recorded, written

CASES = [*cases("document-cases"), *cases("document-cases-1.9"), *cases("outbox-document-cases")]
WHERE_DEBEZIUM_FAILS: dict[int, dict[str, Any] | None] = {
    3: {"code_scope": {"code": "return x", "scope": {"x": 1, "y": "z"}}},
    4: {"min": "MinKey"},
    5: {"max": "MaxKey"},
    7: {"mixed": [1, 2]},
    8: {"mixed": [1.0, 2.5]},
    9: None,
    10: {"nulls": [1, None, 3]},
    13: None,
    14: {"docs": [{"a": 1}, {"a": None}]},
    15: {"docs": [{"s": {"a": 1, "b": None}}, {"s": {"a": None, "b": 2}}]},
    16: None,
    19: {"array_of_empty": [[], []], "x": 1},
    20: {"docs_of_empty": [{}, {}], "x": 1},
    24: {"regexes": [{"regex": "a", "options": ""}, {"regex": "b", "options": "i"}]},
    33: {"undefined": None, "symbol": "s"},
}
"""What becomes of those documents instead, by their `_id`; None: arrays whose elements have no common type."""


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_every_event_becomes_what_it_becomes_there(case: Case) -> None:
    chain = build_chain(case["transforms"], {})
    for number, (record, answer) in enumerate(recorded(case)):
        if isinstance(answer, dict) and answer.keys() & {"error", "unwritable"}:
            continue
        changed = chain.apply([record])
        assert written(changed[0] if changed else None) == (written(record) if answer == "unchanged" else answer), (
            number
        )


def test_documents_that_debezium_stops_at_have_a_result() -> None:
    chain = build_chain(cases("document-cases")[0]["transforms"], {})
    failed = {}
    for record, answer in recorded(cases("document-cases")[0]):
        if isinstance(answer, dict) and "error" in answer:
            assert isinstance(record.value, Struct)
            failed[json.loads(record.value["after"])["_id"]] = record
    assert failed.keys() == WHERE_DEBEZIUM_FAILS.keys()
    for identifier, expected in WHERE_DEBEZIUM_FAILS.items():
        if expected is None:
            with pytest.raises(TransformError, match=r"values of different types .*set array\.encoding=document"):
                chain.apply([failed[identifier]])
            continue
        (made,) = chain.apply([failed[identifier]])
        found = written(made)
        assert found is not None
        assert found["value"]["payload"] == {"_id": identifier, **expected}


def test_options_that_1_9_did_not_have_are_told() -> None:
    options = {"event.format": "1.9", "delete.tombstone.handling.mode": "rewrite", "drop.tombstones": False}
    chain = build_chain([{"type": "ExtractNewDocumentState", **options}], {})
    assert list(chain.warnings) == [
        "transforms.0: options that Debezium 1.9 did not have, left out: delete.tombstone.handling.mode"
    ]
