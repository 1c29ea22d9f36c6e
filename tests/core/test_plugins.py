"""A broken plugin breaks nothing but itself."""

from __future__ import annotations

import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cdckit.api import plugins
from cdckit.errors import ConfigError

PROJECT = Path(__file__).parents[2]


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


def test_an_extra_brings_what_its_components_require() -> None:
    """And `all` brings every extra that a component names."""
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    brought = {extra: {_distribution(needed) for needed in wanted} for extra, wanted in extras.items()}
    origins = packages_distributions()
    components = [component for kind in plugins.KINDS for _, component in plugins.registrations(kind)]
    named = {component.extra: component for component in components if component.extra}
    assert {"kafka", "mongodb", "mysql", "spark", "ticdc"} <= named.keys()
    for extra, component in named.items():
        lacking = {package for package in component.requires if brought[extra].isdisjoint(_named(origins, package))}
        assert not lacking, f"the extra {extra} does not bring what {component.name} requires"
    [everything] = extras["all"]
    assert named.keys() <= set(re.findall(r"\w+", everything))


def _named(origins: Mapping[str, list[str]], package: str) -> set[str]:
    return {_distribution(origin) for origin in origins[package]}


def _distribution(requirement: str) -> str:
    """The name in a requirement, as indexes compare it."""
    return re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()
