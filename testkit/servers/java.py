"""Java, for Kafka and Spark, and the jars that Maven brings."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from testkit.servers.apt import ensure_program, install
from testkit.servers.cache import exclusive
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.process import run

_OLDEST = 17
_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")
_POM = """\
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>cdckit</groupId>
  <artifactId>jars</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
_DEPENDENCY = "    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>{}</dependency>"
_CLASSIFIER = "<classifier>{}</classifier>"
_FAST_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_ALONE = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"


@cache
def ensure_java() -> Path:
    """Return the ``java`` of ``$JAVA_HOME`` or PATH when it is 17 or newer, else install one.

    Raises:
        ServerUnavailableError: there is none and it cannot be installed here.
    """
    if found := _found():
        return found
    install(f"Java {_OLDEST}", _PACKAGES, lambda: _found() is not None)
    if found := _found():
        return found
    raise ServerUnavailableError(f"Java {_OLDEST} is installed, but `java` is an older one: set JAVA_HOME")


def _found() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    for java in (home and f"{home}/bin/java", shutil.which("java")):
        if java and Path(java).exists() and java_version(Path(java)) >= _OLDEST:
            return Path(java)
    return None


def java_version(java: Path) -> int:
    """Return the feature release of a Java runtime, such as 17; 1 for anything before 9."""
    found = re.search(r'version "(\d+)', run([java, "-version"]))
    return int(found.group(1)) if found else 0


def fetch_jars(artifacts: Iterable[str], folder: Path, *, alone: bool = False) -> None:
    """Copy ``artifacts`` (``group:artifact:version[:classifier]``) of Maven Central and what they need into ``folder``.

    Args:
        artifacts: what is copied.
        folder: is there already.
        alone: whether what they need is left out.

    Raises:
        ServerUnavailableError: Maven is missing and cannot be installed here.
    """
    pom = folder / "pom.xml"
    dependencies = "\n".join(_dependency(artifact, _ALONE if alone else "") for artifact in artifacts)
    pom.write_text(_POM.format(dependencies=dependencies))
    options = ["-DincludeScope=runtime", f"-DoutputDirectory={folder}"]
    _run_maven("--file", str(pom), "dependency:copy-dependencies", *options)
    pom.unlink()


def _run_maven(*words: str) -> None:
    ensure_java()
    maven = ensure_program("mvn", "maven")
    with exclusive("maven"):  # two that fetch the same jar may leave a torn one in the folder that they share
        options = f"{_FAST_START} {os.environ.get('MAVEN_OPTS', '')}"
        run([maven, "--batch-mode", "--quiet", *words], env={"MAVEN_OPTS": options})


def _dependency(artifact: str, others: str) -> str:
    group, name, version, *classifier = artifact.split(":")
    return _DEPENDENCY.format(group, name, version, "".join(map(_CLASSIFIER.format, classifier)) + others)


def fetch_archive(artifact: str, folder: Path) -> None:
    """Unpack an archive of Maven Central (``group:artifact:version:tar.gz:classifier``) into ``folder``.

    Raises:
        ServerUnavailableError: Maven is missing and cannot be installed here, or Central has no such archive.
    """
    _run_maven("dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={folder}")
    (archive,) = folder.glob("*.tar.gz")
    run(["tar", "-xzf", archive, "--directory", folder, "--no-same-owner"])
    archive.unlink()
