"""The Spark session, for pipelines of both runners."""

from __future__ import annotations

from spark.conftest import session

__all__ = ["session"]
