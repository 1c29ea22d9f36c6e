"""A broken plugin breaks nothing but itself."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from cdckit.api import plugins
from cdckit.errors import ConfigError


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path whose plugins are found anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.plugin_manager.cache_clear()
    plugins.broken_plugins.cache_clear()
    yield tmp_path
    plugins.plugin_manager.cache_clear()
    plugins.broken_plugins.cache_clear()


def install(folder: Path, name: str, code: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[cdckit]\n{name} = {name}\n")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import a_driver_that_is_missing", "ModuleNotFoundError: No module named 'a_driver_that_is_missing'"),
        ("raise RuntimeError('no')", "RuntimeError: no"),
        (
            """
            from cdckit.api.hookspecs import hookimpl
            @hookimpl
            def cdckit_sorces(): return []
            """,
            "unknown hook 'cdckit_sorces'",
        ),
        (
            """
            from cdckit.api.hookspecs import hookimpl
            @hookimpl
            def cdckit_sources(context): return []
            """,
            "Argument(s) {'context'}",
        ),
        (
            """
            from cdckit.api.hookspecs import hookimpl
            @hookimpl
            def cdckit_sources(): return 1 / 0
            """,
            "ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_broken_plugin_is_named_and_the_others_work(installed: Path, unique_name: str, code: str, said: str) -> None:
    install(installed, unique_name, code)
    assert plugins.find("sink", "file").name == "file"
    with pytest.raises(ConfigError, match=f"the plugin '{unique_name}' is broken"):
        plugins.find("source", "nothing")
    assert said in plugins.broken_plugins()[unique_name]


def test_a_good_plugin_beside_a_broken_one_is_found(installed: Path) -> None:
    install(installed, "broken_one", "1 / 0")
    install(
        installed,
        "good_one",
        """
        from cdckit.api.hookspecs import Registration, hookimpl
        @hookimpl
        def cdckit_sinks(): return [Registration("well", "good_one:Well", "good_one:WellConfig", "swallows")]
        """,
    )
    assert plugins.find("sink", "well").factory == "good_one:Well"
    with pytest.raises(ConfigError, match="'well' is registered as good_one:WellConfig, which does not exist"):
        plugins.config_model(plugins.find("sink", "well"))
