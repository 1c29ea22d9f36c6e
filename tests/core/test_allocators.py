"""What Arrow and delta-rs are told of memory before they are loaded, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from cdckit.tables.allocators import ARROW, DELTA_RS

VARIABLES = (ARROW[0], DELTA_RS[0])
DELTA = "from cdckit_delta import config, sink; sink.DeltaSink(config.DeltaConfig(path='x')).images()"
TELLS = f"""
import os, sys
from cdckit.tables import allocators
allocators.DELTA_RS = (allocators.DELTA_RS[0], allocators.DELTA_RS[1] + ",stats_print:true")
exec(sys.argv[1])
import pyarrow
print(pyarrow.default_memory_pool().backend_name, [name for name in {VARIABLES} if name in os.environ])
"""
"""Says what Arrow does, and what is left in the environment; jemalloc says at the end what it was told."""


def told(loads: str = DELTA, **variables: str) -> str:
    environment = {name: text for name, text in os.environ.items() if name not in VARIABLES} | variables
    done = subprocess.run(
        [sys.executable, "-c", TELLS, loads], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout + done.stderr


def test_they_are_told_to_give_back_what_they_free() -> None:
    said = told()
    assert "system []" in said
    assert "opt.narenas: 1\n" in said
    assert "opt.dirty_decay_ms: 1000 (" in said


@pytest.mark.parametrize("module", ["cdckit_iceberg.sink", "cdckit_spark.sink"])
def test_so_is_arrow_where_others_load_it(module: str) -> None:
    assert "system []" in told(f"import {module}")


@pytest.mark.parametrize("pool", ["mimalloc", "jemalloc"])
def test_what_the_user_says_stands(pool: str) -> None:
    said = told(**{ARROW[0]: pool, DELTA_RS[0]: "narenas:3,stats_print:true"})
    assert f"{pool} {list(VARIABLES)}" in said
    assert "opt.narenas: 3\n" in said
