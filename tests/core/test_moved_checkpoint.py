"""A checkpoint whose place is another one than at the last run on Spark."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from cdckit.api.record import Offset
from cdckit.api.state_store import StateStore
from cdckit.engine.state.generation import Generation
from cdckit.engine.state.runner_handover import choose_offset, hand_to_spark, open_state
from cdckit.engine.state.spark_checkpoint import CommittedBatch, batch_in_hand, show_batch, show_begun
from cdckit.errors import StateError
from testkit.asked_folder import AskedFolder
from testkit.states import offset_in, state_in


def reached(address: str) -> AskedFolder:
    return AskedFolder(Path(address.removeprefix("file://")))


@dataclass(frozen=True)
class Pipeline:
    """One whose runs on Spark are written by hand.

    Attributes:
        folder: its folder.
    """

    folder: Path

    def place(self, name: str) -> AskedFolder | None:
        """Where its checkpoints are by that name; none: in its folder."""
        return AskedFolder(self.folder / name) if name else None

    def begin(self, name: str) -> Generation:
        """A run begins with checkpoints at a place."""
        place = self.place(name)
        with closing(self.open(name)) as store:
            return hand_to_spark(store, self.folder, place)

    def checkpoint(self, run: Generation) -> Path:
        """Where a run's checkpoint is."""
        return Path(run.place) / run.id if run.place else run.checkpoint(self.folder)

    def open(self, name: str) -> StateStore:
        """The state, as a run opens it whose checkpoints are to be at a place."""
        return open_state(state_in(self.folder), self.place(name), reached)

    def planned(self, run: Generation, number: int) -> None:
        """Spark notes a batch, and the driver begins it."""
        _write(self.checkpoint(run) / "offsets" / str(number), f"v1\n{{}}\n{json.dumps(_end(number))}")
        if run.place:
            show_begun(run.checkpoint(self.folder), number)

    def committed(self, run: Generation, number: int, *, shown: bool = True) -> None:
        """Spark notes that it is done, and the driver shows so."""
        _write(self.checkpoint(run) / "commits" / str(number), "v1\n{}")
        if run.place and shown:
            show_batch(run.checkpoint(self.folder), CommittedBatch(number, _end(number)))


def _end(number: int) -> Offset:
    return {"n": number}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def broken_off(folder: Path, name: str) -> tuple[Pipeline, Generation]:
    """A pipeline whose run was killed in its second batch, which has the number 1."""
    pipeline = Pipeline(folder)
    run = pipeline.begin(name)
    _write(pipeline.checkpoint(run) / "metadata", "q")
    pipeline.planned(run, 0)
    pipeline.committed(run, 0)
    pipeline.planned(run, 1)
    return pipeline, run


@pytest.mark.parametrize(("former", "new"), [("a", "b"), ("", "b"), ("a", "")])
def test_it_moves_with_a_batch_that_was_broken_off(tmp_path: Path, former: str, new: str) -> None:
    pipeline, run = broken_off(tmp_path, former)
    (pipeline.checkpoint(run) / "offsets" / ".2.tmp").touch()
    moved = pipeline.begin(new)
    assert (moved.id, moved.place) == (run.id, str(pipeline.place(new) or ""))
    checkpoint = pipeline.checkpoint(moved)
    assert (batch_in_hand(checkpoint), (checkpoint / "metadata").read_text()) == (1, "q")
    assert not (checkpoint / "offsets" / ".2.tmp").exists()
    assert offset_in(tmp_path) == _end(0)


@pytest.mark.parametrize(("former", "new"), [("a", "b"), ("", "b"), ("a", "")])
def test_one_whose_batches_are_done_is_begun_anew(tmp_path: Path, former: str, new: str) -> None:
    pipeline, run = broken_off(tmp_path, former)
    pipeline.committed(run, 1)
    begun = pipeline.begin(new)
    assert (begun.id != run.id, begun.start) == (True, _end(1))


