"""The order of a batch: rows up to a mark, the mark, the rows behind it."""

from __future__ import annotations

from typing import Any

import pytest

from cdckit.api.marks import MarkKind
from cdckit.errors import SinkError
from cdckit.tables.marks import Mark
from cdckit.tables.segments import Emptied, Scope, emptied, refuse_unfollowed, segments

A, B = {"shard": "a"}, {"shard": "b"}


def mark(kind: str, position: str, table: str = "d.a", scope: dict[str, Any] | None = None, *sharing: str) -> Mark:
    return Mark(MarkKind(kind), position, table, table, scope or {}, sharing)


def test_a_batch_without_marks_is_one_segment() -> None:
    (alone,) = segments([])
    assert (alone.whole, alone.marks) == (True, ())


def test_a_mark_that_cuts_ends_its_segment_in_whatever_order_marks_come() -> None:
    marks = [mark("truncate", "5"), mark("alter", "3"), mark("truncate", "1"), mark("drop", "3"), mark("alter", "8")]
    assert [(one.after, one.until, [(m.kind, m.position) for m in one.marks]) for one in segments(marks)] == [
        ("", "3", [("truncate", "1"), ("alter", "3"), ("drop", "3")]),
        ("3", "8", [("truncate", "5"), ("alter", "8")]),
        ("8", None, []),
    ]


def test_of_two_truncates_the_last_one_counts() -> None:
    assert emptied([mark("truncate", "1"), mark("truncate", "4")], {"d.a"}, "t") == Emptied("4", {})


def test_what_is_emptied_by_shares_and_then_as_a_whole() -> None:
    marks = [mark("truncate", "1", "d.a", A), mark("truncate", "2", "d.b", B), mark("truncate", "3", "d.a", A)]
    shares: dict[Scope, str] = {(("shard", "a"),): "3", (("shard", "b"),): "2"}
    assert emptied(marks, {"d.a", "d.b"}, "t") == Emptied(None, shares)
    both = [mark("snapshot_begin", "4", "d.a", None, "d.b"), mark("snapshot_begin", "4", "d.b", None, "d.a")]
    assert emptied([*marks, *both], {"d.a", "d.b"}, "t") == Emptied("4", {})


@pytest.mark.parametrize(
    ("sharing", "sources", "named"),
    [
        (("d.b",), set[str](), "d.b"),
        ((), {"d.a", "d.c"}, "d.c"),
        ((), {"d.a", "d.a (pipeline other)"}, r"d.a \(pipeline other\)"),
    ],
)
def test_one_of_several_that_cannot_be_told_apart_is_refused(
    sharing: tuple[str, ...], sources: set[str], named: str
) -> None:
    with pytest.raises(SinkError, match=f"table t: at position 7 d.a was truncated, and rows of {named} are in"):
        emptied([mark("truncate", "7", "d.a", None, *sharing)], sources, "t")


@pytest.mark.parametrize("kind", ["untold", "rename"])
def test_what_the_log_does_not_tell_is_refused_unless_it_is_made_good(kind: str) -> None:
    refuse_unfollowed([mark(kind, "2"), mark("snapshot_begin", "3")], frozenset(), "t")
    for behind in ([], [mark("truncate", "1")], [mark("snapshot_begin", "3", "d.b")]):
        with pytest.raises(SinkError, match=r"table t: at position 2 .*cdc resnapshot FILE --table d\.a"):
            refuse_unfollowed([mark(kind, "2"), *behind], frozenset(), "t")


def test_what_is_gone_by_now_may_be_passed_over() -> None:
    """The user says so; of two tables only of the one that is named."""
    marks = [mark("untold", "2"), mark("rename", "3", "d.b")]
    with pytest.raises(SinkError, match=r"position 3 .*gone by now, `cdc schema accept FILE --table d\.b` goes on"):
        refuse_unfollowed(marks, {"d.a"}, "t")
    assert refuse_unfollowed(marks, {"d.a", "d.b", "d.c"}, "t") == {"d.a", "d.b"}
