"""Delta Lake's jars, fetched once by Spark itself, before tests that run side by side would all do so."""

from __future__ import annotations

from cdckit.engine.spark.delta import delta_settings
from cdckit.engine.spark.session import start_session


def ensure_delta() -> None:
    """Starts a session that fetches the jars, where they are not there yet."""
    if "spark.jars.packages" in delta_settings({}):
        start_session("jars", {"spark.master": "local[1]"}, delta=True).stop()
