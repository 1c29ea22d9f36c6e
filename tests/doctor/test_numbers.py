"""Every number that an error or a finding bears is registered, every registered one is used, and the page has them."""

from __future__ import annotations

import ast
import importlib.util
import json
import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit import errors
from cdckit.cli.main import call
from cdckit.engine.numbers.registry import REGISTRY, explained, page
from cdckit.engine.spark.failures import WorkerError, recover
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


def test_an_error_that_is_its_own_cause_has_a_number() -> None:
    error = SourceError("again")
    error.__cause__ = SourceError("and again")
    error.__cause__.__cause__ = error
    assert number_of(error) == "CDC3000"


def test_each_problem_of_a_configuration_has_its_own() -> None:
    error = ConfigError(Problem("a: unknown option", "CDC2201"), "b: cannot be", number="CDC2402")
    assert numbered(error) == [("CDC2201", "a: unknown option"), ("CDC2402", "b: cannot be")]
    assert str(error) == "a: unknown option\nb: cannot be"


def test_logs_for_programs_have_the_number_of_each_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text("runner: direct\nruner: x\nsource: {type: mysql}\n")
    assert call(["--log-format", "json", "validate", str(tmp_path / "p.yaml")]) == 2
    said = json.loads(capsys.readouterr().err.splitlines()[-1])
    assert said["number"] == said["numbers"][0]
    assert dict(zip(said["problems"], said["numbers"], strict=True)) == {
        problem: "CDC2201" if "unknown" in problem else "CDC2202" for problem in said["problems"]
    }
    assert {"CDC2201", "CDC2202"} == set(said["numbers"])


def test_what_nobody_foresaw_has_a_number_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nobody thought of that")

    monkeypatch.setattr("cdckit.cli.main.cdc.main", broken)
    assert call(["plugins"]) == 1
    assert capsys.readouterr().err.startswith("error CDC9000: unexpected ZeroDivisionError: nobody thought of that")


@pytest.mark.parametrize("error", [SourceError("a", number="CDC3101"), ConfigError(Problem("a", "CDC2201"), "b")])
def test_numbers_cross_from_process_to_process(error: CdcError) -> None:
    """By pickle, as runners hand errors on, and sealed in a text, as they come through Spark's JVM."""
    assert numbered(pickle.loads(pickle.dumps(error))) == numbered(error)
    found = recover(f"java.lang.RuntimeException: {WorkerError(error)}")
    assert found is not None
    assert numbered(found) == numbered(error)


@pytest.mark.parametrize(
    ("assignment", "number"),
    [("sink.type=kafak", "CDC2204"), ("sink.path", "CDC2104"), ("source.database.hostnam=x", "CDC2201")],
)
def test_what_is_found_among_others_keeps_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], assignment: str, number: str
) -> None:
    assert call(["validate", str(_pipeline(tmp_path)), "--set", assignment]) == 2
    assert capsys.readouterr().err.startswith(f"error {number}: ")


@pytest.mark.parametrize("command", ["validate", "doctor", "run"])
def test_a_package_that_lacks_has_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "pymysql" else found(name))
    assert call([command, str(_pipeline(tmp_path))]) == 2
    assert capsys.readouterr().err.startswith("error CDC2301: 'mysql' needs pymysql, which is not installed: pip ")


def _pipeline(folder: Path) -> Path:
    file = folder / "p.yaml"
    source = "{type: mysql, topic.prefix: p, database.hostname: localhost, database.user: u, database.password: x}"
    file.write_text(f"runner: direct\nsource: {source}\nsink: {{type: file, path: out.jsonl}}\n")
    return file
