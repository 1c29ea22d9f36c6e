"""Where a pipeline file says its state is."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline
from cdckit.engine.config.requirements import unmet_requirements
from cdckit.engine.state.place import StatePlace
from cdckit.errors import ConfigError, StateError

AWAY = {"type": "away", "address": "db:1", "password": "${PASSWORD}"}


def load(folder: Path, *overrides: str, incomplete: bool = False, **options: Any) -> ResolvedPipeline:
    file = folder / "shop.yaml"
    source = {"type": "scripted", "script": "x", "topic.prefix": "shop"}
    file.write_text(yaml.safe_dump({"runner": "direct", "source": source, **options}))
    environment = {} if incomplete else {"PASSWORD": "geheim"}
    return load_pipeline(file, overrides, environment=environment, incomplete=incomplete)


def places(pipeline: ResolvedPipeline) -> tuple[Path | None, Path]:
    return pipeline.state_folder, pipeline.folder


@pytest.mark.parametrize(
    ("options", "overrides", "state", "folder"),
    [
        ({}, (), "state/shop", "state/shop"),
        ({"state": None}, (), "state/shop", "state/shop"),
        ({"state": "kept"}, (), "kept", "kept"),
        ({"state": {"type": "file"}}, (), "state/shop", "state/shop"),
        ({"state": {"type": "file", "path": "kept"}}, (), "kept", "kept"),
        ({"state": {"path": "kept"}}, (), "kept", "kept"),
        ({"state": "kept", "local.folder": "here"}, (), "kept", "here"),
        ({"state": "kept", "local": {"folder": "here"}}, (), "kept", "here"),
        ({"state": AWAY}, (), None, "state/shop"),
        ({"state": AWAY, "local.folder": "here"}, (), None, "here"),
        ({"state": AWAY}, ("state=/kept",), "/kept", "/kept"),
        ({"state": "kept"}, ("state.type=away", "state.address=db:2"), None, "state/shop"),
        ({}, ("state.path=/kept",), "/kept", "/kept"),
    ],
)
def test_the_state_and_what_belongs_to_this_machine_have_their_places(
    tmp_path: Path, options: dict[str, Any], overrides: tuple[str, ...], state: str | None, folder: str
) -> None:
    expected = None if state is None else tmp_path / state
    assert places(load(tmp_path, *overrides, **options)) == (expected, tmp_path / folder)


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"type": "table"}, "state.type: no state store is called 'table' (installed: away, file, kafka, redis, s3,"),
        ({"type": "fil", "path": "x"}, "did you mean 'file'?"),
        ({"type": "file", "pth": "x"}, "state.pth: unknown option; did you mean 'path'?"),
        ({"type": "away"}, "state.address: required, but not given"),
        ({"type": "away", "address": "db:1", "pasword": "geheim"}, "did you mean 'password'?"),
        (["kept"], "state.path: "),
    ],
)
def test_a_fault_is_told_with_the_options_full_name(tmp_path: Path, state: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(tmp_path, state=state)
    assert said in str(refused.value)
    assert "geheim" not in str(refused.value)


def test_all_that_a_store_needs_tells_where_the_state_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"state\.password: the environment variable PASSWORD is not set"):
        load(tmp_path, incomplete=True, state=AWAY)


def test_no_secret_of_a_store_is_shown(tmp_path: Path) -> None:
    pipeline = pickle.loads(pickle.dumps(load(tmp_path, state=AWAY)))
    place = StatePlace.of(pipeline)
    with pytest.raises(StateError, match="db:1 cannot be reached for 'shop'") as raised:
        place.open()
    for shown in (repr(pipeline), repr(place), pipeline.shown_state, str(raised.value)):
        assert "geheim" not in shown
    assert pipeline.shown_state == "in the store 'away'"


def test_a_store_whose_packages_are_missing_is_told_of(tmp_path: Path) -> None:
    pipeline = load(tmp_path, state=AWAY)
    assert unmet_requirements(pipeline) == []
    lacking = replace(pipeline.store.registration, requires=("package_that_is_not_there",), extra="away")
    pipeline = replace(pipeline, store=replace(pipeline.store, registration=lacking))
    [problem] = unmet_requirements(pipeline)
    assert problem == "'away' needs package_that_is_not_there, which is not installed: pip install 'cdckit[away]'"
