"""Whether Spark finds Java."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cdckit.api.checks import Finding
from cdckit.errors import ConfigError

_MISSING = (
    "runner: spark needs Java 17 or newer, and none was found: install it (Debian and Ubuntu: "
    "`apt-get install openjdk-17-jre-headless`) or set JAVA_HOME; `runner: direct` needs none"
)


def require_java() -> None:
    """Looks for `java` where Spark does.

    Raises:
        ConfigError: there is none.
    """
    if java_program() is None:
        raise ConfigError(_MISSING, number="CDC2304")


def java_program() -> Path | None:
    """The `java` that Spark starts; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else shutil.which("java")
    return Path(found) if found is not None and Path(found).exists() else None


def check_java() -> Iterator[Finding]:
    """Whether Spark can start at all."""
    try:
        require_java()
    except ConfigError as error:
        yield Finding("java", "fail", str(error), "other sinks need no Java on the direct runner", number="CDC2304")
    else:
        yield Finding("java", "ok", "Spark finds Java")
