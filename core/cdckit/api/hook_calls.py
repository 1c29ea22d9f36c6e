"""One call of a hook that every plugin may answer: a plugin that raises is named, and harms no other.

Each plugin is called by itself. A wrapper (`hookimpl(wrapper=True)`) gets what all those inside it have answered, as
pluggy would have it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pluggy

Failed = Callable[[str, Exception], None]
"""Told the name of a plugin that raised, and what."""
Ask = Callable[[], list[Any]]


class HookCall:
    """One call.

    Args:
        manager: knows the plugins.
        hook: the hook's name.
        facts: its arguments.
        failed: told of plugins that raise.
        read: makes a list of the results of some calls. What it raises is the fault of the plugin that gave them.

    Attributes:
        answered: what each plugin has answered, by its name.
        wrapping: the plugins that have a wrapper, and their names.
    """

    def __init__(
        self,
        manager: pluggy.PluginManager,
        hook: str,
        facts: Mapping[str, Any],
        failed: Failed,
        read: Callable[[list[Any]], list[Any]] = list,
    ) -> None:
        self._manager = manager
        self._hook = hook
        self._facts = facts
        self._failed = failed
        self._read = read
        self._implementations: list[pluggy.HookImpl] = getattr(manager.hook, hook).get_hookimpls()
        plain = [one for one in self._implementations if not (one.wrapper or one.hookwrapper)]
        self._answering = {one.plugin: one.plugin_name for one in plain}
        # a plugin that has both is asked with its own wrapper around
        around = [one for one in self._implementations if one.plugin not in self._answering]
        self.wrapping = {one.plugin: one.plugin_name for one in around}
        self.answered: dict[str, list[Any]] = {}

    def results(self) -> list[Any]:
        """What the plugins have answered, as the wrappers hand it on."""
        asked = [_once(self._answer_of(plugin, name)) for plugin, name in self._answering.items()]
        for plugin, name in self.wrapping.items():  # the outermost is the last
            asked = [_once(self._wrapped(plugin, name, asked))]
        return self._all_of(asked)

    def _answer_of(self, plugin: Any, name: str) -> Ask:
        def ask() -> list[Any]:
            try:
                self.answered[name] = self._read(self._hook_of(plugin)(**self._facts))
            except Exception as error:  # noqa: BLE001 - foreign code
                self._failed(name, error)
            return self.answered.get(name, [])

        return ask

    def _wrapped(self, plugin: Any, name: str, inside: Sequence[Ask]) -> Ask:
        def ask() -> list[Any]:
            try:
                return self._read(self._hook_of(plugin).call_extra(inside, self._facts))
            except Exception as error:  # noqa: BLE001 - foreign code
                self._failed(name, error)
                return self._all_of(inside)

        return ask

    def _all_of(self, asked: Sequence[Ask]) -> list[Any]:
        return self._read([ask() for ask in reversed(asked)])  # as pluggy does it: who came last is asked first

    def _hook_of(self, plugin: Any) -> pluggy.HookCaller:
        """The hook of one plugin alone."""
        others = [one.plugin for one in self._implementations if one.plugin is not plugin]
        return self._manager.subset_hook_caller(self._hook, others)


def _once(ask: Ask) -> Ask:
    """Asked again, since a wrapper around it has failed, it gives the same answer."""
    known: list[list[Any]] = []

    def ask_once() -> list[Any]:
        if not known:
            known.append(ask())
        return known[0]

    return ask_once
