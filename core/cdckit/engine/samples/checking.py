"""A chain held to its cases."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import zip_longest

from cdckit.engine.chain import make_chain
from cdckit.engine.config.pipeline import Step
from cdckit.engine.samples.cases import Case
from cdckit.engine.samples.differences import Difference, differences, parts_of
from cdckit.engine.samples.lines import Document, SampleLines
from cdckit.errors import TransformError


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a case went.

    Attributes:
        case: the case.
        fault: what is wrong, in a sentence; "" where the diffs say it, or nothing is.
        diffs: by the number of the record that came out, counted from 1, how it differs from what was expected.
    """

    case: Case
    fault: str = ""
    diffs: dict[int, Sequence[Difference]] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Whether something is not as it was expected."""
        return bool(self.fault or self.diffs)


def outcome(steps: Sequence[Step], case: Case) -> Outcome:
    """What a chain, made anew, does to the records of a case, held to what is expected.

    Raises:
        ConfigError: what a transform needs is not installed.
    """
    with closing(make_chain(steps)) as chain:
        try:
            records = chain.apply(case.given)
            lines = SampleLines()
            made = [lines.document(record) for record in records]
        except TransformError as error:
            return _failed(case, str(error))
    if case.expected is None:
        return Outcome(case, f"no error: it became {len(made)} records")
    pairs = enumerate(zip_longest(case.expected, made), 1)
    diffs = {number: found for number, (wanted, got) in pairs if (found := _compared(wanted, got))}
    fault = "" if len(made) == len(case.expected) else f"{len(made)} records instead of {len(case.expected)}"
    return Outcome(case, fault, diffs)


def _failed(case: Case, message: str) -> Outcome:
    if case.error is None:
        return Outcome(case, message)
    return Outcome(case, "" if case.error in message else f"another error than '{case.error}': {message}")


def _compared(wanted: Document | None, got: Document | None) -> Sequence[Difference]:
    """How the parts that are expected differ; a record that is missing or too much differs by all of them."""
    if wanted is None:
        return [Difference("+", f"{path}: {text}") for path, text in parts_of(got or {}).items()]
    if got is None:
        return [Difference("-", f"{path}: {text}") for path, text in parts_of(wanted).items()]
    return differences(wanted, {name: got[name] for name in wanted})
