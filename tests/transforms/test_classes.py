"""Every transform and predicate in the jars of Debezium and Kafka Connect is known here, or the docs say why not."""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import ZipFile

import pytest

from cdckit.api.plugins import Kind, find
from cdckit.errors import ConfigError
from transforms.jvm import libraries

PAGE = Path(__file__).parent.parent.parent / "docs" / "transforms.md"
IN_A_JAR_OF_THEIR_OWN = {"io.debezium.transforms.Filter", "io.debezium.transforms.ContentBasedRouter"}
"""They need a language for scripts beside, and the peer's wheel does not bring them."""
SERVICES = "META-INF/services/org.apache.kafka.connect.transforms."


def _classes(kind: str) -> set[str]:
    """Those that Connect finds."""
    found: set[str] = set()
    for jar in libraries():
        with ZipFile(jar) as archive:
            if f"{SERVICES}{kind}" in archive.namelist():
                lines = archive.read(f"{SERVICES}{kind}").decode().splitlines()
                found.update(line.strip() for line in lines if re.match(r"\s*\w", line))
    return found


def _told_to_be_missing() -> set[str]:
    section = PAGE.read_text().partition("## What there is not")[2].partition("\n## ")[0]
    return set(re.findall(r"`((?:io|org)\.[\w.$]+)`", section))


def _known(kind: Kind, name: str) -> bool:
    try:
        find(kind, name)
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize(
    ("kind", "service", "least"), [("transform", "Transformation", 30), ("predicate", "predicates.Predicate", 3)]
)
def test_each_class_is_known_or_told_to_be_missing(kind: Kind, service: str, least: int) -> None:
    classes = _classes(service)
    assert len(classes) >= least
    unknown = {name for name in classes if not _known(kind, name)}
    assert unknown <= _told_to_be_missing(), "build it, or say in docs/transforms.md why it is not there"


def test_nothing_is_told_to_be_missing_that_is_there() -> None:
    missing = _told_to_be_missing()
    assert missing <= _classes("Transformation") | IN_A_JAR_OF_THEIR_OWN
    assert not {name for name in missing if _known("transform", name)}
