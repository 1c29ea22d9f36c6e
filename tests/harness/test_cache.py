"""The cache holds whole folders only, and each is built once."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import pytest

from testkit.servers.cache import cached


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CDCKIT_CACHE", str(tmp_path / "cache"))


def test_a_failed_build_leaves_nothing_behind() -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("cut off")

    with pytest.raises(RuntimeError, match="cut off"):
        cached("thing", fail)
    whole = cached("thing", lambda folder: (folder / "whole").touch())
    assert [path.name for path in whole.iterdir()] == ["whole"]


def test_parallel_processes_build_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)

    def build(folder: Path) -> None:
        with (tmp_path / "builds").open("a") as log:
            log.write("built\n")
        (folder / "whole").touch()

    def use() -> None:
        barrier.wait()
        assert (cached("thing", build) / "whole").exists()

    users = [context.Process(target=use) for _ in range(4)]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert [user.exitcode for user in users] == [0] * 4
    assert (tmp_path / "builds").read_text() == "built\n"
