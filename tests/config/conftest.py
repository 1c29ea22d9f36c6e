"""The scripted plugin beside those that are installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cdckit.api.plugins import plugin_manager
from testkit.scripted import plugin


@pytest.fixture(autouse=True)
def scripted() -> Iterator[None]:
    plugin_manager().register(plugin, name="scripted")
    yield
    plugin_manager().unregister(plugin)
