"""Every option of Debezium's connector is taken, or refused by name."""

from __future__ import annotations

from importlib import resources

import pytest

from cdckit.errors import ConfigError
from cdckit_mongodb.config import MongoDbConfig

BASE = {"topic.prefix": "t", "mongodb.connection.string": "mongodb://localhost"}
KNOWN = resources.files("cdckit_mongodb").joinpath("debezium_options.tsv").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", [line.partition("\t")[0] for line in KNOWN])
def test_every_option_is_known(name: str) -> None:
    assert MongoDbConfig.knows(name)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"snapshot.max.threads": "4"}, r"source\.snapshot\.max\.threads: not yet supported .only its default, '1'"),
        ({"converters": "x"}, r"source\.converters: not yet supported"),
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
    config, warnings = MongoDbConfig.load(old, "source")
    assert (config.topic_prefix, config.uri, config.replica_set) == ("t", "mongodb://a:1,b:2/?replicaSet=rs0", "rs0")
    assert (config.collection_include_list, config.snapshot_mode) == ("d.c", "no_data")
    assert "mongodb.name (now topic.prefix)" in warnings[0]
