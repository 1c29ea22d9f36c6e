"""Relative paths: in a file they begin in its folder, on the command line in the working directory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.errors import ConfigError

MYSQL = {"type": "mysql", "topic.prefix": "shop", "database.hostname": "db", "database.user": "u"}
MONGODB = {"type": "mongodb", "topic.prefix": "shop", "mongodb.connection.string": "mongodb://db"}
TICDC = {"type": "ticdc", "protocol": "debezium-avro", "schema.registry.url": "http://registry", "files": "x"}
KAFKA = {"type": "kafka", "bootstrap.servers": "b:9092"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The pipeline file's folder; the working directory is another one."""
    (tmp_path / "pipelines").mkdir()
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "pipelines"


def load(folder: Path, *overrides: str, **options: Any) -> ResolvedPipeline:
    path = folder / "shop.json"
    path.write_text(json.dumps({"source": MYSQL, **options}))
    return load_pipeline(Path("../pipelines/shop.json"), overrides)


def value(config: Any, option: str) -> Any:
    name, _, member = option.partition(":")
    found = getattr(config, name.replace(".", "_"))
    return found[member] if member else found


@pytest.mark.parametrize(
    ("kind", "others", "option"),
    [
        ("source", MYSQL, "database.ssl.truststore"),
        ("source", MYSQL, "database.ssl.keystore"),
        ("source", MYSQL, "binlog.files"),
        ("source", MYSQL, "signal.file"),
        ("source", MYSQL, "signal.consumer:ssl.ca.location"),
        ("source", MONGODB, "mongodb.ssl.truststore"),
        ("source", MONGODB, "mongodb.ssl.keystore"),
        ("source", TICDC, "schema.registry.url"),
        ("source", TICDC, "kafka:ssl.certificate.location"),
        ("source", {**TICDC, "protocol": "csv", "files": ""}, "storage.url"),
        ("sink", KAFKA, "kafka:ssl.keystore.location"),
        ("sink", KAFKA, "kafka:sasl.kerberos.keytab"),
        ("sink", KAFKA, "producer:override.ssl.keystore.location"),
        ("sink", {"type": "file"}, "path"),
    ],
)
def test_options_that_are_paths_begin_in_the_files_folder(
    folder: Path, kind: str, others: dict[str, str], option: str
) -> None:
    name = option.replace(":", ".")
    for given in ("./a/b.p12", "a/b.p12"):
        config = getattr(load(folder, **{kind: {**others, name: given}}), kind).config
        assert str(value(config, option)) == f"{folder}/a/b.p12"
    config = getattr(load(folder, f"{kind}.{name}=a/b.p12", **{kind: others}), kind).config
    assert str(value(config, option)) == f"{folder.parent}/work/a/b.p12"
    config = getattr(load(folder, **{kind: {**others, name: "/a/b.p12"}}), kind).config
    assert str(value(config, option)) == "/a/b.p12"


def test_each_of_several_files_does(folder: Path) -> None:
    for given in ("a/*.jsonl,/b", ["a/*.jsonl", "/b"]):
        config: Any = load(folder, source={**TICDC, "files": given}).source.config
        assert config.files == (f"{folder}/a/*.jsonl", "/b")
    config = load(folder, "source.files=a,b", source=TICDC).source.config
    assert config.files == (f"{folder.parent}/work/a", f"{folder.parent}/work/b")


def test_urls_and_librdkafkas_own_word_stay(folder: Path) -> None:
    config: Any = load(folder, source={**MYSQL, "binlog.files": "s3://archive/binlog.*"}).source.config
    assert config.binlog_files == "s3://archive/binlog.*"
    config = load(folder, sink={**KAFKA, "kafka.ssl.ca.location": "probe"}).sink.config
    assert config.kafka == {"ssl.ca.location": "probe"}


def test_a_signal_file_without_a_name_does_too(folder: Path) -> None:
    config: Any = load(folder).source.config
    assert config.signal_file == f"{folder}/file-signals.txt"


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("./lake", "file:{folder}/lake"),
        ("lake", "file:{folder}/lake"),
        ("/lake", "/lake"),
        ("file:///lake", "file:/lake"),
        ("s3a://lake/shop", "s3a://lake/shop"),
    ],
)
def test_a_lake_is_on_this_machine_unless_it_says_otherwise(folder: Path, given: str, url: str) -> None:
    config: Any = load(folder, sink={"type": "spark", "path": given}).sink.config
    assert config.path == url.format(folder=folder)


