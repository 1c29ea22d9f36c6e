"""The option tables in the docs are those of the models."""

from __future__ import annotations

from pathlib import Path

from cdckit.config.docs import BEGIN, END, pages, write_pages

DOCS = Path(__file__).parent.parent.parent / "docs" / "options"


def test_the_pages_are_current() -> None:
    for path, text in pages(DOCS).items():
        assert path.exists(), f"{path.name} is missing: run `python -m cdckit.config.docs docs/options`"
        assert path.read_text() == text, f"{path.name} is old: run `python -m cdckit.config.docs docs/options`"


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
