"""A pipeline file in each format says the same; a broken one is named with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError
from testkit.scripted.config import ScriptedConfig

YAML = """
name: inventory
runner: direct
source:
  type: scripted
  topic.prefix: inv
  script: play.jsonl
  port: 3307
  password: 0123
  tags: [a, "b,c"]
transforms:
  - type: Rename
    topic: $1orders
    predicate: IsEvents
    negate: true
predicates:
  IsEvents: {type: TopicIs, topic: events}
sink: {type: file, path: out.jsonl}
spark: {master: "local[2]", spark.executor.memory: 1g}
position.header: off
"""
TOML = """
name = "inventory"
runner = "direct"
position.header = false
[source]
type = "scripted"
topic.prefix = "inv"
script = "play.jsonl"
port = 3307
password = "0123"
tags = ["a", "b,c"]
[[transforms]]
type = "Rename"
topic = "$1orders"
predicate = "IsEvents"
negate = true
[predicates.IsEvents]
type = "TopicIs"
topic = "events"
[sink]
type = "file"
path = "out.jsonl"
[spark]
master = "local[2]"
"spark.executor.memory" = "1g"
"""
JSON = """
{"name": "inventory", "runner": "direct", "position.header": false,
 "source": {"type": "scripted", "topic.prefix": "inv", "script": "play.jsonl", "port": 3307, "password": "0123",
            "tags": ["a", "b,c"], "mode": null},
 "transforms": [{"type": "Rename", "topic": "$1orders", "predicate": "IsEvents", "negate": true}],
 "predicates": {"IsEvents": {"type": "TopicIs", "topic": "events"}},
 "sink": {"type": "file", "path": "out.jsonl"},
 "spark": {"master": "local[2]", "spark": {"executor": {"memory": "1g"}}}}
"""


def load(tmp_path: Path, text: str, name: str = "pipeline.yaml", **how: object) -> ResolvedPipeline:
    path = tmp_path / name
    path.write_text(text)
    return load_pipeline(path, **how)  # type: ignore[arg-type]


def problems(tmp_path: Path, text: str, name: str = "pipeline.yaml", **how: object) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, name, **how)
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.yaml", YAML),
        ("p.yml", YAML),
        ("p.toml", TOML),
        ("p.json", JSON),
        ("yaml", YAML),
        ("json", JSON),
        ("toml", TOML[TOML.index("[source]") :]),
    ],
)
def test_every_format_says_the_same(tmp_path: Path, name: str, text: str) -> None:
    set_in_toml = ["name=inventory", "runner=direct", "position.header=false"]
    pipeline = load(tmp_path, text, name, overrides=set_in_toml)
    assert pipeline.name == "inventory"
    assert pipeline.runner == "direct"
    assert pipeline.folder == tmp_path / "state/inventory"
    assert pipeline.position_header is False
    assert pipeline.spark == {"spark.master": "local[2]", "spark.executor.memory": "1g"}
    source = pipeline.source.config
    assert isinstance(source, ScriptedConfig)
    assert (source.port, source.tags, source.mode) == (3307, ["a", "b,c"], "fast")
    assert source.password.get_secret_value() == "0123"
    (step,) = pipeline.transforms
    assert step.transform.config.model_dump() == {"topic": "$1orders"}
    assert step.predicate is not None
    assert step.predicate.config.model_dump() == {"topic": "events"}
    assert step.negate is True
    assert pipeline.sink.config.model_dump() == {"path": tmp_path / "out.jsonl"}
    assert pipeline.serializer.registration.name == "json"


def test_defaults_name_runner_state_sink_and_serializer(tmp_path: Path) -> None:
    pipeline = load(tmp_path, "source: {type: scripted, script: x}")
    assert (pipeline.name, pipeline.runner, pipeline.folder) == ("scripted", "spark", tmp_path / "state/scripted")
    assert pipeline.sink.registration.name == "stdout"
    assert pipeline.serializer.registration.name == "json"
    assert pipeline.transforms == ()
    assert pipeline.warnings == ()


@pytest.mark.parametrize(
    ("sink", "serializer", "format_"),
    [
        ("{type: kafka, bootstrap.servers: h}", "{}", "simple"),
        ("{type: kafka, bootstrap.servers: h}", "{type: cloudevents}", "simple"),
        ("{type: kafka, bootstrap.servers: h}", "{header.format: json}", "json"),
        ("{type: stdout}", "{}", "json"),
    ],
)
def test_kafka_has_plain_headers_unless_told_otherwise(
    tmp_path: Path, sink: str, serializer: str, format_: str
) -> None:
    text = f"source: {{type: scripted, script: x}}\nsink: {sink}\nserializer: {serializer}"
    assert load(tmp_path, text).serializer.config.header_format == format_  # type: ignore[attr-defined]


def test_a_resolved_pipeline_can_be_pickled_and_shows_no_secret(tmp_path: Path) -> None:
    import pickle

    pipeline = load(tmp_path, YAML)
    again = pickle.loads(pickle.dumps(pipeline))
    assert again == pipeline
    assert again.source.config.password.get_secret_value() == "0123"
    assert "0123" not in repr(pipeline)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("p.yaml", "source:\n  type: [scripted\nsink: x\n", "line 3, column 5: expected ',' or ']'"),
        ("p.yaml", "source:\n\ttype: x\n", "line 2, column 1: found character '\\t' that cannot start any token"),
        ("p.yaml", "source:\n\ttype: x\n", "; YAML is indented by spaces: put some in the tab's place"),
        ("p.yaml", "source: {}\nsink: {}\nsource: {}\n", "line 3, column 1: 'source' stands there twice; keep one"),
        ("p.json", '{"source": {"type": }}', "line 1, column 21: Expecting value"),
        ("p.json", '{"source": {"type": "x", "type": "y"}}', "'type' stands there twice; keep one"),
        ("p.toml", "[source]\ntype = scripted\n", "line 2, column 8: Invalid value"),
        ("p.properties", "connector.class=\\u00zz", "Invalid \\u escape sequence"),
        ("p.yaml", "- a\n", "must hold options (`name: value`), not a list"),
        ("p.yaml", "# nothing\n", "the file is empty"),
        ("p.yaml", "name: x\n", "has neither 'source'"),
    ],
)
def test_a_broken_file_is_named_with_its_place(tmp_path: Path, name: str, text: str, said: str) -> None:
    (problem,) = problems(tmp_path, text, name)
    assert problem.startswith(f"{tmp_path / name}: ")
    assert said in problem


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gone\.yaml: No such file"):
        load_pipeline(tmp_path / "gone.yaml")
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.yaml: not UTF-8 text"):
        load_pipeline(tmp_path / "binary.yaml")


def test_yaml_merges_and_anchors_work(tmp_path: Path) -> None:
    text = """
