"""The option `--plugins-dir`: single-file plugins beside those that are installed."""

from __future__ import annotations

import os

import click

from cdckit.api.plugin_origins import PLUGINS_DIR


def plugins_dir_option() -> click.Option:
    """The option; the environment variable says the same."""
    return click.Option(
        ["--plugins-dir"],
        type=click.Path(exists=True, file_okay=False, resolve_path=True),
        metavar="DIR",
        envvar=PLUGINS_DIR,
        help="Load the plugins in the Python files of a folder, too.",
        expose_value=False,
        is_eager=True,
        callback=_use,
    )


def _use(context: click.Context, option: click.Parameter, folder: str | None) -> None:
    """Says it to this process and to those that it starts, such as Spark's."""
    if folder is None or os.environ.get(PLUGINS_DIR) == folder:
        return
    from cdckit.api.plugins import broken_plugins, plugin_manager  # noqa: PLC0415 - most calls have no such folder

    os.environ[PLUGINS_DIR] = folder
    plugin_manager.cache_clear()
    broken_plugins.cache_clear()
