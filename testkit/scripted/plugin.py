"""Registers the scripted components, as a third party's plugin would."""

from __future__ import annotations

from collections.abc import Sequence

import click

from cdckit.api.hookspecs import Registration, hookimpl


@hookimpl
def cdckit_sources() -> Sequence[Registration]:
    return [
        Registration(
            "scripted",
            "testkit.scripted.source:ScriptedSource",
            "testkit.scripted.config:ScriptedConfig",
            "plays the lines of a script",
            aliases=("test.ScriptedConnector",),
        )
    ]


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    return [
        Registration(
            "failing", "testkit.scripted.sink:FailingSink", "testkit.scripted.config:FailingConfig", "takes nothing"
        ),
        Registration(
            "elsewhere",
            "testkit.scripted.missing:Sink",
            "testkit.scripted.config:NoOptions",
            "needs what is not installed",
            extra="elsewhere",
            requires=("package_that_is_not_there",),
        ),
        Registration("tables", "testkit.scripted.sink:Tables", "testkit.scripted.config:NoOptions", "keeps tables"),
    ]


@hookimpl
def cdckit_state_stores() -> Sequence[Registration]:
    return [
        Registration(
            "away",
            "testkit.scripted.state:AwayBackend",
            "testkit.scripted.config:AwayConfig",
            "a store that cannot be reached",
        )
    ]


@hookimpl
def cdckit_transforms() -> Sequence[Registration]:
    return [
        Registration(
            "Rename",
            "testkit.scripted.transforms:Rename",
            "testkit.scripted.config:RenameConfig",
            "gives records another topic",
            aliases=("test.transforms.Rename",),
        )
    ]


@hookimpl
def cdckit_predicates() -> Sequence[Registration]:
    return [
        Registration(
            "TopicIs",
            "testkit.scripted.transforms:TopicIs",
            "testkit.scripted.config:TopicIsConfig",
            "records of one topic",
            aliases=("test.predicates.TopicIs",),
        )
    ]


@click.command("hello")
def hello() -> None:
    """Say hello."""
    click.echo("hello")


@hookimpl
def cdckit_commands() -> Sequence[click.Command]:
    return [hello]
