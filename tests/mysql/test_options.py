"""The source's options: Debezium's are all known, and mean what they mean there."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.peer_options import peer_options
from cdckit.engine.config.requirements import beyond_spark
from cdckit.errors import ConfigError
from cdckit_mysql.config import MariaDbConfig, MySqlConfig
from cdckit_mysql.filters import Filters
from cdckit_mysql.table import Column, Table


def _config(**options: Any) -> MySqlConfig:
    named = {name.replace("_", "."): value for name, value in options.items()}
    config, _ = MySqlConfig.load({"topic.prefix": "p", "database.user": "u", **named}, "source")
    return config


def _refusal(**options: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        _config(**options)
    return str(caught.value)


MODELS = [MySqlConfig, MariaDbConfig]


@pytest.mark.parametrize("model", MODELS)
def test_every_option_of_debezium_is_supported_or_translated_or_means_nothing_for_a_reason(
    model: type[MySqlConfig],
) -> None:
    options = list(peer_options(model))
    assert len(options) > 130
    assert [option.name for option in options if not option.known] == []


@pytest.mark.parametrize("model", MODELS)
def test_every_default_of_debezium_is_accepted(model: type[MySqlConfig]) -> None:
    with_placeholders = ("ALGORITHM", "LENGTH", "DATABASE")
    for option in peer_options(model):
        if option.default and not any(word in option.name for word in with_placeholders):
            model.load({"topic.prefix": "p", "database.user": "u", option.name: option.default}, "source")


def allowed_values(file: str) -> list[tuple[str, str]]:
    """Each option of which Debezium lists the allowed values, with each of them."""
    lines = resources.files("cdckit_mysql").joinpath(file).read_text(encoding="utf-8").splitlines()
    listed = (line.split("\t") for line in lines if line.count("\t") == 2)
    return [(name, value) for name, _, values in listed for value in values.split()]


@pytest.mark.parametrize(
    ("model", "file"), [(MySqlConfig, "debezium_options.tsv"), (MariaDbConfig, "debezium_options_mariadb.tsv")]
)
def test_every_allowed_value_is_taken_or_refused_with_a_reason(model: type[MySqlConfig], file: str) -> None:
    refused = {}
    for name, value in allowed_values(file):
        try:
            model.load({"topic.prefix": "p", "database.user": "u", name: value}, "source")
        except ConfigError as error:
            refused[name, value] = str(error)
    assert len(allowed_values(file)) > 60
    assert {name for name, value in refused if value != "custom"} == set()
    assert all("write a plugin with the hook" in said for said in refused.values())


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("sourceinfo.struct.maker", "com.example.Maker", "event.format says"),
        ("schema.include.list", "a", "use database.include.list"),
        ("exactly.once.support", "required", "a pipeline repeats"),
        ("errors.tolerance", "all", "at the top of its file"),
        ("offset.storage", "io.debezium.storage.redis.offset.RedisOffsetBackingStore", "`state`"),
        ("offset.storage.jdbc.url", "jdbc:x", "`checkpoint`"),
        ("gtid.new.channel.position", "latest", "always read from its beginning"),
        ("schema.history.internal.redis.address", "redis:6379", "not supported: the schema history is in"),
        (
            "schema.history.internal",
            "io.debezium.storage.redis.history.RedisSchemaHistory",
            "the schema history is in the pipeline's `state`, not where io.debezium.storage.redis",
        ),
        ("schema.history.internal.jdbc.url", "jdbc:x", "not supported: "),
        ("schema.history.internal.s3.bucket.name", "b", "not supported: "),
    ],
)
def test_what_would_change_events_and_cannot_be_is_refused_with_the_reason(option: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=rf"^source\.{re.escape(option)}: .*{re.escape(why)}"):
        _config(**{option: value})


def test_a_dead_letter_queue_is_left_out_with_the_reason() -> None:
    options = {"topic.prefix": "p", "database.user": "u", "errors.deadletterqueue.topic.name": "dlq"}
    _, (said,) = MySqlConfig.load(options, "source")
    assert "the pipeline's own: beside `errors.tolerance: all` or `quarantine` the topic keeps" in said


@pytest.mark.parametrize(
    ("old", "new", "value"),
    [
        ("database.server.name", "topic_prefix", "s"),
        ("table.whitelist", "table_include_list", "a.b"),
        ("column.blacklist", "column_exclude_list", "a.b.c"),
        ("heartbeat.topics.prefix", "topic_heartbeat_prefix", "beat"),
    ],
)
def test_old_names_mean_the_new_ones(old: str, new: str, value: str) -> None:
    options = {"database.user": "u", "topic.prefix": "p", old: value}
    if new == "topic_prefix":
        del options["topic.prefix"]
    config, warnings = MySqlConfig.load(options, "source")
    assert getattr(config, new) == value
    assert old in " ".join(warnings)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("schema_only", "no_data"),
        ("schema_only_recovery", "recovery"),
        ("no_data", "no_data"),
        ("configuration_based", "configuration_based"),
    ],
)
def test_snapshot_modes_have_old_names(given: str, meant: str) -> None:
    assert _config(snapshot_mode=given).snapshot_mode == meant


@pytest.mark.parametrize(
    ("given", "meant"), [("trust", "required"), ("verify-full", "verify_identity"), ("disable", "disabled")]
)
def test_mariadbs_words_for_tls_are_understood(given: str, meant: str) -> None:
    assert _config(database_ssl_mode=given).database_ssl_mode == meant


def test_what_cannot_go_together_or_means_nothing_is_refused() -> None:
    assert "exclude each other" in _refusal(table_include_list="a.b", table_exclude_list="a.c")
    assert "no operation" in _refusal(skipped_operations="c,x")
    assert "does not look like" in _refusal(message_key_columns="d.t")
    assert "'3', '1.9', '1.1' or 'history'" in _refusal(schema_change_format="2")
    assert "is not given" in _refusal(snapshot_select_statement_overrides="d.t")
    assert "table.include.list" in _refusal(table_include_list="a.(b")


@pytest.mark.parametrize(
    ("kind", "hook"), [("mode", "mode"), ("locking.mode", "lock"), ("query.mode", "query")], ids=str
)
def test_javas_ways_of_taking_snapshots_are_refused_with_the_way_out(kind: str, hook: str) -> None:
    options = {f"snapshot.{kind}": "custom", f"snapshot.{kind}.custom.name": "com.shop.NightlySnapshotter"}
    said = _refusal(**options)
    assert "'com.shop.NightlySnapshotter'" in said
    assert "Java classes cannot be loaded here" in said
    assert f"cdckit_snapshot_{hook}" in said


def test_options_without_meaning_are_listed_once() -> None:
    options = {
        "topic.prefix": "p",
        "database.user": "u",
        "tasks.max": "1",
        "driver.allowPublicKeyRetrieval": "true",
        "schema.history.internal.file.filename": "h",
        "database.allowPublicKeyRetrieval": "true",
    }
    _, [warning] = MySqlConfig.load(options, "source")
    assert all(name in warning for name in options if name not in ("topic.prefix", "database.user"))
    assert "(there is no JDBC driver" in warning
    assert warning.count("`state`") == 1


@pytest.mark.parametrize(
    "name",
    [
        "io.debezium.storage.kafka.history.KafkaSchemaHistory",
        "io.debezium.storage.file.history.FileSchemaHistory",
        "io.debezium.relational.history.MemorySchemaHistory",
        "io.debezium.relational.history.FileDatabaseHistory",
    ],
)
def test_debezium_s_usual_places_of_the_history_mean_the_state(name: str) -> None:
    assert _config(schema_history_internal=name).schema_history_internal == "state"


def test_a_history_topic_is_used_only_where_that_is_asked_for() -> None:
    """A connector's configuration names one, Debezium's class, and how its clients log in; that means the state."""
    options = {
        "topic.prefix": "p",
        "database.user": "u",
        "schema.history.internal": "io.debezium.storage.kafka.history.KafkaSchemaHistory",
        "schema.history.internal.kafka.topic": "h",
        "schema.history.internal.kafka.bootstrap.servers": "b:1",
        "schema.history.internal.producer.ssl.keystore.location": "/me.jks",
        "schema.history.internal.consumer.sasl.jaas.config": "hush",
    }
    config, [warning] = MySqlConfig.load(options, "source")
    assert config.schema_history_internal == "state"
    assert "schema.history.internal=kafka keeps a copy in h" in warning
    assert "left out: schema.history.internal.producer.ssl.keystore.location" in warning
    assert "schema.history.internal.consumer.sasl.jaas.config" in warning
    assert "hush" not in warning + repr(config)
    assert "needs schema.history.internal.kafka.topic" in _refusal(
        schema_history_internal="kafka", schema_history_internal_kafka_bootstrap_servers="b:1"
    )


def test_the_server_id_is_random_in_debeziums_range() -> None:
    found = {_config().database_server_id for _ in range(50)}
    assert len(found) > 1
    assert all(5400 <= number <= 6400 for number in found)


def test_secrets_are_not_shown() -> None:
    assert "hush" not in repr(_config(database_password="hush", database_ssl_keystore_password="hush"))


@pytest.mark.parametrize("host", ["root:hush@db.example.org", "mysql://root:hush@db"])
def test_a_password_in_the_hosts_name_is_refused_unseen(host: str) -> None:
    with pytest.raises(ConfigError, match=r"database\.hostname: should be a host's name or address alone") as refused:
        _config(database_hostname=host)
    assert "hush" not in str(refused.value)


def test_lists_match_whole_names_whatever_their_case() -> None:
    filters = Filters(_config(table_include_list=r"shop\.orders_\d+, Shop.Customers"))
    assert filters.captures("shop", "orders_12")
    assert filters.captures("SHOP", "customers")
    assert not filters.captures("shop", "orders_12_old")
    assert not filters.captures("workshop", "customers")


def test_the_servers_own_databases_are_left_out() -> None:
    assert not Filters(_config()).captures("mysql", "user")
    assert Filters(_config()).captures("shop", "t")
    assert Filters(_config(table_ignore_builtin=False)).captures("mysql", "user")


def test_a_comma_within_a_pattern_is_escaped() -> None:
    filters = Filters(_config(table_include_list=r"d\.a{1\,2}"))
    assert filters.captures("d", "aa")
    assert not filters.captures("d", "aaa")


def test_what_is_tracked_is_what_may_become_captured() -> None:
    loose = Filters(_config(table_include_list="d.t"))
    assert loose.tracks("d", "_t_new")
    assert not loose.tracks("mysql", "user")
    databases = Filters(
        _config(database_include_list="d", schema_history_internal_store_only_captured_databases_ddl=True)
    )
    assert databases.tracks("d", "other")
    assert not databases.tracks("e", "t")
    tables = Filters(_config(table_include_list="d.t", schema_history_internal_store_only_captured_tables_ddl=True))
    assert not tables.tracks("d", "other")
    assert tables.tracks("d", "_t_gho")
    assert not tables.tracks("d", "_other_gho")


def test_keys_are_chosen_by_table() -> None:
    columns = tuple(Column(name, "INT", place, optional=False) for place, name in enumerate("abc", 1))
    table = Table("d", "t", columns, primary_key=("a",))
    assert Filters(_config()).key_columns(table) == ("a",)
    assert Filters(_config(message_key_columns=r"d\.t:C,b; d.u:x")).key_columns(table) == ("c", "b")
    assert Filters(_config(message_key_columns="d.t:b", column_exclude_list="d.t.b")).key_columns(table) == ()


def test_field_names_are_sanitized_by_either_option() -> None:
    assert _config(sanitize_field_names=True).field_names == "avro"
    assert _config(sanitize_field_names=True, field_name_adjustment_mode="avro_unicode").field_names == "avro_unicode"
    assert _config().field_names == "none"


@pytest.mark.parametrize("given", [3, "3", 1.9, "1.9", 1.1])
def test_the_format_of_events_brings_its_defaults(given: Any) -> None:
    """Numbers as YAML has them are understood; what the user says comes first."""
    config = _config(event_format=given)
    assert config.event_format == str(given)
    old = config.event_format != "3"
    assert config.schema_name_adjustment_mode == ("avro" if old else "none")
    assert config.skipped == (set() if old else {"t"})
    assert _config(event_format=given, schema_name_adjustment_mode="avro_unicode").schema_name_adjustment_mode == (
        "avro_unicode"
    )


def test_a_configuration_of_old_is_told_of_the_format() -> None:
    options = {"database.user": "u", "database.server.name": "s"}
    assert "event.format=1.9" in MySqlConfig.load(options, "source")[1][-1]
    for format_ in ("3", "1.9"):
        _, warnings = MySqlConfig.load({**options, "event.format": format_}, "source")
        assert "event.format" not in " ".join(warnings)
    _, warnings = MySqlConfig.load({"database.user": "u", "topic.prefix": "s"}, "source")
    assert warnings == []


def _warnings(**options: str) -> str:
    given = {"topic.prefix": "p", "database.user": "u", **options}
    return "; ".join(MySqlConfig.load(given, "source")[1])


def test_properties_for_the_jdbc_driver_are_left_out_and_misspelt_options_are_not() -> None:
    """`database.foobar=false` is the manual's own example of a property that is passed on."""
    assert "database.foobar (what is no option" in _warnings(**{"database.foobar": "false"})
    assert "database.connectTimeout" in _warnings(**{"database.connectTimeout": "5"})
    for misspelt, meant in (("hostnam", "hostname"), ("pasword", "password"), ("prot", "port"), ("usr", "user")):
        said = _refusal(**{f"database.{misspelt}": "x"})
        assert said == f"source.database.{misspelt}: unknown option; did you mean 'database.{meant}'?"
    assert "unknown option" in _refusal(**{"database.query.timout.ms": "5"})


