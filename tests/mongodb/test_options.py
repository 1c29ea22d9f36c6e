"""Every option of Debezium's connector is taken, or refused by name."""

from __future__ import annotations

from importlib import resources

import pytest

from cdckit.engine.config.peer_options import peer_options
from cdckit.errors import ConfigError
from cdckit_mongodb.config import MongoDbConfig

BASE = {"topic.prefix": "t", "mongodb.connection.string": "mongodb://localhost"}


def test_every_option_of_debezium_is_supported_or_translated_or_means_nothing_for_a_reason() -> None:
    options = list(peer_options(MongoDbConfig))
    assert len(options) > 110
    assert [option.name for option in options if not option.known] == []


def test_every_default_of_debezium_is_accepted() -> None:
    one_way = {"mongodb.hosts", "mongodb.name", "snapshot.collection.filter.overrides.DATABASE.COLLECTION"}
    for option in peer_options(MongoDbConfig):
        if option.default and option.name not in one_way:
            MongoDbConfig.load({**BASE, option.name: option.default}, "source")


NEEDED = {
    ("capture.scope", "database"): {"capture.target": "d"},
    ("capture.scope", "collection"): {"capture.target": "d.c"},
    ("cursor.oversize.handling.mode", "skip"): {"cursor.oversize.skip.threshold": "1"},
}
"""Options without which a value means nothing."""
REFUSED = {
    ("snapshot.mode", "custom"): "write a plugin with the hook",
    ("snapshot.query.mode", "custom"): "a Java class, which cannot be loaded here",
}


def test_every_allowed_value_is_taken_or_refused_with_a_reason() -> None:
    lines = resources.files("cdckit_mongodb").joinpath("debezium_options.tsv").read_text(encoding="utf-8").splitlines()
    listed = [line.split("\t") for line in lines if line.count("\t") == 2]
    refused = {}
    for name, value in ((name, value) for name, _, values in listed for value in values.split()):
        try:
            MongoDbConfig.load({**BASE, name: value, **NEEDED.get((name, value), {})}, "source")
        except ConfigError as error:
            refused[name, value] = str(error)
    assert len(listed) == 15
    assert set(refused) == {*REFUSED}
    assert [REFUSED[given] in why for given, why in refused.items()] == [True] * len(REFUSED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snapshot.max.threads": "0"}, r"source\.snapshot\.max\.threads"),
        ({"converters": "x"}, r"source\.converters: documents have no columns"),
        (
            {"snapshot.mode": "custom", "snapshot.mode.custom.name": "com.shop.Nightly"},
            r"no installed plugin knows the name 'com\.shop\.Nightly' .*Java classes cannot be loaded here",
        ),
        ({"cursor.oversize.handling.mode": "skip"}, r"needs cursor\.oversize\.skip\.threshold"),
        ({"capture.mode": "oplog"}, r"source\.capture\.mode: should be 'change_streams'"),
        ({"colection.include.list": "x"}, r"did you mean 'collection\.include\.list'"),
        ({"field.exclude.list": "a.b"}, r"'a\.b' does not look like database\.collection\.field"),
        ({"field.renames": "a.b.c"}, r"does not look like database\.collection\.field:name"),
        ({"collection.include.list": "("}, r"collection\.include\.list: a group is not closed"),
        ({"collection.include.list": "a", "collection.exclude.list": "b"}, "exclude each other"),
        ({"mongodb.hosts": "rs0/localhost"}, r"either mongodb\.connection\.string or mongodb\.hosts"),
        ({"skipped.operations": "x"}, "'x' is no operation"),
    ],
)
def test_what_cannot_be_is_refused_by_name(options: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        MongoDbConfig.load({**BASE, **options}, "source")


def test_old_names_are_understood() -> None:
    old = {"mongodb.name": "t", "mongodb.hosts": "rs0/a:1,b:2", "collection.whitelist": "d.c", "snapshot.mode": "never"}
    old["initial.sync.max.threads"] = "4"
    config, warnings = MongoDbConfig.load(old, "source")
    assert (config.topic_prefix, config.uri) == ("t", "mongodb://a:1,b:2/?replicaSet=rs0")
    assert (config.collection_include_list, config.snapshot_mode) == ("d.c", "no_data")
    assert config.snapshot_max_threads == 4
    assert "mongodb.name (now topic.prefix)" in warnings[0]


def test_choices_are_understood_in_any_case_as_by_debezium() -> None:
    given = {"capture.mode": "CHANGE_STREAMS", "snapshot.mode": "Initial_Only", "filters.match.mode": "Literal"}
    config, _ = MongoDbConfig.load({**BASE, **given}, "source")
    found = (config.capture_mode, config.snapshot_mode, config.filters_match_mode)
    assert found == ("change_streams", "initial_only", "literal")


def test_what_a_user_should_be_told() -> None:
    _, alone = MongoDbConfig.load({**BASE, "capture.target": "shop"}, "source")
    assert alone == ["source: capture.target means nothing without capture.scope=database or collection"]
    assert MongoDbConfig.load({**BASE, "capture.target": "d", "capture.scope": "database"}, "source")[1] == []
    old = {"mongodb.name": "t", "mongodb.connection.string": "mongodb://x"}
    assert "set event.format=1.9" in MongoDbConfig.load(old, "source")[1][1]
    assert len(MongoDbConfig.load({**old, "event.format": "1.9"}, "source")[1]) == 1


def test_an_old_format_brings_its_defaults() -> None:
    old, _ = MongoDbConfig.load({**BASE, "event.format": "1.9"}, "source")
    assert (old.schema_name_adjustment_mode, old.skipped) == ("avro", frozenset())
    chosen, _ = MongoDbConfig.load({**BASE, "event.format": "1.9", "schema.name.adjustment.mode": "none"}, "source")
    assert chosen.schema_name_adjustment_mode == "none"


@pytest.mark.parametrize(
    ("option", "default", "other"),
    [
        ("binary.handling.mode", "bytes", "base64"),
        ("field.name.adjustment.mode", "none", "avro"),
        ("sanitize.field.names", "false", "true"),
        ("skip.messages.without.change", "false", "true"),
    ],
)
def test_what_has_nothing_to_work_on_in_documents_is_told_and_left_out(option: str, default: str, other: str) -> None:
    assert MongoDbConfig.load({**BASE, option: default}, "source")[1] == []
    (told,) = MongoDbConfig.load({**BASE, option: other}, "source")[1]
    assert told.startswith(f"source: options without meaning here, left out: {option} (")


def test_the_engines_waits_are_the_connectors() -> None:
    given = {"errors.retry.delay.initial.ms": "5", "errors.retry.delay.max.ms": "50"}
    config, warnings = MongoDbConfig.load({**BASE, **given, "connect.backoff.max.delay.ms": "70"}, "source")
    assert (config.connect_backoff_initial_delay_ms, config.connect_backoff_max_delay_ms) == (5, 70)
    assert warnings == [
        "source: options without meaning here, left out: "
        "errors.retry.delay.max.ms (connect.backoff.max.delay.ms is given)"
    ]
