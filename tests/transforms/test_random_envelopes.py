"""Debezium's routers and unwrapping transforms, and Kafka Connect's RegexRouter and predicates, on random records.

Against the Java classes in the same process: random events with random options.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import config_model, find, make
from transforms.jvm import jpype, start_jvm
from transforms.random_records import NAMES, Event, event
from transforms.recordings.record import Peer, _java_map
from transforms.test_against_kafka import compare, java_chain, own_chain, read
from transforms.test_properties import _of_outbox, _of_table, _schema_change

Options = dict[str, Any]

Make = Callable[[Random], Event]

TRANSACTION: Options = {
    "type": "struct",
    "optional": True,
    "name": "event.block",
    "version": 1,
    "fields": [
        {"type": "string", "optional": False, "field": "id"},
        {"type": "int64", "optional": False, "field": "total_order"},
    ],
    "field": "transaction",
}
DEBEZIUM = "io.debezium.transforms"
KAFKA = "org.apache.kafka.connect.transforms"
ROUTES = (
    *[
        ("(.*)orders_(.*)", "$1orders"),
        (".*", "one-$0"),
        ("s\\.(t|shop.*)", "9/ä$1"),
        ("nothing", "x"),
        ("(x*).*", "$1"),
    ],
    *[("([^.]+)\\.(.*)", "$2_$1"), ("(.*)", "all")],
)
"""Patterns, and what they are replaced by."""


def _router(random: Random) -> Options:
    made = dict(zip(("topic.regex", "topic.replacement"), random.choice(ROUTES), strict=True))
    if random.random() < 0.3:
        made["key.enforce.uniqueness"] = "false"
    if random.random() < 0.5:
        made["key.field.name"] = random.choice(("shard", "__x"))
    if random.random() < 0.5:
        keys = ((".*_(.*)", "$1"), ("(.*)", "a$1b"), ("none", "x"))
        made |= zip(("key.field.regex", "key.field.replacement"), random.choice(keys), strict=True)
    if random.random() < 0.5:
        made["schema.name.adjustment.mode"] = random.choice(("none", "avro", "avro_unicode"))
    return made


def _unwrap(random: Random) -> Options:
    made: Options = {}
    modes = ("drop", "tombstone", "rewrite", "rewrite-with-tombstone", "delete-to-tombstone")
    if random.random() < 0.8:
        made["delete.tombstone.handling.mode"] = random.choice(modes)
    fields = (
        "op",
        "source.ts_ms",
        "source.table:TABLE",
        "ts_us",
        "nothing",
        "source.nothing",
        "table",
        "transaction.id",
    )
    for option in ("add.fields", "add.headers"):
        if random.random() < 0.5:
            made[option] = ",".join(random.sample(fields, random.randint(1, 3)))
        if random.random() < 0.3:
            made[f"{option}.prefix"] = random.choice(("", "x-", "__"))
    if random.random() < 0.2:
        made["route.by.field"] = random.choice(NAMES)
    if random.random() < 0.3:
        made["replace.null.with.default"] = random.choice(("true", "false"))
    if random.random() < 0.2:
        made |= {"drop.fields.header.name": "mark", "drop.fields.from.key": random.choice(("true", "false"))}
        made["drop.fields.keep.schema.compatible"] = random.choice(("true", "false"))
    return made


def _outbox(random: Random) -> Options:
    made: Options = {}
    if random.random() < 0.5:
        made["table.expand.json.payload"] = "true"
    if random.random() < 0.3:
        made["table.json.payload.null.behavior"] = random.choice(("ignore", "optional_bytes"))
    if random.random() < 0.3:
        made["route.tombstone.on.empty.payload"] = "true"
    if random.random() < 0.4:
        made["table.field.event.timestamp"] = "at"
    if random.random() < 0.4:
        made["table.field.event.schema.version"] = "version"
    if random.random() < 0.5:
        places = ("version:header", "at:envelope:when", "id:header:other", "aggregatetype:envelope", "missing:header")
        made["table.fields.additional.placement"] = ",".join(random.sample(places, random.randint(1, 3)))
        made["table.field.additional.missing"] = random.choice(("error", "ignore"))
    if random.random() < 0.3:
        made |= zip(("route.topic.regex", "route.topic.replacement"), random.choice(ROUTES), strict=True)
    if random.random() < 0.2:
        made["table.field.event.key"] = random.choice(("id", "version"))
    return made


def _headers_to_value(random: Random) -> Options:
    count = random.randint(1, 2)
    return {
        "headers": ",".join(random.sample(("mark", "h", "a.b", "other"), count)),
        "fields": ",".join(random.sample(("m", "source.h", "n"), count)),
        "operation": random.choice(("copy", "move")),
    }


def _excluded(random: Random) -> Options:
    kinds = ("CREATE", "ALTER", "DROP", "TRUNCATE", "DATABASE")
    return {"schema.change.event.exclude.list": ",".join(random.sample(kinds, random.randint(1, 3)))}


def _regex(random: Random) -> Options:
    return dict(zip(("regex", "replacement"), random.choice(ROUTES), strict=True))


def _of_time(random: Random, columns: list[Options]) -> None:
    """The outbox's column with a time is of a logical type."""
    kind = random.choice(("io.debezium.time.Timestamp", "io.debezium.time.MicroTimestamp"))
    for column in columns:
        if column["field"] == "at" and column["type"] == "int64" and "name" not in column:
            column |= {"name": kind, "version": 1}


