"""What `--on-spark` is refused for; what it does is shown with Spark (`tests/spark/test_proof_by_spark.py`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cdckit.engine.config.loading import load_pipeline
from cdckit.engine.proof.proving import Proof, Wishes
from cdckit.errors import ConfigError
from testkit.running import Pipeline

SOURCE = {
    "type": "mysql", "topic.prefix": "p", "database.hostname": "127.0.0.1", "database.user": "u",
    "database.password": "w",
}  # fmt: skip


@pytest.mark.parametrize(
    ("runner", "sink", "why"),
    [
        ("direct", {"type": "delta"}, "needs 'runner: spark'"),
        ("spark", {"type": "delta"}, "what the sink 'delta' has written is read by one process"),
        ("spark", {"type": "file"}, "what the sink 'file' has written is read by one process"),
        ("spark", {"type": "spark", "document.columns": "inferred"}, "columns that are 'inferred' from documents"),
    ],
)
def test_it_is_refused(tmp_path: Path, runner: str, sink: dict[str, Any], why: str) -> None:
    pipeline = Pipeline(tmp_path, SOURCE, {**sink, "path": str(tmp_path / "out")}, {"runner": runner})
    proof = Proof(load_pipeline(pipeline.written()), Wishes(spark="always"), lambda: False)
    with pytest.raises(ConfigError, match=why):
        proof.tables()
