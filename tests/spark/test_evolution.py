"""What a table's columns become as definitions at the source change, position by position, in every mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import DataFrame

from cdckit.api.marks import DefinitionChange, MarkKind
from cdckit.errors import SinkError
from cdckit.tables.behavior import Behavior, ChangeKind, EvolutionMode
from cdckit.tables.evolution import Evolution
from cdckit.tables.layout import Layout
from cdckit.tables.marks import Mark
from cdckit.tables.policy import Policy
from cdckit.tables.target import NO_COMMENTS, BatchId, Columns, Target

PEOPLE = "shop.people"


def layout(*columns: str, key: tuple[str, ...] = ("id",), source: str = PEOPLE, **others: Any) -> Layout:
    """The layout of a source table with columns such as `name string`."""
    pairs = [column.partition(" ")[::2] for column in ("id int", *columns)]
    return Layout("rows", source, tuple((name, kind) for name, kind in pairs), key, **others)


OLD = layout("name string")
NEW = layout("name string", "city string")


class Table(Target):
    """A table of which only the columns and notes are kept."""

    changes_rows = True

    def __init__(self) -> None:
        self.made: Columns = {}
        self.noted: dict[str, str] = {}
        self.done: list[str] = []
        self.comments: dict[str, str | None] = {}

    def __str__(self) -> str:
        return "t"

    def columns(self) -> Columns:
        return dict(self.made)

    def create(self, columns: Columns, notes: Mapping[str, str], comments: Mapping[str, str] = NO_COMMENTS) -> None:
        self.made = dict(columns)
        self.comments |= comments
        self.noted |= notes

    def add_columns(self, columns: Columns) -> None:
        self.made |= columns

    def drop_column(self, name: str) -> None:
        del self.made[name]

    def rename_column(self, old: str, new: str) -> None:
        assert new not in self.made
        self.made = {new if name == old else name: kind for name, kind in self.made.items()}

    def widen(self, columns: Columns) -> None:
        self.made |= columns

    def update(self, values: Mapping[str, str], where: str | None = None) -> None:
        self.done += [f"update {name}" for name in values]

    def comment(self, column: str, text: str | None) -> None:
        self.comments[column] = text

    def notes(self) -> dict[str, str]:
        return dict(self.noted)

    def note(self, notes: Mapping[str, str]) -> None:
        self.noted |= notes

    def append(self, rows: DataFrame, batch: BatchId) -> None:
        raise NotImplementedError


class Case:
    """A table, and the evolutions of one process after another."""

    def __init__(
        self, mode: EvolutionMode = "evolve", *, mirror: bool = True, told: bool = True, **chosen: Any
    ) -> None:
        self.table = Table()
        self.policy = Policy(mirror, Behavior(mode, **chosen), told)
        self.evolution = Evolution(self.table, self.policy)

    def restart(self) -> None:
        self.evolution = Evolution(self.table, self.policy)

    def rows(self, position: str, layout: Layout, accepted: Mapping[str, str] | None = None) -> None:
        self.evolution.follow([(position, layout)], (), accepted)

    def alter(self, position: str, layout: Layout, accepted: Mapping[str, str] | None = None, **change: Any) -> None:
        told = DefinitionChange(**change)
        mark = Mark(MarkKind.ALTER, position, PEOPLE, PEOPLE, layout=layout, change=told, statement="ALTER …")
        self.evolution.follow([], [mark], accepted)

    def moved(self, position: str, layout: Layout) -> list[str]:
        """Where the columns of a row are in the table."""
        return [name for name, _ in self.evolution.fitting.shown(position, layout).columns]

    @property
    def columns(self) -> list[str]:
        assert self.evolution.columns == self.table.made
        return [f"{name} {kind}" for name, kind in self.table.made.items()]


@pytest.mark.parametrize("restarted", [False, True])
def test_each_lane_has_a_history_of_its_own(restarted: bool) -> None:
    """An old row of one lane says nothing about a new one of another; a column that goes within a lane is gone."""
    case = Case("exception", told=False, exclude=frozenset())
    case.evolution.follow([("1@5", NEW), ("2@0", NEW), ("3@0", OLD)])
    assert [*case.table.made] == ["id", "name", "city"]
    if restarted:
        case.restart()
    case.rows("3@7", OLD)
    for lane in ("1", "2"):
        with pytest.raises(SinkError, match=f"since position {lane}@90 column 'city' is gone"):
            case.rows(f"{lane}@90", OLD)


@pytest.mark.parametrize("restarted", [False, True])
def test_rows_of_before_a_change_find_their_columns_behind_it(restarted: bool) -> None:
    case = Case()
    case.rows("1", NEW)
    case.alter("3", later := layout("name string", "town string"), renamed=(("city", "town"),))
    case.alter("5", last := layout("town string"), dropped=("name",))
    if restarted:
        case.restart()
    case.rows("1", NEW)
    assert case.columns == ["id int", "town string"]
    assert case.moved("2", NEW) == ["id", "town"]
    assert case.moved("4", later) == ["id", "town"]
    assert case.moved("6", last) == ["id", "town"]


def test_names_that_are_swapped() -> None:
    case = Case()
    case.rows("1", both := layout("a int", "b string"))
    case.alter("3", layout("a string", "b int"), renamed=(("a", "b"), ("b", "a")))
    assert case.columns == ["id int", "b int", "a string"]
    assert case.moved("2", both) == ["id", "b", "a"]


def test_a_column_that_is_dropped_and_added_again_has_none_of_the_old_values() -> None:
    case = Case()
    case.rows("1", before := layout("n int"))
    case.alter("3", after := layout("n string", older=(("n", "x"),)), dropped=("n",), added=("n",))
    assert case.columns == ["id int", "n string"]
    assert case.moved("4", after) == ["id", "n"]
    assert case.table.done == ["update n"]
    assert case.moved("2", before) == ["id"]
    assert case.evolution.fitting.missing("2", before) == {"n": "x"}


@pytest.mark.parametrize("told", [False, True])
def test_without_a_mark_a_renamed_column_goes_and_another_comes(told: bool) -> None:
    """Of a source that tells no marks at all it stays: an older row that comes again would take its values away."""
    case = Case(told=told)
    case.rows("1", NEW)
    case.rows("3", layout("name string", "town string"))
    assert case.columns == ["id int", "name string", *([] if told else ["city string"]), "town string"]


def test_a_changelog_keeps_what_it_has() -> None:
    case = Case(mirror=False)
    case.rows("1", NEW)
    case.alter("3", OLD, dropped=("city",))
    assert case.columns == ["id int", "name string", "city string"]
    case.alter("5", layout("city string"), renamed=(("name", "city"),))
    assert case.columns == ["id int", "city string", "city__1 string"]
    assert case.moved("2", NEW) == ["id", "city", "city__1"]


@pytest.mark.parametrize(
    ("mode", "columns", "moved"),
    [
        ("evolve", ["id int", "town string", "n bigint", "more int"], ["id", "town", "n", "more"]),
        ("try_evolve", ["id int", "town string", "n bigint", "more int"], ["id", "town", "n", "more"]),
        (
            "lenient",
            ["id int", "name string", "n bigint", "gone int", "town string", "more int"],
            ["id", "town", "n", "more"],
        ),
        ("ignore", ["id int", "name string", "n int", "gone int"], ["id", "name", "n"]),
    ],
)
def test_the_modes(mode: EvolutionMode, columns: list[str], moved: list[str]) -> None:
    case = Case(mode)
    case.rows("1", layout("name string", "n int", "gone int"))
    after = layout("town string", "n bigint", "more int")
    case.alter("3", after, renamed=(("name", "town"),), dropped=("gone",), added=("more",), retyped=("n",))
    assert sorted(case.columns) == sorted(columns)
    assert case.moved("4", after) == moved


@pytest.mark.parametrize(
    ("after", "change", "said"),
    [
        (NEW, {"added": ("city",)}, "there is a column 'city'"),
        (layout(), {"dropped": ("name",)}, "column 'name' is gone"),
        (layout("other string"), {"renamed": (("name", "other"),)}, "column 'name' is called 'other'"),
        (layout("name int"), {"retyped": ("name",)}, "column 'name' became int, and the table has it as string"),
        (layout("name string", key=("name",)), {"key": (("id",), ("name",))}, r"the key was \(id\) and is \(name\)"),
        (OLD, {"comments": {"name": "whose"}}, "the comment of name is 'whose'"),
    ],
)
def test_the_mode_that_stops_names_the_command_that_goes_on(after: Layout, change: dict[str, Any], said: str) -> None:
    """Of a changelog's key, whose rows from before are not known by another one, what the marks come to decides."""
    case = Case("exception", mirror="key" in change)
    case.rows("1", OLD)
    for _ in range(2):
        with pytest.raises(SinkError, match=rf"t: since position 3 {said}.*`cdc schema accept FILE --table {PEOPLE}`"):
            case.alter("3", after, **change)
        case.restart()
    case.alter("3", after, accepted={PEOPLE: "once"}, **change)
    case.restart()
    with pytest.raises(SinkError, match="since position 5"):
        case.alter("5", layout("name string", "more int"), {PEOPLE: "once"}, added=("more",))


