"""Defaults, then the file, then its variables, then the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cdckit.api.variables import substitute, unresolved
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError

FILE = """
source:
  type: scripted
  script: ${SCRIPT:-play.jsonl}
  password: ${PASSWORD}
transforms:
  - {type: Rename, topic: one}
sink: {type: file, path: "${OUT}"}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "pipeline.yaml"
    path.write_text(FILE)
    return path


def load(file: Path, *overrides: str, **how: str) -> ResolvedPipeline:
    return load_pipeline(file, overrides, environment={"PASSWORD": "s3cret", "OUT": "out"}, **how)  # type: ignore[arg-type]


def test_variables_are_replaced_and_have_defaults(file: Path) -> None:
    pipeline = load(file)
    assert pipeline.source.config.script == file.parent / "play.jsonl"  # type: ignore[attr-defined]
    assert pipeline.source.config.password.get_secret_value() == "s3cret"  # type: ignore[attr-defined]


def test_a_missing_variable_is_named_with_its_option(file: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_pipeline(file, environment={"PASSWORD": "x"})
    assert caught.value.problems == (
        "sink.path: the environment variable OUT is not set; set it, or write ${OUT:-default} "
        "(or $${OUT} for the literal text)",
    )


def test_a_missing_variable_is_the_one_problem_of_its_option(tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text('{"runner": "direct", "source": {"type": "scripted", "script": "s", "port": "${PORT}"}}')
    with pytest.raises(ConfigError) as caught:
        load_pipeline(file, environment={})
    (problem,) = caught.value.problems
    assert problem.startswith("source.port: the environment variable PORT is not set")


def test_a_missing_variable_does_not_matter_where_the_command_line_wins(file: Path) -> None:
    pipeline = load_pipeline(file, ["source.password=p"], sink="stdout", environment={})
    assert pipeline.sink.registration.name == "stdout"


def test_set_wins_over_the_file_and_is_converted(file: Path) -> None:
    pipeline = load(
        file, "source.port=3307", "state=/tmp/x", "runner=direct", "transforms.0.topic=a=b", "spark.master=local[1]",
        "offset.flush.interval.ms=5", "transforms.1.type=Rename", "transforms.1.topic=two",
        "transforms.1.predicate=P", "predicates.P.type=TopicIs", "predicates.P.topic=t", "serializer.schemas.enable=no",
    )  # fmt: skip
    assert pipeline.source.config.port == 3307  # type: ignore[attr-defined]
    assert pipeline.folder == Path("/tmp/x")
    assert pipeline.runner == "direct"
    assert [step.transform.config.topic for step in pipeline.transforms] == ["a=b", "two"]  # type: ignore[attr-defined]
    assert pipeline.transforms[1].predicate is not None
    assert pipeline.spark == {"spark.master": "local[1]"}
    assert pipeline.offset_flush_interval_ms == 5
    assert pipeline.serializer.config.schemas_enable is False  # type: ignore[attr-defined]


def test_the_sink_is_replaced_or_kept(file: Path) -> None:
    assert load(file, "sink.path=elsewhere", sink="file").sink.config.path == Path.cwd() / "elsewhere"  # type: ignore[attr-defined]
    assert load(file, sink="file").sink.config.path == file.parent / "out"  # type: ignore[attr-defined]
    assert load(file, sink="stdout").sink.config.model_dump() == {}
    assert load(file, runner="direct").runner == "direct"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("source.port", "--set source.port: write it as KEY=VALUE"),
        ("source=x", "--set source: name one of its options, such as source.topic.prefix=NAME"),
        ("transforms.5.topic=x", "--set transforms.5.topic: there is no transform '5'; the chain has 1"),
        ("transforms.u.topic=x", "--set transforms.u.topic: there is no transform 'u'; the chain has 1"),
        ("source.prt=1", "source.prt: unknown option; did you mean 'port'?"),
        ("nme=1", "nme: unknown option; did you mean 'name'?"),
    ],
)
def test_a_wrong_assignment_is_told(file: Path, assignment: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(file, assignment)
    assert any(problem.startswith(said) for problem in caught.value.problems)


def test_kafkas_config_providers_are_understood(tmp_path: Path) -> None:
    (tmp_path / "secrets.properties").write_text("db.password=one\n")
    (tmp_path / "token").write_text("two")
    tree = {
        "file": f"${{file:{tmp_path}/secrets.properties:db.password}}",
        "dir": f"${{dir:{tmp_path}:token}}",
        "env": "a-${env:HOME_OF_X}-b",
        "literal": "$${name} $1",
        "empty": "${UNSET:-}",
    }
    assert substitute(tree, {"HOME_OF_X": "x"}) == {
        "file": "one", "dir": "two", "env": "a-x-b", "literal": "${name} $1", "empty": "",
    }  # fmt: skip


def test_what_cannot_be_resolved_is_told_with_its_path(tmp_path: Path) -> None:
    tree = {"a": ["x", "${vault:x:y}"], "b": {"c": f"${{file:{tmp_path}/gone:x}}"}, "d": f"${{dir:{tmp_path}:gone}}"}
    found = dict(unresolved(substitute(tree, {})))
    assert found.keys() == {"a.1", "b.c", "d"}
    assert found["a.1"].startswith("${vault:x:y} cannot be resolved: there are ${VAR}")
    assert "No such file" in found["b.c"]
    (tmp_path / "there").write_text("y=1")
    assert dict(unresolved(substitute({"a": f"${{file:{tmp_path}/there:x}}"}, {}))) == {
        "a": f"{tmp_path}/there has no property 'x'"
    }


def test_placeholders_of_debeziums_options_are_no_variables() -> None:
    placeholder = "${database.server.name}.transaction"
    assert substitute({"transaction.topic": placeholder}, {}) == {"transaction.topic": placeholder}
    assert type(substitute(placeholder, {})) is str


def test_where_transforms_read_names_only_variables_that_exist_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=p")
    tree = {
        "outbox": "outbox.${routedByValue}.events",
        "variable": "${HOME_OF_X}${env:HOME_OF_X}${UNSET:-y}",
        "file": f"${{file:{tmp_path}/secrets:password}}",
        "expression": "${value.op == 'c' ? 'a' : 'b'}${1}",
        "literal": "$${HOME_OF_X}",
        "unset": "${env:UNSET}",
        "vault": "${vault:path:key}",
    }
    found = substitute(tree, {"HOME_OF_X": "x"}, placeholders=True)
    assert found == {**tree, "variable": "xxy", "file": "p", "literal": "${HOME_OF_X}"}
    assert dict(unresolved(found)).keys() == {"unset", "vault"}


def test_variables_in_what_the_command_line_sets_are_replaced_as_in_the_file(file: Path, tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=from-file")
    reference = f"source.password=${{file:{tmp_path}/secrets:password}}"
    pipeline = load(file, reference, "source.script=${OUT}.jsonl", "transforms.0.topic=$${OUT}")
    config = pipeline.source.config
    assert config.password.get_secret_value() == "from-file"  # type: ignore[attr-defined]
    assert config.script == Path.cwd() / "out.jsonl"  # type: ignore[attr-defined]
    assert pipeline.transforms[0].transform.config.topic == "${OUT}"  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match=r"source\.password: .*gone"):
        load(file, f"source.password=${{file:{tmp_path}/gone:password}}")
