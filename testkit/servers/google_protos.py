"""Google's common messages for Java, newer than the peer's, which Confluent's Protobuf converter needs."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars

_HOME = "CDCKIT_GOOGLE_PROTOS_HOME"
_VERSION = "2.22.1"
_ARTIFACTS = (f"com.google.api.grpc:proto-google-common-protos:{_VERSION}",)
NAME = "proto-google-common-protos"


@cache
def google_protos() -> Path:
    """Return the jar of ``$CDCKIT_GOOGLE_PROTOS_HOME``, or downloaded."""
    home = os.environ.get(_HOME)
    folder = cached(f"{NAME}-{_VERSION}", lambda new: fetch_jars(_ARTIFACTS, new))
    return next((Path(home) if home else folder).glob(f"{NAME}-*.jar"))
