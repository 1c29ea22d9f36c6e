"""`docs/metrics.md` tells of every metric, and of no other."""

from __future__ import annotations

import re
from pathlib import Path

from cdckit.engine.metrics.collector import METRICS

TEXT = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text(encoding="utf-8")


def test_every_metric_is_told_of() -> None:
    names = [metric.shown_name for metric in METRICS]
    assert len(names) == len(set(names))
    assert [name for name in names if f"`{name}`" not in TEXT and f"`{name}{{" not in TEXT] == []


def test_no_other_metric_is_told_of() -> None:
    told = set(re.findall(r"`(cdckit_[a-z_]+)[`{]", TEXT))
    assert told - {metric.shown_name for metric in METRICS} == set()