def test_nor_does_it_move_where_the_offset_was_set_meanwhile(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    with closing(open_state(state_in(tmp_path))) as store:
        store.save_offset(_end(7))
    begun = pipeline.begin("b")
    assert (begun.id != run.id, begun.start) == (True, _end(7))


def test_a_command_in_between_changes_nothing(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    open_state(state_in(tmp_path)).close()
    assert pipeline.begin("b").id == run.id


def test_what_is_left_of_it_where_it_was_before_goes(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    moved = pipeline.begin("b")
    pipeline.committed(moved, 1)
    pipeline.planned(moved, 2)
    assert pipeline.begin("a").id == run.id
    assert batch_in_hand(pipeline.checkpoint(run)) == 2


def test_another_address_of_the_same_folder_keeps_it(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    assert pipeline.begin("link").id == run.id
    assert batch_in_hand(pipeline.checkpoint(run)) == 1


def test_a_batch_that_is_done_and_not_shown_yet_does_not_come_again(tmp_path: Path) -> None:
    """Killed between Spark's note and the driver's."""
    pipeline, run = broken_off(tmp_path, "a")
    pipeline.committed(run, 1, shown=False)
    with closing(pipeline.open("b")) as store:
        assert store.load_offset() == _end(1)


@pytest.mark.parametrize("new", ["a", "b", ""])
def test_nor_where_a_command_came_in_between(tmp_path: Path, new: str) -> None:
    """Commands do not reach the checkpoint, and find the offset of the batch before."""
    pipeline, run = broken_off(tmp_path, "a")
    pipeline.committed(run, 1, shown=False)
    for _ in range(2):
        with closing(open_state(state_in(tmp_path))) as store:
            assert store.load_offset() == _end(0)
    with closing(pipeline.open(new)) as store:
        assert store.load_offset() == _end(1)


def test_what_was_done_before_is_shown_from_then_on(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    pipeline.committed(run, 1, shown=False)
    assert pipeline.begin("a").id == run.id
    open_state(state_in(tmp_path)).close()
    assert offset_in(tmp_path) == _end(1)


@pytest.mark.parametrize("offset", [None, _end(0), _end(7)])
def test_an_offset_that_is_chosen_counts(tmp_path: Path, offset: Offset | None) -> None:
    """Also the one that the command has found."""
    pipeline, run = broken_off(tmp_path, "a")
    pipeline.committed(run, 1, shown=False)
    with closing(open_state(state_in(tmp_path))) as store:
        choose_offset(store, offset)
    begun = pipeline.begin("a")
    assert (begun.id != run.id, begun.start) == (True, offset)


def test_an_offset_that_the_other_runner_has_gone_on_to_counts(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    pipeline.committed(run, 1, shown=False)
    with closing(open_state(state_in(tmp_path))) as store:
        store.save_offset(_end(2))
    assert pipeline.begin("a").start == _end(2)


def test_one_that_is_gone_is_asked_for(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    (tmp_path / "a").rename(tmp_path / "b")
    with pytest.raises(StateError, match=f"checkpoint cannot be moved from {tmp_path}/a/.*it is gone") as refused:
        pipeline.open("c")
    assert refused.value.number == "CDC7111"
    assert pipeline.begin("b").id == run.id, "it was moved by hand"


def test_an_older_copy_of_one_that_is_gone_is_not_taken(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    pipeline.committed(run, 1)
    pipeline.planned(run, 2)
    shutil.rmtree(tmp_path / "a")
    with pytest.raises(StateError, match="it is gone"):
        pipeline.open("b")


def test_one_that_cannot_be_read_is_asked_for_where_it_may_have_a_batch(tmp_path: Path) -> None:
    pipeline, run = broken_off(tmp_path, "a")
    (tmp_path / "a").rename(tmp_path / "kept")
    (tmp_path / "a").touch()
    with pytest.raises(StateError, match="Not a directory") as refused:
        pipeline.open("b")
    mark = Path(str(refused.value).partition("remove ")[2].partition(":")[0])
    mark.unlink()  # as it says: the batch comes again
    begun = pipeline.begin("b")
    assert (begun.id != run.id, begun.start) == (True, _end(0))
