"""Expressions are evaluated as Debezium's own engines have evaluated them; what is not understood is told by place."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from cdckit.api.record import Record
from cdckit.connector.connect_json.reader import read_records
from cdckit.errors import TransformError
from cdckit_transforms.scripting.compiler import compiled
from cdckit_transforms.scripting.groovy import Groovy
from cdckit_transforms.scripting.javascript import JavaScript
from cdckit_transforms.scripting.language import UNDEFINED, Language
from cdckit_transforms.scripting.syntax import ScriptError
from transforms.recorded import RECORDINGS

LANGUAGES: dict[str, Language] = {"groovy": Groovy(), "javascript": JavaScript()}
RECORDS = list(read_records((RECORDINGS / "expressions-input.jsonl").open("rb")))
REFUSED = [
    "valueSchema.field('op').schema().type().toString()",
    "value.after?.tags?.contains('b')",
    "topic.contains('shop')",
    "topic.matches('.*')",
    "value.get('op')",
]
"""Refused in the language that does not have it, or that has it where people do not look for it."""
OF_JAVA = ["[Ljava.lang.Object;", "org.apache.kafka.connect.data.ConnectSchema", "java.lang.Class"]
"""What Groovy gives of the inside of Java's objects, and nothing does here."""
DIFFERENT = [
    "value.toString() == ''",  # structs are not shown
    "2147483647 + 1",  # whole numbers have 64 bits
    "9223372036854775807 + 1",  # and fail beyond
    "value == null",  # a tombstone's value is null in JavaScript, too
    "value == null ? 'nulls' : (value.before.id == 1 ? 'ones' : null)",
    "!value",
    "value && true",
    "[1, 2] == '1,2'",
]
"""Answered otherwise, as docs/transforms.md says."""


def recorded(language: str) -> list[tuple[str, str, list[Any]]]:
    lines = (RECORDINGS / f"expressions-{language}.jsonl").read_text().splitlines()
    return [(language, *json.loads(line)) for line in lines]


RECORDED = [*recorded("groovy"), *recorded("javascript")]


def answers(language: str, expression: str) -> list[Any]:
    evaluate = compiled(expression, LANGUAGES[language])

    def answer(record: Record) -> Any:
        try:
            return evaluate(record)
        except TransformError:
            return {"error": True}

    return [answer(record) for record in RECORDS]


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(theirs, dict) and "class" in theirs:
        return ours != {"error": True} or theirs["class"] in OF_JAVA
    if isinstance(theirs, dict) and "number" in theirs:
        number = float(theirs["number"])
        if isinstance(ours, bool | str | dict) or ours is None:
            return False
        return math.isclose(ours, number) or (math.isnan(number) and math.isnan(ours))
    return (None if ours is UNDEFINED else ours) == theirs and isinstance(ours, bool) == isinstance(theirs, bool)


@pytest.mark.parametrize("language", LANGUAGES)
def test_debezium_answers_the_same(language: str) -> None:
    found = {
        expression: (ours, theirs)
        for _, expression, theirs in recorded(language)
        if expression not in REFUSED
        if not all(map(same, ours := answers(language, expression), theirs))
    }
    assert found.keys() <= set(DIFFERENT), {text: both for text, both in found.items() if text not in DIFFERENT}


RANDOM = [json.loads(line) for line in (RECORDINGS / "expressions-random.jsonl").read_text().splitlines()]


def test_random_expressions_are_answered_the_same_or_fail() -> None:
    alike = 0
    for language, expression, theirs in RANDOM:
        for ours, answer in zip(answers(language, expression), theirs, strict=False):
            assert same(ours, answer) or ours == {"error": True}, (language, expression, ours, answer)
            alike += same(ours, answer)
    assert alike > 0.9 * sum(len(theirs) for _, _, theirs in RANDOM)


def test_what_is_answered_otherwise_is_among_what_was_asked() -> None:
    assert {*DIFFERENT, *REFUSED} <= {expression for _, expression, _ in RECORDED}


