"""A broken plugin breaks nothing but itself."""

from __future__ import annotations

import re
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from cdckit.api import plugins
from cdckit.engine.notices import RunNotices
from cdckit.errors import ConfigError
from testkit.installed import install_plugin

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path whose plugins are found anew."""
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.plugin_manager.cache_clear()
    plugins.broken_plugins.cache_clear()
    yield tmp_path
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]
    plugins.plugin_manager.cache_clear()
    plugins.broken_plugins.cache_clear()


def install(folder: Path, name: str, code: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(code))
    install_plugin(folder, name, name)


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


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("CDCKIT_API = 99", r"plugin API, and cdckit \S+ has version 1: upgrade cdckit$"),
        ("CDCKIT_API: int = 99\nfrom cdckit import WhatWillBe", "made for version 99 of the plugin API"),
        ("CDCKIT_API = 0", "upgrade the plugin, or install the cdckit that it was made for"),
        ("CDCKIT_API = '1'", "CDCKIT_API is '1'; it should be a whole number such as 1"),
        ("CDCKIT_API = True", "CDCKIT_API is True; it should be a whole number such as 1"),
        ("from cdckit import WhatWillBe", "^ImportError|^AttributeError"),
    ],
)
def test_a_plugin_for_another_version_of_the_api_is_refused_by_name(
    installed: Path, unique_name: str, code: str, said: str
) -> None:
    install(installed, unique_name, f"{code}\n{REGISTERS.format(name=unique_name)}")
    with pytest.raises(ConfigError, match=f"no sink is called 'well'.*the plugin '{unique_name}' is broken"):
        plugins.find("sink", "well")
    assert re.search(said, plugins.broken_plugins()[unique_name])
    assert "Error" in said or f"{unique_name} 1.0" in plugins.broken_plugins()[unique_name]


@pytest.mark.parametrize("code", ["", "from cdckit import API_VERSION\nCDCKIT_API = 1\nassert API_VERSION == 1"])
def test_a_plugin_for_this_version_or_that_does_not_say_is_taken(installed: Path, unique_name: str, code: str) -> None:
    install(installed, unique_name, f"{code}\n{REGISTERS.format(name=unique_name)}")
    assert plugins.find("sink", "well").summary == "swallows"
    assert plugins.broken_plugins() == {}


def test_a_plugin_by_the_name_of_another_is_named_and_leaves_that_one_alone(installed: Path) -> None:
    install(installed, "file", REGISTERS.format(name="file"))
    assert plugins.find("sink", "file").factory == "cdckit_file.file:FileSink"
    assert plugins.broken_plugins() == {
        "file": "file 1.0 brings a plugin by the name of another: rename its entry point"
    }


REGISTERS = """
from cdckit import Registration, hookimpl
@hookimpl
def cdckit_sinks(): return [Registration("well", "{name}:Well", "{name}:WellConfig", "swallows")]
"""

WRAPS = """
from dataclasses import replace
from cdckit import Registration, hookimpl
@hookimpl(wrapper=True)
def cdckit_sinks():
    found = yield
    all_of_them = [one for each in found for one in each]
    given = [replace(one, aliases=(*one.aliases, "abyss")) if one.name == "well" else one for one in all_of_them]
    return [[*given, Registration("pit", "{name}:Pit", "{name}:PitConfig", "swallows, too")]]
"""


def test_a_wrapper_stands_around_what_all_answer(installed: Path) -> None:
    install(installed, "a_wrapper", WRAPS.format(name="a_wrapper"))
    install(installed, "one_more", REGISTERS.format(name="one_more"))
    install(installed, "the_other", REGISTERS.format(name="the_other").replace('"well"', '"wall"'))
    assert plugins.find("sink", "abyss").factory == "one_more:Well"
    assert plugins.find("sink", "pit").factory == "a_wrapper:Pit"
    names = [(plugin, one.name) for plugin, one in plugins.registrations("sink") if one.name[0] in "pw"]
    assert names == [("a_wrapper", "pit"), ("the_other", "wall"), ("a_wrapper", "well")]
    assert plugins.broken_plugins() == {}


BROKEN = ["1 / 0; yield", "found = yield; 1 / 0", "yield; return 5", "yield; return ['well']", "yield; yield"]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_wrapper_that_breaks_is_named_and_left_out(installed: Path, broken: str) -> None:
    """The other wrapper, the other plugins and the order in which they were installed are of no account."""
    raising = f"from cdckit import hookimpl\n@hookimpl(wrapper=True)\ndef cdckit_sinks(): {broken}"
    install(installed, "a_wrapper", WRAPS.format(name="a_wrapper"))
    install(installed, "between", raising)
    install(installed, "well", REGISTERS.format(name="well"))
    install(installed, "z_wrapper", WRAPS.format(name="z_wrapper").replace("abyss", "chasm"))
    assert plugins.find("sink", "abyss") == plugins.find("sink", "chasm")
    assert list(plugins.broken_plugins()) == ["between"]
    assert plugins.find("sink", "file").name == "file"


LISTENS = """
from cdckit import hookimpl
heard = []
@hookimpl
def cdckit_unmatched(pipeline, entries): heard.append((pipeline, entries))
"""


def test_a_listener_that_raises_keeps_nothing_from_the_others(
    installed: Path, caplog: pytest.LogCaptureFixture
) -> None:
    raising = "from cdckit import hookimpl\n@hookimpl\ndef cdckit_unmatched(): raise RuntimeError('deaf')"
    around = LISTENS.replace("hookimpl\ndef", "hookimpl(wrapper=True)\ndef").rstrip() + "; return (yield)"
    for name, code in [("first", LISTENS), ("loud", raising), ("outer", around), ("third", LISTENS)]:
        install(installed, f"listener_{name}", code)
    RunNotices("p").unmatched(["nothing matches"])
    RunNotices("p").unmatched(["nothing matches"])
    for name in ("first", "outer", "third"):
        assert sys.modules[f"listener_{name}"].heard == [("p", ["nothing matches"])] * 2

    assert plugins.broken_plugins() == {"listener_loud": "RuntimeError: deaf"}
    assert caplog.messages == ["the plugin 'listener_loud' fails in cdckit_unmatched"]


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
