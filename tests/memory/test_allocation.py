"""What a process lets go of goes back to the system, also from between small objects."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
from pathlib import Path
import re
{set}
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024
def large(size):
    return bytes(bytearray(b"x" * size))
before = resident()
block = large(8_000_000)
del block
rows, kept = [], []
for number in range(40):
    rows.append(large(1_000_000))
    kept.append(bytes(10_000))
rows.clear()
print(resident() - before)
"""
SET = "from cdckit.engine.runners.allocation import return_large_blocks; return_large_blocks()"


def _held(program: str) -> int:
    """How many MiB a process still has of 40 rows of 1 MB each that it has let go of."""
    variables = {name: value for name, value in os.environ.items() if name != "MALLOC_MMAP_THRESHOLD_"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, text=True, env=variables)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="it is glibc's allocator that is set")
def test_large_rows_leave_no_holes() -> None:
    assert _held(PROGRAM.format(set="")) > 30
    assert _held(PROGRAM.format(set=SET)) < 5