def test_kinds_that_are_left_out_leave_the_table_as_it_is() -> None:
    case = Case(exclude=frozenset({ChangeKind.ADD_COLUMN}))
    case.rows("1", OLD)
    case.alter("3", after := layout("title string", "city string"), renamed=(("name", "title"),), added=("city",))
    assert case.columns == ["id int", "title string"]
    assert case.moved("4", after) == ["id", "title"]
    case = Case(include=frozenset({ChangeKind.ADD_COLUMN}))
    case.rows("1", OLD)
    case.alter("3", after, renamed=(("name", "title"),), added=("city",))
    assert case.columns == ["id int", "name string", "city string"]
    assert case.moved("4", after) == ["id", "name", "city"]


@pytest.mark.parametrize("told", [False, True])
def test_a_type_that_does_not_fit_stops_a_mirror(told: bool) -> None:
    """With the command that resolves it; a source that tells no marks cannot be asked for the rows again."""
    case = Case(told=told)
    case.rows("1", layout("n int"))
    command = "cdc resnapshot" if told else "cdc schema accept"
    with pytest.raises(
        SinkError, match=rf"since position 3 column 'n' became string.*`{command} FILE --table {PEOPLE}`"
    ):
        case.rows("3", layout("n string"))
    case.restart()
    case.rows("3", layout("n string"), {PEOPLE: "once"})
    assert case.columns == ["id int", "n string"]
    assert case.table.done == ["update n"]


