"""The manifests and the chart: valid by Kubernetes' own schemas, and the pipelines in them by cdckit."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from deploy.files import DEPLOY, container, documents, loaded, pipelines
from testkit.servers.linters import KUBERNETES, helm, kubernetes_schemas

KINDS = {
    "ConfigMap": "configmap-v1",
    "Secret": "secret-v1",
    "Service": "service-v1",
    "StatefulSet": "statefulset-apps-v1",
    "PodDisruptionBudget": "poddisruptionbudget-policy-v1",
}
OF_OPERATORS = {"SparkApplication", "ServiceMonitor"}
"""Kinds whose schemas come with an operator."""
CHART = DEPLOY / "helm" / "cdckit"


def faults(manifest: Mapping[str, Any]) -> list[str]:
    """What is wrong with a manifest; unknown members are."""
    folder = kubernetes_schemas(tuple(KINDS.values()))
    schema = json.loads((folder / f"{KINDS[manifest['kind']]}.json").read_text())
    shared = Resource.from_contents(json.loads((folder / "_definitions.json").read_text()), DRAFT7)
    registry: Registry[Any] = Registry().with_resource("_definitions.json", shared)
    return [
        f"{error.json_path}: {error.message}"
        for error in Draft7Validator(schema, registry=registry).iter_errors(manifest)
    ]


def manifests() -> list[dict[str, Any]]:
    """Those of `deploy/kubernetes` that its kustomization names."""
    folder = DEPLOY / "kubernetes"
    [kustomization] = documents((folder / "kustomization.yaml").read_text())
    return [one for name in kustomization["resources"] for one in documents((folder / name).read_text())]


def test_each_manifest_is_valid() -> None:
    found = manifests()
    assert {one["kind"] for one in found} == set(KINDS)
    assert {one["metadata"]["name"]: faults(one) for one in found if faults(one)} == {}


def test_a_fault_would_be_found() -> None:
    [broken] = [one for one in manifests() if one["kind"] == "StatefulSet"]
    container(broken)["livenessProbe"]["httpGet"]["route"] = "/"
    broken["spec"]["replicas"] = "one"
    assert len(faults(broken)) >= 2


def test_manifests_fit_together() -> None:
    by_kind = {one["kind"]: one for one in manifests()}
    stateful = by_kind["StatefulSet"]
    volumes = {one["name"]: one for one in stateful["spec"]["template"]["spec"]["volumes"]}
    assert volumes["pipeline"]["configMap"]["name"] == by_kind["ConfigMap"]["metadata"]["name"]
    assert volumes["secrets"]["secret"]["secretName"] == by_kind["Secret"]["metadata"]["name"]
    labels = stateful["spec"]["template"]["metadata"]["labels"]
    for selector in (
        by_kind["Service"]["spec"]["selector"],
        by_kind["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
    ):
        assert selector.items() <= labels.items()
    mounts = {one["name"]: one["mountPath"] for one in container(stateful)["volumeMounts"]}
    assert mounts["state"] == "/var/lib/cdckit"
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    assert f"USER {stateful['spec']['template']['spec']['securityContext']['runAsUser']}:" in text


@pytest.mark.parametrize("file", ["config.yaml", "spark-application.yaml"])
def test_the_pipelines_in_them(file: str, tmp_path: Path) -> None:
    found = documents((DEPLOY / "kubernetes" / file).read_text())
    for name, text in pipelines(found):
        pipeline = loaded(text, tmp_path)
        assert name == f"cdckit-{pipeline.name}"
        assert pipeline.metrics is not None
        assert pipeline.metrics.address.port == 9400
        assert pipeline.source.config.model_dump()["database_password"].get_secret_value() == "the-mysql-password"
    [secret] = [one for one in manifests() if one["kind"] == "Secret"]
    assert {"mysql-user", "mysql-password"} == set(secret["stringData"])


def test_spark_by_its_operator() -> None:
    application, config = documents((DEPLOY / "kubernetes" / "spark-application.yaml").read_text())
    spec = application["spec"]
    assert (application["apiVersion"], application["kind"]) == ("spark.apache.org/v1", "SparkApplication")
    [volume] = spec["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == config["metadata"]["name"]
    assert all(isinstance(value, str) for value in spec["sparkConf"].values())
    assert "/opt/cdckit/bin/cdc.py" in (DEPLOY / "docker" / "Dockerfile.spark").read_text()


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Path:
    found = helm(build=bool(request.config.getoption("--nightly")))
    if found is None:
        pytest.skip("helm is not here; the nightly run builds it")
    return found


def rendered(program: Path, *arguments: str) -> list[dict[str, Any]]:
    command: list[str | Path] = [program, "template", "my", CHART, "--kube-version", f"{KUBERNETES}.0", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return documents(done.stdout)


@pytest.fixture
def example(program: Path) -> Iterator[list[dict[str, Any]]]:
    yield rendered(program, "--values", str(CHART / "ci" / "example-values.yaml"))


def test_the_chart_has_no_fault(program: Path) -> None:
    for values in ([], ["--values", str(CHART / "ci" / "example-values.yaml")]):
        done = subprocess.run(
            [program, "lint", "--strict", CHART, *values], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
    assert rendered(program) == []


def test_what_the_chart_makes(example: list[dict[str, Any]], tmp_path: Path) -> None:
    assert {one["kind"] for one in example} == (set(KINDS) - {"Secret"}) | OF_OPERATORS
    checked = [one for one in example if one["kind"] not in OF_OPERATORS]
    assert {one["metadata"]["name"]: faults(one) for one in checked if faults(one)} == {}
    names = {name: loaded(text, tmp_path).name for name, text in pipelines(example)}
    assert names == {"my-shop": "shop", "my-stock": "stock", "my-lake": "lake"}
    [shop, stock] = [one for one in example if one["kind"] == "StatefulSet"]
    assert container(stock)["resources"] == {"limits": {"memory": "1Gi"}}
    assert shop["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"] == "5Gi"
    [budget] = [one for one in example if one["kind"] == "PodDisruptionBudget"]
    for one in (shop, stock):
        labels = one["spec"]["template"]["metadata"]["labels"]
        assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert one["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("pipelines.shop.fil=x", "fil"),
        ("pipelines.Shop.file=x", "Shop"),
        ("metrics.port=0", "port"),
        ("replicas=2", "replicas"),
    ],
)
def test_values_that_are_none_are_refused(program: Path, setting: str, said: str) -> None:
    command: list[str | Path] = [
        program,
        "template",
        "my",
        CHART,
        "--kube-version",
        f"{KUBERNETES}.0",
        "--set",
        setting,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr
