"""The option `custom.metric.tags`: labels of the user's own on every metric."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated

from cdckit.api.source_config import SourceConfig
from cdckit.connector.options.pairs import PairsText, checked_by, parse_pairs

_NAME = re.compile(r"(?!__)[A-Za-z_][A-Za-z0-9_]*")
RESERVED = frozenset({"pipeline", "server", "data_collection", "operation", "error", "status"})
"""Labels that the metrics have already."""


def parse_tags(text: str) -> dict[str, str]:
    """`k1=v1,k2=v2` as labels.

    Raises:
        ValueError: an item is no `name=value`, or its name cannot be a label.
    """
    return parse_pairs(text, _check_label)


def _check_label(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"'{name}' cannot be a label: letters, digits and '_', not a digit first")
    if name in RESERVED:
        raise ValueError(f"the metrics have a label '{name}' already; choose another name")


class MetricTags(SourceConfig):
    """What the options of a source say about its metrics."""

    custom_metric_tags: Annotated[PairsText, checked_by(parse_tags)] = ""
    """Labels for every metric: `name=value` items with commas between."""

    @property
    def metric_labels(self) -> Mapping[str, str]:
        """These."""
        return parse_tags(self.custom_metric_tags)
