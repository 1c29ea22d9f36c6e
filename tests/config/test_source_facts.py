"""What the engine must know of a source, a stranger's source tells as ours do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from cdckit import (
    INT64,
    STRING,
    EventTraits,
    PluginConfig,
    Record,
    Registration,
    SourceConfig,
    Struct,
    hookimpl,
    struct_schema,
)
from cdckit.api.plugins import config_model, find, make, plugin_manager
from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.metrics.observation import figures_of
from cdckit.engine.state.made_for import MadeFor
from cdckit.errors import ConfigError


class AbacusConfig(SourceConfig):
    """Options of a source of which nobody here has heard."""

    named_by: ClassVar[str] = "rod"
    shaping: ClassVar[tuple[str, ...]] = ("bead_style",)

    rod: str = "upper"
    """Its name."""
    bead_style: str = "round"
    """What events look like."""
    rattle_ms: int = 0
    """How often to make a noise."""

    @property
    def metric_labels(self) -> Mapping[str, str]:
        return {"wood": "ebony"}

    def without_effect_on_spark(self) -> dict[str, str]:
        return {"rattle.ms": "nobody hears it there"} if self.rattle_ms else {}


class PlainConfig(PluginConfig):
    """No source's."""


class Abacus:
    @hookimpl
    def cdckit_sources(self) -> Sequence[Registration]:
        here = f"{__name__}:"
        traits = EventTraits("abacus", identity=(("rod", "rod"), ("n", "bead")), data=("after",))
        return [
            Registration("abacus", f"{here}Abacus", f"{here}AbacusConfig", "counts", events=(traits,)),
            Registration("plain", f"{here}Abacus", f"{here}PlainConfig", "counts not"),
        ]


@pytest.fixture(autouse=True)
def abacus() -> Iterator[None]:
    plugin = Abacus()
    plugin_manager().register(plugin)
    yield
    plugin_manager().unregister(plugin)


Load = Callable[..., ResolvedPipeline]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def read(*, runner: str = "direct", **source: Any) -> ResolvedPipeline:
        file = tmp_path / "beads.yaml"
        file.write_text(yaml.safe_dump({"source": {"type": "abacus", **source}, "runner": runner}))
        return load_pipeline(file)

    return read


def test_a_pipeline_is_called_by_the_sources_own_name(load: Load) -> None:
    found = load(rod="lower")
    assert (found.name, found.folder.name) == ("lower", "lower")
    assert figures_of(found, "direct").server == "lower"


def test_the_option_of_the_name_must_be_known_where_others_need_not_be(load: Load, tmp_path: Path) -> None:
    file = tmp_path / "beads.yaml"
    file.write_text(yaml.safe_dump({"source": {"type": "abacus", "rod": "${ROD}", "bead.style": "${STYLE}"}}))
    with pytest.raises(ConfigError, match=r"^source.rod: the environment variable ROD is not set"):
        load_pipeline(file, incomplete=True)


def test_what_its_events_look_like_belongs_to_the_state(load: Load) -> None:
    assert MadeFor.of(load(**{"bead.style": "flat"})).form["source.bead.style"] == "flat"


def test_options_that_do_nothing_on_spark_are_told(load: Load) -> None:
    said = "source.rattle.ms: left out, for nobody hears it there"
    assert said in load(runner="spark", **{"rattle.ms": 5}).warnings
    assert said not in load(**{"rattle.ms": 5}).warnings


def test_labels_of_its_own_stand_on_every_metric(load: Load) -> None:
    assert load().source_config.metric_labels == {"wood": "ebony"}


@pytest.mark.parametrize("source", ["mysql", "mongodb"])
def test_columns_of_documents_are_refused_of_a_source_that_has_none(tmp_path: Path, source: str) -> None:
    where = {
        "mysql": {"database.hostname": "h", "database.user": "u"},
        "mongodb": {"mongodb.connection.string": "mongodb://h/?replicaSet=r"},
    }
    sink = {"type": "delta", "path": str(tmp_path), "document.columns": "name string"}
    file = tmp_path / "lake.yaml"
    file.write_text(yaml.safe_dump({"source": {"type": source, "topic.prefix": "p", **where[source]}, "sink": sink}))
    said = [problem for problem in unmet_requirements(load_pipeline(file, runner="direct")) if "document" in problem]
    assert [problem.split(":")[0] for problem in said] == ["sink.document.columns"] * (source == "mysql")


def test_options_that_are_no_sources(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"'plain' is made wrongly: .*PlainConfig should be a SourceConfig"):
        load(type="plain")


def test_cloud_events_know_it_as_they_know_ours() -> None:
    source = struct_schema("s", {"connector": STRING, "name": STRING, "ts_ms": INT64, "rod": STRING, "bead": INT64})
    row = struct_schema("t.Value", {"id": INT64}, optional=True)
    envelope = struct_schema("t.Envelope", {"before": row, "after": row, "source": source, "op": STRING})
    block = Struct(source, ("abacus", "n", 1, "upper", 7))
    registration = find("serializer", "cloudevents")
    config, _ = config_model(registration).load({"json.schemas.enable": False}, "serializer")
    record = Record("t", None, Struct(envelope, (None, Struct(row, (1,)), block, "c")), position="1")
    [value] = make(registration, config).serialize([record]).values
    found = json.loads(value)
    assert (found["id"], found["data"]) == ("name:n;rod:upper;n:7", {"after": {"id": 1}})