def test_a_type_that_does_not_fit_stops_a_changelog_which_keeps_the_old_values_beside() -> None:
    case = Case(mirror=False)
    case.rows("1", before := layout("n int"))
    with pytest.raises(SinkError, match="older values stay, in a column of another name"):
        case.rows("3", layout("n string"))
    case.restart()
    case.rows("3", layout("n string"), {PEOPLE: "once"})
    assert case.columns == ["id int", "n__1 int", "n string"]
    assert case.moved("2", before) == ["id", "n__1"]


def test_values_that_the_server_has_converted_stop_a_mirror() -> None:
    case = Case()
    case.rows("1", layout("n decimal(10,2)"))
    narrower = layout("n decimal(9,1)")
    with pytest.raises(SinkError, match=r"the values of column 'n' may have changed.*\(ALTER …\).*cdc resnapshot"):
        case.alter("3", narrower, retyped=("n",), rewritten=("n",))
    Case(mirror=False).alter("3", narrower, retyped=("n",), rewritten=("n",))


def test_a_snapshot_brings_columns_of_its_own() -> None:
    case = Case()
    case.rows("1", layout("n int", "gone int"))
    begin = Mark(MarkKind.SNAPSHOT_BEGIN, "3", PEOPLE, PEOPLE, layout=layout("n string"))
    case.evolution.follow([("1", layout("n int")), ("4", layout("n string"))], [begin])
    assert (case.evolution.rebuilt, case.evolution.columns) == (True, {"id": "int", "n": "string"})
    assert [*case.table.made] == ["id", "n", "gone"], "the rows bring them"
    case.restart()
    case.evolution.follow([("4", layout("n string"))], [begin])
    assert (case.evolution.rebuilt, case.evolution.columns) == (True, {"id": "int", "n": "string"})
    case.table.made = dict(case.evolution.columns)
    case.evolution.written()
    case.restart()
    case.evolution.follow([("4", layout("n string"))], [begin])
    assert not case.evolution.rebuilt


