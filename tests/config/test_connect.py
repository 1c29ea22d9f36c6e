"""A connector's configuration is taken as it is, in each of the forms that it is handed around in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline, read_raw
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError

OPTIONS = {
    "connector.class": "test.ScriptedConnector",
    "tasks.max": "1",
    "topic.prefix": "inv",
    "script": "play.jsonl",
    "transforms": "u, v",
    "transforms.u.type": "test.transforms.Rename",
    "transforms.u.topic": "one",
    "transforms.u.predicate": "P",
    "transforms.u.negate": "true",
    "transforms.v.type": "test.transforms.Rename",
    "transforms.v.topic": "two",
    "predicates": "P",
    "predicates.P.type": "test.predicates.TopicIs",
    "predicates.P.topic": "events",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
    "offset.flush.interval.ms": "60000",
    "errors.log.enable": "true",
    "producer.override.linger.ms": "5",
    "topic.creation.default.partitions": "3",
}
PROPERTIES = "\n".join(f"{name}={value}" for name, value in OPTIONS.items())
STRIMZI = {
    "apiVersion": "kafka.strimzi.io/v1beta2",
    "kind": "KafkaConnector",
    "metadata": {"name": "inventory-connector"},
    "spec": {
        "class": OPTIONS["connector.class"],
        "tasksMax": 1,
        "config": {name: value for name, value in OPTIONS.items() if name not in ("connector.class", "tasks.max")},
    },
}
OTHER = {"kind": "KafkaConnect", "spec": {"replicas": 1}}


def load(tmp_path: Path, text: str, name: str = "c.properties", *overrides: str, **how: str) -> ResolvedPipeline:
    path = tmp_path / name
    path.write_text(text)
    return load_pipeline(path, overrides, **how)  # type: ignore[arg-type]


def connector(tmp_path: Path, *overrides: str, sink: str | None = None, **options: str) -> ResolvedPipeline:
    given = {"connector.class": "test.ScriptedConnector", "script": "x"}
    given |= {name.replace("__", "."): value for name, value in options.items()}
    path = tmp_path / "c.json"
    path.write_text(json.dumps(given))
    return load_pipeline(path, overrides, sink=sink)


def problems(tmp_path: Path, **options: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        connector(tmp_path, **options)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("name", "text", "left_out"),
    [
        ("c.properties", PROPERTIES, "tasks.max"),
        ("c.conf", PROPERTIES, "tasks.max"),
        ("c.json", json.dumps(OPTIONS), "tasks.max"),
        ("c.json", json.dumps({"name": "my-connector", "config": OPTIONS}), "tasks.max"),
        ("c.yaml", json.dumps(OPTIONS), "tasks.max"),
        ("c.yaml", json.dumps(STRIMZI), "spec.tasksMax"),
        ("c.yaml", f"{json.dumps(OTHER)}\n---\n{json.dumps(STRIMZI)}", "spec.tasksMax"),
        ("c.json", json.dumps(STRIMZI), "spec.tasksMax"),
    ],
)
def test_every_form_gives_the_same_pipeline(tmp_path: Path, name: str, text: str, left_out: str) -> None:
    pipeline = load(tmp_path, text, name)
    assert (pipeline.name, pipeline.runner, pipeline.folder) == ("inv", "spark", tmp_path / "state/inv")
    assert pipeline.source.registration.name == "scripted"
    assert pipeline.sink.registration.name == "stdout"
    assert [step.name for step in pipeline.transforms] == ["u", "v"]
    assert pipeline.transforms[0].predicate is not None
    assert pipeline.transforms[0].negate is True
    assert pipeline.transforms[1].predicate is None
    assert pipeline.serializer.config.value_schemas_enable is False  # type: ignore[attr-defined]
    assert pipeline.offset_flush_interval_ms == 60000
    assert pipeline.errors.log_each is True
    names = sorted(["producer.override.linger.ms", left_out, "topic.creation.default.partitions"])
    assert pipeline.warnings == (f"options without meaning here, left out: {', '.join(names)}",)


def test_producer_options_go_to_the_sink_that_knows_them(tmp_path: Path) -> None:
    text = f"{PROPERTIES}\nbootstrap.servers=a:9092\n"
    sink = load(tmp_path, text, sink="failing").sink.config
    assert sink.model_dump() == {"bootstrap_servers": "a:9092", "producer": {"override.linger.ms": "5"}}
    pipeline = load(tmp_path, text, "c.properties", "sink.bootstrap.servers=b:1", sink="failing")
    assert pipeline.sink.config.bootstrap_servers == "b:1"  # type: ignore[attr-defined]
    assert "producer" not in " ".join(pipeline.warnings)


def test_the_command_line_names_transforms_by_their_alias_or_index(tmp_path: Path) -> None:
    pipeline = load(tmp_path, PROPERTIES, "c.properties", "transforms.v.topic=x", "transforms.0.topic=y")
    assert [step.transform.config.topic for step in pipeline.transforms] == ["y", "x"]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["ScriptedConnector", "Scripted", "test.ScriptedConnector", "scripted"])
def test_a_connector_class_has_a_short_form(tmp_path: Path, name: str) -> None:
    assert connector(tmp_path, connector__class=name).source.registration.name == "scripted"


def test_a_wrong_connector_class_is_told(tmp_path: Path) -> None:
    (problem,) = problems(tmp_path, connector__class="test.ScriptdConnector")
    assert problem.startswith(
        "connector.class: no source is called 'test.ScriptdConnector'; did you mean 'test.Scripted"
    )
    (problem,) = problems(tmp_path, connector__class="io.debezium.connector.vitess.VitessConnector")
    assert "did you mean" not in problem
    assert problems(tmp_path, connector__class="") == [
        "connector.class: required, but not given; it names the connector"
    ]


def test_faults_are_called_by_the_connectors_own_names(tmp_path: Path) -> None:
    found = problems(
        tmp_path, prt="1", port="x", transforms="a,b", transforms__a__type="test.transforms.Rename",
        transforms__a__topc="t", mode="${MODE_THAT_IS_NOT_SET}", converter__schemas__enable="perhaps",
    )  # fmt: skip
    assert {problem.partition(":")[0] for problem in found} == {
        "prt", "port", "transforms.a.topc", "transforms.a.topic", "transforms.b.type", "mode",
        "converter.schemas.enable",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"value__converter": "org.apache.kafka.connect.converters.NumberConverter"},
            "value.converter: 'org.apache.kafka.connect.converters.NumberConverter' is not yet supported (these are: ",
        ),
        (
            {"key__converter": "org.apache.kafka.connect.storage.LongConverter"},
            "key.converter: 'org.apache.kafka.connect.storage.LongConverter' is not yet supported",
        ),
        (
            {"header__converter": "org.apache.kafka.connect.storage.LongConverter"},
            "header.converter: 'org.apache.kafka.connect.storage.LongConverter' is not yet supported",
        ),
        ({"transforms": "${env:CHAIN_NOT_SET}"}, "transforms: the environment variable CHAIN_NOT_SET is not set"),
    ],
)
def test_what_is_not_yet_supported_is_said(tmp_path: Path, options: dict[str, str], said: str) -> None:
    assert any(problem.startswith(said) for problem in problems(tmp_path, **options))


def test_converters_become_the_serializers_options(tmp_path: Path) -> None:
    json_converter = "org.apache.kafka.connect.json.JsonConverter"
    pipeline = connector(
        tmp_path, key__converter=json_converter, value__converter=json_converter,
        key__converter__schemas__enable="false", value__converter__schemas__enable="true",
        value__converter__decimal__format="NUMERIC", key__converter__decimal__format="NUMERIC",
        value__converter__replace__null__with__default="false", value__converter__schemas__cache__size="100",
        header__converter="org.apache.kafka.connect.storage.SimpleHeaderConverter",
        header__converter__schemas__enable="false",
    )  # fmt: skip
    assert pipeline.serializer.config.model_dump(exclude_defaults=True) == {
        "value_schemas_enable": True, "decimal_format": "NUMERIC", "replace_null_with_default": False,
        "header_format": "simple",
    }  # fmt: skip
    assert pipeline.key_serializer is not None
    assert pipeline.key_serializer.config.model_dump(exclude_defaults=True) == {
        "schemas_enable": False, "decimal_format": "NUMERIC",
    }  # fmt: skip
    assert any("schemas.cache.size" in warning for warning in pipeline.warnings)
    assert any("header.converter.schemas.enable" in warning for warning in pipeline.warnings)


@pytest.mark.parametrize(
    ("options", "format_", "schemas"),
    [
        ({}, "simple", None),
        ({"header__converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}, "simple", None),
        ({"header__converter": "org.apache.kafka.connect.json.JsonConverter"}, "json", True),
        (
            {
                "header__converter": "org.apache.kafka.connect.json.JsonConverter",
                "header__converter__schemas__enable": "false",
            },
            "json",
            False,
        ),
    ],
)
def test_headers_are_written_as_connect_would(
    tmp_path: Path, options: dict[str, str], format_: str, schemas: bool | None
) -> None:
    """By its own default where nothing is said; JSON with schemas, whatever values have."""
    for value in ("org.apache.kafka.connect.json.JsonConverter", "io.debezium.converters.CloudEventsConverter"):
        pipeline = connector(tmp_path, value__converter=value, value__converter__schemas__enable="false", **options)
        config = pipeline.serializer.config
        assert (config.header_format, config.header_schemas_enable) == (format_, schemas)  # type: ignore[attr-defined]


def test_transforms_that_no_list_names_are_left_out(tmp_path: Path) -> None:
    pipeline = connector(tmp_path, transforms__x__type="nothing", predicates__y__type="nothing")
    assert pipeline.transforms == ()
    assert "predicates.y.type, transforms.x.type" in pipeline.warnings[0]


def test_several_connectors_in_one_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match="holds 2 documents, 2 of them a KafkaConnector or a DebeziumServer; keep one pipeline"
    ):
        load(tmp_path, f"{json.dumps(STRIMZI)}\n---\n{json.dumps(STRIMZI)}", "c.yaml")


@pytest.mark.parametrize(("wrapper", "name"), [({"name": "my connector/1"}, "my_connector_1"), ({}, "c")])
def test_without_a_topic_prefix_the_connectors_or_the_files_name_serves(
    tmp_path: Path, wrapper: dict[str, str], name: str
) -> None:
    path = tmp_path / "c.connector.json"
    path.write_text(json.dumps({**wrapper, "config": {"connector.class": "test.ScriptedConnector"}}))
    assert read_raw(path, {}).fallback_name == name


def placeholders(form: str) -> str:
    """A connector's file whose transform reads `${routedByValue}`."""
    options = {**OPTIONS, "transforms.v.topic": "outbox.${routedByValue}", "password": "${PASSWORD_X}"}
    if form == "strimzi":
        spec = {"class": options.pop("connector.class"), "config": options}
        return json.dumps({**STRIMZI, "spec": spec})
    if form == "properties":
        return "\n".join(f"{name}={value}" for name, value in options.items())
    return json.dumps({"config": options})


@pytest.mark.parametrize(("form", "name"), [("properties", "c.properties"), ("json", "c.json"), ("strimzi", "c.yaml")])
def test_names_that_a_transform_reads_are_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, name: str
) -> None:
    monkeypatch.setenv("PASSWORD_X", "secret")
    pipeline = load(tmp_path, placeholders(form), name)
    assert pipeline.transforms[1].transform.config.topic == "outbox.${routedByValue}"  # type: ignore[attr-defined]
    assert pipeline.source.config.password.get_secret_value() == "secret"  # type: ignore[attr-defined]
    assert not any("${" in warning for warning in pipeline.warnings)


def test_a_name_that_stays_outside_the_chain_is_told(tmp_path: Path) -> None:
    pipeline = load(tmp_path, placeholders("json"), "c.json")
    assert pipeline.source.config.password.get_secret_value() == "${PASSWORD_X}"  # type: ignore[attr-defined]
    assert pipeline.warnings[-1] == (
        "password: ${PASSWORD_X} is taken as it stands, for the environment has no variable of that name"
    )


@pytest.mark.parametrize(
    ("option", "taken", "refused"),
    [
        ("exactly.once.support", "requested", "required"),
        ("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore", "com.example.RedisStore"),
        ("offset.storage.redis.address", "", "redis:6379"),
        ("offset.storage.topic", "", "offsets"),
    ],
)
def test_a_promise_that_cannot_be_kept_is_refused(tmp_path: Path, option: str, taken: str, refused: str) -> None:
    name = option.replace(".", "__")
    connector(tmp_path, **{name: taken})
    (problem,) = problems(tmp_path, **{name: refused})
    assert problem.startswith(f"{option}: ")
    assert "remove it" in problem


def test_what_becomes_of_records_that_fail_is_the_pipelines(tmp_path: Path) -> None:
    options = {
        "errors__tolerance": "all",
        "errors__log__enable": "true",
        "errors__log__include__messages": "true",
        "errors__deadletterqueue__topic__name": "dlq",
    }
    (problem,) = problems(tmp_path, **options)
    assert problem.startswith("quarantine.bootstrap.servers: required with quarantine.topic and the sink 'stdout'")
    options["quarantine__bootstrap__servers"] = "b:9092"
    errors = connector(tmp_path, **options).errors
    assert (errors.tolerance, errors.log_each, errors.log_messages) == ("quarantine", True, True)
    assert errors.topic is not None
    assert (errors.topic.name, errors.topic.servers, errors.folder) == ("dlq", "b:9092", None)
    # Without a tolerance Kafka Connect stops at the first, and so does the pipeline.
    pipeline = connector(tmp_path, errors__deadletterqueue__topic__name="dlq")
    assert pipeline.errors.tolerance == "none"
    assert any("left out: errors.deadletterqueue.topic.name" in warning for warning in pipeline.warnings)
    (problem,) = problems(tmp_path, errors__tolerance="some")
    assert problem.startswith("errors.tolerance: ")


def test_the_command_line_sets_converters_by_their_own_names(tmp_path: Path) -> None:
    cloud_events = "io.debezium.converters.CloudEventsConverter"
    chosen = ["value.converter.schemas.enable=true", "key.converter.schemas.enable=false"]
    pipeline = load(tmp_path, PROPERTIES, "c.properties", *chosen)
    assert pipeline.serializer.config.model_dump(exclude_defaults=True) == {
        "key_schemas_enable": False, "value_schemas_enable": True, "header_format": "simple",
    }  # fmt: skip
    pipeline = load(tmp_path, PROPERTIES, "c.properties", f"value.converter={cloud_events}", "state=x")
    assert (pipeline.serializer.registration.name, pipeline.folder) == ("cloudevents", Path.cwd() / "x")


