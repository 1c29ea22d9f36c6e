"""`cdc completion`: the script that completes commands and options in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cdckit.cli.settings import Command


@click.command("completion", cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL, for `cdc` and `cdckit`: `eval "$(cdc completion bash)"`."""
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root().command
    for program in ("cdc", "cdckit"):
        click.echo(kind(root, {}, program, "_CDC_COMPLETE").source())
