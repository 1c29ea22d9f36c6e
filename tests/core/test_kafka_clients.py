"""Kafka's clients: what their options become for librdkafka, what is refused, and what is said of errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from cdckit.connector.signals import SignalOptions
from cdckit.connector.takeover.history import HistoryClient
from cdckit.errors import ConfigError
from cdckit.kafka import (
    CONSUMER,
    PRODUCER,
    ClientErrors,
    ClientOptions,
    from_java_or_librdkafka,
    open_admin,
    open_consumer,
    open_producer,
)
from cdckit_mysql.config import MySqlConfig
from cdckit_ticdc.config import DebeziumConfig

OPTIONS = ClientOptions("signal.consumer", "signal.kafka.bootstrap.servers", patience="signal.consumer.timeout")
JKS = b"\xfe\xed\xfe\xed\0\0\0\2"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule required secret='hush';"


def _settings(**options: str) -> dict[str, str]:
    given = {name.replace("_", "."): value for name, value in options.items()}
    return dict(from_java_or_librdkafka(given, CONSUMER, "signal.consumer").settings)


@pytest.mark.parametrize(
    ("module", "mechanism"),
    [("plain.PlainLoginModule", "PLAIN"), ("scram.ScramLoginModule", "SCRAM-SHA-512")],
)
def test_logins_of_java_become_user_and_password(module: str, mechanism: str) -> None:
    entry = f'org.apache.kafka.common.security.{module} required username="me" password="hush";'
    assert _settings(sasl_mechanism=mechanism, sasl_jaas_config=entry) == {
        "sasl.mechanisms": mechanism,
        "sasl.username": "me",
        "sasl.password": "hush",
    }


def test_a_login_by_token_becomes_a_question_to_its_endpoint() -> None:
    entry = (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId='i' clientSecret='s';"
    )
    found = _settings(
        sasl_mechanism="OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url="https://idp/token",
        sasl_jaas_config=entry,
    )
    assert found == {
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        "sasl.oauthbearer.client.id": "i",
        "sasl.oauthbearer.client.secret": "s",
    }


def test_librdkafkas_own_words_pass_and_win() -> None:
    entry = "org.apache.kafka.common.security.plain.PlainLoginModule required username='java' password='p';"
    found = _settings(
        sasl_jaas_config=entry, sasl_username="mine", fetch_max_wait_ms="50", request_timeout_ms="9", linger_ms="1"
    )
    assert found == {
        "sasl.username": "mine",
        "sasl.password": "p",
        "fetch.wait.max.ms": "50",
        "socket.timeout.ms": "9",
        "linger.ms": "1",
    }


def test_values_that_librdkafka_calls_otherwise() -> None:
    found = _settings(auto_offset_reset="none", ssl_endpoint_identification_algorithm="", receive_buffer_bytes="-1")
    assert found == {
        "auto.offset.reset": "error",
        "ssl.endpoint.identification.algorithm": "none",
        "socket.receive.buffer.bytes": "0",
    }
    assert _settings(auto_offset_reset="latest") == {"auto.offset.reset": "latest"}
    with pytest.raises(ValueError, match=r"signal\.consumer\.send\.buffer\.bytes: should be a number, not 'many'"):
        _settings(send_buffer_bytes="many")


def test_what_java_alone_has_is_left_out_and_told() -> None:
    given = {
        "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
        "max.poll.records": "10",
        "interceptor.classes": "x.Y",
        "security.protocol": "PLAINTEXT",
    }
    found = from_java_or_librdkafka(given, CONSUMER, "signal.consumer")
    assert found.settings == {"security.protocol": "PLAINTEXT"}
    [said] = found.remarks("signal.consumer")
    assert said.endswith("left out: signal.consumer.interceptor.classes, signal.consumer.max.poll.records")


@pytest.mark.parametrize(
    ("name", "value", "instead"),
    [
        ("ssl.keystore.location", "/me.jks", "keytool -importkeystore"),
        ("ssl.truststore.location", "/ca.jks", "ssl.ca.location"),
        ("ssl.truststore.location", "/ca.p12", "ssl.ca.location"),
        ("sasl.jaas.config", IAM, "sasl.mechanisms"),
        ("sasl.jaas.config", "hush", "it is no JAAS entry"),
    ],
)
@pytest.mark.parametrize(
    ("prefix", "model", "needed"),
    [
        (
            "signal.consumer",
            MySqlConfig,
            {"signal.enabled.channels": "kafka", "signal.kafka.bootstrap.servers": "b:1"},
        ),
        ("schema.history.internal.producer", MySqlConfig, {}),
        ("schema.history.internal.consumer", MySqlConfig, {}),
        ("kafka", DebeziumConfig, {}),
    ],
)
def test_what_only_java_can_read_is_refused_by_its_full_name(
    prefix: str, model: type[MySqlConfig | DebeziumConfig], needed: dict[str, str], name: str, value: str, instead: str
) -> None:
    sql = {
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": "b:1",
        "schema.history.internal.kafka.topic": "t",
    }
    topics = {"bootstrap.servers": "b:1", "topics": "t"}
    given = {**(sql if model is MySqlConfig else topics), **needed}
    model.load(given, "source")
    with pytest.raises(ConfigError) as caught:
        model.load({**given, f"{prefix}.{name}": value}, "source")
    said = str(caught.value)
    assert f"{prefix}.{name}: " in said
    assert instead in said
    assert "hush" not in said
    assert caught.value.exit_code == 2


def test_a_store_is_what_its_file_holds(tmp_path: Path) -> None:
    """Java makes PKCS12 by default whatever the file is called, and reads it whatever its type is said to be."""
    key = ec.generate_private_key(ec.SECP256R1())
    held = pkcs12.serialize_key_and_certificates(b"me", key, None, None, BestAvailableEncryption(b"hush"))
    store, renamed, pem = tmp_path / "me.jks", tmp_path / "me.p12", tmp_path / "me.key"
    store.write_bytes(held)
    renamed.write_bytes(JKS)
    pem.write_text("-----BEGIN PRIVATE KEY-----\n")
    found = _settings(ssl_keystore_location=str(store), ssl_keystore_type="JKS", ssl_keystore_password="hush")
    assert found == {"ssl.keystore.location": str(store), "ssl.keystore.password": "hush"}
    with pytest.raises(ValueError, match="is a Java key store"):
        _settings(ssl_keystore_location=str(renamed))
    assert _settings(ssl_keystore_location=str(pem)) == {
        "ssl.certificate.location": str(pem),
        "ssl.key.location": str(pem),
    }


def test_one_who_has_librdkafkas_files_may_keep_the_stores_of_java() -> None:
    found = _settings(ssl_truststore_location="/ca.jks", ssl_truststore_password="x", ssl_ca_location="/ca.pem")
    assert found == {"ssl.ca.location": "/ca.pem"}


def test_relative_files_begin_beside_the_pipelines_file(tmp_path: Path) -> None:
    given = {
        "signal.enabled.channels": "kafka",
        "signal.kafka.bootstrap.servers": "b:1",
        "signal.consumer.ssl.keystore.location": "me.p12",
    }
    config, _ = SignalOptions.load(given, "source", folder=tmp_path)
    assert config.signal_client.settings["ssl.keystore.location"] == str(tmp_path / "me.p12")


def test_the_historys_consumer_logs_in_as_its_producer_where_nothing_else_is_said() -> None:
    given = {
        "topic.prefix": "p",
        "database.hostname": "h",
        "database.user": "u",
        "schema.history.internal": "kafka",
        "schema.history.internal.kafka.bootstrap.servers": "b:1",
        "schema.history.internal.kafka.topic": "t",
        "schema.history.internal.producer.sasl.username": "writer",
    }
    config, _ = MySqlConfig.load(given, "source")
    assert config.history_consumer.settings == {"sasl.username": "writer"}
    own = {
        "schema.history.internal.consumer.sasl.username": "reader",
        "schema.history.internal.consumer.metrics.x": "1",
    }
    config, [warning] = MySqlConfig.load({**given, **own}, "source")
    assert config.history_consumer.settings == {"sasl.username": "reader"}
    assert config.history_producer.settings == {"sasl.username": "writer"}
    assert "left out: schema.history.internal.consumer.metrics.x" in warning


def test_a_file_of_properties_that_cannot_be_had_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--history-consumer: .*No such file"):
        HistoryClient.of_file(tmp_path / "none")
    file = tmp_path / "consumer.properties"
    file.write_text("ssl.keystore.location = /me.jks\n")
    with pytest.raises(ConfigError, match=r"--history-consumer\.ssl\.keystore\.location: /me\.jks is a Java key store"):
        HistoryClient.of_file(file)


@pytest.mark.parametrize("opened", [open_consumer, open_producer, open_admin])
@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("lingr.ms", "1", r"^signal\.consumer\.lingr\.ms: librdkafka has no such option$"),
        ("socket.timeout.ms", "x", r"^signal\.consumer: Invalid value .*socket\.timeout\.ms"),
        ("sasl.mechanisms", "GSSAPI", r"without Kerberos: log in by SCRAM"),
    ],
)
def test_a_setting_that_librdkafka_refuses_is_an_option_at_fault(
    opened: object, setting: str, value: str, said: str
) -> None:
    settings = {"bootstrap.servers": "b:1", "group.id": "g", "security.protocol": "sasl_plaintext", setting: value}
    with pytest.raises(ConfigError, match=said):
        opened(settings, ClientErrors(OPTIONS, settings))  # type: ignore[operator]


def test_errors_are_told_without_secrets_and_with_the_options_that_change_them() -> None:
    errors = ClientErrors(OPTIONS, {"sasl.password": "hush", "sasl.username": "me"})
    assert errors.reason() == ""
    away = errors.fault(KafkaError(KafkaError._TRANSPORT))
    assert not away.lasting
    assert "signal.kafka.bootstrap.servers" in str(away)
    assert str(errors.fault(KafkaError(KafkaError._TIMED_OUT))) == "no answer within signal.consumer.timeout"
    errors.report(KafkaError(KafkaError._FAIL, "me says hush"))
    assert errors.reason() == "me says ***"
    assert str(errors.fault(KafkaError(KafkaError._TIMED_OUT))).endswith("timeout: me says ***")
    errors.report(KafkaError(KafkaError._AUTHENTICATION, "hush is wrong"))
    errors.report(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    refused = errors.fault(KafkaError(KafkaError._TRANSPORT))
    assert refused.lasting
    assert str(refused) == "the brokers refuse: *** is wrong; check the options under signal.consumer"
    errors.clear()
    errors.report(KafkaError(KafkaError._ALL_BROKERS_DOWN))
    assert "signal.consumer.security.protocol" in errors.reason()


def test_nothing_of_it_needs_the_library_until_a_client_is_made() -> None:
    program = (
        "import sys; sys.modules['confluent_kafka'] = None\n"
        "import cdckit.connector.signals, cdckit.connector.takeover.history\n"
        "from cdckit.errors import ConfigError\n"
        "from cdckit.kafka import ClientErrors, ClientOptions, open_consumer\n"
        "try: open_consumer({}, ClientErrors(ClientOptions('p', 'the.servers', ''), {}))\n"
        "except ConfigError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "the.servers: needs confluent-kafka, which is not installed: pip install 'cdckit[kafka]'\n"


def test_a_producer_has_other_names_than_a_consumer() -> None:
    given = {"max.request.size": "5", "buffer.memory": "2048", "request.timeout.ms": "9"}
    assert from_java_or_librdkafka(given, PRODUCER, "p").settings == {
        "message.max.bytes": "5",
        "queue.buffering.max.kbytes": "2",
        "request.timeout.ms": "9",
        "socket.timeout.ms": "9",
    }
