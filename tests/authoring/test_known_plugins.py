"""`docs/plugins.md` lists the plugins of this repository: each entry point, where it comes from, and what it brings."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit.api.hookspecs import Registration
from cdckit.api.plugins import KINDS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
PROJECTS = [ROOT, *sorted(ROOT.glob("examples/cdckit-example-*"))]
ELSEWHERE = {"serializer", "transform", "predicate"}
"""Kinds whose many names stand on pages of their own."""


def _entries() -> Iterator[tuple[str, str, Path, str]]:
    """Each entry point: its name, its distribution, the project's folder and its module."""
    for folder in PROJECTS:
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for name, module in project["entry-points"]["cdckit"].items():
            yield name, project["name"], folder, module


def _rows() -> dict[tuple[str, str], str]:
    found = re.findall(r"^\| `([^`]+)` \| `([^`]+)` \| (.+) \|$", PAGE, re.MULTILINE)
    return {(plugin, distribution): brings for plugin, distribution, brings in found}


def test_each_plugin_is_listed_and_no_other() -> None:
    assert set(_rows()) == {(name, distribution) for name, distribution, _, _ in _entries()}


@pytest.mark.parametrize(("name", "distribution", "folder", "module"), list(_entries()))
def test_what_it_brings_is_told(name: str, distribution: str, folder: Path, module: str) -> None:
    brings = _rows()[name, distribution]
    components = list(_components(folder, module))
    assert components
    for kind, component in components:
        assert re.search(rf"\b{kind.replace('-', ' ')}s?\b", brings), f"{kind} in the row of {name}"
        assert kind in ELSEWHERE or component in re.findall(r"`([^`]+)`", brings), f"{component} in the row of {name}"
    told = {kind for kind in KINDS if re.search(rf"\b{kind.replace('-', ' ')}s?\b", brings)}
    assert told == {kind for kind, _ in components}


def _components(folder: Path, module: str) -> Iterator[tuple[str, str]]:
    path = Path(*module.split(".")).with_suffix(".py")
    [file] = [found for root in (folder, *folder.iterdir()) if (found := root / path).is_file()]
    spec = importlib.util.spec_from_file_location(f"known_{module.replace('.', '_')}", file)
    assert spec is not None
    assert spec.loader is not None
    plugin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(plugin)
    for kind in KINDS:
        hook = getattr(plugin, f"cdckit_{kind.replace('-', '_')}s", list)
        registered: list[Registration] = hook()
        yield from ((kind, one.name) for one in registered)
