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
            "scripted.source:ScriptedSource",
            "scripted.config:ScriptedConfig",
            "plays the lines of a script",
            aliases=("test.ScriptedConnector",),
        )
    ]


@hookimpl
def cdckit_sinks() -> Sequence[Registration]:
    return [
        Registration("failing", "scripted.sink:FailingSink", "scripted.config:FailingConfig", "takes nothing"),
        Registration(
            "elsewhere",
            "scripted.missing:Sink",
            "scripted.config:NoOptions",
            "needs what is not installed",
            extra="elsewhere",
            requires=("package_that_is_not_there",),
        ),
        Registration("tables", "scripted.sink:Tables", "scripted.config:NoOptions", "keeps tables"),
    ]


@hookimpl
def cdckit_transforms() -> Sequence[Registration]:
    return [
        Registration(
            "Rename",
            "scripted.transforms:Rename",
            "scripted.config:RenameConfig",
            "gives records another topic",
            aliases=("test.transforms.Rename",),
        )
    ]


@hookimpl
def cdckit_predicates() -> Sequence[Registration]:
    return [
        Registration(
            "TopicIs",
            "scripted.transforms:TopicIs",
            "scripted.config:TopicIsConfig",
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
