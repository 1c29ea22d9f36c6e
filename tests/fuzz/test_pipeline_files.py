"""Pipeline files and connectors' configurations that are damaged: a pipeline, or a ConfigError; no other exception."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml

from cdckit.engine.config.loading import load_pipeline
from cdckit.errors import ConfigError
from fuzz.documents import mutated_bytes, mutated_document

SERVER = {"topic.prefix": "p", "database.hostname": "h", "database.user": "u", "database.password": "hush-hush"}
PIPELINE: dict[str, Any] = {
    "name": "inventory",
    "runner": "direct",
    "state": "state",
    "source": {"type": "mysql", **SERVER, "table.include.list": r"shop\.orders_\d+", "snapshot.max.threads": 2},
    "predicates": {"one": {"type": "TopicNameMatches", "pattern": "a.*"}},
    "transforms": [
        {"type": "ReadToInsertEvent", "predicate": "one", "negate": True},
        {"type": "ByLogicalTableRouter", "topic.regex": "(.*)orders_.*", "topic.replacement": "$1orders"},
    ],
    "serializer": {"type": "json", "schemas.enable": True},
    "sink": {"type": "kafka", "bootstrap.servers": "localhost:9092", "linger.ms": "5"},
    "spark": {"spark.master": "local[2]"},
    "metrics.address": "127.0.0.1:0",
}
DOCUMENTS: list[dict[str, Any]] = [
    {**PIPELINE, "runner": "spark", "sink": {"type": "spark", "path": "lake", "mode": "mirror"}},
    {
        **PIPELINE,
        "source": {"type": "mongodb", "topic.prefix": "p", "mongodb.connection.string": "mongodb://u:hush-hush@h/"},
    },
    {**PIPELINE, "source": {"type": "ticdc", "topics": "t", "bootstrap.servers": "h:1", "protocol": "canal-json"}},
    {"name": "c", "config": {"connector.class": "io.debezium.connector.mysql.MySqlConnector", **SERVER}},
    {
        "apiVersion": "kafka.strimzi.io/v1beta2",
        "kind": "KafkaConnector",
        "metadata": {"name": "c"},
        "spec": {"class": "io.debezium.connector.mongodb.MongoDbConnector", "config": {"topic.prefix": "p"}},
    },
    {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        **SERVER,
        "transforms": "unwrap,route",
        "transforms.unwrap.type": "io.debezium.transforms.ExtractNewRecordState",
        "transforms.unwrap.add.fields": "op,source.ts_ms",
        "transforms.route.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.route.regex": "([^.]+)\\.([^.]+)",
        "transforms.route.replacement": "$2",
    },
    PIPELINE,
]


def _texts() -> list[tuple[str, bytes]]:
    as_json = [(".json", json.dumps(document).encode()) for document in DOCUMENTS]
    as_yaml = [(".yaml", yaml.safe_dump(document).encode()) for document in DOCUMENTS]
    lines = "\n".join(f"{name}={value}" for name, value in DOCUMENTS[-2].items())
    return [
        *as_json,
        *as_yaml,
        (".properties", lines.encode()),
        (".toml", b'[source]\ntype = "mysql"\na.b = [1, {c=2}]\n'),
    ]


def _damaged(text: bytes, suffix: str, random: Random) -> bytes:
    if suffix == ".json" and random.random() < 0.8:
        return mutated_document(text, random)
    if suffix == ".yaml" and random.random() < 0.8:
        document = mutated_document(json.dumps(yaml.safe_load(text)).encode(), random)
        return yaml.safe_dump(json.loads(document)).encode("utf-8", "surrogatepass")
    return mutated_bytes(text, random)


@pytest.mark.parametrize("lost", ["database.password2hush-hush", "database.password,hush-hush=1"])
def test_a_secret_whose_sign_is_missing_is_not_shown(tmp_path: Path, lost: str) -> None:
    """Seed 1,010,369: it is a part of an option's name then."""
    text = next(text for suffix, text in _texts() if suffix == ".properties").decode()
    path = tmp_path / "pipeline.properties"
    path.write_text(text.replace("database.password=hush-hush", lost))
    with pytest.raises(ConfigError, match=r"database\.password…: unknown option; did you mean") as found:
        load_pipeline(path, environment={})
    assert "hush" not in str(found.value)


def _shows(problem: str) -> bool:
    """Whether a problem shows the secret, but as the name of an option that nothing tells from others."""
    name, _, said = problem.partition(": ")
    return "hush-hush" in said or ("hush-hush" in name and "password" in name)


def test_damaged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cases: range) -> None:
    monkeypatch.chdir(tmp_path)
    texts, refused = _texts(), 0
    for seed in cases:
        random = Random(seed)
        suffix, text = random.choice(texts)
        path = tmp_path / f"pipeline{suffix}"
        path.write_bytes(_damaged(text, suffix, random))
        try:
            load_pipeline(path, environment={})
        except ConfigError as error:
            refused += 1
            assert not any(map(_shows, str(error).splitlines())), f"seed {seed}"
        except Exception as error:
            raise AssertionError(f"seed {seed}: {type(error).__name__} for {path.read_bytes()!r}") from error
    assert refused
