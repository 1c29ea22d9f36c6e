"""The examples for Airflow, Databricks and EMR: read by those whose they are, and what they call is there."""

from __future__ import annotations

import ast
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest

from cdckit.cli.main import cdc
from deploy.files import DEPLOY, ROOT
from testkit.servers.downstream import airflow, databricks

DAG = DEPLOY / "airflow" / "cdckit_dag.py"
JOB = DEPLOY / "databricks" / "job.json"
JOB_RUN = DEPLOY / "emr" / "job-run.json"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def takes(words: list[str]) -> None:
    """`cdc` knows the command, and takes the words."""
    command = cdc.get_command(click.Context(cdc), words[0])
    assert command is not None, words
    command.make_parser(click.Context(command)).parse_args(args=words[1:])


def test_a_command_that_there_is_not_would_be_found() -> None:
    with pytest.raises(click.NoSuchOption):
        takes(["run", "pipeline.yaml", "--onec"])
    with pytest.raises(AssertionError):
        takes(["runs", "pipeline.yaml"])


def test_airflows_tasks_call_commands_that_there_are() -> None:
    found = [node for node in ast.walk(ast.parse(DAG.read_text())) if isinstance(node, ast.Assign)]
    commands = {
        ast.unparse(node.targets[0]): ast.literal_eval(node.value)
        for node in found
        if isinstance(node.value, ast.Constant)
    }
    assert set(commands) == {"DELIVER", "LOOK"}
    for command in commands.values():
        program, *words = shlex.split(command.replace("{{ params.pipeline }}", "pipeline.yaml"))
        assert program == "cdc"
        takes(words)


_READ_DAG = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("cdckit_dag", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
dag = module.dag
tasks = {
    task.task_id: [task.bash_command, task.trigger_rule, task.retries, sorted(task.downstream_task_ids)]
    for task in dag.tasks
}
print(json.dumps([dag.dag_id, dag.max_active_runs, dag.catchup, tasks]))
"""


@pytest.mark.nightly
def test_airflow_reads_the_dag(tmp_path: Path) -> None:
    environment = {"AIRFLOW_HOME": str(tmp_path), "PATH": "/usr/bin:/bin", "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
    done = subprocess.run(
        [airflow() / "python", "-c", _READ_DAG, DAG], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    name, most, catchup, tasks = json.loads(done.stdout.splitlines()[-1])
    assert (name, most, catchup) == ("cdckit_shop", 1, False)
    assert tasks["deliver"] == ["cdc run {{ params.pipeline }} --once", "all_success", 3, ["look"]]
    assert tasks["look"] == ["cdc status {{ params.pipeline }}", "all_done", 0, []]


_READ_JOB = """
import json, sys
from databricks.sdk.service.jobs import JobSettings
print(json.dumps(JobSettings.from_dict(json.loads(sys.stdin.read())).as_dict()))
"""


def as_databricks_reads(job: Any) -> Any:
    """What Databricks' library makes of a job: it leaves out what it does not know."""
    command = [str(databricks() / "python"), "-c", _READ_JOB]
    done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.nightly
def test_databricks_knows_all_of_the_job() -> None:
    job = json.loads(JOB.read_text())
    assert as_databricks_reads(job) == job
    wrong = json.loads(JOB.read_text().replace('"python_wheel_task"', '"python_weel_task"'))
    assert as_databricks_reads(wrong) != wrong


def test_the_databricks_job_installs_what_the_project_needs() -> None:
    (task,) = json.loads(JOB.read_text())["tasks"]
    wheel = task["python_wheel_task"]
    assert (wheel["package_name"], wheel["entry_point"] in PROJECT["scripts"]) == (PROJECT["name"], True)
    takes(wheel["parameters"])
    whl = next(library["whl"] for library in task["libraries"] if "whl" in library)
    assert Path(whl).name == f"{PROJECT['name']}-{PROJECT['version']}-py3-none-any.whl"
    packages = {library["pypi"]["package"] for library in task["libraries"] if "pypi" in library}
    assert packages == set(PROJECT["optional-dependencies"]["mysql"])


def faults(request: dict[str, Any]) -> str:
    """What AWS's own model of the call says of a request."""
    from botocore.loaders import Loader
    from botocore.model import ServiceModel
    from botocore.validate import ParamValidator

    model = ServiceModel(Loader().load_service_model("emr-serverless", "service-2"))
    shape = model.operation_model("StartJobRun").input_shape
    # The client gives each call its token.
    report = ParamValidator().validate({"clientToken": "given by the client", **request}, shape)
    return str(report.generate_report())


def test_emr_takes_the_job() -> None:
    request = json.loads(JOB_RUN.read_text())
    assert faults(request) == ""
    assert "entryPont" in faults({**request, "jobDriver": {"sparkSubmit": {"entryPont": "s3://x"}}})
    modes = _emr_modes()
    assert request["mode"] in modes
    submit = request["jobDriver"]["sparkSubmit"]
    takes(submit["entryPointArguments"])
    words = shlex.split(submit["sparkSubmitParameters"])
    assert {word for word in words if word.startswith("--")} == {"--files", "--archives", "--packages", "--conf"}
    version = next(one for one in PROJECT["optional-dependencies"]["spark"] if one.startswith("delta-spark"))
    package = words[words.index("--packages") + 1]
    assert re.fullmatch(rf"io\.delta:delta-spark_[\d.]+_2\.13:{re.escape(version.partition('==')[2])}", package)
    assert Path(words[words.index("--files") + 1]).name in submit["entryPointArguments"]


def _emr_modes() -> list[str]:
    from botocore.loaders import Loader
    from botocore.model import ServiceModel

    model = ServiceModel(Loader().load_service_model("emr-serverless", "service-2"))
    modes: list[str] = model.shape_for("JobRunMode").enum
    return modes


def test_emrs_entry_point_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, DEPLOY / "emr" / "cdc.py", "--version"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0
    assert PROJECT["version"] in done.stdout