AVRO = "io.confluent.connect.avro.AvroConverter"
APICURIO = "io.apicurio.registry.utils.converter.AvroConverter"


@pytest.mark.parametrize(
    ("converter", "options", "name"),
    [
        (
            AVRO,
            {
                "schema.registry.url": "http://registry:8081",
                "basic.auth.credentials.source": "USER_INFO",
                "basic.auth.user.info": "me:secret",
            },
            "avro",
        ),
        (
            APICURIO,
            {
                "apicurio.registry.url": "http://registry:8080/apis/registry/v2",
                "apicurio.registry.auto-register": "true",
                "apicurio.registry.find-latest": "true",
            },
            "avro-apicurio",
        ),
        (
            "io.confluent.connect.protobuf.ProtobufConverter",
            {
                "schema.registry.url": "http://registry:8081",
                "optional.for.nullables": "true",
                "value.subject.name.strategy": "io.confluent.kafka.serializers.subject.RecordNameStrategy",
            },
            "protobuf",
        ),
        (
            "io.confluent.connect.json.JsonSchemaConverter",
            {
                "schema.registry.url": "http://registry:8081",
                "object.additional.properties": "false",
            },
            "json-schema",
        ),
    ],
)
def test_converters_with_a_registry_become_one_serializer(
    tmp_path: Path, converter: str, options: dict[str, str], name: str
) -> None:
    given = {
        f"{part}.converter{option}".replace(".", "__"): value
        for part in ("key", "value")
        for option, value in {"": converter, **{f".{option}": value for option, value in options.items()}}.items()
    }
    pipeline = connector(tmp_path, **given)
    assert (pipeline.serializer.registration.name, pipeline.key_serializer) == (name, None)
    assert pipeline.header_serializer is not None
    assert pipeline.header_serializer.registration.name == "simple"
    assert not any("converter" in warning for warning in pipeline.warnings)


def test_options_for_reading_are_passed_over(tmp_path: Path) -> None:
    pipeline = connector(
        tmp_path, value__converter="io.confluent.connect.json.JsonSchemaConverter",
        value__converter__schema__registry__url="http://registry:8081",
        value__converter__use__optional__for__nonrequired="true", value__converter__schemas__enable="true",
    )  # fmt: skip
    assert pipeline.serializer.registration.name == "json-schema"
    for option in ("use.optional.for.nonrequired", "schemas.enable"):
        assert any(option in warning for warning in pipeline.warnings)


def test_avro_values_beside_other_keys_and_headers(tmp_path: Path) -> None:
    pipeline = connector(
        tmp_path, key__converter="org.apache.kafka.connect.storage.StringConverter", value__converter=AVRO,
        value__converter__schema__registry__url="http://registry:8081",
        header__converter="org.apache.kafka.connect.json.JsonConverter",
        header__converter__schemas__enable="false",
    )  # fmt: skip
    chosen = (pipeline.key_serializer, pipeline.serializer, pipeline.header_serializer)
    assert [part and part.registration.name for part in chosen] == ["string", "avro", "json"]
    said = problems(tmp_path, header__converter=AVRO, header__converter__schema__registry__url="http://registry:8081")
    assert said == ["header.converter.type: 'avro' writes no headers by itself"]
    said = problems(
        tmp_path, value__converter=AVRO, value__converter__schema__registry__url="http://registry:8081",
        value__converter__basic__auth__credentials__source="SASL_INHERIT",
    )  # fmt: skip
    assert said == ["converter.basic.auth.credentials.source: a login stands in basic.auth.user.info, and nowhere else"]