source: &all {type: scripted, script: x, port: 1}
predicates:
  A: &a {type: TopicIs, topic: one}
  B: {<<: *a, topic: two}
"""
    assert load(tmp_path, text).source.registration.name == "scripted"


def test_all_faults_are_told_at_once_with_their_full_names(tmp_path: Path) -> None:
    text = """
runer: direct
offset.flush.interval.ms: soon
port: 1
source:
  type: scripted
  scrpt: x
  mode: fastest
  port: high
  offset.flush.interval.ms: 5
  signal: now
  level: high
transforms:
  - type: Renam
  - topic: x
  - type: Rename
    topc: y
    predicate: IsEvnts
    negate: maybe
predicates:
  IsEvents: {type: TopicIs}
sink:
  type: file
serializer:
  schemas.enabled: false
"""
    assert sorted(problems(tmp_path, text)) == sorted(
        [
            "runer: unknown option; did you mean 'runner'?",
            "offset.flush.interval.ms: should be a whole number",
            "port: unknown option; it belongs at 'source.port'",
            "sink.path: required, but not given",
            "source.scrpt: unknown option; did you mean 'script'?",
            "source.offset.flush.interval.ms: unknown option; it belongs at 'offset.flush.interval.ms'",
            "source.signal: not yet supported; remove it",
            "source.level: not yet supported (only its default, 'low', is); remove it",
            "source.script: required, but not given",
            "source.port: should be a whole number",
            "source.mode: should be 'fast' or 'slow', not 'fastest'; did you mean 'fast'?",
            "serializer.schemas.enabled: unknown option; did you mean 'schemas.enable'?",
            "predicates.IsEvents.topic: required, but not given",
            *[p for p in problems(tmp_path, text) if p.startswith("transforms.0.type: no transform is called 'Renam'")],
            "transforms.1.type: required, but not given; it names the transform",
            "transforms.2.topc: unknown option; did you mean 'topic'?",
            "transforms.2.topic: required, but not given",
            "transforms.2.predicate: no predicate is called 'IsEvnts'; did you mean 'IsEvents'?",
            "transforms.2.negate: should be true or false",
        ]
    )
    assert any("did you mean 'Rename'?" in problem for problem in problems(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source: scripted", "source.type: required, but not given; it names the source"),
        ("source: {type: nothing}", "source.type: no source is called 'nothing'"),
        ("source: {type: scripted, script: x}\ntransforms: {type: Rename}", "transforms: must be a list"),
        ("source: {type: scripted, script: x}\ntransforms: [Rename]", "transforms.0.type: required"),
        ("source: {type: scripted, script: x}\npredicates: [x]", "predicates: must give each predicate a name"),
        ("source: {type: scripted, script: x}\nsink: stdout", "sink.type: required"),
        ("source: {type: scripted, script: x}\nsinks: {type: x}", "sinks.type: unknown option; did you mean 'sink'?"),
        ("source: {type: scripted, script: x}\nname: ../up", "name: should match pattern"),
        ("source: {type: scripted, script: x}\nspark: 3", "spark: should hold options (`name: value`)"),
        ("source: {type: scripted, script: x}\nsink: {type: file, path: [a]}", "sink.path: should be a path"),
        (
            "source: {type: scripted, script: x}\ntransforms: [{type: Rename, topic: x, negate: true}]",
            "transforms.0.negate: there is no transforms.0.predicate to negate",
        ),
    ],
)  # fmt: skip
def test_a_wrong_shape_is_told_in_words(tmp_path: Path, text: str, said: str) -> None:
    assert any(problem.startswith(said) for problem in problems(tmp_path, text))


def test_old_names_and_options_without_meaning_are_told_once(tmp_path: Path) -> None:
    text = "source: {type: scripted, script: x, server.name: inv, driver.b: 1, driver.a: 2}"
    pipeline = load(tmp_path, text)
    assert pipeline.name == "inv"
    assert pipeline.warnings == (
        "source: options without meaning here, left out: driver.a, driver.b",
        "source: old option names: server.name (now topic.prefix)",
    )


def test_options_are_collected_by_pattern_or_prefix(tmp_path: Path) -> None:
    text = "source: {type: scripted, script: x, statement: {a.b: select 1}, level: LOW}"
    config = load(tmp_path, text).source.config
    assert isinstance(config, ScriptedConfig)
    assert config.statements == {"statement.a.b": "select 1"}


def test_an_option_given_by_two_names_is_refused(tmp_path: Path) -> None:
    text = "source: {type: scripted, script: x, topic.prefix: a, server.name: b}"
    assert problems(tmp_path, text) == [
        "source.server.name: the same option is already given as 'topic.prefix'; keep one"
    ]