def _whole(make_event: Make) -> Make:
    """With what each of Debezium's envelopes has: the time, and a transaction, which may be null."""

    def made(random: Random) -> Event:
        found = make_event(random)
        value = found["value"]
        if value and value["schema"] and str(value["schema"].get("name")).endswith(".Envelope"):
            value["schema"]["fields"] += [TRANSACTION, {"type": "int64", "optional": True, "field": "ts_ms"}]
            for image in value["schema"]["fields"][:2]:
                _of_time(random, image["fields"])
            source = next(field for field in value["schema"]["fields"] if field["field"] == "source")
            source["fields"] = [*source["fields"], {"type": "string", "optional": False, "field": "connector"}]
            value["payload"]["source"] = value["payload"]["source"] | {"connector": "mysql"}
            block = random.choice((None, {"id": "x", "total_order": random.randrange(9)}))
            value["payload"] |= {"transaction": block, "ts_ms": 1_700_000_000_999}
        return found

    return made


CASES: dict[str, tuple[Make, Callable[[Random], Options]]] = {
    f"{KAFKA}.RegexRouter": (event, _regex),
    "io.debezium.connector.mysql.transforms.ReadToInsertEvent": (_whole(_of_table), lambda _: {}),
    f"{DEBEZIUM}.ByLogicalTableRouter": (_whole(_of_table), _router),
    f"{DEBEZIUM}.ExtractNewRecordState": (_whole(_of_table), _unwrap),
    f"{DEBEZIUM}.outbox.EventRouter": (_whole(_of_outbox), _outbox),
    f"{DEBEZIUM}.HeaderToValue": (_whole(_of_table), _headers_to_value),
    f"{DEBEZIUM}.SchemaChangeEventFilter": (_schema_change, _excluded),
}


@pytest.mark.parametrize("name", CASES)
def test_random_events_become_what_they_become_there(name: str, nightly: bool) -> None:
    start_jvm()
    make_event, options = CASES[name]
    random, told = Random(name), 0
    for _ in range(300 if nightly else 8):
        chain = [{"type": name, **options(random)}]
        java, own = java_chain(chain), own_chain(chain)
        assert (java is None) == (own is None), chain
        if java is None or own is None:
            continue
        keeps_the_first = ":envelope" in str(chain) or (name.endswith("Router") and "topic.regex" in chain[0])
        for _ in range(30 if nightly else 8):
            given = make_event(random)
            if name.startswith("io.") and given["value"] and given["value"]["schema"] is None:
                continue  # Debezium's let it pass
            if keeps_the_first:
                java = Peer(chain)
            told += compare(java, own, given, fails_there=False)
    assert told > 20


PREDICATES: dict[str, Callable[[Random], Options]] = {
    "HasHeaderKey": lambda random: {"name": random.choice(("h", "mark", "id", "x"))},
    "RecordIsTombstone": lambda _: {},
    "TopicNameMatches": lambda random: {"pattern": random.choice(ROUTES)[0]},
}


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates_mean_the_records_that_they_mean_there(name: str, nightly: bool) -> None:
    start_jvm()
    random, answers = Random(name), set()
    peer = Peer([])
    for _ in range(200 if nightly else 12):
        options = PREDICATES[name](random)
        java = jpype.JClass(f"{KAFKA}.predicates.{name}")()
        java.configure(_java_map(options))
        registration = find("predicate", f"{KAFKA}.predicates.{name}")
        own = make(registration, config_model(registration).load(options, "predicate")[0])
        for _ in range(20):
            given = event(random)
            here = own.test(read(given))
            assert here == bool(java.test(peer.record(given))), (options, given)
            answers.add(here)
    assert answers == {True, False}


@pytest.mark.parametrize("name", [*CASES, f"{DEBEZIUM}.tracing.ActivateTracingSpan"])
def test_every_option_that_the_class_tells_of_is_known_here(name: str) -> None:
    """Some classes have more than they tell of."""
    start_jvm()
    model: type[PluginConfig] = config_model(find("transform", name))
    theirs = {str(key) for key in jpype.JClass(name)().config().configKeys()}
    passed_over = {option for option in theirs if any(re.fullmatch(one, option) for one in model.passed_over)}
    assert theirs - passed_over <= set(model.option_names())
