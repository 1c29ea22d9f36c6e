"""What Debezium's transforms make of random records fits its schema, and what they are given stays as it was."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings, strategies as some

from cdckit.engine.chain import build_chain
from cdckit.errors import TransformError
from transforms.fitting import fitting
from transforms.random_records import TEXTS, Event, Json, event, plain, value
from transforms.recorded import RECORDINGS, written
from transforms.test_against_kafka import read
from transforms.test_random_changes import _change

Make = Callable[[Random], Event]
Options = dict[str, Any]


def _of_table(random: Random) -> Event:
    """A change event with a key, headers and, sometimes, no schemas."""
    made = _change(random, vectors=random.random() < 0.3)
    columns = made["value"]["schema"]["fields"][1]["fields"]
    row = made["value"]["payload"]["after"] or made["value"]["payload"]["before"]
    key = {"type": "struct", "optional": False, "name": "s.t.Key", "fields": columns[:1]}
    made["key"] = {"schema": key, "payload": {columns[0]["field"]: row[columns[0]["field"]]}}
    made["topic"] = random.choice(("s.t", "s.shop.orders_1", "s.shop.orders_2"))
    text = {"type": "string", "optional": random.random() < 0.5}
    names = random.choice((["a.b"], ["mark", "h"], []))
    made["headers"] = [{"key": name, "value": {"schema": text, "payload": value(random, text)}} for name in names]
    if random.random() < 0.1:
        made["value"] = None
    elif random.random() < 0.2:
        made["value"] = {"schema": None, "payload": made["value"]["payload"]}
        made["key"] = {"schema": None, "payload": made["key"]["payload"]}
    return made


def _either(random: Random) -> Event:
    """A change event, or any record."""
    return _of_table(random) if random.random() < 0.7 else event(random)


def _text(name: str, *, optional: bool) -> Json:
    return {"type": "string", "optional": optional, "field": name}


def _of_outbox(random: Random) -> Event:
    """A change event of an outbox table; or another record."""
    if random.random() < 0.2:
        return _either(random)
    made = _change(random, vectors=False)
    columns = [
        {**_text("id", optional=False)},
        {**_text("aggregateid", optional=random.random() < 0.3)},
        {**_text("aggregatetype", optional=False)},
        {**_text("payload", optional=True)},
        {"type": "int64", "optional": True, "field": "at"},
        {"type": "int32", "optional": True, "field": "version"},
    ]
    for image in made["value"]["schema"]["fields"][:2]:
        image["fields"] = columns
    for image in ("before", "after"):
        if made["value"]["payload"][image] is not None:
            row = {column["field"]: value(random, column) for column in columns}
            row["payload"] = random.choice((None, "", "no JSON", json.dumps(plain(random, 2)), *TEXTS[-3:]))
            made["value"]["payload"][image] = row
    return made


def _traced(random: Random) -> Event:
    """A change event whose row may tell the context of a span; or another record."""
    made = _either(random)
    if made["topic"] == "t${timestamp}" or not made["value"] or "s.t.Envelope" not in str(made["value"]["schema"]):
        return made
    for image in made["value"]["schema"]["fields"][:2]:
        image["fields"] = [_text("name", optional=True)]
    context = f"traceparent=00-{random.randrange(1, 2**128):032x}-{random.randrange(1, 2**64):016x}-01"
    for image in ("before", "after"):
        if made["value"]["payload"][image] is not None:
            made["value"]["payload"][image] = {"name": random.choice((context, context, None, random.choice(TEXTS)))}
    return made


def _schema_change(random: Random) -> Event:
    """A change of a table's definition; or another record."""
    if random.random() < 0.3:
        return _either(random)
    change = {"type": "struct", "optional": False, "name": "Change", "fields": [_text("type", optional=False)]}
    changes = {"type": "array", "items": change, "optional": True, "field": "tableChanges"}
    fields = [_text("ddl", optional=False), *random.choice(([changes], [changes], []))]
    schema = {"type": "struct", "optional": False, "name": "c.SchemaChangeValue", "fields": fields}
    kinds = random.choices(("CREATE", "ALTER", "DROP"), k=random.randrange(3))
    payload: Json = {"ddl": random.choice(TEXTS), "tableChanges": random.choice((None, [{"type": x} for x in kinds]))}
    payload = {field["field"]: payload[field["field"]] for field in fields}
    return {"topic": "s", "key": None, "value": {"schema": schema, "payload": payload}, "headers": []}


with (RECORDINGS / "documents-input.jsonl").open() as _documents:
    _DOCUMENT: Event = json.loads(next(_documents))


def _of_collection(random: Random) -> Event:
    """A change event of MongoDB; or another record."""
    if random.random() < 0.2:
        return _either(random)
    made = copy.deepcopy(_DOCUMENT)
    document = {"_id": random.randrange(9), "aggregateid": random.choice(TEXTS), "aggregatetype": "a"}
    document |= {"payload": plain(random, random.randint(0, 2)), **plain(random, 2)}
    op = random.choice("crud")
    parts: Json = {"op": op, "before": None, "after": None, "updateDescription": None}
    if op != "d":
        parts["after"] = json.dumps(document)
    elif random.random() < 0.5:
        parts["before"] = json.dumps(document)
    made["value"]["payload"].update(parts)
    if random.random() < 0.1:
        made["value"] = None
    return made


