"""A pipeline that need not run all day: each hour what has changed, then whether all is well.

A pipeline that follows the log without a pause is no task of Airflow's: run it as a service (`deploy/systemd`,
`deploy/helm`) and let Airflow look at it, as the second task does.
"""

from __future__ import annotations

import pendulum
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Param

DELIVER = "cdc run {{ params.pipeline }} --once"
LOOK = "cdc status {{ params.pipeline }}"

with DAG(
    dag_id="cdckit_shop",
    schedule="@hourly",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,  # a state belongs to one process at a time
    params={"pipeline": Param("/etc/cdckit/shop.yaml", type="string")},
    tags=["cdc"],
) as dag:
    deliver = BashOperator(task_id="deliver", bash_command=DELIVER, append_env=True, retries=3)
    look = BashOperator(task_id="look", bash_command=LOOK, append_env=True, trigger_rule="all_done")
    deliver >> look
