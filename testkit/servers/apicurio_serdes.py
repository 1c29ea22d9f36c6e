"""Apicurio's own converter for Kafka Connect, out of Maven Central."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from testkit.servers.cache import cached
from testkit.servers.java import fetch_jars

_HOME = "CDCKIT_APICURIO_CONVERTER_HOME"
_VERSION = "2.6.13.Final"
_ARTIFACTS = (f"io.apicurio:apicurio-registry-utils-converter:{_VERSION}", "org.slf4j:slf4j-nop:1.7.36")


@cache
def apicurio_jars() -> list[Path]:
    """Return the converter's jars and those that it needs, of ``$CDCKIT_APICURIO_CONVERTER_HOME`` or downloaded."""
    home = os.environ.get(_HOME)
    folder = cached(f"apicurio-converter-{_VERSION}", lambda new: fetch_jars(_ARTIFACTS, new))
    return sorted((Path(home) if home else folder).glob("*.jar"))
