"""No pattern of the source needs more than linear time for what others write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from pathlib import Path

import pytest

from cdckit_mysql.ddl import Flavor
from cdckit_mysql.ddl.defaults import _MOMENT
from cdckit_mysql.ddl.lexer import _pattern
from core.pattern_automaton import cost

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path for folder in ("core", "plugins", "sinks", "transforms") for path in (ROOT / folder).glob("*/**/*.py")
)
FUNCTIONS = {"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"}
SEARCHING = {"search", "sub", "subn", "split", "findall", "finditer"}


BOUNDED = {
    "core/cdckit/engine/config/debezium_server.py": "the user's own file",
    "core/cdckit/engine/config/formats.py": "what a parser of Python's says of the user's own file",
    "core/cdckit/engine/config/options.py": "the source's own patterns, for documents",
    "core/cdckit/engine/metrics/timeline.py": "a text of some 600 characters",
    "core/cdckit/api/variables.py": "the user's own file",
    "core/cdckit/cli/authoring/check.py": "what pytest says of the author's own tests",
    "core/cdckit/engine/lineage/shown_options.py": "the user's own file",
    "core/cdckit/engine/config/docs.py": "the source's own documents",
    "core/cdckit/kafka/java_security.py": "the user's own file",
    "plugins/cdckit_mysql/takeover/schema_history.py": "names and attributes of one column, as Debezium wrote them",
    "plugins/cdckit_mysql/filters.py": "a name of at most 64 characters",
    "plugins/cdckit_mysql/server/checks.py": "what the server says of its own grants",
    "core/cdckit/tables/delta/passing.py": "what delta-rs says of one fault",
}
"""Files with a pattern of quadratic cost, and what keeps it small. None may be exponential."""
MADE = {
    "core/cdckit/connector/avro_names.py": "no repetition",
    "core/cdckit/engine/config/connect.py": "option names, of the user's own file",
    "core/cdckit/engine/config/docs.py": "the source's own documents",
    "core/cdckit/api/plugin_config.py": "option names, of the user's own file",
    "core/cdckit/api/ignored_options.py": "option names, of the user's own file",
    "core/cdckit/java/date_reading.py": "no repetition",
    "core/cdckit/java/regex/translate.py": "only compiled, to tell what is wrong; `UserPattern` matches",
    "core/cdckit/java/text.py": "no repetition",
    "core/cdckit/tables/passing.py": "names in turn, of the same file",
    "plugins/cdckit_mysql/ddl/lexer.py": "test_the_lexers_patterns",
    "plugins/cdckit_mysql/ddl/defaults.py": "test_the_patterns_of_moments",
    "plugins/cdckit_mysql/ddl/statement_text.py": "strings, names and comments match to their end, closed or not",
    "transforms/cdckit_transforms/time_zones.py": "no repetition but of nine digits",
}
"""Files that put a pattern together, and why that is safe."""


@dataclass(frozen=True)
class Use:
    """A pattern in the source."""

    file: str
    line: int
    pattern: str | bytes | None
    flags: int
    searches: bool


def _use(path: Path, text: str, call: ast.Call, function: str) -> Use:
    given = call.args[0]
    constant = given.value if isinstance(given, ast.Constant) else None
    pattern = constant if isinstance(constant, str | bytes) else None
    searches = function in SEARCHING or (function == "compile" and _searches(text, call))
    return Use(str(path.relative_to(ROOT)), call.lineno, pattern, _flags(call), searches)


def _flags(call: ast.Call) -> int:
    names = {node.attr for node in ast.walk(call) if isinstance(node, ast.Attribute) and node.attr.isupper()}
    return reduce(or_, (int(getattr(re, name)) for name in names if hasattr(re, name)), 0)


def _searches(text: str, call: ast.Call) -> bool:
    """Whether a compiled pattern looks for itself anywhere: taken at once, or by its name somewhere in the file."""
    lines = text.splitlines()
    behind = lines[(call.end_lineno or 1) - 1][call.end_col_offset or 0 :]
    if any(behind.startswith(f".{function}") for function in SEARCHING):
        return True
    name = lines[call.lineno - 1].partition("=")[0].strip()
    return any(f"{name}.{function}(" in text for function in SEARCHING)


@cache
def uses() -> tuple[Use, ...]:
    """All in the source."""
    return tuple(_uses())


def _uses() -> Iterator[Use]:
    for path in SOURCES:
        text = path.read_text()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS:
                module = node.func.value
                if isinstance(module, ast.Name) and module.id in ("re", "regex"):
                    yield _use(path, text, node, node.func.attr)


def test_the_sources_patterns_are_linear() -> None:
    assert len(uses()) > 80
    faults = []
    for use in uses():
        if use.pattern is not None:
            found = cost(use.pattern, use.flags, search=use.searches)
            if found == "exponential" or (found != "linear" and use.file not in BOUNDED):
                faults.append(f"{use.file}:{use.line}: {use.pattern!r} needs {found} time")
    assert not faults, "\n".join(faults)


def test_patterns_that_are_put_together_are_known() -> None:
    made = {use.file for use in uses() if use.pattern is None} - {"core/cdckit/java/regex/bounded.py"}
    assert made <= set(MADE), "say in MADE why these are safe"
    assert set(MADE) <= made, "these put no pattern together any more"


@pytest.mark.parametrize("ansi_quotes", [False, True])
@pytest.mark.parametrize("escapes", [False, True])
def test_the_lexers_patterns(ansi_quotes: bool, escapes: bool) -> None:
    assert cost(_pattern(ansi_quotes, escapes).pattern, re.VERBOSE) == "linear"


@pytest.mark.parametrize("flavor", list(_MOMENT))
def test_the_patterns_of_moments(flavor: Flavor) -> None:
    assert cost(_MOMENT[flavor].pattern) == "linear"


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"(a*)*b", "exponential"),
        (r"(a|a)*b", "exponential"),
        (r"(a|aa)+b", "exponential"),
        (r"(?:\w+\s*)*", "exponential"),
        (rb"(?:[\s(;]|--[^\n]*(?:\n|$)|/\*M?!\d*|/\*(?!M?!)(?s:.*?)\*/|\*/)*(?:CREATE|ALTER)\b", "exponential"),
        (rb"(?:\s+|/\*(?!M?!)(?s:.*?)\*/|--\s[^\n]*\n|\()*([A-Za-z]+)", "exponential"),
        (r"a*a*b", "polynomial"),
        (r"\d+\.?\d*x", "polynomial"),
        (r"(?:[^']|'')*'", "linear"),
        (r"a++a*b", "linear"),
        (r"(?:\w++\s*+)*+x", "linear"),
        (r"\d{1,6}:\d{1,6}", "linear"),
    ],
)
def test_the_check_knows_what_is_dangerous(pattern: str | bytes, expected: str) -> None:
    assert cost(pattern) == expected


def test_looking_anywhere_costs_more() -> None:
    assert cost(r"\s*$", search=True) == "polynomial"
    assert cost(r"\(.*?\)", search=True) == "polynomial"
    assert cost(r"\d+", search=True) == "linear"
