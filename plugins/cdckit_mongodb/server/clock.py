"""How far the clock of the primary and the one here are apart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC

from cdckit import Finding
from cdckit_mongodb.server.connection import Client

SKEW_SECONDS = 2.0
"""Clocks that differ by less are taken for equal."""


def clock_finding(client: Client) -> Iterator[Finding]:
    """Nothing while they agree, beyond what the question itself took.

    Raises:
        PyMongoError: the server does not answer.
    """
    asked = time.time()
    theirs = client.admin.command("hello")["localTime"].replace(tzinfo=UTC).timestamp()
    answered = time.time()
    ahead = theirs - (asked + answered) / 2
    if abs(ahead) - (answered - asked) / 2 > SKEW_SECONDS:
        said = f"the server's clock is {abs(ahead):,.1f} s {'ahead of' if ahead > 0 else 'behind'} the one here"
        yield Finding("clock", "warn", said, "have both follow the same time servers (NTP)", "CDC1218")
