"""Sessions that differ from the user's in some settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession


def with_settings(session: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session that has some settings besides the user's, who does not have these."""
    # A clone has what was set while the session ran, which a new one lacks: catalogs, and how stores are reached.
    own = type(session)(session.sparkContext, session._jsparkSession.cloneSession())
    for name, value in settings.items():
        own.conf.set(name, value)
    return own
