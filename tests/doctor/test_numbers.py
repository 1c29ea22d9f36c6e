"""Every number that an error or a finding bears is registered, every registered one is used, and the page has them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit import errors
from cdckit.engine.numbers.registry import REGISTRY, explained, page
from cdckit.errors import CdcError, ConfigError, Problem, RetriableSourceError, SourceError, number_of, numbered

ROOT = Path(__file__).parents[2]
ROOTS = ("core", "plugins", "sinks", "transforms")
_NUMBER = re.compile(r"CDC\d{4}")


def _used() -> Iterator[str]:
    """The numbers that stand in the code as whole texts, but for the registry's own."""
    for root in ROOTS:
        for path in (ROOT / root).rglob("*.py"):
            if path.parent.name != "numbers":
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                    if isinstance(node, ast.Constant) and isinstance(node.value, str):
                        yield from [node.value] if _NUMBER.fullmatch(node.value) else []


def test_what_is_used_is_registered_and_what_is_registered_is_used() -> None:
    used = set(_used())
    assert len(used) > 100
    assert used - set(REGISTRY) == set(), "raised, but not registered in core/cdckit/engine/numbers"
    assert set(REGISTRY) - used == set(), "registered, but used nowhere"


def test_the_page_is_that_of_the_registry() -> None:
    assert (ROOT / "docs" / "errors.md").read_text(encoding="utf-8") == page(), "make docs writes it anew"
    assert re.findall(r"^### (CDC\d{4}): ", page(), re.MULTILINE) == sorted(REGISTRY)


def test_the_first_digit_is_the_exit_code() -> None:
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, CdcError):
            assert int(kind.number[3]) == (9 if kind.exit_code == 1 else kind.exit_code), kind


def test_each_entry_says_what_to_do() -> None:
    for entry in REGISTRY.values():
        assert _NUMBER.fullmatch(entry.number)
        assert entry.title and entry.text.endswith(".") and entry.remedy.endswith("."), entry.number
        assert explained(entry.number.lower()) == entry.section
    assert explained("CDC1") is None


def test_an_error_that_is_made_of_another_keeps_its_number() -> None:
    with pytest.raises(SourceError) as caught:
        try:
            raise RetriableSourceError("away", number="CDC3201")
        except RetriableSourceError as error:
            raise SourceError(f"{error}; gave up") from error
    assert number_of(caught.value) == "CDC3201"


def test_one_of_another_branch_does_not() -> None:
    with pytest.raises(SourceError) as caught:
        try:
            raise ConfigError("no")
        except ConfigError as error:
            raise SourceError("refused") from error
    assert number_of(caught.value) == "CDC3000"


def test_each_problem_of_a_configuration_has_its_own() -> None:
    error = ConfigError(Problem("a: unknown option", "CDC2201"), "b: cannot be", number="CDC2402")
    assert numbered(error) == [("CDC2201", "a: unknown option"), ("CDC2402", "b: cannot be")]
    assert str(error) == "a: unknown option\nb: cannot be"
