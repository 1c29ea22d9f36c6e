"""`--plugins-dir`: a plugin that is one file, without packaging."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cdckit.api.plugin_origins import PLUGINS_DIR

Cdc = Callable[..., Any]

TWICE = '''
from cdckit import PluginConfig, Record, Registration, Transform, hookimpl


class TwiceConfig(PluginConfig):
    """Nothing to set."""


class Twice(Transform):
    def __init__(self, config: TwiceConfig) -> None:
        pass

    def apply(self, record: Record) -> list[Record]:
        if record.value.value.get("n") == 13:
            raise KeyError("no thirteen")
        return [record, record]


@hookimpl
def cdckit_transforms() -> list[Registration]:
    return [Registration("Twice", "{name}:Twice", "{name}:TwiceConfig", "says it twice")]
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder of plugins; what the option says to the process is forgotten after the test."""
    for name in (PLUGINS_DIR, "PYTHONPATH"):
        monkeypatch.setenv(name, os.environ.get(name, ""))
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "plugins"
    path.mkdir()
    yield path
    for file in path.glob("*.py"):
        if str(getattr(sys.modules.get(file.stem), "__file__", "")) == str(file):
            del sys.modules[file.stem]


def _write(folder: Path, name: str, code: str = TWICE) -> Path:
    file = folder / f"{name}.py"
    file.write_text(code.replace("{name}", name))
    return file


@pytest.fixture
def twice(pipeline: Path) -> str:
    """A pipeline with the file's transform."""
    pipeline.write_text(f"{pipeline.read_text()}transforms: [{{type: Twice}}]\n")
    return pipeline.name


@pytest.mark.parametrize("place", ["before", "behind", "environment"])
def test_a_file_is_a_plugin(cdc: Cdc, folder: Path, twice: str, unique_name: str, place: str) -> None:
    _write(folder, unique_name)
    option, variables = ["--plugins-dir", "plugins"], {PLUGINS_DIR: "plugins"}
    run = ["run", twice, "--once"]
    if place == "environment":
        called = cdc(*run, **variables)
    else:
        called = cdc(*option, *run) if place == "before" else cdc(*run, *option)
    assert called.code == 0, called.stderr
    assert len(called.lines) == 6


def test_it_is_listed_with_its_file(cdc: Cdc, folder: Path, unique_name: str) -> None:
    file = _write(folder, unique_name)
    [line] = [line for line in cdc("plugins", "--plugins-dir", str(folder)).stdout.splitlines() if " Twice " in line]
    assert str(file) in line


def test_without_the_folder_it_is_not_there(cdc: Cdc, folder: Path, twice: str, unique_name: str) -> None:
    _write(folder, unique_name)
    called = cdc("run", twice, "--once")
    assert called.code == 2
    assert "no transform is called 'Twice'" in called.stderr


def test_a_stray_error_names_the_file(cdc: Cdc, folder: Path, twice: str, tmp_path: Path, unique_name: str) -> None:
    file = _write(folder, unique_name)
    (tmp_path / "script.jsonl").write_text('{"n": 13}\n')
    called = cdc("run", twice, "--once", "--plugins-dir", "plugins")
    assert called.code == 6
    assert f"KeyError in the plugin '{file.name}' ({file}): 'no thirteen'" in called.stderr


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        ("json", TWICE, "json.py bears the name of another module: rename it"),
        ("is-no-name", TWICE, "is-no-name.py bears no module's name: letters, digits and _ alone"),
        ("not_a_plugin", "x = 1", "not_a_plugin.py implements no hook: where it is no plugin, begin its name with _"),
        ("broken_file", "1 / 0", "ZeroDivisionError: division by zero"),
        ("of_later", f"CDCKIT_API = 99\n{TWICE}", "of_later.py is made for version 99 of the plugin API"),
    ],
)
def test_a_file_that_is_none_is_named(cdc: Cdc, folder: Path, name: str, code: str, said: str) -> None:
    _write(folder, name, code)
    _write(folder, "_helper", "1 / 0")
    listed = cdc("plugins", "--plugins-dir", "plugins").stdout
    assert said in listed
    assert "_helper" not in listed
    assert " mysql " in listed


def test_a_folder_that_is_not_there_is_refused(cdc: Cdc, folder: Path) -> None:
    called = cdc("plugins", "--plugins-dir", "nowhere")
    assert called.code == 2
    assert "'nowhere' does not exist" in called.stderr
    assert cdc("plugins", **{PLUGINS_DIR: "nowhere"}).code == 2
