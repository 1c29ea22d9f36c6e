"""The chain of transforms: order, predicates, what goes in and comes out, and whose fault an error is."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from cdckit.api.record import Header, Record
from cdckit.api.transform import Predicate, Transform
from cdckit.engine.chain import LiveStep, TransformChain, build_chain
from cdckit.errors import ConfigError, TransformError

Apply = Callable[[Record], Record | Sequence[Record] | None]


class Applied(Transform):
    """Applies a function, and remembers that it was closed."""

    def __init__(self, function: Apply) -> None:
        self.function = function
        self.closed = False

    def apply(self, record: Record) -> Record | Sequence[Record] | None:
        return self.function(record)

    def close(self) -> None:
        self.closed = True


class OfTopic(Predicate):
    def __init__(self, topic: str) -> None:
        self.topic = topic

    def test(self, record: Record) -> bool:
        return record.topic == self.topic


class SpecialRecord(Record):
    """A transform may hand out records of its own class."""


def records(*topics: str) -> list[Record]:
    return [Record(topic, None, None, position=f"p{number}") for number, topic in enumerate(topics)]


def topics(made: Sequence[Record]) -> list[str]:
    return [record.topic for record in made]


def suffix(text: str) -> Applied:
    return Applied(lambda record: record.replace(topic=record.topic + text))


def test_without_transforms_the_batch_passes_as_it_is() -> None:
    batch = records("a", "b")
    assert TransformChain([]).apply(batch) is batch


def test_transforms_are_applied_in_order() -> None:
    chain = TransformChain([LiveStep("x", suffix("x")), LiveStep("y", suffix("y"))])
    assert topics(chain.apply(records("a", "b"))) == ["axy", "bxy"]


@pytest.mark.parametrize("predicate", [None, OfTopic("a")])
def test_one_record_can_become_none_or_several_and_order_stays(predicate: Predicate | None) -> None:
    def split(record: Record) -> Record | Sequence[Record] | None:
        if record.position == "p1":
            return None
        return [record, SpecialRecord("more", None, None)] if record.position == "p2" else record

    chain = TransformChain([LiveStep("split", Applied(split), predicate)])
    assert topics(chain.apply(records("a", "a", "a", "a"))) == ["a", "a", "more", "a"]


def test_a_record_of_a_derived_class_is_one_record() -> None:
    chain = TransformChain([LiveStep("special", Applied(lambda record: SpecialRecord(record.topic, None, None)))])
    assert topics(chain.apply(records("a"))) == ["a"]


@pytest.mark.parametrize(("negate", "expected"), [(False, ["ax", "b"]), (True, ["a", "bx"])])
def test_a_predicate_says_which_records_are_changed(negate: bool, expected: list[str]) -> None:
    chain = TransformChain([LiveStep("x", suffix("x"), OfTopic("a"), negate)])
    assert topics(chain.apply(records("a", "b"))) == expected


@pytest.mark.parametrize("predicate", [None, OfTopic("b")])
def test_an_error_names_transform_topic_and_position(predicate: Predicate | None) -> None:
    def fail(record: Record) -> Record:
        if record.topic == "b":
            raise ValueError("no such column")
        return record

    chain = TransformChain([LiveStep("mine", Applied(fail), predicate)])
    with pytest.raises(TransformError) as failed:
        chain.apply(records("a", "b"))
    said = str(failed.value)
    assert said == "transform 'mine' failed on a record of topic b at position p1: ValueError: no such column"
    assert isinstance(failed.value.__cause__, ValueError)


def test_closing_closes_every_transform() -> None:
    transforms = [suffix("x"), suffix("y")]
    TransformChain([LiveStep("t", transform) for transform in transforms]).close()
    assert all(transform.closed for transform in transforms)


def test_a_chain_is_built_from_a_files_options() -> None:
    chain = build_chain(
        [
            {"type": "RegexRouter", "regex": "(.*)", "replacement": "x.$1", "predicate": "shop", "negate": "true"},
            {
                "type": "org.apache.kafka.connect.transforms.RegexRouter",
                "name": "second",
                "regex": "(.*)",
                "replacement": "$1.y",
                "predicate": "marked",
            },
        ],
        {
            "shop": {"type": "TopicNameMatches", "pattern": r"shop\..*"},
            "marked": {
                "type": "org.apache.kafka.connect.transforms.predicates.HasHeaderKey",
                "name": "mark",
            },
        },
    )
    marked = Record("shop.a", None, None, headers=(Header("mark", "1"),))
    assert [step.name for step in chain.steps] == ["RegexRouter", "second"]
    assert topics(chain.apply([marked, *records("shop.b", "other")])) == ["shop.a.y", "shop.b", "x.other"]


def test_a_predicate_that_two_transforms_name_is_made_once() -> None:
    step = {"type": "RegexRouter", "regex": "a", "replacement": "b", "predicate": "p"}
    chain = build_chain([step, step], {"p": {"type": "RecordIsTombstone"}})
    assert chain.steps[0].predicate is chain.steps[1].predicate


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"type": "RegexRuter"}, "transforms.0.type: no transform is called 'RegexRuter'; did you mean 'RegexRouter'?"),
        ({"regex": "a"}, "transforms.0.type: required"),
        ({"type": "RegexRouter", "regex": "(", "replacement": "b"}, "transforms.0.regex: a group is not closed"),
        ({"type": "RegexRouter", "regex": "a", "replacement": "$1"}, "transforms.0: the regex has no group 1"),
        ({"type": "RegexRouter", "regex": "a"}, "transforms.0.replacement: required, but not given"),
        ({"type": "ReadToInsertEvent", "regexp": "a"}, "transforms.0.regexp: unknown option"),
        ({"type": "ReadToInsertEvent", "predicate": "p"}, "transforms.0.predicate: no predicate is called 'p'"),
        ({"type": "ReadToInsertEvent", "negate": True}, "transforms.0.negate: there is no"),
        ({"type": "ReadToInsertEvent", "negate": "yes"}, "transforms.0.negate: should be true or false"),
    ],
)
def test_what_is_wrong_with_a_step_is_told_with_its_path(options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        build_chain([options], {})
    assert said in str(refused.value)


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(ConfigError) as refused:
        build_chain(
            [{"type": "RegexRouter"}, {"type": "Nothing"}],
            {"p": {"type": "TopicNameMatches", "pattern": ""}, "q": {"type": "HasHeaderKey"}},
        )
    paths = {problem.split(":")[0] for problem in refused.value.problems}
    assert paths == {
        "transforms.0.regex",
        "transforms.0.replacement",
        "transforms.1.type",
        "predicates.p.pattern",
        "predicates.q.name",
    }
