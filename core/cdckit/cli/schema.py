"""`cdc schema`: what editors need to complete and check pipeline files."""

from __future__ import annotations

import json

import click

from cdckit.cli.settings import Command
from cdckit.config.json_schema import pipeline_schema


@click.command("schema", cls=Command)
def schema() -> None:
    """Print the JSON Schema of a pipeline file, with the options of every installed plugin."""
    click.echo(json.dumps(pipeline_schema(), indent=2, ensure_ascii=False))
