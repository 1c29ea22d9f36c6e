"""What holds for every component: how it is registered, and what its config model must do."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import pytest

from cdckit.api.option_docstrings import describe
from cdckit.api.plugin_config import PluginConfig
from cdckit.api.plugins import Kind, config_model, find, make
from cdckit.errors import ConfigError


class ComponentSuite:
    """The base of all suites.

    Attributes:
        kind: what the component is.
        type_name: its name, as it stands behind `type:`.
    """

    kind: ClassVar[Kind]
    type_name: ClassVar[str]

    @pytest.fixture(autouse=True)
    def _names_its_component(self, record_property: Callable[[str, object], None]) -> None:
        """Reports of tests tell the component: `cdc plugin check` reads it there."""
        record_property("component", f"{self.kind} {self.type_name}")

    def options(self) -> Mapping[str, Any]:
        """The options to make it with, as they stand in a pipeline file. None by default."""
        return {}

    def config(self) -> PluginConfig:
        """Its config, made of the options."""
        return config_model(find(self.kind, self.type_name)).load(self.options(), self.kind)[0]

    def component(self, config: PluginConfig | None = None) -> Any:
        """A new instance, made as a pipeline makes it."""
        return make(find(self.kind, self.type_name), config or self.config())

    def test_it_is_found_by_its_name_and_its_aliases(self) -> None:
        registration = find(self.kind, self.type_name)
        assert registration.summary, "a registration says in one line what the component does"
        for alias in registration.aliases:
            assert find(self.kind, alias) == registration

    def test_every_option_says_what_it_is_for(self) -> None:
        model = config_model(find(self.kind, self.type_name))
        describe(model)
        silent = [field.alias or name for name, field in model.model_fields.items() if not field.description]
        assert not silent, "an option's docstring is its description in docs and messages"

    def test_a_misspelt_option_is_refused_by_name(self) -> None:
        model = config_model(find(self.kind, self.type_name))
        with pytest.raises(ConfigError) as refused:
            model.load({**self.options(), "no.such.option": 1}, self.kind)
        assert f"{self.kind}.no.such.option" in str(refused.value)

    def test_its_config_can_be_sent_to_another_process(self) -> None:
        config = pickle.loads(pickle.dumps(self.config()))  # noqa: S301 - our own bytes
        assert config == self.config()
        assert self.component(config) is not None
