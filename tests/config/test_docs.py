"""The option tables in the docs are those of the models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cdckit.engine.config.docs import BEGIN, END, pages, write_pages
from cdckit.engine.config.loading import load_pipeline

ROOT = Path(__file__).parent.parent.parent
DOCS = ROOT / "docs" / "options"
EXAMPLES = [
    pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    for number, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE))
    if re.search(r"^source:", block, re.MULTILINE)
]


def test_the_pages_are_current() -> None:
    for path, text in pages(DOCS).items():
        assert path.exists(), f"{path.name} is missing: run `python -m cdckit.engine.config.docs docs/options`"
        assert path.read_text() == text, f"{path.name} is old: run `python -m cdckit.engine.config.docs docs/options`"


def test_there_is_no_page_of_what_is_gone() -> None:
    assert {path for path in DOCS.glob("*.md") if BEGIN in path.read_text()} == set(pages(DOCS))


def test_what_people_wrote_around_a_table_stays(tmp_path: Path) -> None:
    write_pages(tmp_path)
    page = tmp_path / "sink-file.md"
    assert page.read_text().startswith("# Sink `file`\n")
    assert "| `path` | path | *required* |" in page.read_text()
    page.write_text(f"# Files\n\nBefore.\n\n{BEGIN}\nold\n{END}\n\nAfter.\n")
    write_pages(tmp_path)
    text = page.read_text()
    assert text.startswith("# Files\n\nBefore.\n\n")
    assert text.endswith("\n\nAfter.\n")
    assert "\nold\n" not in text
    assert "| `path` |" in text


def test_third_parties_are_left_out(tmp_path: Path) -> None:
    assert not [path for path in pages(tmp_path) if "scripted" in path.name]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_whole_pipeline_in_the_docs_is_one(tmp_path: Path, example: str) -> None:
    path = tmp_path / "pipeline.yaml"
    path.write_text(example)
    for folder, name in re.findall(r"\$\{dir:([^:}/]+):([^:}/]+)\}", example):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text("x")
    names = re.findall(r"\$\{([A-Z_]+)\}", example)
    variables = {name: {"MONGODB_URI": "mongodb://x", "MYSQL_PORT": "3306"}.get(name, "x") for name in names}
    assert load_pipeline(path, environment=variables).warnings == ()
