"""Fixtures of the tests of `cdc diff`."""

from __future__ import annotations

from spark.conftest import session

__all__ = ["session"]
