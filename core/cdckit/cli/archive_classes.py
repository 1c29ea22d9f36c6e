"""`cdc archive-classes`: has Spark start faster on this machine."""

from __future__ import annotations

import click

from cdckit.cli.settings import Command


@click.command("archive-classes", cls=Command)
def archive_classes() -> None:
    """Have Spark start faster on this machine: keep the classes that its JVM loads in an archive.

    Pipelines with runner 'spark' whose master is 'local' use it from their next start on. Once Java, Spark or Delta
    Lake is another one, make it anew.
    """
    from cdckit.engine.spark.class_trial import archive_classes as made  # noqa: PLC0415 - Spark may not be installed

    archive = made()
    click.echo(f"{archive}: {archive.stat().st_size // 2**20} MiB")
