"""What one metric is: its name, what it means, and where its samples come from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from cdckit.engine.metrics.figures import Figures

Kind = Literal["counter", "gauge", "info"]
Labels = Mapping[str, str]
Sample = tuple[Labels, float]

NO_LABELS: Labels = {}
_LONGEST = 1000
"""How many characters of a text are shown: a statement may have any length."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of a pipeline.

    Attributes:
        name: by Prometheus' rules; of a counter without `_total`, of an info without `_info`.
        kind: how it behaves.
        about: what it tells, in a sentence.
        samples: its samples now; none where nothing is known.
        labels: the labels that its samples have beside the pipeline's; those of an info depend on what is known.
    """

    name: str
    kind: Kind
    about: str
    samples: Callable[[Figures], Iterable[Sample]]
    labels: tuple[str, ...] = ()

    @property
    def shown_name(self) -> str:
        """The name as Prometheus shows it."""
        return f"{self.name}_{'total' if self.kind == 'counter' else 'info'}" if self.kind != "gauge" else self.name


def counter(name: str, about: str, value: Callable[[Figures], float]) -> Metric:
    """A number that only grows while the pipeline runs."""
    return Metric(name, "counter", about, lambda figures: [(NO_LABELS, value(figures))])


def counters(name: str, about: str, label: str, values: Callable[[Figures], Mapping[str, float]]) -> Metric:
    """Such a number for each value of a label."""
    return Metric(name, "counter", about, lambda figures: _each(label, values(figures)), (label,))


def gauge(name: str, about: str, value: Callable[[Figures], float | None]) -> Metric:
    """A number that goes up and down, left out while it is not known."""

    def samples(figures: Figures) -> Iterator[Sample]:
        found = value(figures)
        if found is not None:
            yield NO_LABELS, float(found)

    return Metric(name, "gauge", about, samples)


def gauges(name: str, about: str, label: str, values: Callable[[Figures], Mapping[str, float]]) -> Metric:
    """Such a number for each value of a label."""
    return Metric(name, "gauge", about, lambda figures: _each(label, values(figures)), (label,))


def info(name: str, about: str, values: Callable[[Figures], Iterable[Mapping[str, Any]]]) -> Metric:
    """Texts as labels, with the value 1; nothing where there is no text."""

    def samples(figures: Figures) -> Iterator[Sample]:
        for texts in values(figures):
            shown = {label_name(name): _text(value) for name, value in texts.items() if value is not None}
            if shown:
                yield shown, 1.0

    return Metric(name, "info", about, samples)


def _each(label: str, values: Mapping[str, float]) -> list[Sample]:
    return [({label: name}, float(value)) for name, value in list(values.items())]


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def label_name(name: str) -> str:
    """A name as Prometheus allows one for a label."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{made}" if made[:1].isdigit() or not made else made