@pytest.mark.parametrize(
    ("language", "expression", "fault"),
    [
        ("groovy", "value.op = 'u'", "column 10: '=' is not known here: write '==' to compare"),
        ("groovy", "value.op == 'u", "column 13: the text is not closed: ' is missing"),
        ("groovy", "operation != 'd'", "column 1: the name 'operation' is not known: these are: key, keySchema,"),
        ("groovy", "value.op == 'u' and true", "column 17: 'and' is not known here: write '&&'"),
        ("groovy", "topic.execute()", "column 7: the method 'execute' is not known; these are: compareTo,"),
        ("groovy", "new File('x')", "column 1: the name 'new' is not known: objects cannot be made"),
        ("groovy", "topic.startsWith()", "column 7: 'startsWith' takes 1 arguments, not 0"),
        ("groovy", "(1 + 2", "column 7: ')' is missing"),
        ("groovy", '"a ${topic}"', "column 4: '$' in a text between double quotes"),
        ("groovy", "value.op === 'u'", "column 10: '===' is not known here"),
        ("groovy", "1\n- 2", "column 3: '-' is not known here"),
        ("groovy", "headers.x", "column 1: the name 'headers' is not known: it is called 'header'"),
        ("groovy", "", "column 1: something is missing at the end"),
        ("groovy", "1 +", "column 4: something is missing at the end"),
        ("groovy", "1 § 2", "column 3: '§' is not known in expressions"),
        ("groovy", "true; false", "column 7: 'false' is not known here"),
        ("groovy", "--1", "column 1: '--' is not known here"),
        ("groovy", "[1, 2", "column 6: ',' is missing"),
        ("groovy", "- " * 100 + "1", "column 79: too many parts inside of each other"),
        ("groovy", "1" + "+1" * 100, "column 122: more than 60 operators one after the other"),
        ("javascript", "value.get('op')", "column 7: the method 'get' is not known; these are: charAt,"),
        ("javascript", "/(/.test(topic)", "column 1: "),
        ("javascript", "/a/g.test(topic)", "column 1: the flags 'g' of a regular expression are not known; 'i' is"),
        ("javascript", "value.op ==~ /u/", "column 10: '==~' is not known here"),
        ("javascript", "() => true", "column 2: ')' is not known here"),
        ("javascript", "constructor", "column 1: the name 'constructor' is not known"),
    ],
)
def test_what_is_not_understood_is_told_by_its_place(language: str, expression: str, fault: str) -> None:
    with pytest.raises(ScriptError) as raised:
        compiled(expression, LANGUAGES[language])
    assert str(raised.value).startswith(fault)


def test_long_conditions_are_read() -> None:
    expression = " || ".join(f"key.id == {number}" for number in range(550))
    assert answers("groovy", expression) == [True] * 6


SIGNS = r". ?. == != === && || ! ( ) [ ] , ? : ?: ?? in + - * / % < > =~ ==~ ; ' \" \ $ é _".split()  # noqa: SIM905
WORDS = [
    "value",
    "key",
    "header",
    "topic",
    "op",
    "before",
    "id",
    "'a'",
    '"c"',
    "1",
    "2.5",
    "0x1f",
    "1e3",
    "9L",
    "null",
    "true",
    "undefined",
    "/a/",
    "contains",
    "size",
]
SNIPPETS = st.sampled_from([*SIGNS, *WORDS, "\n", " "])


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["groovy", "javascript"]),
    st.one_of(
        st.text(max_size=60),
        st.lists(SNIPPETS, max_size=14).map(" ".join),
        st.lists(SNIPPETS, max_size=14).map("".join),
    ),
)
def test_any_text_is_an_expression_or_is_refused_and_fails_only_as_a_transform_does(language: str, text: str) -> None:
    try:
        answers(language, text)
    except ScriptError as refused:
        assert str(refused).startswith("column ")


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([(language, text) for language, text, _ in RECORDED]))
def test_expressions_with_a_part_changed_fail_only_as_a_transform_does(
    data: st.DataObject, case: tuple[str, str]
) -> None:
    language, text = case
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 6, len(text))))
    try:
        answers(language, text[:start] + data.draw(SNIPPETS) + text[end:])
    except ScriptError as refused:
        assert str(refused).startswith("column ")


def squared(expression: str, times: int) -> str:
    return expression if times == 0 else squared(f"({expression} * {expression})", times - 1)


LARGE = squared("1e999", 8)


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("value.before.id == 1", "column 14: 'id' is asked of null; write '?.' before it"),
        ("value.town == 'x'", "column 7: there is no field 'town'; these are: before, after, source, op, ts_ms"),
        ("topic < 1", "column 7: a text and a number cannot be compared"),
        ("value.before.name.length()", "column 14: 'name' is asked of null"),
        ("key.id / 0", "column 8: a division by 0"),
        ("1 + (value.after?.tags + 1)", "column 24: '+' cannot be applied to"),
        ("header.none.value", "column 13: 'value' is asked of null"),
    ],
)
def test_what_fails_is_told_by_its_place(expression: str, fault: str) -> None:
    with pytest.raises(TransformError) as raised:
        compiled(expression, LANGUAGES["groovy"])(RECORDS[2])
    assert str(raised.value).startswith(fault)


def test_what_is_too_large_to_be_reckoned_with_is_told() -> None:
    with pytest.raises(TransformError, match="a number is too large"):
        compiled(LARGE, LANGUAGES["groovy"])(RECORDS[0])
    assert answers("javascript", f"key.id * '0x{'f' * 400}'") == [math.inf] * 6


def test_a_replacement_of_javascript_with_a_meaning_fails() -> None:
    with pytest.raises(TransformError, match=r"column 7: '\$' has a meaning"):
        compiled("topic.replace('s', '$&')", LANGUAGES["javascript"])(RECORDS[0])
