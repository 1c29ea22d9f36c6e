"""`cdc ui`: a page that shows pipelines, from their state folders."""

from __future__ import annotations

import os
from pathlib import Path

import click

from cdckit.cli.settings import INTERRUPTED, Command
from cdckit.cli.status import stale_after
from cdckit.engine.metrics.address import ListenAddress, parse_address
from cdckit.errors import ConfigError
from cdckit.ui.access import TOKEN_VARIABLE, Access
from cdckit.ui.fleet import Fleet

folders = click.argument(
    "folders",
    metavar="DIR...",
    nargs=-1,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)


@click.command("ui", cls=Command)
@folders
@click.option(
    "--address", metavar="HOST:PORT", default="127.0.0.1:8420", show_default=True, help="Where; port 0 is any free one."
)
@click.option("--token-file", type=click.Path(path_type=Path), help=f"The token; by default {TOKEN_VARIABLE}'s value.")
@click.option("--allow-actions", is_flag=True, help="Let the page act, not only look; needs a token.")
@click.option("--tls-certificate", type=click.Path(path_type=Path), help="A PEM file: the page is served over TLS.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="Its key, where it stands in another file.")
@stale_after
def ui(
    folders: tuple[Path, ...],
    address: str,
    token_file: Path | None,
    allow_actions: bool,
    tls_certificate: Path | None,
    tls_key: Path | None,
    stale_after: int,
) -> int:
    """Show the pipelines whose state folders stand in DIR or below it, running or not, as a page for a browser.

    It reads the folders and nothing else. Other machines reach it, and it acts, only with a token.
    """
    try:
        from cdckit.ui.serving import serve  # noqa: PLC0415 - the extra may be missing
    except ModuleNotFoundError as error:
        raise ConfigError(f"cdc ui: needs the package {error.name}: pip install 'cdckit[ui]'") from error

    where = _address(address)
    access = Access(where, _token(token_file), acts=allow_actions)
    fleet = Fleet(folders or (Path(),), stale_after)
    interrupted = serve(fleet, access, where, tls_certificate, tls_key, lambda url: click.echo(f"the page is at {url}"))
    return INTERRUPTED if interrupted else 0


def _address(given: str) -> ListenAddress:
    try:
        return parse_address(given)
    except ValueError as error:
        raise ConfigError(f"--address: {error}", number="CDC2605") from error


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"--token-file: {file} cannot be read: {error}", number="CDC2605") from error
