"""The generator: the same history for the same seed, and every kind of step in few seeds."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from histories.generator import FAILOVERS, KINDS, history, with_failover, with_vacuum
from histories.series import SINKS
from histories.shrinking import shrunk
from histories.steps import CHECK, DELIVER, Step, read, written
from histories.switches import OFF, kinds_of

SEEDS = range(1, 201)
FEW_SEEDS = range(1, 41)


@pytest.mark.parametrize("seed", [1, 7, 4_000_000_000])
def test_a_seed_has_one_history(seed: int) -> None:
    assert history(seed) == history(seed)
    assert history(seed) != history(seed + 1)


def test_every_kind_of_step_comes() -> None:
    found = {step.kind for seed in SEEDS for step in history(seed)}
    assert found >= KINDS | {CHECK, DELIVER}


@pytest.mark.parametrize("sink", SINKS)
def test_what_is_switched_off_does_not_come(sink: str) -> None:
    assert OFF[sink].keys() <= KINDS, "a kind that there is not"
    for replicas in (False, True):
        kinds = kinds_of(sink, replicas=replicas)
        assert {step.kind for seed in SEEDS for step in history(seed, kinds)} & KINDS == kinds


@pytest.mark.parametrize("sink", SINKS)
def test_a_failover_comes_where_there_are_replicas(sink: str) -> None:
    for seed in FEW_SEEDS:
        steps = history(seed, kinds_of(sink, replicas=True), small=15)
        found = with_failover(seed, steps)
        assert [step for step in found if step.kind in FAILOVERS]
        assert found[:3] == steps[:3]
        assert found[-1] == Step(CHECK)
        assert found == with_failover(seed, steps)


@pytest.mark.parametrize("sink", SINKS)
def test_what_removes_older_versions_comes(sink: str) -> None:
    for seed in FEW_SEEDS:
        steps = history(seed, kinds_of(sink), small=15)
        found = with_vacuum(seed, steps)
        assert [step for step in found if step.kind == "vacuum"]
        assert [step for step in found if step in steps] == steps, "the other steps are those of the seed"
        assert found[:3] == steps[:3]
        assert found[-1] == Step(CHECK)
        assert found == with_vacuum(seed, steps)


def test_a_history_is_played_again_from_what_is_printed() -> None:
    for seed in FEW_SEEDS:
        assert read(written(history(seed))) == history(seed)


def test_a_history_ends_with_a_check_of_everything() -> None:
    assert all(history(seed)[-1] == Step(CHECK) for seed in FEW_SEEDS)


def test_a_shorter_history_that_fails_is_found() -> None:
    """Of a whole history only the steps are left that the failure needs, and of those the statements."""
    guilty = ("BEGIN", "INSERT INTO a VALUES (1)", "COMMIT")
    steps = history(3)
    middle = len(steps) // 2
    steps = [*steps[:middle], Step("transaction", guilty, parts=True), *steps[middle:]]
    played = []

    def fails(candidate: Sequence[Step]) -> str:
        played.append(len(candidate))
        told = [statement for step in candidate for statement in step.statements]
        return "step 1 (check): wrong" if guilty[1] in told and candidate[-1].kind == CHECK else ""

    found, said = shrunk(steps, f"step {len(steps)} (check): wrong", fails, 60)
    assert [step.kind for step in found] == ["set up", "transaction", CHECK]
    assert found[1].statements == ("BEGIN", guilty[1])
    assert said == "step 1 (check): wrong"
    assert len(played) < 2 * len(steps) + 20