_ROUTE = {"topic.regex": "(.*)orders_(.*)", "topic.replacement": "$1orders"}
_KEYED = {**_ROUTE, "key.field.name": "shard", "key.field.regex": ".*_(.*)", "key.field.replacement": "$1"}
_UNWRAP: tuple[Options, ...] = (
    {},
    {"delete.tombstone.handling.mode": "rewrite", "add.fields": "op,source.ts_ms", "add.headers": "op"},
    {"delete.tombstone.handling.mode": "delete-to-tombstone", "route.by.field": "name"},
    {"drop.fields.header.name": "mark", "drop.fields.keep.schema.compatible": False, "drop.fields.from.key": True},
    {"replace.null.with.default": False, "delete.tombstone.handling.mode": "drop"},
)
_DOCUMENTS: tuple[Options, ...] = (
    {},
    {"flatten.struct": True, "field.name.adjustment.mode": "avro", "add.fields": "op"},
    {"array.encoding": "document", "delete.tombstone.handling.mode": "rewrite-with-tombstone", "add.headers": "op,db"},
    {"delete.tombstone.handling.mode": "rewrite", "delete.tombstone.handling.mode.rewrite-with-id": True},
)
_OUTBOX: tuple[Options, ...] = (
    {},
    {"table.expand.json.payload": True, "route.tombstone.on.empty.payload": True},
    {"table.expand.json.payload": True, "table.json.payload.null.behavior": "optional_bytes"},
    {
        "table.field.event.timestamp": "at",
        "table.field.event.schema.version": "version",
        "table.fields.additional.placement": "version:header,at:envelope:when,id:header:other",
    },
    {"table.field.event.key": "", "route.topic.replacement": "all", "table.op.invalid.behavior": "error"},
)
CASES: dict[str, tuple[Make, tuple[Options, ...]]] = {
    "RegexRouter": (
        event,
        ({"regex": "(.*)shop(.*)", "replacement": "$1store$2"}, {"regex": ".*", "replacement": "one"}),
    ),
    "ReadToInsertEvent": (_either, ({},)),
    "ByLogicalTableRouter": (_either, (_ROUTE, _KEYED, {**_ROUTE, "key.enforce.uniqueness": False})),
    "ToLogicalTopicRouter": (_either, (_ROUTE, _KEYED, {**_ROUTE, "schema.name.adjustment.mode": "avro"})),
    "ExtractNewRecordState": (_either, _UNWRAP),
    "ExtractNewDocumentState": (_of_collection, _DOCUMENTS),
    "EventRouter": (_of_outbox, _OUTBOX),
    "MongoEventRouter": (
        _of_collection,
        tuple({name.replace("table.", "collection.", 1): text for name, text in one.items()} for one in _OUTBOX[:2]),
    ),
    "HeaderToValue": (
        _either,
        (
            {"headers": "mark,h", "fields": "m,source.h", "operation": "copy"},
            {"headers": "a.b", "fields": "after.x", "operation": "move"},
        ),
    ),
    "SchemaChangeEventFilter": (
        _schema_change,
        ({"schema.change.event.exclude.list": "CREATE,DROP"}, {"schema.change.event.exclude.list": "DATABASE"}),
    ),
    "ActivateTracingSpan": (_traced, ({"tracing.span.context.field": "name"}, {})),
    "ScriptFilter": (
        _either,
        (
            {"language": "jsr223.groovy", "condition": "value?.op != 'u'", "null.handling.mode": "evaluate"},
            {"language": "jsr223.graal.js", "condition": "topic == 's.t'"},
        ),
    ),
    "ContentBasedRouter": (
        _either,
        (
            {"language": "jsr223.groovy", "topic.expression": "value.op == 'c' ? topic + '.new' : null"},
            {"language": "groovy", "topic.expression": "'all'", "null.handling.mode": "evaluate"},
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=40)
@given(random=some.randoms(use_true_random=False))
def test_what_it_makes_fits_its_schema_and_what_it_is_given_stays(name: str, random: Random) -> None:
    make, choices = CASES[name]
    chain = build_chain([{"type": name, **random.choice(choices)}], {})
    record = read(make(random))
    before, fitted = written(record), fitting(record)
    try:
        made = chain.apply([record])
    except TransformError as error:
        assert f"failed on a record of topic {record.topic}" in str(error)
        return
    finally:
        assert written(record) == before
    assert not fitted or all(map(fitting, made))


@pytest.mark.parametrize("name", CASES)
def test_the_records_are_such_that_it_has_something_to_do(name: str) -> None:
    """What the properties hold of is no record that passes as it is."""
    make, choices = CASES[name]
    random, changed = Random(name), 0
    for options in choices:
        chain = build_chain([{"type": name, **options}], {})
        for _ in range(40):
            record = read(make(random))
            try:
                changed += [written(one) for one in chain.apply([record])] != [written(record)]
            except TransformError:
                continue
    assert changed > 5
