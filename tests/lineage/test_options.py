"""The options, and the file of OpenLineage's client."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.lineage.lineage import lineage_of
from cdckit.engine.lineage.transport import transport_of
from cdckit.errors import ConfigError

PIPELINE = """
name: p
runner: direct
source:
  type: mysql
  topic.prefix: p
  database.user: u
  openlineage.integration.enabled: {enabled}
  openlineage.integration.config.file.path: ol.yml
  openlineage.integration.job.tags: {tags}
sink: {{type: file, path: out.jsonl}}
"""


def load(folder: Path, enabled: str = "true", tags: str = "a=b") -> Any:
    file = folder / "pipeline.yaml"
    file.write_text(PIPELINE.format(enabled=enabled, tags=tags))
    return load_pipeline(file)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "ol.yml cannot be read: No such file or directory"),
        ("transport: [", "ol.yml is no YAML"),
        ("transport: http", "ol.yml names no transport; write `transport:` with its `type`"),
        ("other: {type: http}", "names no transport"),
    ],
)
def test_a_file_that_says_nothing(tmp_path: Path, content: str | None, why: str) -> None:
    if content is not None:
        (tmp_path / "ol.yml").write_text(content)
    (problem,) = unmet_requirements(load(tmp_path))
    assert "source.openlineage.integration.config.file.path: " in problem
    assert why in problem


@pytest.mark.parametrize("transport", ["{type: kafka, api_key: hidden}", "{type: carrier-pigeon, api_key: hidden}"])
def test_a_transport_that_the_client_does_not_take(tmp_path: Path, transport: str) -> None:
    (tmp_path / "ol.yml").write_text(f"transport: {transport}")
    with pytest.raises(ConfigError, match="OpenLineage's client does not take the transport") as caught:
        lineage_of(load(tmp_path))
    assert "hidden" not in str(caught.value)


def test_the_extra_is_named_where_it_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ol.yml").write_text("transport: {type: console}")
    pipeline, found = load(tmp_path), importlib.util.find_spec
    assert unmet_requirements(pipeline) == []
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "openlineage" else found(name))
    (problem,) = unmet_requirements(pipeline)
    assert "pip install 'cdckit[openlineage]'" in problem


def test_files_for_javas_client(tmp_path: Path) -> None:
    (tmp_path / "ol.yml").write_text(
        "transport: {type: kafka, topicName: lineage, properties: {bootstrap.servers: 'k:9092'}}"
    )
    options = load(tmp_path).lineage
    assert transport_of(options) == {"type": "kafka", "topic": "lineage", "config": {"bootstrap.servers": "k:9092"}}
    (tmp_path / "ol.yml").write_text("transport: {type: file, location: /tmp/x}")
    assert transport_of(options) == {"type": "file", "log_file_path": "/tmp/x", "append": True}


@pytest.mark.parametrize(("tags", "why"), [("prod", "'prod' is none"), ("'a=1,a=2'", "'a' is given twice")])
def test_tags_that_are_none(tmp_path: Path, tags: str, why: str) -> None:
    with pytest.raises(ConfigError, match=r"job\.tags") as caught:
        load(tmp_path, tags=tags)
    assert why in str(caught.value)


def test_off_nothing_of_it_is_loaded(tmp_path: Path) -> None:
    assert lineage_of(load(tmp_path, enabled="false")) is None
    script = (
        "import sys; from pathlib import Path; from cdckit.engine.config.loading import load_pipeline as load;"
        "from cdckit.engine.runners.direct import DirectRunner;"
        "runner = DirectRunner(load(Path(sys.argv[1])));"
        "from cdckit.engine.lineage.lineage import lineage_of; assert lineage_of(runner.pipeline) is None;"
        "assert not runner.notices.wants_definitions;"
        "assert not [name for name in sys.modules if name.startswith('openlineage')]"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "pipeline.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
