"""The sink's options: what they become for librdkafka, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.requirements import beyond_spark
from cdckit.errors import ConfigError
from cdckit_kafka.config import KafkaSinkConfig
from cdckit_kafka.settings import admin_settings, consumer_settings, producer_settings

_SOURCE = {"type": "mysql", "topic.prefix": "p", "database.hostname": "h", "database.user": "u"}


def _load(options: dict[str, Any]) -> tuple[KafkaSinkConfig, list[str]]:
    return KafkaSinkConfig.load({"bootstrap.servers": "h:9092", **options}, "sink")


def _settings(options: dict[str, Any]) -> dict[str, str]:
    return producer_settings(_load(options)[0], "c")


def _problem(options: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        _load(options)
    return str(caught.value)


def test_brokers_are_required() -> None:
    with pytest.raises(ConfigError, match=r"sink\.bootstrap\.servers: required"):
        KafkaSinkConfig.load({}, "sink")
    assert "names no broker" in _problem({"bootstrap.servers": " , "})


def test_brokers_may_be_a_list() -> None:
    config, _ = _load({"bootstrap.servers": ["a:1", "b:2"]})
    assert config.bootstrap_servers == "a:1,b:2"
    assert _load({"bootstrap.servers": " a:1 , b:2 "})[0].bootstrap_servers == "a:1,b:2"


def test_defaults_are_safe() -> None:
    settings = _settings({})
    assert settings["acks"] == "all"
    assert settings["enable.idempotence"] == "true"
    assert settings["partitioner"] == "murmur2_random"
    assert settings["message.timeout.ms"] == "0"
    assert settings["allow.auto.create.topics"] == "false"


def test_librdkafka_options_win_whatever_alias_they_come_by() -> None:
    settings = _settings(
        {
            "kafka.queue.buffering.max.ms": 20,
            "kafka.delivery.timeout.ms": 5000,
            "kafka.compression.codec": "zstd",
            "producer.linger.ms": 7,
            "kafka.socket.keepalive.enable": True,
        }
    )
    assert settings["linger.ms"] == "20"
    assert settings["message.timeout.ms"] == "5000"
    assert settings["compression.type"] == "zstd"
    assert settings["socket.keepalive.enable"] == "true"
    assert "queue.buffering.max.ms" not in settings


@pytest.mark.parametrize(
    ("option", "hint"),
    [
        ("kafka.acks", "write `acks`"),
        ("kafka.bootstrap.servers", "write `bootstrap.servers`"),
        ("kafka.enable.idempotence", "write `enable.idempotence`"),
        ("kafka.transactional.id", "write `transactional.id`"),
        ("kafka.sasl.jaas.config", "write `producer.sasl.jaas.config`"),
        ("kafka.ssl.truststore.location", "write `producer.ssl.truststore.location`"),
        ("kafka.ssl.keystore.type", "write `producer.ssl.keystore.type`"),
        ("kafka.max.in.flight", "records are lost"),
        ("kafka.max.in.flight.requests.per.connection", "records are lost"),
    ],
)
def test_what_the_sink_settles_is_not_passed_through(option: str, hint: str) -> None:
    said = _problem({option: "1"})
    assert option.removeprefix("kafka.") in said
    assert hint in said


def test_acks_that_lose_records_are_refused() -> None:
    assert "'all', '-1' or '1'" in _problem({"acks": "0"})
    assert "acks=0 would lose records" in _problem({"producer.override.acks": "0"})


def test_fewer_acks_give_up_idempotence_but_not_order() -> None:
    for options in ({"acks": 1}, {"producer.override.acks": "1"}, {"enable.idempotence": "false"}):
        settings = _settings(options)
        assert settings["enable.idempotence"] == "false"
        assert settings["max.in.flight.requests.per.connection"] == "1"


def test_one_request_at_a_time_is_under_way_whatever_the_java_producers_options_say() -> None:
    options = {"producer.override.max.in.flight.requests.per.connection": "5"}
    assert _settings({})["max.in.flight.requests.per.connection"] == "1"
    assert _settings(options)["max.in.flight.requests.per.connection"] == "1"
    assert "max.in.flight.requests.per.connection" in _load(options)[1][0]


def test_fewer_acks_and_idempotence_exclude_each_other() -> None:
    assert "needs acks=all" in _problem({"acks": "1", "enable.idempotence": "true"})


def test_the_sinks_own_option_wins_over_the_java_producers() -> None:
    settings = _settings({"acks": "all", "producer.override.acks": "1"})
    assert settings["acks"] == "all"
    assert settings["enable.idempotence"] == "true"


def test_java_producer_options_are_translated() -> None:
    settings = _settings(
        {
            "producer.linger.ms": "50",
            "producer.override.linger.ms": "10",
            "producer.override.max.request.size": "5000000",
            "producer.override.buffer.memory": "33554432",
            "producer.override.compression.type": "lz4",
            "producer.override.batch.size": "16384",
            "producer.override.request.timeout.ms": "20000",
            "producer.override.send.buffer.bytes": "-1",
            "producer.override.ssl.endpoint.identification.algorithm": "",
        }
    )
    expected = {
        "linger.ms": "10",
        "message.max.bytes": "5000000",
        "queue.buffering.max.kbytes": "32768",
        "compression.type": "lz4",
        "batch.size": "16384",
        "request.timeout.ms": "20000",
        "socket.timeout.ms": "20000",
        "socket.send.buffer.bytes": "0",
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert {name: settings[name] for name in expected} == expected


def test_java_producer_options_without_counterpart_are_one_warning() -> None:
    _, warnings = _load(
        {
            "producer.override.max.block.ms": 1,
            "producer.interceptor.classes": "x.Y",
            "producer.override.key.serializer": "org.apache.kafka.common.serialization.ByteArraySerializer",
            "producer.override.linger.ms": 5,
        }
    )
    assert warnings == [
        "sink: options of the Java producer without a counterpart here, left out: "
        "producer.interceptor.classes, producer.override.max.block.ms"
    ]


def test_a_java_number_that_is_none_is_named() -> None:
    assert "producer.buffer.memory: should be a number, not 'lots'" in _problem({"producer.buffer.memory": "lots"})


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (
            'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a \\"b;c";',
            {"sasl.username": "me", "sasl.password": 'a "b;c'},
        ),
        (
            "org.apache.kafka.common.security.scram.ScramLoginModule required\n  username='me'\n  password=plain;",
            {"sasl.username": "me", "sasl.password": "plain"},
        ),
        (
            "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab=\"/k\" principal='p@R';",
            {"sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "p@R"},
        ),
        (
            "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
            "clientId='i' clientSecret='s' scope='a b';",
            {
                "sasl.oauthbearer.client.id": "i",
                "sasl.oauthbearer.client.secret": "s",
                "sasl.oauthbearer.scope": "a b",
            },
        ),
    ],
)
def test_jaas_entries_become_sasl_options(entry: str, expected: dict[str, str]) -> None:
    settings = _settings({"producer.override.sasl.jaas.config": entry, "producer.override.sasl.mechanism": "PLAIN"})
    assert {name: settings[name] for name in expected} == expected
    assert settings["sasl.mechanisms"] == "PLAIN"


def test_a_login_that_only_java_has_is_refused_unless_there_is_another() -> None:
    entry = {"producer.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required secret='hidden';"}
    said = _problem(entry)
    assert "IAMLoginModule exists in Java alone" in said
    assert "hidden" not in said
    assert _settings({**entry, "kafka.sasl.mechanisms": "PLAIN"})["sasl.mechanisms"] == "PLAIN"


def test_pem_and_pkcs12_stores_are_read_and_java_stores_refused() -> None:
    settings = _settings(
        {
            "producer.ssl.truststore.location": "/ca.pem",
            "producer.ssl.truststore.type": "PEM",
            "producer.ssl.keystore.location": "/me.p12",
            "producer.ssl.keystore.password": "secret",
        }
    )
    assert settings["ssl.ca.location"] == "/ca.pem"
    assert (settings["ssl.keystore.location"], settings["ssl.keystore.password"]) == ("/me.p12", "secret")
    said = _problem({"producer.ssl.truststore.location": "/ca.jks", "producer.ssl.keystore.location": "/me.jks"})
    assert "kafka.ssl.ca.location" in said
    assert "kafka.ssl.keystore.location" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"topic.creation.default.partitions": 0}, r"sink\.topic\.creation\.default\.partitions: should be 1 or more"),
        ({"topic.creation.groups": "a"}, r"topic\.creation\.a\.include is missing"),
        ({"topic.creation.groups": "a", "topic.creation.a.include": "("}, r"topic\.creation\.a\.include: "),
        (
            {"topic.creation.groups": "a", "topic.creation.a.include": "x", "topic.creation.a.partitions": "many"},
            r"topic\.creation\.a\.partitions: should be 1 or more",
        ),
        ({"timeout": 0}, r"sink\.timeout: should be greater than 0"),
        ({"topic.creation.enabled": "x"}, r"topic\.creation\.enabled: unknown option; did you mean 'enable'"),
    ],
)
def test_impossible_options_are_named(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        _load(options)


def test_options_of_an_unlisted_group_are_warned_about() -> None:
    _, warnings = _load({"topic.creation.big.partitions": 3})
    assert warnings == [
        "sink: options of groups that topic.creation.groups does not list, left out: topic.creation.big.partitions"
    ]


def test_secrets_show_nowhere_and_survive_pickling() -> None:
    config, _ = _load({"kafka.sasl.password": "hunter2", "producer.override.sasl.jaas.config": "x.PlainLoginModule y"})
    assert "hunter2" not in repr(config)
    assert "PlainLoginModule" not in repr(config)
    again = pickle.loads(pickle.dumps(config))
    assert producer_settings(again, "c")["sasl.password"] == "hunter2"


def test_exactly_once_makes_a_producer_of_transactions() -> None:
    settings = _settings({"delivery.guarantee": "exactly-once", "producer.transaction.timeout.ms": 30_000})
    assert settings["transactional.id"] == "cdckit-c"
    assert settings["transaction.timeout.ms"] == settings["message.timeout.ms"] == "30000"
    assert settings["enable.idempotence"] == "true"
    named = {"transactional.id": "t", "kafka.transaction.timeout.ms": 5000, "kafka.message.timeout.ms": 4000}
    settings = _settings({"exactly.once.support": "required", **named})
    assert (settings["transactional.id"], settings["message.timeout.ms"]) == ("t", "4000")
    assert "transactional.id" not in admin_settings(settings)
    assert not {"acks", "transactional.id", "partitioner"} & consumer_settings(settings).keys()


@pytest.mark.parametrize("options", [{}, {"exactly.once.support": "requested"}, {"transaction.boundary": "POLL"}])
def test_without_it_there_are_no_transactions(options: dict[str, Any]) -> None:
    assert "transactional.id" not in _settings(options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"acks": "1"}, "needs acks=all and enable.idempotence=true"),
        ({"enable.idempotence": False}, "needs acks=all and enable.idempotence=true"),
        ({"transaction.boundary": "connector"}, "should be 'poll' or 'interval'"),
        (
            {"transaction.boundary": "interval", "transaction.boundary.interval.ms": 40_000},
            "half of kafka.transaction.timeout.ms",
        ),
        ({"kafka.transactional.id": "t"}, "write `transactional.id`"),
    ],
)
def test_what_transactions_cannot_be_is_refused(options: dict[str, Any], said: str) -> None:
    assert said in _problem({"delivery.guarantee": "exactly-once", **options})


def test_both_runners_have_it_and_other_sinks_refuse_it(tmp_path: Path) -> None:
    sinks = {
        "kafka": {"type": "kafka", "bootstrap.servers": "h:9092", "delivery.guarantee": "exactly-once"},
        "file": {"type": "file", "path": "x", "delivery.guarantee": "exactly-once"},
    }
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"source": _SOURCE, "runner": "spark", "sink": sinks["kafka"]}))
    assert beyond_spark(load_pipeline(path)) == []
    path.write_text(json.dumps({"source": _SOURCE, "sink": sinks["file"]}))
    with pytest.raises(ConfigError, match=r"sink\.delivery\.guarantee: unknown option"):
        load_pipeline(path)


def test_a_connectors_configuration_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    given = {name: value for name, value in _SOURCE.items() if name != "type"}
    boundary = {"transaction.boundary": "interval", "transaction.boundary.interval.ms": "500"}
    connector = {"connector.class": "io.debezium.connector.mysql.MySqlConnector", **given, **boundary}
    path.write_text(json.dumps({**connector, "exactly.once.support": "required"}))
    config = load_pipeline(path, ["sink.bootstrap.servers=h:9092"], sink="kafka").sink.config
    assert isinstance(config, KafkaSinkConfig)
    assert (config.exactly_once, config.transaction_interval_ms) == (True, 500)
    with pytest.raises(ConfigError, match=r"^exactly\.once\.support: a pipeline repeats .*`delivery.guarantee"):
        load_pipeline(path, sink="stdout")
