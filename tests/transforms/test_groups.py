"""Chains of transforms that take groups at once make of them what they make of each record alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from cdckit.api.record import Header, Record
from cdckit.api.struct import Struct, Template, TemplateStruct
from cdckit.api.transform import Transform
from cdckit.engine.chain import TransformChain, build_chain
from cdckit.engine.grouped import GroupedSteps, takes_groups
from cdckit.errors import TransformError
from transforms.change_events import ENVELOPE, HEADERS, KEY, ROW, SOURCE, TOPIC, change, tombstone
from transforms.recorded import written

BY_TABLE = {"topic.regex": "(.*)orders_(\\d+)", "topic.replacement": "$1orders"}
STEPS: tuple[dict[str, Any], ...] = (
    {"type": "ReadToInsertEvent"},
    {"type": "ByLogicalTableRouter", **BY_TABLE},
    {"type": "ByLogicalTableRouter", **BY_TABLE, "key.enforce.uniqueness": False},
    {"type": "ByLogicalTableRouter", "topic.regex": "other", "topic.replacement": "x"},
    {"type": "RegexRouter", "regex": "s\\.(.*)", "replacement": "t.$1"},
    {"type": "ExtractNewRecordState", "add.fields": "op,source.ts_ms", "delete.tombstone.handling.mode": "rewrite"},
    {"type": "ExtractNewRecordState", "delete.tombstone.handling.mode": "rewrite", "replace.null.with.default": False},
    {"type": "ExtractNewRecordState", "add.fields": "source.table:t"},
    {"type": "ExtractNewRecordState", "add.headers": "op"},
    {"type": "InsertHeader", "header": "h", "value.literal": "7"},
)
ROWS = ((1, "Graz", None), (2, None, "old"), (3, "Linz", "new"))


def _group(random: Random, topic: str = TOPIC) -> list[Record]:
    """The records of one rows event, as a source makes them."""
    op = random.choice("rcud")
    rows = {"r": ("after",), "c": ("after",), "u": ("before", "after"), "d": ("before",)}[op]
    holes = tuple((ENVELOPE.index[name],) for name in rows)
    shared = Struct(SOURCE, ("orders_1", random.randrange(9)))
    template = Template(ENVELOPE, (None, None, shared, None, op, 9), holes)
    made = []
    for number in range(random.choice((1, 2, 7, 8, 9, 16, 17, 40))):
        fills = tuple(Struct(ROW, random.choice(ROWS)) for _ in rows)
        headers = random.choice((HEADERS, (*HEADERS, Header("n", str(number)))))
        made.append(Record(topic, Struct(KEY, (number,)), TemplateStruct(template, fills), headers, f"{number}", 9, 3))
        if op == "d" and random.random() < 0.8:
            made.append(tombstone())
    return made


def _records(random: Random) -> list[Record]:
    """Groups, single events, and records between them."""
    found: list[Record] = []
    for _ in range(random.randint(1, 6)):
        kind = random.random()
        if kind < 0.7:
            found += _group(random, random.choice((TOPIC, TOPIC, "s.shop.orders_2", "elsewhere")))
        else:
            found += [random.choice((change("c", after=ROWS[0]), change("r", after=ROWS[1]), tombstone()))]
    return found


def _alone(chain: TransformChain, records: Sequence[Record]) -> list[Record]:
    return [made for record in records for made in chain.apply([record])]


@pytest.mark.parametrize("seed", range(4))
def test_random_groups_become_what_each_record_becomes(seed: int, nightly: bool) -> None:
    random = Random(seed)
    for _ in range(500 if nightly else 25):
        steps = [random.choice(STEPS) for _ in range(random.randint(2, 4))]
        records = _records(random)
        before = [written(record) for record in records]
        try:
            each = _alone(build_chain(steps, {}), records)
        except TransformError:
            with pytest.raises(TransformError):
                build_chain(steps, {}).apply(records)
            continue
        together = build_chain(steps, {}).apply(records)
        assert [written(made) for made in together] == [written(made) for made in each], steps
        assert [made.position for made in together] == [made.position for made in each]
        assert [written(record) for record in records] == before


def test_a_large_group_is_not_looked_at_record_by_record() -> None:
    steps = [STEPS[0], STEPS[1], STEPS[5]]
    chain = build_chain(steps, {})
    transforms: list[Transform] = [step.transform for step in chain.steps]
    assert all(map(takes_groups, transforms))
    looked_at: list[int] = []

    def each(records: Sequence[Record]) -> Sequence[Record]:
        looked_at.append(len(records))
        return chain.apply(records)

    event = change("r", after=ROWS[0])
    assert isinstance(event.value, Struct)
    template = Template(ENVELOPE, event.value.values, ((ENVELOPE.index["after"],),))
    records = [event.replace(value=TemplateStruct(template, (Struct(ROW, ROWS[0]),))) for _ in range(50)]
    made = GroupedSteps(transforms, each)([*records, tombstone()])
    assert looked_at == [1]
    assert [written(one) for one in made] == [written(one) for one in _alone(chain, records)]


def test_a_fault_in_a_group_is_told_with_its_place() -> None:
    steps = [{"type": "RegexRouter", "regex": "x", "replacement": "y"}]
    steps.append({"type": "ExtractNewRecordState", "add.fields": "op:city", "add.fields.prefix": ""})
    random = Random(1)
    records = [record for record in _group(random) for _ in range(30)]
    with pytest.raises(TransformError, match=r"'ExtractNewRecordState' failed on a record of topic .* at position 0: "):
        build_chain(steps, {}).apply(records)
