"""The ordered chain of transforms of a pipeline, each with the predicate that says which records it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from cdckit.api.plugins import make
from cdckit.api.record import Record
from cdckit.api.transform import Predicate, Transform
from cdckit.engine.blame import naming_the_plugin
from cdckit.engine.config.components import ComponentReader
from cdckit.engine.config.pipeline import Step
from cdckit.engine.config.steps import read_steps
from cdckit.engine.grouped import GroupedSteps, takes_groups
from cdckit.errors import ConfigError, TransformError

Options = Mapping[str, Any]


class StepError(TransformError):
    """A transform failed on a record.

    Args:
        step: what errors call the transform.
        message: what is said.
    """

    number = "CDC6101"

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


@dataclass(frozen=True, slots=True)
class LiveStep:
    """One transform of a chain.

    Attributes:
        name: what errors call it.
        transform: the transform itself.
        predicate: which records it is applied to; None: all of them.
        negate: apply it to the records that the predicate does not mean.
    """

    name: str
    transform: Transform
    predicate: Predicate | None = None
    negate: bool = False


class TransformChain:
    """Applies its steps in order; a record that a step does not see passes it unchanged.

    Attributes:
        steps: the transforms in their order.
        warnings: what the user should know about the options given.
        watch: shown what the chain has made, where anyone looks.
    """

    watch: Callable[[Sequence[Record]], None] | None = None

    def __init__(self, steps: Sequence[LiveStep], warnings: Sequence[str] = ()) -> None:
        self.steps = tuple(steps)
        self.warnings = tuple(warnings)
        parts = ((step.name, part) for step in self.steps for part in (step.predicate, step.transform) if part)
        self._stages = tuple(_stages(self.steps))
        self._seekers = tuple((name, part) for name, part in parts if part.sought() is not None)

    @property
    def concealing(self) -> str:
        """The last step that masks or takes away what nobody behind it is to see; "" where none does."""
        return next((step.name for step in reversed(self.steps) if step.transform.conceals), "")

    def up_to(self, name: str) -> TransformChain:
        """The steps up to the last one of that name, with it."""
        return TransformChain(self.steps[: self._behind(name)])

    def behind(self, name: str) -> TransformChain:
        """The steps behind the last one of that name.

        Raises:
            TransformError: there is none.
        """
        return TransformChain(self.steps[self._behind(name) :])

    def _behind(self, name: str) -> int:
        for at in range(len(self.steps), 0, -1):
            if self.steps[at - 1].name == name:
                return at
        raise TransformError(f"the chain has no transform '{name}', behind which the record was kept")

    @property
    def seeks(self) -> bool:
        """Whether a step looks for something among the topics' names."""
        return bool(self._seekers)

    def apply(self, records: Sequence[Record]) -> Sequence[Record]:
        """What the records become, in their order.

        Raises:
            TransformError: a transform failed; the message names it, the topic and the position.
        """
        for stage in self._stages:
            records = stage(records)
        if self.watch is not None:
            self.watch(records)
        return records

    def found(self) -> dict[str, bool]:
        """Whether what steps look for among the topics' names was found; those that have seen none are left out."""
        sought = ((name, part.sought()) for name, part in self._seekers)
        return {
            f"transform '{name}': {one.pattern}": one.found for name, one in sought if one and one.found is not None
        }

    def close(self) -> None:
        """Lets go of what the transforms hold."""
        for step in self.steps:
            step.transform.close()


def _stages(steps: Sequence[LiveStep]) -> Iterator[Callable[[Sequence[Record]], Sequence[Record]]]:
    """What records pass: steps in a row that take groups, and see all records, together; each other by itself."""
    for take_groups, found in groupby(steps, lambda step: step.predicate is None and takes_groups(step.transform)):
        some = list(found)
        if take_groups and len(some) > 1:
            yield GroupedSteps([step.transform for step in some], partial(_apply_in_turn, some))
        else:
            yield from (partial(_apply_to_all if step.predicate is None else _apply_to_some, step) for step in some)


def _apply_in_turn(steps: Sequence[LiveStep], records: Sequence[Record]) -> Sequence[Record]:
    for step in steps:
        records = _apply_to_all(step, records)
    return records


def _apply_to_all(step: LiveStep, records: Sequence[Record]) -> list[Record]:
    apply = step.transform.apply
    changed: list[Record] = []
    append = changed.append
    record = None
    try:
        for record in records:
            made = apply(record)
            if made.__class__ is Record:
                append(made)
            elif made is not None:
                changed.extend(_several(made))
    except Exception as error:
        raise _blame(step, record, error) from error
    return changed


def _apply_to_some(step: LiveStep, records: Sequence[Record]) -> list[Record]:
    assert step.predicate is not None
    apply, test, negate = step.transform.apply, step.predicate.test, step.negate
    changed: list[Record] = []
    record = None
    try:
        for record in records:
            if test(record) is negate:
                changed.append(record)
            elif (made := apply(record)) is not None:
                changed.extend(_several(made))
    except Exception as error:
        raise _blame(step, record, error) from error
    return changed


def _several(made: Record | Sequence[Record]) -> Sequence[Record]:
    return (made,) if isinstance(made, Record) else made


def _blame(step: LiveStep, record: Record | None, error: Exception) -> StepError:
    """The error of one record, told with the transform, the topic and the position."""
    assert record is not None
    fault = str(error) if isinstance(error, TransformError) else naming_the_plugin(error)
    return StepError(
        step.name,
        f"transform '{step.name}' failed on a record of topic {record.topic} "
        f"at position {record.position or 'unknown'}: {fault}",
    )


def build_chain(transforms: Sequence[Options], predicates: Mapping[str, Options]) -> TransformChain:
    """The chain that a pipeline file describes.

    Args:
        transforms: in order, each with its `type`, its options, and optionally `name`, `predicate` and `negate`.
        predicates: by name, each with its `type` and its options.

    Raises:
        ConfigError: with all that is wrong at once, each fault with its path, such as `transforms.0.topic.regex`.
    """
    reader = ComponentReader()
    steps = read_steps(transforms, predicates, reader)
    if reader.problems:
        raise ConfigError(*reader.problems)
    return make_chain(steps, reader.warnings)


def make_chain(steps: Sequence[Step], warnings: Sequence[str] = ()) -> TransformChain:
    """The chain of steps whose options are checked; a predicate that several steps name is made once.

    Raises:
        ConfigError: what a transform needs is not installed, or it refuses its options.
    """
    predicates: dict[int, Predicate] = {}
    live = []
    for step in steps:
        if step.predicate is not None and id(step.predicate) not in predicates:
            predicates[id(step.predicate)] = make(step.predicate.registration, step.predicate.config)
        transform = make(step.transform.registration, step.transform.config)
        live.append(LiveStep(step.name, transform, predicates.get(id(step.predicate)), step.negate))
    return TransformChain(live, warnings)
