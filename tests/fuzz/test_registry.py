"""A schema registry's answers that are damaged: a schema, or an error that names the registry or the schema."""

from __future__ import annotations

import http.client
import json
from random import Random

import pytest

from cdckit.errors import DecodeError, RetriableSourceError, SourceError
from cdckit_ticdc.registry import Registry
from fuzz.documents import mutated_bytes, mutated_document
from fuzz.guard import limited

FIELDS = [
    {"name": "id", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "e", "type": ["null", {"type": "enum", "name": "E", "symbols": ["a", "b"]}], "default": None},
    {"name": "l", "type": {"type": "array", "items": {"type": "map", "values": "long"}}},
]
SCHEMA = json.dumps({"type": "record", "name": "n.T", "fields": FIELDS}).encode()


class _Answering(Registry):
    """Has the answer to everything."""

    answer = b""

    def _answer(self, _request: object) -> bytes:
        return self.answer


def test_damaged_answers(cases: range) -> None:
    told = 0
    for seed in cases:
        random = Random(seed)
        registry = _Answering("http://h:1")
        mutated = random.choice((mutated_bytes, mutated_document, mutated_document))
        inner = mutated(SCHEMA, random) if random.random() < 0.7 else SCHEMA
        whole = json.dumps(
            {"schema": inner.decode("utf-8", "replace"), "schemaType": "AVRO", "references": []}
        ).encode()
        registry.answer = whole if inner is not SCHEMA else mutated(whole, random)
        with limited(f"seed {seed}: {registry.answer!r}", DecodeError, SourceError):
            try:
                registry.schema(7)
            except (DecodeError, SourceError) as error:
                told += 1
                assert "schema 7" in str(error) or "http://h:1" in str(error)
                raise
    assert told


def test_a_registry_that_hangs_up_in_its_answer_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_registry: Registry, _request: object) -> bytes:
        raise http.client.IncompleteRead(b"half")

    monkeypatch.setattr(Registry, "_answer", broken)
    with pytest.raises(RetriableSourceError, match="http://h:1"):
        Registry("http://h:1").schema(7)