def test_the_engines_longest_wait_is_the_connectors_unless_that_is_given() -> None:
    assert _config(**{"errors.retry.delay.max.ms": "5"}).retriable_restart_connector_wait_ms == 5
    both = {"errors.retry.delay.max.ms": "5", "retriable.restart.connector.wait.ms": "7"}
    for given in (both, dict(reversed(both.items()))):
        assert _config(**given).retriable_restart_connector_wait_ms == 7
        assert "errors.retry.delay.max.ms (retriable.restart.connector.wait.ms is given)" in _warnings(**given)
    assert "errors.retry.delay.initial.ms" not in _warnings(**{"errors.retry.delay.initial.ms": "300"})
    assert "errors.retry.delay.initial.ms" in _warnings(**{"errors.retry.delay.initial.ms": "1"})


def test_jmx_is_left_out_beside_other_channels() -> None:
    config = _config(signal_enabled_channels="source,jmx", notification_enabled_channels="log,jmx")
    assert config.channels == ("source",)
    assert config.logs_notifications
    said = _warnings(**{"signal.enabled.channels": "jmx,source", "notification.enabled.channels": "log,jmx"})
    assert said.count("there is no JVM") == 2
    assert "there is no JVM" in _refusal(signal_enabled_channels="jmx")
    assert "there is no JVM" in _refusal(notification_enabled_channels="jmx")


@pytest.mark.parametrize(
    ("option", "value"),
    [("snapshot.locking.mode", "extended"), ("streaming.delay.ms", "5"), ("snapshot.locking.mode", "minimal")],
)
def test_what_needs_one_reader_is_refused_on_spark(tmp_path: Path, option: str, value: str) -> None:
    source = {"type": "mysql", "topic.prefix": "p", "database.user": "u", option: value}
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"runner": "spark", "source": source}))
    found = [problem.partition(":")[0] for problem in beyond_spark(load_pipeline(file))]
    assert found == ([] if value == "minimal" else [f"source.{option}"])
