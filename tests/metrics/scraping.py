"""Metrics as Prometheus gets them."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from cdckit.engine.metrics.status_file import read_status


@dataclass(frozen=True, slots=True)
class Scrape:
    """What one scrape gave: for each sample its name, its labels and its value."""

    samples: list[tuple[str, dict[str, str], float]]

    def value(self, name: str, /, **labels: str) -> float:
        """The value of the one sample with that name and these labels among its own."""
        (found,) = [value for _, value in self.of(name, **labels)]
        return found

    def of(self, name: str, /, **labels: str) -> list[tuple[dict[str, str], float]]:
        """The samples with that name and these labels among their own."""
        return [(own, value) for sample, own, value in self.samples if sample == name and labels.items() <= own.items()]

    def by(self, name: str, label: str) -> dict[str, float]:
        """The values of a metric by one of its labels."""
        return {labels[label]: value for labels, value in self.of(name)}


def scrape(url: str) -> Scrape:
    """Asks once."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return Scrape([(one.name, dict(one.labels), one.value) for family in families for one in family.samples])


def served_at(state: Path) -> str | None:
    """Where the pipeline with that state folder says that it serves its metrics; None while it does not."""
    status = read_status(state)
    if status is None or not status["alive"] or status["state"] not in ("starting", "running"):
        return None
    url: str | None = status["metrics"]
    return url


def holds(url: str, condition: Callable[[Scrape], bool]) -> Callable[[], bool]:
    """Whether a scrape meets the condition, asked anew each time."""
    return lambda: condition(scrape(url))
