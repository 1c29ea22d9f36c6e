"""Demo and benchmarks, and what they share with the tests, do without the tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = {path.stem for path in (ROOT / "tests").iterdir()} - {"__pycache__", "conftest"}


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module


@pytest.mark.parametrize("folder", ["testkit", "benchmarks", "examples", "faults"])
def test_nothing_is_imported_from_the_tests(folder: str) -> None:
    files = [path for path in (ROOT / folder).rglob("*.py") if "tests" not in path.relative_to(ROOT).parts]
    found = {f"{path.relative_to(ROOT)}: {name}" for path in files for name in _imported(path)}
    assert found
    assert not {one for one in found if one.split(": ")[1].split(".")[0] in {*TESTS, "tests"}}
