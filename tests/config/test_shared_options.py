"""An option that means the same for two sources of databases is declared once, in the kit for connectors."""

from __future__ import annotations

from inspect import get_annotations
from itertools import combinations

import pytest

from cdckit import PluginConfig
from cdckit_mongodb.config import MongoDbConfig
from cdckit_mysql.config import MySqlConfig

SOURCES: list[type[PluginConfig]] = [MySqlConfig, MongoDbConfig]


def declaring(model: type[PluginConfig], field: str) -> type:
    return next(base for base in model.__mro__ if field in get_annotations(base))


def alike(one: type[PluginConfig], other: type[PluginConfig]) -> list[str]:
    """The fields that both declare by themselves, with the same type and default."""
    found = []
    for name in set(one.model_fields) & set(other.model_fields):
        first, second = one.model_fields[name], other.model_fields[name]
        same = all(
            repr(getattr(first, part)) == repr(getattr(second, part)) for part in ("annotation", "metadata", "default")
        )
        if same and declaring(one, name) is not declaring(other, name):
            found.append(name)
    return sorted(found)


@pytest.mark.parametrize(("one", "other"), [*combinations(SOURCES, 2)])
def test_no_option_is_declared_twice(one: type[PluginConfig], other: type[PluginConfig]) -> None:
    assert len(set(one.model_fields) & set(other.model_fields)) > 50
    assert alike(one, other) == []


def test_a_second_declaration_is_found() -> None:
    class Other(PluginConfig):
        heartbeat_interval_ms: int = 0
        tombstones_on_delete: bool = True

    assert alike(MySqlConfig, Other) == ["tombstones_on_delete"]
