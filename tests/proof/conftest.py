"""What these tests forge, the proof is to find: it is asked by them, and not at their end."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Says so of each."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.unequal("the test asks for proofs itself", always=False))