def test_the_key() -> None:
    """Where marks tell of its change rows are written one after the other; else someone has to say that it is right."""
    case = Case()
    case.rows("1", OLD)
    case.alter("3", layout("name string", key=("name",)), key=(("id",), ("name",)))
    case = Case(told=False)
    case.rows("1", OLD)
    with pytest.raises(SinkError, match=r"the key was \(id\) and is \(name\)"):
        case.rows("3", layout("name string", key=("name",)))


def test_comments() -> None:
    case = Case()
    case.rows("1", OLD)
    case.alter("3", OLD, comments={"name": "whose", "": "people"})
    assert case.table.comments == {"name": "whose", "": "people"}


def test_comments_of_a_table_that_is_made_behind_its_mark() -> None:
    """What a mark tells is known when the first row comes; of tables that share it, to the first belongs the word."""
    case = Case()
    for position, shard, told in (("1", "s1", (("", "one"), ("id", "a"))), ("2", "s2", (("", "two"), ("name", "b")))):
        made = layout("name string", source=shard, comments=told)
        case.evolution.follow([], [Mark(MarkKind.CREATE, position, shard, shard, {"shard": shard}, layout=made)])
    assert case.table.comments == {}
    case.rows("3", layout("name string", source="s2"))
    assert case.table.comments == {"": "one", "id": "a", "name": "b"}


def test_comments_of_added_columns() -> None:
    """They come with the column, unless comments are to be left alone; of columns that are there a mark tells."""
    new = layout("name string", "city string", comments=(("", "people"), ("name", "whose"), ("city", "where")))
    for exclude, wanted in ((frozenset[ChangeKind](), {"city": "where"}), (frozenset({ChangeKind.COMMENT}), {})):
        case = Case(exclude=exclude)
        case.rows("1", OLD)
        case.alter("3", new, added=("city",))
        assert case.table.comments == wanted


def test_a_mark_carries_comments_and_packets_do_not() -> None:
    told = layout("name string", comments=(("", "people"), ("name", "whose")))
    mark = Mark(MarkKind.CREATE, "1", PEOPLE, PEOPLE, layout=told)
    assert Mark.loads(mark.packet("t").mark or "") == mark
    assert Layout.loads(told.dumps()) == layout("name string")


def test_shards_that_change_one_after_the_other() -> None:
    case = Case()
    case.evolution.follow([("1", layout("a int", source="s1")), ("1", layout("a int", source="s2"))])
    for position, shard in (("3", "s1"), ("5", "s2")):
        mark = Mark(
            MarkKind.ALTER, position, shard, shard, {"shard": shard},
            layout=layout("b int", source=shard), change=DefinitionChange(renamed=(("a", "b"),)),
        )  # fmt: skip
        case.evolution.follow([], [mark])
        assert case.columns == ["id int", "b int"]
        assert case.moved("4", layout("a int", source="s2")) == ["id", "b"]
    drop = DefinitionChange(dropped=("b",))
    for position, shard, left in (("7", "s1", ["id int", "b int"]), ("8", "s2", ["id int"])):
        mark = Mark(MarkKind.ALTER, position, shard, shard, {"shard": shard}, layout=layout(source=shard), change=drop)
        case.evolution.follow([], [mark])
        assert case.columns == left
