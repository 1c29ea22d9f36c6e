"""The files of `deploy/`, and the pipelines that stand in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.config.pipeline import ResolvedPipeline

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SECRETS = "/etc/cdckit/secrets"


def documents(text: str) -> list[dict[str, Any]]:
    """The documents of a YAML text, but for empty ones."""
    return [document for document in yaml.safe_load_all(text) if document]


def loaded(text: str, folder: Path) -> ResolvedPipeline:
    """The pipeline in a text, with each secret that it reads out of a file there."""
    secrets = folder / "secrets"
    secrets.mkdir(exist_ok=True)
    for name in ("mysql-user", "mysql-password", "state-password"):
        (secrets / name).write_text(f"the-{name}")
    file = folder / "pipeline.yaml"
    file.write_text(text.replace(SECRETS, str(secrets)))
    return load_pipeline(file, environment={"MYSQL_PASSWORD": "trial"})


def pipelines(manifests: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The name and the text of each pipeline file in config maps."""
    for manifest in manifests:
        if manifest["kind"] == "ConfigMap":
            yield manifest["metadata"]["name"], manifest["data"]["pipeline.yaml"]


def container(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one container of a StatefulSet."""
    (found,) = manifest["spec"]["template"]["spec"]["containers"]
    return dict(found)