def test_a_folder_that_delta_rs_takes_for_another_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match=r"sink\.path: .*two hexadecimal digits"):
        load(folder, sink={"type": "delta", "path": "/a%41"})
    load(folder, sink={"type": "delta", "path": "/a 100%"})


def test_the_pipelines_own_paths_do(folder: Path) -> None:
    options = {"metrics.address": ":0", "metrics.tls.certificate": "c.pem", "checkpoint": "points", "state": "./kept"}
    pipeline = load(folder, **options)
    assert (pipeline.folder, pipeline.checkpoint) == (folder / "kept", f"{folder}/points")
    assert pipeline.metrics is not None
    assert pipeline.metrics.certificate == folder / "c.pem"
    assert load(folder).folder == folder / "state" / "shop"
    assert load(folder, "state=kept").folder == folder.parent / "work" / "kept"


@pytest.mark.parametrize(
    ("options", "named", "remedy"),
    [
        ({"state": "hdfs://node:9000/state"}, "state.path", "'checkpoint' be the URL"),
        ({"state": {"type": "file", "path": "s3://lake/state"}}, "state.path", r"state\.type: s3"),
        ({"state": "file:///state"}, "state.path", "name one"),
        ({"local.folder": "hdfs://node:9000/local"}, "local.folder", "name a path"),
        ({"quarantine.folder": "s3a://lake/left"}, "quarantine.folder", r"quarantine\.topic"),
    ],
)
def test_a_url_is_no_folder_of_this_machine(folder: Path, options: dict[str, Any], named: str, remedy: str) -> None:
    """It would be the name of one below the file's folder."""
    with pytest.raises(ConfigError, match=rf"{named}: should be a folder of this machine, and no URL: .*{remedy}"):
        load(folder, **options)


def test_secrets_do(folder: Path) -> None:
    for place, text in ((folder, "in the file"), (Path(), "typed")):
        (place / "secrets.properties").write_text(f"password={text}")
        (place / "password").write_text(text)
    for reference in (
        "${file:secrets.properties:password}",
        "${file:./secrets.properties:password}",
        "${dir:.:password}",
    ):
        written: Any = load(folder, source={**MYSQL, "database.password": reference}).source.config
        assert written.database_password.get_secret_value() == "in the file"
        typed: Any = load(folder, f"source.database.password={reference}").source.config
        assert typed.database_password.get_secret_value() == "typed"


@pytest.mark.parametrize("options", [{}, {"state": "state/shop"}, {"state": "./state/shop"}])
def test_a_state_where_earlier_versions_kept_it_is_not_left_behind(folder: Path, options: dict[str, str]) -> None:
    old = folder.parent / "work" / "state" / "shop"
    load(folder, **options)
    old.mkdir(parents=True)
    load(folder, **options)
    (old / "state.db").touch()
    with pytest.raises(ConfigError) as refused:
        load(folder, **options)
    [problem] = refused.value.problems
    assert problem.startswith(f"state: {folder}/state/shop is not there, but {old} is")
    assert f"`mv {old} {folder}/state/shop`" in problem
    assert load(folder, f"state={old}", **options).folder == old
    (folder / "state").mkdir()
    old.rename(folder / "state" / "shop")
    assert load(folder, **options).folder == folder / "state" / "shop"


def test_a_name_that_no_folder_can_have_is_no_state(folder: Path) -> None:
    assert load(folder, state="9" * 5000).folder.name == "9" * 5000
    assert load(folder, checkpoint="9" * 5000).checkpoint == f"{folder}/{'9' * 5000}"


def test_nor_is_a_checkpoint(folder: Path) -> None:
    old = folder.parent / "work" / "points" / "shop"
    old.mkdir(parents=True)
    with pytest.raises(ConfigError, match=f"checkpoint: {folder}/points/shop is not there, but {old} is"):
        load(folder, checkpoint="points")
    load(folder, f"checkpoint={old.parent}", checkpoint="points")
    load(folder, checkpoint=str(old.parent))
