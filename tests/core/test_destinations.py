"""Names of folders and tables for topics: whatever a topic is, it gets one part of a path, and no other topic's."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

from cdckit.errors import SinkError
from cdckit.tables.destinations import LONGEST, Names, folder_name, table_name

PARTS = st.sampled_from(
    ["a", "B", "_", "-", ".", "..", "/", "\\", "`", " ", "+", "é", "\0", "\n", "%2F", "~", "x" * 90]
)
TOPICS = st.one_of(st.text(max_size=300), st.lists(PARTS, max_size=8).map("".join))
RESERVED = ("_delta_log", "_change_data", "_spark_metadata", "_temporary", "_SUCCESS", "_Delta_Log")


@given(TOPICS)
@example("")
@example(".")
@example("..")
@example("/../../../x")
@example("x" * 256)
@example("\ud800")
def test_a_folder_is_one_part_of_a_path(topic: str) -> None:
    name = folder_name(topic)
    assert re.fullmatch(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*", name)
    assert len(name.encode()) <= LONGEST
    assert name.lower() not in [reserved.lower() for reserved in RESERVED]
    assert name == folder_name(topic)


@given(st.lists(TOPICS, min_size=2, max_size=30, unique=True))
@example(["a/b", "a_b", "a b", "a\\b"])
@example(["x" * 300, "x" * 299, "x" * 255])
def test_different_topics_have_different_folders(topics: list[str]) -> None:
    names = {folder_name(topic) for topic in topics}
    assert len(names) == len(topics)
    assert len({folder_name(name) for name in names}) == len(names)


@pytest.mark.parametrize("topic", ["p.shop.orders", "_p-1.Shop.x__y", "a", "x" * 255, "0.1"])
def test_topics_as_kafka_allows_them_are_their_folders_names(topic: str) -> None:
    assert folder_name(topic) == topic


@pytest.mark.parametrize("topic", RESERVED)
def test_what_is_kept_by_spark_and_delta_is_no_folder(topic: str) -> None:
    assert folder_name(topic) != topic


@given(TOPICS)
@example("x`; drop table t; --")
def test_a_table_is_a_plain_identifier(topic: str) -> None:
    name = table_name(topic)
    assert re.fullmatch(r"[A-Za-z0-9_]+", name)
    assert len(name) <= LONGEST


@given(st.lists(TOPICS, min_size=2, max_size=30, unique=True))
@example(["p.a_x.t7", "p.a.x_t7"])
@example(["p.a.T", "p.a.t"])
def test_two_topics_never_have_one_table(topics: list[str]) -> None:
    names = Names()
    taken: dict[str, str] = {}
    for topic in topics:
        name = table_name(topic).lower()
        if name not in taken:
            taken[name] = topic
            names.take(name, topic)
            continue
        with pytest.raises(SinkError) as refused:
            names.take(name, topic)
        assert repr(taken[name]) in str(refused.value)
        assert repr(topic) in str(refused.value)
