"""Random patterns and moments against java.text.SimpleDateFormat, where a JVM and the peer's wheel are installed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from cdckit.java.date_format import DateFormat
from cdckit.java.date_pattern import LETTERS, DatePatternError
from transforms.jvm import jpype, start_jvm

USUAL = (
    "yyyyMMdd", "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'", "YYYY.ww", "EEE, d MMM yyyy hh:mm:ss a z", "yy/M/d", "yyyy-DDD",
    "MMMM d, y G", "yyyy-MM-dd HH:mm:ssXXX", "EEEE",
)  # fmt: skip
OCTOBER_1582 = range(-12_222_000_000_000, -12_216_000_000_000)
"""The month in which the calendar changed; Java counts its weeks in its own way."""
ONLY_WRITTEN = set("YwWFu")


@pytest.fixture(scope="module")
def java() -> Iterator[Any]:
    """Makes Java's format of a pattern, in UTC."""
    start_jvm()
    zone = jpype.JClass("java.util.TimeZone").getTimeZone("UTC")

    def make(pattern: str) -> Any:
        made = jpype.JClass("java.text.SimpleDateFormat")(pattern, jpype.JClass("java.util.Locale").ENGLISH)
        made.setTimeZone(zone)
        return made

    yield make


def _pattern(random: Random) -> str:
    if random.random() < 0.4:
        return random.choice(USUAL)
    letters = random.sample(LETTERS + "bn'", random.randint(1, 6))
    return "".join(
        f"{letter * random.randint(1, 4)}{random.choice(('', '-', ':', chr(32), '.', QUOTED))}" for letter in letters
    )


QUOTED = "'at'"


def _moment(random: Random) -> int:
    while (moment := random.choice((random.randrange(-(2**46), 2**46), random.randrange(2**41)))) in OCTOBER_1582:
        pass
    return moment


def _damaged(random: Random, text: str) -> str:
    at = random.randrange(len(text) + 1)
    return f"{text[:at]}{random.choice('0123456789-: xZ')}{text[at:]}"


@pytest.mark.parametrize("seed", range(4))
def test_moments_are_written_and_read_as_java_does(java: Any, seed: int, nightly: bool) -> None:
    random, told = Random(seed), 0
    for _ in range(3000 if nightly else 150):
        pattern = _pattern(random)
        try:
            theirs = java(pattern)
        except jpype.JException:
            with pytest.raises(DatePatternError):
                DateFormat(pattern)
            continue
        own = DateFormat(pattern)
        for moment in [_moment(random) for _ in range(5)]:
            text = str(theirs.format(jpype.JClass("java.util.Date")(moment)))
            assert own.format(moment) == text, (pattern, moment)
            if not set(pattern) & ONLY_WRITTEN and moment > 0:
                assert _read(own, text) == _read_there(theirs, text), (pattern, text)
                told += 1
    assert told > 50


@pytest.mark.parametrize("pattern", ["yyyy-MM-dd HH:mm", "d MMM yyyy", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "h:mm a"])
def test_damaged_texts_are_read_as_java_reads_them(java: Any, pattern: str) -> None:
    random, own, theirs = Random(pattern), DateFormat(pattern), java(pattern)
    for _ in range(150):
        text = _damaged(random, own.format(random.randrange(2**41)))
        assert _read(own, text) == _read_there(theirs, text), text


def _read(own: DateFormat, text: str) -> int | None:
    try:
        return own.parse(text)
    except ValueError:
        return None


def _read_there(theirs: Any, text: str) -> int | None:
    try:
        return int(theirs.parse(text).getTime())
    except jpype.JException:
        return None


def test_moments_of_one_unit_have_one_text() -> None:
    for pattern, unit in (("yyyyMMdd", 86_400_000), ("yyyy HH", 3_600_000), ("mm", 60_000), ("ss", 1000), ("S", 1)):
        form = DateFormat(pattern)
        assert form.unit == unit
        moment = 1_700_000_000_123 // unit * unit
        assert form.format(moment) == form.format(moment + unit - 1)


def test_a_pattern_of_weeks_cannot_be_read() -> None:
    with pytest.raises(ValueError, match="'Y' can be written, but not be read"):
        DateFormat("YYYY-MM-dd").parse("2024-01-01")


def test_moments_in_parts_of_a_millisecond_lose_what_is_finer_towards_1970() -> None:
    random, form = Random(20), DateFormat("dd.MM.yyyy HH:mm:ss.SSS, EEE")
    for parts in (1, 1000, 1_000_000):
        write = form.writing(parts)
        for moment in (_moment(random) for _ in range(200)):
            cut = random.randrange(parts) * (-1 if moment < 0 else 1)
            assert write(moment * parts + cut) == form.format(moment)
    assert form.writing(1000)(-1) == "01.01.1970 00:00:00.000, Thu"


def test_texts_of_many_days_and_with_letters_in_any_order() -> None:
    form = DateFormat("SSS{ss}mm'%s'HH yyyy-MM-dd a dd")
    for day in [*range(0, 40_000, 7), *range(30)]:
        of_day = datetime(1970, 1, 1, 13, 5, 9, 42_000) + timedelta(days=day)
        expected = of_day.strftime("042{09}05%%s13 %Y-%m-%d PM %d")
        assert form.format(day * 86_400_000 + 47_109_042) == expected
